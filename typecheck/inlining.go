package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file inlines calls of fns and of lambdas: the arguments are bound, and the body is typed where the call stands.

// argument is one of a call that is inlined.
type argument struct {
	// value is one whose type the call may settle; an invalid one is a name for something else, such as an axis.
	value operand
	// bind gives the parameter its meaning in the scope of the body.
	bind func(value operand)
}

// fnScope is what a fn is to one of its calls: its callee, the scope of its body, the declared type of its value or the
// zero DType, and its constants in that scope, which have no value yet.
func (c *checker) fnScope(in caller, ent *entity) (to *callee, s *scope, result typed.DType, consts map[string]*entity) {
	d := ent.decl.(*lang.FnDecl)
	to, s, consts = &callee{name: d.Name.Name, at: d.Name.Place}, newScope(ent.module.scope), map[string]*entity{}
	c.muted++ // the declaration itself has been checked
	c.fnGenerics(s, d, func(g *lang.Generic) *entity {
		if !g.IsConst {
			p := &typed.TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Place}
			to.types = append(to.types, p)
			return &entity{kind: entTypeParam, dtype: typed.DType{Param: p}}
		}
		e := &entity{kind: entInvalid}
		if dt, known := lang.ParseDType(constTypeName(g.Bound.Name)); known {
			consts[g.Name.Name] = e
			k := constant{name: g.Name.Name, dtype: dt, at: g.Place}
			if g.Default != nil {
				k.standard = func() (*lang.Literal, bool) {
					return c.literalOf(ent.module.scope, g.Default, dt, "the default of "+g.Name.Name)
				}
			}
			to.consts = append(to.consts, k)
		}
		return e
	})
	for _, p := range d.Params {
		to.params = append(to.params, parameter{name: p.Name.Name, at: p.Place, dtype: c.fnType(s, p.Type)})
	}
	result = c.fnType(s, d.Result)
	c.muted--
	return to, s, result, consts
}

// callFn inlines a call of a fn, whose body is typed in the fn's own file.
func (c *checker) callFn(in caller, ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.FnDecl)
	if !in.Inlining().deeper(in, d, e) {
		return bad(e.Place)
	}
	if e.Over != nil {
		in.Errorf(lang.ErrArgName, e.Over[0].Place, "%s takes no `over`", d.Name.Name).help("an axis is passed by name: declare a parameter `axis j`")
		return bad(e.Place)
	}
	if ent.refused != nil && countPositional(e) != len(d.Params) {
		wrongCount(in, ent, e, len(d.Params))
		return bad(e.Place)
	}
	to, s, result, consts := c.fnScope(in, ent)
	k := c.newCall(in, e, to)
	ok := k.match()
	for name, o := range k.consts {
		consts[name].kind, consts[name].value = entValue, o
	}
	bind := make([]func(operand), len(d.Params))
	for i, p := range d.Params {
		x := k.exprs[i]
		if x == nil {
			continue
		}
		if !p.IsAxis {
			if f, done, argOK := functionArg(in, d, p, x); done {
				ok = ok && argOK
				bind[i] = func(operand) { c.declare(s, f, true) }
				continue
			}
		}
		a, argOK := in.FnArg(d, p, x)
		ok = ok && argOK
		k.args[i], bind[i] = a.value, a.bind
	}
	for _, x := range k.extra {
		in.Operand(x)
	}
	if !k.settle(ok) || c.recursive[d] || d.Body == nil {
		return bad(e.Place)
	}
	for _, p := range to.types { // inside, the parameter is the argument's type
		s.names[p.Name] = &entity{kind: entTypeParam, name: p.Name, at: p.At, dtype: k.types[p]}
	}
	return c.inline(in, &inlined{call: e, callee: d, what: d.Name.Name, at: d.Name.Place, fn: d}, s, func() operand {
		for i, f := range bind {
			f(k.args[i])
		}
		return in.FnBody(d.Body)
	}, func(o operand) operand { return k.resultOf(o, d, result) })
}

// callLambda inlines a call of a lambda that a fn was given.
func (c *checker) callLambda(in caller, ent *entity, e *lang.CallExpr) operand {
	f := ent.lambda
	if !in.Inlining().deeper(in, f, e) {
		return bad(e.Place)
	}
	if e.Over != nil {
		in.Errorf(lang.ErrArgName, e.Over[0].Place, "%s is a lambda here and takes no `over`", ent.name).label(f.Place, "given here")
		return bad(e.Place)
	}
	if !c.allByPosition(in, e) {
		return bad(e.Place)
	}
	if len(e.Args) != len(f.Params) {
		wrongCount(in, ent, e, len(f.Params))
		return bad(e.Place)
	}
	args := make([]argument, len(e.Args))
	ok := true
	for i, a := range e.Args {
		var argOK bool
		args[i], argOK = in.LambdaArg(ent, f.Params[i], a.Value)
		ok = ok && argOK
	}
	if !ok {
		return bad(e.Place)
	}
	return c.inline(in, &inlined{call: e, callee: f, what: "the lambda", at: f.Place}, newScope(ent.scope), func() operand {
		for _, a := range args {
			a.bind(a.value)
		}
		return in.Operand(f.Body)
	}, func(o operand) operand { return o })
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
func (c *checker) inline(in caller, of *inlined, s *scope, body func() operand, result func(operand) operand) operand {
	u, found, at := in.Inlining(), c.found, of.call.Place
	u.active = append(u.active, of.callee)
	if of.fn != nil {
		u.frames = append(u.frames, frame{of.fn, at})
		c.calls = append(c.calls, frame{of.fn, at})
	}
	return in.Inside(s, at, body, func(o operand) operand {
		u.active = u.active[:len(u.active)-1]
		if o.mode == noValue {
			if c.found == found {
				in.Errorf(lang.ErrValueCount, at, "%s gives no value", of.what).label(of.at, "declared here").help("end its body with the value")
			}
			o = bad(at)
		}
		if of.fn != nil {
			u.frames = u.frames[:len(u.frames)-1]
			c.calls = c.calls[:len(c.calls)-1]
		}
		if o.mode == invalid {
			return bad(at)
		}
		return result(o)
	})
}

// resultOf checks the value of a fn against its declared type.
func (k *call) resultOf(o operand, d *lang.FnDecl, want typed.DType) operand {
	if want == (typed.DType{}) {
		return o
	}
	if want.Param != nil {
		want = k.types[want.Param]
	}
	if o = k.in.Adapt(o, want); o.mode == invalid {
		return o
	}
	if o.mode != typedValue || o.dtype() != want {
		r := k.Errorf(lang.ErrWrongType, o.at, "%s gives %s and is declared to give %s", d.Name.Name, k.in.Describe(o), want).
			label(d.Result.Place, "declared here").label(k.expr.Place, "in this call")
		if o.mode == typedValue && (o.graph == nil || o.graph.GType().Kind != typed.GTuple) {
			r.castAt(o.at, want, "convert the value with `as %s`, or change the declaration", want)
		} else {
			r.help("give one value, or leave the declared type out")
		}
		return bad(k.expr.Place)
	}
	return o
}

// fnGenerics declares the parameters of a fn between `<` and `>`.
func (c *checker) fnGenerics(s *scope, d *lang.FnDecl, entityOf func(*lang.Generic) *entity) {
	for _, g := range d.Generics {
		c.boundOf(g)
		e := entityOf(g)
		e.name, e.at = g.Name.Name, g.Name.Place
		c.declare(s, e, false)
	}
}

// fnType resolves the type of a parameter or of the value of a fn: an element
// type, or the zero DType for none.
func (c *checker) fnType(s *scope, t *lang.TypeExpr) typed.DType {
	if t == nil {
		return typed.DType{}
	}
	if t.HasShape || t.Count != nil || len(t.Args) > 0 {
		c.Errorf(lang.ErrDeclType, t.Place, "a fn takes and gives tiles, which have an element type and no shape").
			replace(t.Place, t.Name.Name, "write the element type alone, or leave the type out")
		return typed.DType{}
	}
	d, ok := c.dtypeNamed(s, t.Name.Name, t.Place)
	if !ok {
		return typed.DType{}
	}
	return d
}
