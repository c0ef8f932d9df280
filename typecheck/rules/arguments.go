package rules

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file matches the arguments of a call with the parameters of what it calls: by position and by name, constants,
// and what element types stand for. It is one for fns, kernels and graphs, called in kernels and in graphs.

// Call is the matching of one call's arguments with the parameters of what it calls.
type Call struct {
	*Checker
	In   Caller
	Expr *lang.CallExpr
	To   *Callee
	// Exprs has the argument for each parameter, nil where there is none; extra are those that are too many.
	Exprs, extra []lang.Expr
	// Args are the arguments typed; an invalid one is no value, or in error.
	Args []Operand
	// Consts are the values of the constant parameters, defaults included; given tells those that the call names.
	Consts map[string]Operand
	Given  map[string]bool
	// Types is what element types stand for, and from the argument that told it.
	Types map[*typed.TypeParam]typed.DType
	from  map[*typed.TypeParam]lang.Span
}

// NewCall begins a call of a callee, whose arguments are not typed yet.
func (c *Checker) NewCall(in Caller, e *lang.CallExpr, to *Callee) *Call {
	return &Call{Checker: c, In: in, Expr: e, To: to,
		Exprs: make([]lang.Expr, len(to.Params)), Args: make([]Operand, len(to.Params)),
		Consts: map[string]Operand{}, Given: map[string]bool{},
		Types: map[*typed.TypeParam]typed.DType{}, from: map[*typed.TypeParam]lang.Span{}}
}

// Match gives each parameter its argument and each constant its value.
func (k *Call) Match() bool {
	ok := true
	positional := 0
	for _, a := range k.Expr.Args {
		switch {
		case a.Name != nil:
			ok = k.named(a) && ok
		case positional < len(k.Exprs):
			ok = k.place(positional, a) && ok
			positional++
		default:
			k.extra = append(k.extra, a.Value)
		}
	}
	if len(k.extra) > 0 {
		k.In.Errorf(lang.ErrArgCount, k.Expr.Place, "%s takes %s, not %d", k.To.Name, report.Plural(len(k.Exprs), "argument"), positional+len(k.extra)).
			LabelAt(k.To.At, "declared here").LabelAt(k.extra[0].Span(), "one too many")
		ok = false
	}
	var missing []string
	for i, p := range k.To.Params {
		if k.Exprs[i] == nil && !p.Optional {
			missing = append(missing, p.Name)
		}
	}
	if len(missing) > 0 && ok {
		k.In.Errorf(lang.ErrArgCount, k.Expr.Place, "the call of %s lacks %s", k.To.Name, strings.Join(missing, ", ")).LabelAt(k.To.At, "declared here")
		ok = false
	}
	return k.defaults(ok)
}

// place gives parameter i its argument.
func (k *Call) place(i int, a lang.Arg) bool {
	if first := k.Exprs[i]; first != nil {
		at := a.Value.Span()
		if a.Name != nil {
			at = a.Name.Place
		}
		k.In.Errorf(lang.ErrArgName, at, "the argument %s is given twice", k.To.Params[i].Name).LabelAt(first.Span(), "first given here")
		return false
	}
	k.Exprs[i] = a.Value
	return true
}

// named gives the parameter of a name its argument: a value, a constant or an element type.
func (k *Call) named(a lang.Arg) bool {
	name := a.Name.Name
	what := "constant parameter"
	var names []string
	if k.To.ByName {
		what = "parameter"
		for i, p := range k.To.Params {
			if p.Name == name {
				return k.place(i, a)
			}
			names = append(names, p.Name)
		}
	}
	for _, c := range k.To.Consts {
		if c.name == name {
			return k.constant(c, a)
		}
		names = append(names, c.name)
	}
	if k.To.ByName {
		for _, p := range k.To.Types {
			if p.Name == name {
				return k.typeArg(p, a)
			}
			names = append(names, p.Name)
		}
	}
	k.In.Errorf(lang.ErrArgName, a.Name.Place, "%s has no %s %s", k.To.Name, what, name).LabelAt(k.To.At, "declared here").Suggest(a.Name.Place, name, names)
	if k.isValue(k.In.Names(), a.Value) { // a type where no parameter is needs no error of its own
		k.In.Operand(a.Value)
	}
	return false
}

// typeArg binds an element type by name.
func (k *Call) typeArg(p *typed.TypeParam, a lang.Arg) bool {
	if at, twice := k.from[p]; twice {
		k.In.Errorf(lang.ErrArgName, a.Name.Place, "the type parameter %s is given twice", p.Name).LabelAt(at, "first given here")
		return false
	}
	n, ok := a.Value.(*lang.NameExpr)
	if !ok {
		k.In.Errorf(lang.ErrUnknownType, a.Value.Span(), "%s is a type parameter: give an element type, as in `%s = bf16`", p.Name, p.Name).LabelAt(p.At, "declared here")
		return false
	}
	d, ok := k.DTypeNamed(k.In.Names(), n.Name, n.Place)
	return ok && k.BindType(typed.DType{Param: p}, Elements{d, "is"}, Parameter{Name: p.Name, At: p.At}, n.Place, nil)
}

// constant evaluates a constant parameter.
func (k *Call) constant(c Constant, a lang.Arg) bool {
	at := a.Value.Span()
	if k.Given[c.name] {
		k.In.Errorf(lang.ErrArgName, a.Name.Place, "the constant parameter %s is given twice", c.name)
		return false
	}
	o := k.In.Constant(a.Value)
	want := typed.Concrete(c.DType)
	if o.IsUntyped() && c.DType != lang.I32 {
		o = k.In.Adapt(o, want)
	}
	switch {
	case o.Mode == Invalid:
		return false
	case c.isSize && o.Mode != UntypedInt:
		r := k.In.Errorf(lang.ErrConstParam, at, "the constant parameter %s is an int, and %s is no integer over dimensions and constants", c.name, k.In.Describe(o))
		WholeHelp(r.LabelAt(c.at, "declared here"), o)
		if q, ok := a.Value.(*lang.BinaryExpr); ok && q.Op == "/" && o.Mode == TypedValue {
			r.Replace(at, "("+q.X.Span().Text()+" // "+q.Y.Span().Text()+")", "what is divided may be negative, and `//` rounds down whatever its sign")
		}
		return false
	case o.Mode == UntypedFloat, o.Mode == TypedValue && o.DType() != want:
		r := k.In.Errorf(lang.ErrConstParam, at, "the constant parameter %s is %s, not %s", c.name, want, k.In.Describe(o))
		WholeHelp(r.LabelAt(c.at, "declared here"), o)
		return false
	case o.Mode == UntypedInt:
		o.dim = true // inside, an int and no literal
	case o.Mode != TypedValue:
		k.In.Errorf(lang.ErrNotConstant, at, "the constant parameter %s needs a constant", c.name)
		return false
	default:
		if why, by := k.In.Unknown(o); why != "" {
			k.In.Errorf(lang.ErrNotConstant, at, "the constant parameter %s %s", c.name, why).LabelAt(by, "a scalar parameter")
			return false
		}
	}
	k.Consts[c.name], k.Given[c.name] = o, true
	return true
}

// defaults gives the constant parameters that the call does not name their defaults. Where an argument is wrong, it may be
// the one that was meant for a constant.
func (k *Call) defaults(ok bool) bool {
	matched := ok
	for _, c := range k.To.Consts {
		if k.Given[c.name] {
			continue
		}
		if c.standard != nil {
			lit, known := c.standard()
			switch {
			case !known:
				ok = false
			case lit.DType == lang.I32: // adapts to its context, as a dimension does
				k.Consts[c.name] = SizeOperand(c.at, size.Const(lit.Int))
			default:
				k.Consts[c.name] = k.In.Literal(*lit, c.at)
			}
			continue
		}
		if matched {
			r := k.In.Errorf(lang.ErrConstParam, k.Expr.Place, "the constant parameter %s of %s has no value", c.name, k.To.Name).LabelAt(c.at, "declared without a default")
			if c.dimensionOf != "" {
				r.Help("leave out `const %s: int`: without it, %s is a dimension of %s, whose size the argument tells", c.name, c.name, c.dimensionOf)
			} else {
				r.Help("pass it by name: `%s(..., %s = ...)`", k.To.Name, c.name)
			}
		}
		ok = false
	}
	return ok
}

// Settle gives the arguments the types of their parameters, and element types what they stand for: first by tensors,
// then by other values that have a type, so that constants adapt to them.
func (k *Call) Settle(ok bool) bool {
	for rank := range rankUntyped + 1 {
		for i, o := range k.Args {
			if o.Mode != Invalid && o.Mode != NoValue && rankOf(o) == rank {
				k.Args[i] = k.fit(i)
				ok = ok && k.Args[i].Mode != Invalid
			}
		}
	}
	for _, p := range k.To.Types {
		if _, bound := k.Types[p]; bound || !ok {
			continue
		}
		r := k.In.Errorf(lang.ErrTypeParam, k.Expr.Place, "nothing tells what %s of %s stands for in this call", p.Name, k.To.Name).LabelAt(p.At, "declared here")
		if ok = false; k.To.ByName {
			r.Help("give it by name: `%s = bf16`", p.Name)
		} else {
			r.Help("give a parameter the type %s", p.Name)
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

func rankOf(o Operand) int {
	switch {
	case o.IsUntyped(), o.Mode == List:
		return rankUntyped
	case o.Graph != nil && o.Graph.GType().Kind != typed.GScalar:
		return rankTensor
	}
	return rankValue
}

// fit checks an argument against the declared type of its parameter.
func (k *Call) fit(i int) Operand {
	p, o := k.To.Params[i], k.Args[i]
	if p.Fit != nil {
		if !p.Fit(k, o) {
			return Bad(o.At)
		}
		return o
	}
	if p.DType == (typed.DType{}) {
		return o
	}
	d := p.DType
	if of := p.DType.Param; of != nil {
		var bound bool
		if d, bound = k.Types[of]; !bound {
			d = k.constantType(of)
		}
	}
	o = k.In.Adapt(o, d)
	x := k.Exprs[i]
	if p.Written {
		x = nil
	}
	if o.Mode != TypedValue || !k.BindType(p.DType, elementsOf(o), p, k.Exprs[i].Span(), x) {
		return Bad(o.At)
	}
	return o
}

// Elements is the element type of an argument, as messages say it.
type Elements struct {
	DType typed.DType
	Verb  string // "is" or "has elements of"
}

func elementsOf(o Operand) Elements {
	if o.Graph != nil && o.Graph.GType().Kind != typed.GScalar || o.Graph == nil && len(o.Type().Axes) > 0 {
		return Elements{o.DType(), "has elements of"}
	}
	return Elements{o.DType(), "is"}
}

// BindType matches a declared element type with that of an argument. The argument is converted where that mends it, unless x is nil.
func (k *Call) BindType(want typed.DType, got Elements, p Parameter, at lang.Span, x lang.Expr) bool {
	if want.Param == nil {
		if want != got.DType {
			k.In.Errorf(lang.ErrWrongType, at, "the argument for %s of %s %s %s; %s is needed", p.Name, k.To.Name, got.Verb, got.DType, want).
				LabelAt(p.At, "declared here").CastFix(x, want)
		}
		return want == got.DType
	}
	if old, bound := k.Types[want.Param]; bound {
		if old != got.DType {
			k.In.Errorf(lang.ErrMixedTypes, at, "the argument for %s of %s %s %s, and %s is %s in this call", p.Name, k.To.Name, got.Verb, got.DType, want, old).
				LabelAt(k.from[want.Param], "%s is %s by this argument", want, old).CastFix(x, old)
		}
		return old == got.DType
	}
	k.Types[want.Param], k.from[want.Param] = got.DType, at // an error is said once for all arguments of the type
	if !boundAccepts(want.Param, got.DType) {
		k.In.Errorf(lang.ErrTypeParam, at, "the argument for %s of %s %s %s, which %s: %s does not accept", p.Name, k.To.Name, got.Verb, k.DescribeDType(got.DType), want, want.Param.Bound).
			LabelAt(want.Param.At, "declared here")
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
func (k *Call) constantType(p *typed.TypeParam) typed.DType {
	if p.Bound == "float" {
		return typed.Concrete(lang.F32)
	}
	for i, o := range k.Args {
		if k.To.Params[i].DType.Param != p {
			continue
		}
		switch {
		case o.Mode == UntypedFloat:
			return typed.Concrete(lang.F32)
		case o.Mode == List && o.List.Settled() != typed.Concrete(lang.I32):
			return o.List.Settled()
		}
	}
	return typed.Concrete(lang.I32)
}
