package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file says what a call names, and what may be called: the same in the bodies of kernels and in graphs.

// caller is where a call stands: the body of a kernel, which has tiles, or a graph, which has whole tensors.
type caller interface {
	Errorf(code lang.Code, at lang.Span, format string, args ...any) report
	// Names are those that the call can use.
	Names() *scope
	// Inlining is the calls that we are inside of.
	Inlining() *inlining
	// Kind is "kernel" or "graph".
	Kind() string
	// Callable says what can be called.
	Callable() string

	// Operand types an expression, and Value one that must give one value.
	Operand(e lang.Expr) operand
	Value(e lang.Expr) operand
	// Constant types an expression that must give a scalar or an untyped constant.
	Constant(e lang.Expr) operand
	// Adapt gives an untyped operand an element type.
	Adapt(o operand, d typed.DType) operand
	// Literal is a constant of its type.
	Literal(l lang.Literal, at lang.Span) operand
	// Describe names what an operand is, for messages.
	Describe(o operand) string
	// Unknown says why neither a specialisation nor the bind of a graph knows a value; the parameter that it depends on may be
	// told. It is "" where they know.
	Unknown(o operand) (why string, by lang.Span)

	// Builtin types a call of a function of the language.
	Builtin(name string, e *lang.CallExpr) operand
	// Invoke types a call of a kernel or a graph.
	Invoke(callee *entity, e *lang.CallExpr) operand
	// FnArg types an argument of a fn that is no function, and LambdaArg one of a lambda.
	FnArg(d *lang.FnDecl, p *lang.Param, x lang.Expr) (argument, bool)
	LambdaArg(callee *entity, p lang.Pattern, x lang.Expr) (argument, bool)
	// Inside types what a call is inlined to, in a scope of its own, and finishes what it gives.
	Inside(s *scope, at lang.Span, body func() operand, finish func(operand) operand) operand
	// FnBody types the body of a fn, in the scope of its parameters.
	FnBody(body lang.Expr) operand
}

// call types a call, by what is called.
func (c *checker) call(in caller, e *lang.CallExpr) operand {
	n, ok := e.Fn.(*lang.NameExpr)
	if !ok {
		r := in.Errorf(lang.ErrNameKind, e.Fn.Span(), "only %s can be called", in.Callable())
		if f, isField := e.Fn.(*lang.FieldExpr); isField {
			c.notMethod(r, in.Names(), in.Kind() == "graph", f)
		}
		return bad(e.Place)
	}
	ent := in.Names().lookup(n.Name)
	if ent == nil {
		return in.Builtin(n.Name, e)
	}
	switch ent.kind {
	case entInvalid:
		c.argumentsOf(in, e)
	case entFn:
		return c.callFn(in, ent, e)
	case entLambda:
		return c.callLambda(in, ent, e)
	case entBuiltin:
		named := *e
		named.Fn = &lang.NameExpr{At: n.At, Name: ent.builtin}
		return in.Builtin(ent.builtin, &named)
	case entKernel, entGraph:
		return in.Invoke(ent, e)
	default:
		in.Errorf(lang.ErrNameKind, n.Place, "%s is %s, not a function", n.Name, ent.describe()).label(ent.at, "declared here")
	}
	return bad(e.Place)
}

// argumentsOf types the arguments of a call that means nothing: errors inside them are no consequence of that.
func (c *checker) argumentsOf(in caller, e *lang.CallExpr) {
	for _, a := range e.Args {
		if c.isValue(in.Names(), a.Value) {
			in.Operand(a.Value)
		}
	}
}

// allByPosition refuses named arguments, of a function that has none.
func (c *checker) allByPosition(in caller, e *lang.CallExpr) bool {
	for _, a := range e.Args {
		if a.Name != nil {
			c.unknownArgument(e, a, in.Kind() == "graph")
			return false
		}
	}
	return true
}

// callee is a fn, a kernel or a graph, as its calls see it.
type callee struct {
	name   string
	at     lang.Span // where it is declared
	params []parameter
	consts []constant
	types  []*typed.TypeParam
	// byName: parameters and element types may be given by name. Of a fn, only constants may.
	byName bool
}

// parameter is one that takes a value.
type parameter struct {
	name     string
	at       lang.Span
	optional bool
	// dtype is the declared element type; the zero DType where there is none, or where the type has several.
	dtype typed.DType
	// written: the callee writes its argument, so that a converted copy is none.
	written bool
	// fit types an argument whose type has several element types, such as a struct; nil for others.
	fit func(*call, operand) bool
}

// constant is a parameter that is known before anything runs.
type constant struct {
	name  string
	dtype lang.DType
	at    lang.Span
	// isSize: an int must be a size, which shapes are made of.
	isSize bool
	// standard evaluates the default; nil where there is none.
	standard func() (*lang.Literal, bool)
	// dimensionOf is the parameter that has the constant as a dimension by itself; "" where none has.
	dimensionOf string
}

// constantsOf are the constant parameters of a kernel or a graph, whose parameters have these names and shapes.
func constantsOf(symbols []*size.Symbol, params []parameter, shapes [][]size.Size) []constant {
	var all []constant
	for _, s := range symbols {
		c := constant{name: s.Name, dtype: s.DType, at: s.At, isSize: s.DType == lang.I32}
		if s.Default != nil {
			c.standard = func() (*lang.Literal, bool) { return s.Default, true }
		}
		for i, shape := range shapes {
			for _, n := range shape {
				if n.Symbol() == s && c.dimensionOf == "" {
					c.dimensionOf = params[i].name
				}
			}
		}
		all = append(all, c)
	}
	return all
}
