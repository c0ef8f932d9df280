package rules

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file inlines calls of fns and of lambdas: the arguments are bound, and the body is typed where the call stands.

// Argument is one of a call that is inlined.
type Argument struct {
	// Value is one whose type the call may settle; an invalid one is a name for something else, such as an axis.
	Value Operand
	// Bind gives the parameter its meaning in the scope of the body.
	Bind func(value Operand)
}

// fnScope is what a fn is to one of its calls: its callee, the scope of its body, the declared type of its value or the
// zero DType, and its constants in that scope, which have no value yet.
func (c *Checker) fnScope(in Caller, ent *Entity) (to *Callee, s *Scope, result typed.DType, consts map[string]*Entity) {
	d := ent.Decl.(*lang.FnDecl)
	to, s, consts = &Callee{Name: d.Name.Name, At: d.Name.Place}, NewScope(ent.Module.Scope), map[string]*Entity{}
	c.Muted++ // the declaration itself has been checked
	c.FnGenerics(s, d, func(g *lang.Generic) *Entity {
		if !g.IsConst {
			p := &typed.TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Place}
			to.Types = append(to.Types, p)
			return &Entity{Kind: EntTypeParam, DType: typed.DType{Param: p}}
		}
		e := &Entity{Kind: EntInvalid}
		if dt, known := lang.ParseDType(constTypeName(g.Bound.Name)); known {
			consts[g.Name.Name] = e
			k := Constant{name: g.Name.Name, DType: dt, at: g.Place}
			if g.Default != nil {
				k.standard = func() (*lang.Literal, bool) {
					return c.LiteralOf(ent.Module.Scope, g.Default, dt, "the default of "+g.Name.Name)
				}
			}
			to.Consts = append(to.Consts, k)
		}
		return e
	})
	for _, p := range d.Params {
		to.Params = append(to.Params, Parameter{Name: p.Name.Name, At: p.Place, DType: c.FnType(s, p.Type)})
	}
	result = c.FnType(s, d.Result)
	c.Muted--
	return to, s, result, consts
}

// callFn inlines a call of a fn, whose body is typed in the fn's own file.
func (c *Checker) callFn(in Caller, ent *Entity, e *lang.CallExpr) Operand {
	d := ent.Decl.(*lang.FnDecl)
	if !in.Inlining().deeper(in, d, e) {
		return Bad(e.Place)
	}
	if e.Over != nil {
		in.Errorf(lang.ErrArgName, e.Over[0].Place, "%s takes no `over`", d.Name.Name).Help("an axis is passed by name: declare a parameter `axis j`")
		return Bad(e.Place)
	}
	if ent.refused != nil && countPositional(e) != len(d.Params) {
		wrongCount(in, ent, e, len(d.Params))
		return Bad(e.Place)
	}
	to, s, result, consts := c.fnScope(in, ent)
	k := c.NewCall(in, e, to)
	ok := k.Match()
	for name, o := range k.Consts {
		consts[name].Kind, consts[name].Value = EntValue, o
	}
	bind := make([]func(Operand), len(d.Params))
	for i, p := range d.Params {
		x := k.Exprs[i]
		if x == nil {
			continue
		}
		if !p.IsAxis {
			if f, done, argOK := functionArg(in, d, p, x); done {
				ok = ok && argOK
				bind[i] = func(Operand) { c.Declare(s, f, true) }
				continue
			}
		}
		a, argOK := in.FnArg(d, p, x)
		ok = ok && argOK
		k.Args[i], bind[i] = a.Value, a.Bind
	}
	for _, x := range k.extra {
		in.Operand(x)
	}
	if !k.Settle(ok) || c.Recursive[d] || d.Body == nil {
		return Bad(e.Place)
	}
	for _, p := range to.Types { // inside, the parameter is the argument's type
		s.Names[p.Name] = &Entity{Kind: EntTypeParam, Name: p.Name, At: p.At, DType: k.Types[p]}
	}
	return c.inline(in, &inlined{call: e, callee: d, what: d.Name.Name, at: d.Name.Place, fn: d}, s, func() Operand {
		for i, f := range bind {
			f(k.Args[i])
		}
		return in.FnBody(d.Body)
	}, func(o Operand) Operand { return k.resultOf(o, d, result) })
}

// callLambda inlines a call of a lambda that a fn was given.
func (c *Checker) callLambda(in Caller, ent *Entity, e *lang.CallExpr) Operand {
	f := ent.Lambda
	if !in.Inlining().deeper(in, f, e) {
		return Bad(e.Place)
	}
	if e.Over != nil {
		in.Errorf(lang.ErrArgName, e.Over[0].Place, "%s is a lambda here and takes no `over`", ent.Name).LabelAt(f.Place, "given here")
		return Bad(e.Place)
	}
	if !c.AllByPosition(in, e) {
		return Bad(e.Place)
	}
	if len(e.Args) != len(f.Params) {
		wrongCount(in, ent, e, len(f.Params))
		return Bad(e.Place)
	}
	args := make([]Argument, len(e.Args))
	ok := true
	for i, a := range e.Args {
		var argOK bool
		args[i], argOK = in.LambdaArg(ent, f.Params[i], a.Value)
		ok = ok && argOK
	}
	if !ok {
		return Bad(e.Place)
	}
	return c.inline(in, &inlined{call: e, callee: f, what: "the lambda", at: f.Place}, NewScope(ent.Scope), func() Operand {
		for _, a := range args {
			a.Bind(a.Value)
		}
		return in.Operand(f.Body)
	}, func(o Operand) Operand { return o })
}

// inlined is a call that is inlined: of what, and where that is declared.
type inlined struct {
	call   *lang.CallExpr
	callee lang.Node
	what   string
	at     lang.Span
	fn     *lang.FnDecl // nil of a lambda
}

// inline types the body of what is called in a scope of its own, and checks what it gives.
func (c *Checker) inline(in Caller, of *inlined, s *Scope, body func() Operand, result func(Operand) Operand) Operand {
	u, found, at := in.Inlining(), c.Found, of.call.Place
	u.active = append(u.active, of.callee)
	if of.fn != nil {
		u.Frames = append(u.Frames, Frame{of.fn, at})
		c.calls = append(c.calls, Frame{of.fn, at})
	}
	return in.Inside(s, at, body, func(o Operand) Operand {
		u.active = u.active[:len(u.active)-1]
		if o.Mode == NoValue {
			if c.Found == found {
				in.Errorf(lang.ErrValueCount, at, "%s gives no value", of.what).LabelAt(of.at, "declared here").Help("end its body with the value")
			}
			o = Bad(at)
		}
		if of.fn != nil {
			u.Frames = u.Frames[:len(u.Frames)-1]
			c.calls = c.calls[:len(c.calls)-1]
		}
		if o.Mode == Invalid {
			return Bad(at)
		}
		return result(o)
	})
}

// resultOf checks the value of a fn against its declared type.
func (k *Call) resultOf(o Operand, d *lang.FnDecl, want typed.DType) Operand {
	if want == (typed.DType{}) {
		return o
	}
	if want.Param != nil {
		want = k.Types[want.Param]
	}
	if o = k.In.Adapt(o, want); o.Mode == Invalid {
		return o
	}
	if o.Mode != TypedValue || o.DType() != want {
		r := k.Errorf(lang.ErrWrongType, o.At, "%s gives %s and is declared to give %s", d.Name.Name, k.In.Describe(o), want).
			LabelAt(d.Result.Place, "declared here").LabelAt(k.Expr.Place, "in this call")
		if o.Mode == TypedValue && (o.Graph == nil || o.Graph.GType().Kind != typed.GTuple) {
			r.CastAt(o.At, want, "convert the value with `as %s`, or change the declaration", want)
		} else {
			r.Help("give one value, or leave the declared type out")
		}
		return Bad(k.Expr.Place)
	}
	return o
}

// FnGenerics declares the parameters of a fn between `<` and `>`.
func (c *Checker) FnGenerics(s *Scope, d *lang.FnDecl, entityOf func(*lang.Generic) *Entity) {
	for _, g := range d.Generics {
		c.boundOf(g)
		e := entityOf(g)
		e.Name, e.At = g.Name.Name, g.Name.Place
		c.Declare(s, e, false)
	}
}

// FnType resolves the type of a parameter or of the value of a fn: an element
// type, or the zero DType for none.
func (c *Checker) FnType(s *Scope, t *lang.TypeExpr) typed.DType {
	if t == nil {
		return typed.DType{}
	}
	if t.HasShape || t.Count != nil || len(t.Args) > 0 {
		c.Errorf(lang.ErrDeclType, t.Place, "a fn takes and gives tiles, which have an element type and no shape").
			Replace(t.Place, t.Name.Name, "write the element type alone, or leave the type out")
		return typed.DType{}
	}
	d, ok := c.DTypeNamed(s, t.Name.Name, t.Place)
	if !ok {
		return typed.DType{}
	}
	return d
}
