package typecheck

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file matches the arguments of a call with the parameters of what it calls: by position and by name, constants,
// and what element types stand for. It is one for fns, kernels and graphs, called in kernels and in graphs.

// call is the matching of one call's arguments with the parameters of what it calls.
type call struct {
	*checker
	in   caller
	expr *lang.CallExpr
	to   *callee
	// exprs has the argument for each parameter, nil where there is none; extra are those that are too many.
	exprs, extra []lang.Expr
	// args are the arguments typed; an invalid one is no value, or in error.
	args []operand
	// consts are the values of the constant parameters, defaults included; given tells those that the call names.
	consts map[string]operand
	given  map[string]bool
	// types is what element types stand for, and from the argument that told it.
	types map[*typed.TypeParam]typed.DType
	from  map[*typed.TypeParam]lang.Span
}

func (c *checker) newCall(in caller, e *lang.CallExpr, to *callee) *call {
	return &call{checker: c, in: in, expr: e, to: to,
		exprs: make([]lang.Expr, len(to.params)), args: make([]operand, len(to.params)),
		consts: map[string]operand{}, given: map[string]bool{},
		types: map[*typed.TypeParam]typed.DType{}, from: map[*typed.TypeParam]lang.Span{}}
}

// match gives each parameter its argument and each constant its value.
func (k *call) match() bool {
	ok := true
	positional := 0
	for _, a := range k.expr.Args {
		switch {
		case a.Name != nil:
			ok = k.named(a) && ok
		case positional < len(k.exprs):
			ok = k.place(positional, a) && ok
			positional++
		default:
			k.extra = append(k.extra, a.Value)
		}
	}
	if len(k.extra) > 0 {
		k.in.Errorf(lang.ErrArgCount, k.expr.Place, "%s takes %s, not %d", k.to.name, plural(len(k.exprs), "argument"), positional+len(k.extra)).
			label(k.to.at, "declared here").label(k.extra[0].Span(), "one too many")
		ok = false
	}
	var missing []string
	for i, p := range k.to.params {
		if k.exprs[i] == nil && !p.optional {
			missing = append(missing, p.name)
		}
	}
	if len(missing) > 0 && ok {
		k.in.Errorf(lang.ErrArgCount, k.expr.Place, "the call of %s lacks %s", k.to.name, strings.Join(missing, ", ")).label(k.to.at, "declared here")
		ok = false
	}
	return k.defaults(ok)
}

// place gives parameter i its argument.
func (k *call) place(i int, a lang.Arg) bool {
	if first := k.exprs[i]; first != nil {
		at := a.Value.Span()
		if a.Name != nil {
			at = a.Name.Place
		}
		k.in.Errorf(lang.ErrArgName, at, "the argument %s is given twice", k.to.params[i].name).label(first.Span(), "first given here")
		return false
	}
	k.exprs[i] = a.Value
	return true
}

// named gives the parameter of a name its argument: a value, a constant or an element type.
func (k *call) named(a lang.Arg) bool {
	name := a.Name.Name
	what := "constant parameter"
	var names []string
	if k.to.byName {
		what = "parameter"
		for i, p := range k.to.params {
			if p.name == name {
				return k.place(i, a)
			}
			names = append(names, p.name)
		}
	}
	for _, c := range k.to.consts {
		if c.name == name {
			return k.constant(c, a)
		}
		names = append(names, c.name)
	}
	if k.to.byName {
		for _, p := range k.to.types {
			if p.Name == name {
				return k.typeArg(p, a)
			}
			names = append(names, p.Name)
		}
	}
	k.in.Errorf(lang.ErrArgName, a.Name.Place, "%s has no %s %s", k.to.name, what, name).label(k.to.at, "declared here").suggest(a.Name.Place, name, names)
	if k.isValue(k.in.Names(), a.Value) { // a type where no parameter is needs no error of its own
		k.in.Operand(a.Value)
	}
	return false
}

// typeArg binds an element type by name.
func (k *call) typeArg(p *typed.TypeParam, a lang.Arg) bool {
	if at, twice := k.from[p]; twice {
		k.in.Errorf(lang.ErrArgName, a.Name.Place, "the type parameter %s is given twice", p.Name).label(at, "first given here")
		return false
	}
	n, ok := a.Value.(*lang.NameExpr)
	if !ok {
		k.in.Errorf(lang.ErrUnknownType, a.Value.Span(), "%s is a type parameter: give an element type, as in `%s = bf16`", p.Name, p.Name).label(p.At, "declared here")
		return false
	}
	d, ok := k.dtypeNamed(k.in.Names(), n.Name, n.Place)
	return ok && k.bindType(typed.DType{Param: p}, elements{d, "is"}, parameter{name: p.Name, at: p.At}, n.Place, nil)
}

// constant evaluates a constant parameter.
func (k *call) constant(c constant, a lang.Arg) bool {
	at := a.Value.Span()
	if k.given[c.name] {
		k.in.Errorf(lang.ErrArgName, a.Name.Place, "the constant parameter %s is given twice", c.name)
		return false
	}
	o := k.in.Constant(a.Value)
	want := typed.Concrete(c.dtype)
	if o.isUntyped() && c.dtype != lang.I32 {
		o = k.in.Adapt(o, want)
	}
	switch {
	case o.mode == invalid:
		return false
	case c.isSize && o.mode != untypedInt:
		r := k.in.Errorf(lang.ErrConstParam, at, "the constant parameter %s is an int, and %s is no integer over dimensions and constants", c.name, k.in.Describe(o))
		wholeHelp(r.label(c.at, "declared here"), o)
		return false
	case o.mode == untypedFloat, o.mode == typedValue && o.dtype() != want:
		r := k.in.Errorf(lang.ErrConstParam, at, "the constant parameter %s is %s, not %s", c.name, want, k.in.Describe(o))
		wholeHelp(r.label(c.at, "declared here"), o)
		return false
	case o.mode == untypedInt:
		o.dim = true // inside, an int and no literal
	case o.mode != typedValue:
		k.in.Errorf(lang.ErrNotConstant, at, "the constant parameter %s needs a constant", c.name)
		return false
	default:
		if why, by := k.in.Unknown(o); why != "" {
			k.in.Errorf(lang.ErrNotConstant, at, "the constant parameter %s %s", c.name, why).label(by, "a scalar parameter")
			return false
		}
	}
	k.consts[c.name], k.given[c.name] = o, true
	return true
}

// defaults gives the constant parameters that the call does not name their defaults. Where an argument is wrong, it may be
// the one that was meant for a constant.
func (k *call) defaults(ok bool) bool {
	matched := ok
	for _, c := range k.to.consts {
		if k.given[c.name] {
			continue
		}
		if c.standard != nil {
			lit, known := c.standard()
			switch {
			case !known:
				ok = false
			case lit.DType == lang.I32: // adapts to its context, as a dimension does
				k.consts[c.name] = sizeOperand(c.at, size.Const(lit.Int))
			default:
				k.consts[c.name] = k.in.Literal(*lit, c.at)
			}
			continue
		}
		if matched {
			r := k.in.Errorf(lang.ErrConstParam, k.expr.Place, "the constant parameter %s of %s has no value", c.name, k.to.name).label(c.at, "declared without a default")
			if c.dimensionOf != "" {
				r.help("leave out `const %s: int`: without it, %s is a dimension of %s, whose size the argument tells", c.name, c.name, c.dimensionOf)
			} else {
				r.help("pass it by name: `%s(..., %s = ...)`", k.to.name, c.name)
			}
		}
		ok = false
	}
	return ok
}

// settle gives the arguments the types of their parameters, and element types what they stand for: first by tensors,
// then by other values that have a type, so that constants adapt to them.
func (k *call) settle(ok bool) bool {
	for rank := range rankUntyped + 1 {
		for i, o := range k.args {
			if o.mode != invalid && o.mode != noValue && rankOf(o) == rank {
				k.args[i] = k.fit(i)
				ok = ok && k.args[i].mode != invalid
			}
		}
	}
	for _, p := range k.to.types {
		if _, bound := k.types[p]; bound || !ok {
			continue
		}
		r := k.in.Errorf(lang.ErrTypeParam, k.expr.Place, "nothing tells what %s of %s stands for in this call", p.Name, k.to.name).label(p.At, "declared here")
		if ok = false; k.to.byName {
			r.help("give it by name: `%s = bf16`", p.Name)
		} else {
			r.help("give a parameter the type %s", p.Name)
		}
	}
	return ok
}

// The order in which arguments tell what element types stand for.
const (
	rankTensor = iota
	rankValue
	rankUntyped
)

func rankOf(o operand) int {
	switch {
	case o.isUntyped(), o.mode == list:
		return rankUntyped
	case o.graph != nil && o.graph.GType().Kind != typed.GScalar:
		return rankTensor
	}
	return rankValue
}

// fit checks an argument against the declared type of its parameter.
func (k *call) fit(i int) operand {
	p, o := k.to.params[i], k.args[i]
	if p.fit != nil {
		if !p.fit(k, o) {
			return bad(o.at)
		}
		return o
	}
	if p.dtype == (typed.DType{}) {
		return o
	}
	d := p.dtype
	if of := p.dtype.Param; of != nil {
		var bound bool
		if d, bound = k.types[of]; !bound {
			d = k.constantType(of)
		}
	}
	o = k.in.Adapt(o, d)
	x := k.exprs[i]
	if p.written {
		x = nil
	}
	if o.mode != typedValue || !k.bindType(p.dtype, elementsOf(o), p, k.exprs[i].Span(), x) {
		return bad(o.at)
	}
	return o
}

// elements is the element type of an argument, as messages say it.
type elements struct {
	dtype typed.DType
	verb  string // "is" or "has elements of"
}

func elementsOf(o operand) elements {
	if o.graph != nil && o.graph.GType().Kind != typed.GScalar || o.graph == nil && len(o.typ().Axes) > 0 {
		return elements{o.dtype(), "has elements of"}
	}
	return elements{o.dtype(), "is"}
}

// bindType matches a declared element type with that of an argument. The argument is converted where that mends it, unless x is nil.
func (k *call) bindType(want typed.DType, got elements, p parameter, at lang.Span, x lang.Expr) bool {
	if want.Param == nil {
		if want != got.dtype {
			k.in.Errorf(lang.ErrWrongType, at, "the argument for %s of %s %s %s; %s is needed", p.name, k.to.name, got.verb, got.dtype, want).
				label(p.at, "declared here").castFix(x, want)
		}
		return want == got.dtype
	}
	if old, bound := k.types[want.Param]; bound {
		if old != got.dtype {
			k.in.Errorf(lang.ErrMixedTypes, at, "the argument for %s of %s %s %s, and %s is %s in this call", p.name, k.to.name, got.verb, got.dtype, want, old).
				label(k.from[want.Param], "%s is %s by this argument", want, old).castFix(x, old)
		}
		return old == got.dtype
	}
	k.types[want.Param], k.from[want.Param] = got.dtype, at // an error is said once for all arguments of the type
	if !boundAccepts(want.Param, got.dtype) {
		k.in.Errorf(lang.ErrTypeParam, at, "the argument for %s of %s %s %s, which %s: %s does not accept", p.name, k.to.name, got.verb, k.describeDType(got.dtype), want, want.Param.Bound).
			label(want.Param.At, "declared here")
		return false
	}
	return true
}

// boundAccepts reports whether every type that d may be is one that p may stand for.
func boundAccepts(p *typed.TypeParam, d typed.DType) bool {
	if d.Param == nil {
		return p.Accepts(d.Of)
	}
	return p.Bound == "any" || p.Bound == d.Param.Bound
}

// constantType is the element type of constants that are the only arguments for p:
// f32 where p is a float or one of them is, else i32.
func (k *call) constantType(p *typed.TypeParam) typed.DType {
	if p.Bound == "float" {
		return typed.Concrete(lang.F32)
	}
	for i, o := range k.args {
		if k.to.params[i].dtype.Param != p {
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
