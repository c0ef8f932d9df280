package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file matches the arguments of a call with the parameters of a fn, in the
// bodies of kernels and in graphs alike.

// fnCall is one call of a fn.
type fnCall struct {
	*checker
	in     fnCaller
	decl   *lang.FnDecl
	at     lang.Span
	scope  *scope        // of the fn's body: its constants and element types
	want   []typed.DType // the declared type of each parameter; the zero DType where there is none
	result typed.DType   // the declared type of the value, or the zero DType
	params []*typed.TypeParam
	types  map[*typed.TypeParam]typed.DType // what the element type parameters stand for
	from   map[*typed.TypeParam]lang.Span   // by which argument
}

// fnCaller is where a call stands.
type fnCaller interface {
	errorf(code lang.Code, at lang.Span, format string, args ...any) report
	// value types an expression that gives one value.
	value(e lang.Expr) operand
	// adapt gives an untyped operand an element type.
	adapt(o operand, d typed.DType) operand
	// literal is a constant of its type.
	literal(l lang.Literal, at lang.Span) operand
	// describe names what an operand is, for messages.
	describe(o operand) string
	// static reports what a specialisation, or the bind of a graph, knows.
	static(o operand) bool
}

func (b *bodyChecker) adapt(o operand, d typed.DType) operand { return b.convert(o, d) }
func (b *bodyChecker) describe(o operand) string              { return b.describeOperand(o) }
func (b *bodyChecker) static(o operand) bool                  { return isStatic(o.expr) }

func (b *bodyChecker) literal(l lang.Literal, at lang.Span) operand {
	return typedOperand(&typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(l.DType)}, At: at}, Int: l.Int, Float: l.Float})
}

// newFnCall types the constants of a call and gives its other arguments. The
// element types are known after settle.
func (c *checker) newFnCall(in fnCaller, ent *entity, e *lang.CallExpr) (*fnCall, []lang.Expr, bool) {
	d := ent.decl.(*lang.FnDecl)
	f := &fnCall{checker: c, in: in, decl: d, at: e.Place, scope: newScope(ent.module.scope), types: map[*typed.TypeParam]typed.DType{}, from: map[*typed.TypeParam]lang.Span{}}
	consts, ok := f.consts(e)
	var positional []lang.Expr
	for _, a := range e.Args {
		if a.Name == nil {
			positional = append(positional, a.Value)
		}
	}
	if len(positional) != len(d.Params) {
		in.errorf(lang.ErrArgCount, e.Place, "%s takes %s, not %d", d.Name.Name, plural(len(d.Params), "argument"), len(positional)).
			label(d.Name.Place, "declared here")
		ok = false
	}
	c.muted++ // the declaration itself has been checked
	c.fnGenerics(f.scope, d, func(g *lang.Generic) *entity {
		if g.IsConst {
			if v, has := consts[g.Name.Name]; has {
				return &entity{kind: entValue, value: v}
			}
			return &entity{kind: entInvalid}
		}
		p := &typed.TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Place}
		f.params = append(f.params, p)
		return &entity{kind: entTypeParam, dtype: typed.DType{Param: p}}
	})
	for _, p := range d.Params {
		f.want = append(f.want, c.fnType(f.scope, p.Type))
	}
	f.result = c.fnType(f.scope, d.Result)
	c.muted--
	return f, positional, ok
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
		c.errorf(lang.ErrDeclType, t.Place, "a fn takes and gives tiles, which have an element type and no shape").
			replace(t.Place, t.Name.Name, "write the element type alone, or leave the type out")
		return typed.DType{}
	}
	d, ok := c.dtypeNamed(s, t.Name.Name, t.Place)
	if !ok {
		return typed.DType{}
	}
	return d
}

// consts evaluates the constant parameters of a call, which are named.
func (f *fnCall) consts(e *lang.CallExpr) (map[string]operand, bool) {
	ok := true
	given := map[string]operand{}
	types := map[string]typed.DType{}
	var names []string
	for _, g := range f.decl.Generics {
		if dt, known := lang.ParseDType(constTypeName(g.Bound.Name)); g.IsConst && known {
			names = append(names, g.Name.Name)
			types[g.Name.Name] = typed.Concrete(dt)
		}
	}
	for _, a := range e.Args {
		if a.Name == nil {
			continue
		}
		want, known := types[a.Name.Name]
		o := f.in.value(a.Value)
		if known && o.isUntyped() && want != typed.Concrete(lang.I32) {
			o = f.in.adapt(o, want)
		}
		switch {
		case !known:
			f.in.errorf(lang.ErrArgName, a.Name.Place, "%s has no constant parameter %s", f.decl.Name.Name, a.Name.Name).suggest(a.Name.Place, a.Name.Name, names)
			ok = false
		case o.mode == invalid:
			ok = false
		case !o.isUntyped() && (o.mode != typedValue || !f.in.static(o)):
			f.in.errorf(lang.ErrNotConstant, a.Value.Span(), "the constant parameter %s needs a constant", a.Name.Name)
			ok = false
		case o.mode == untypedFloat || o.mode == typedValue && o.dtype() != want:
			f.in.errorf(lang.ErrConstParam, a.Value.Span(), "the constant parameter %s is %s, not %s", a.Name.Name, want, f.in.describe(o)).wholeHelp(o)
			ok = false
		default:
			o.dim = o.mode == untypedInt // inside, an int and no literal
			given[a.Name.Name] = o
		}
	}
	for _, g := range f.decl.Generics {
		if _, has := given[g.Name.Name]; !g.IsConst || has || types[g.Name.Name] == (typed.DType{}) {
			continue
		}
		if g.Default == nil && !ok {
			continue // the argument that was meant may be the wrong one
		}
		if g.Default == nil {
			f.in.errorf(lang.ErrConstParam, e.Place, "the constant parameter %s of %s has no value", g.Name.Name, f.decl.Name.Name).
				label(g.Place, "declared without a default").help("pass it by name: `%s(..., %s = ...)`", f.decl.Name.Name, g.Name.Name)
			ok = false
			continue
		}
		lit, litOK := f.literalOf(f.fns[f.decl].module.scope, g.Default, types[g.Name.Name].Of, "the default of "+g.Name.Name)
		if !litOK {
			ok = false
			continue
		}
		if lit.DType == lang.I32 { // adapts to its context, as a dimension does
			given[g.Name.Name] = sizeOperand(g.Default.Span(), size.Const(lit.Int))
		} else {
			given[g.Name.Name] = f.in.literal(*lit, g.Default.Span())
		}
	}
	return given, ok
}

// settle gives the arguments the types of their parameters, and the element type
// parameters what they stand for. Constants adapt to the types of the others.
func (f *fnCall) settle(args []operand, exprs []lang.Expr, ok bool) bool {
	for _, untyped := range []bool{false, true} {
		for i, o := range args {
			if i >= len(f.want) || f.want[i] == (typed.DType{}) || o.mode == invalid || o.mode == noValue || (o.isUntyped() || o.mode == list) != untyped {
				continue
			}
			args[i] = f.arg(f.decl.Params[i], o, exprs[i], f.want[i], args)
			ok = ok && args[i].mode != invalid
		}
	}
	for _, p := range f.params {
		if _, bound := f.types[p]; !bound && ok {
			f.in.errorf(lang.ErrTypeParam, f.at, "nothing tells what %s stands for in this call of %s", p.Name, f.decl.Name.Name).
				label(p.At, "declared here").help("give a parameter the type %s", p.Name)
			ok = false
		}
	}
	for _, p := range f.params { // inside, the parameter is the argument's type
		f.scope.names[p.Name] = &entity{kind: entTypeParam, name: p.Name, at: p.At, dtype: f.types[p]}
	}
	return ok
}

// arg checks an argument against the declared type of its parameter.
func (f *fnCall) arg(p *lang.Param, o operand, x lang.Expr, want typed.DType, args []operand) operand {
	got, bound := f.types[want.Param]
	switch {
	case want.Param == nil:
		o = f.in.adapt(o, want)
		if o.mode == typedValue && o.dtype() != want {
			f.in.errorf(lang.ErrWrongType, x.Span(), "the argument is %s, and %s of %s is %s", f.in.describe(o), p.Name.Name, f.decl.Name.Name, want).
				label(p.Place, "declared here").castFix(x, want)
			return bad(o.at)
		}
		return o
	case o.mode == typedValue:
	case bound:
		o = f.in.adapt(o, got)
	default:
		o = f.in.adapt(o, f.constants(want.Param, args))
	}
	if o.mode != typedValue {
		return bad(o.at)
	}
	d := o.dtype()
	switch {
	case bound && d != got:
		f.in.errorf(lang.ErrMixedTypes, x.Span(), "the argument is %s, and %s stands for %s in this call of %s", f.in.describe(o), want, got, f.decl.Name.Name).
			label(f.from[want.Param], "by this argument").castFix(x, got)
		return bad(o.at)
	case !bound && !boundAccepts(want.Param, d):
		f.in.errorf(lang.ErrTypeParam, x.Span(), "the argument is %s, which %s: %s does not accept", f.in.describe(o), want, want.Param.Bound).
			label(p.Place, "declared here")
		f.types[want.Param] = d // said once for all arguments of the type
		return bad(o.at)
	}
	f.types[want.Param], f.from[want.Param] = d, o.at
	return o
}

// constants is the element type of constants that are the only arguments for p:
// f32 where p is a float or one of them is, else i32.
func (f *fnCall) constants(p *typed.TypeParam, args []operand) typed.DType {
	if p.Bound == "float" {
		return typed.Concrete(lang.F32)
	}
	for i, o := range args {
		if i >= len(f.want) || f.want[i].Param != p {
			continue
		}
		switch {
		case o.mode == untypedFloat:
			return typed.Concrete(lang.F32)
		case o.mode == list && o.list.settled() != typed.Concrete(lang.I32):
			return o.list.settled()
		}
	}
	return typed.Concrete(lang.I32)
}

// boundAccepts reports whether every type that d may be is one that p may stand for.
func boundAccepts(p *typed.TypeParam, d typed.DType) bool {
	if d.Param == nil {
		return p.Accepts(d.Of)
	}
	return p.Bound == "any" || p.Bound == d.Param.Bound
}

// resultOf checks the value of the fn against its declared type.
func (f *fnCall) resultOf(o operand) operand {
	want := f.result
	if want == (typed.DType{}) {
		return o
	}
	if want.Param != nil {
		want = f.types[want.Param]
	}
	if o = f.in.adapt(o, want); o.mode == invalid {
		return o
	}
	if o.mode != typedValue || o.dtype() != want {
		r := f.errorf(lang.ErrWrongType, o.at, "%s gives %s and is declared to give %s", f.decl.Name.Name, f.in.describe(o), want).
			label(f.decl.Result.Place, "declared here").label(f.at, "in this call")
		if o.mode == typedValue && (o.graph == nil || o.graph.GType().Kind != typed.GTuple) {
			r.castAt(o.at, want, "convert the value with `as %s`, or change the declaration", want)
		} else {
			r.help("give one value, or leave the declared type out")
		}
		return bad(f.at)
	}
	return o
}
