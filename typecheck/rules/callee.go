package rules

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file says what a call names, and what may be called: the same in the bodies of kernels and in graphs.

// Caller is where a call stands: the body of a kernel, which has tiles, or a graph, which has whole tensors.
type Caller interface {
	Errorf(code lang.Code, at lang.Span, format string, args ...any) report.Draft
	// Names are those that the call can use.
	Names() *Scope
	// Inlining is the calls that we are inside of.
	Inlining() *Unfolding
	// Kind is "kernel" or "graph".
	Kind() string
	// Callable says what can be called.
	Callable() string

	// Operand types an expression, and Value one that must give one value.
	Operand(e lang.Expr) Operand
	Value(e lang.Expr) Operand
	// Constant types an expression that must give a scalar or an untyped constant.
	Constant(e lang.Expr) Operand
	// Adapt gives an untyped operand an element type.
	Adapt(o Operand, d typed.DType) Operand
	// Literal is a constant of its type.
	Literal(l lang.Literal, at lang.Span) Operand
	// Describe names what an operand is, for messages.
	Describe(o Operand) string
	// Unknown says why neither a specialisation nor the bind of a graph knows a value; the parameter that it depends on may be
	// told. It is "" where they know.
	Unknown(o Operand) (why string, by lang.Span)

	// Builtin types a call of a function of the language.
	Builtin(name string, e *lang.CallExpr) Operand
	// Invoke types a call of a kernel or a graph.
	Invoke(callee *Entity, e *lang.CallExpr) Operand
	// FnArg types an argument of a fn that is no function, and LambdaArg one of a lambda.
	FnArg(d *lang.FnDecl, p *lang.Param, x lang.Expr) (Argument, bool)
	LambdaArg(callee *Entity, p lang.Pattern, x lang.Expr) (Argument, bool)
	// Inside types what a call is inlined to, in a scope of its own, and finishes what it gives.
	Inside(s *Scope, at lang.Span, body func() Operand, finish func(Operand) Operand) Operand
	// FnBody types the body of a fn, in the scope of its parameters.
	FnBody(body lang.Expr) Operand
}

// Call types a call, by what is called.
func (c *Checker) Call(in Caller, e *lang.CallExpr) Operand {
	n, ok := e.Fn.(*lang.NameExpr)
	if !ok {
		r := in.Errorf(lang.ErrNameKind, e.Fn.Span(), "only %s can be called", in.Callable())
		if f, isField := e.Fn.(*lang.FieldExpr); isField {
			c.notMethod(r, in.Names(), in.Kind() == "graph", f)
		}
		return Bad(e.Place)
	}
	ent := in.Names().Lookup(n.Name)
	if ent == nil {
		return in.Builtin(n.Name, e)
	}
	switch ent.Kind {
	case EntInvalid:
		c.ArgumentsOf(in, e)
	case EntFn:
		return c.callFn(in, ent, e)
	case EntLambda:
		return c.callLambda(in, ent, e)
	case entBuiltin:
		named := *e
		named.Fn = &lang.NameExpr{At: n.At, Name: ent.builtin}
		return in.Builtin(ent.builtin, &named)
	case EntKernel, EntGraph:
		return in.Invoke(ent, e)
	default:
		in.Errorf(lang.ErrNameKind, n.Place, "%s is %s, not a function", n.Name, ent.Describe()).LabelAt(ent.At, "declared here")
	}
	return Bad(e.Place)
}

// ArgumentsOf types the arguments of a call that means nothing: errors inside them are no consequence of that.
func (c *Checker) ArgumentsOf(in Caller, e *lang.CallExpr) {
	for _, a := range e.Args {
		if c.isValue(in.Names(), a.Value) {
			in.Operand(a.Value)
		}
	}
}

// AllByPosition refuses named arguments, of a function that has none.
func (c *Checker) AllByPosition(in Caller, e *lang.CallExpr) bool {
	for _, a := range e.Args {
		if a.Name != nil {
			c.unknownArgument(e, a, in.Kind() == "graph")
			return false
		}
	}
	return true
}

// Callee is a fn, a kernel or a graph, as its calls see it.
type Callee struct {
	Name   string
	At     lang.Span // where it is declared
	Params []Parameter
	Consts []Constant
	Types  []*typed.TypeParam
	// ByName: parameters and element types may be given by name. Of a fn, only constants may.
	ByName bool
}

// Parameter is one that takes a value.
type Parameter struct {
	Name     string
	At       lang.Span
	Optional bool
	// DType is the declared element type; the zero DType where there is none, or where the type has several.
	DType typed.DType
	// Written: the callee writes its argument, so that a converted copy is none.
	Written bool
	// Fit types an argument whose type has several element types, such as a struct; nil for others.
	Fit func(*Call, Operand) bool
}

// Constant is a parameter that is known before anything runs.
type Constant struct {
	name  string
	DType lang.DType
	at    lang.Span
	// isSize: an int must be a size, which shapes are made of.
	isSize bool
	// standard evaluates the default; nil where there is none.
	standard func() (*lang.Literal, bool)
	// dimensionOf is the parameter that has the constant as a dimension by itself; "" where none has.
	dimensionOf string
}

// ConstantsOf are the constant parameters of a kernel or a graph, whose parameters have these names and shapes.
func ConstantsOf(symbols []*size.Symbol, params []Parameter, shapes [][]size.Size) []Constant {
	var all []Constant
	for _, s := range symbols {
		c := Constant{name: s.Name, DType: s.DType, at: s.At, isSize: s.DType == lang.I32}
		if s.Default != nil {
			c.standard = func() (*lang.Literal, bool) { return s.Default, true }
		}
		for i, shape := range shapes {
			for _, n := range shape {
				if n.Symbol() == s && c.dimensionOf == "" {
					c.dimensionOf = params[i].Name
				}
			}
		}
		all = append(all, c)
	}
	return all
}
