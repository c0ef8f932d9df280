package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file is what a graph is to the calls in its body: see caller.

// Errorf reports an error; inside a fn, with where it was called.
func (g *graphChecker) Errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	return labelCalls(g.log.Errorf(code, at, format, args...), g.frames)
}

// Names are those that a call can use.
func (g *graphChecker) Names() *scope { return g.scope }

// Kind is what a body is of.
func (g *graphChecker) Kind() string { return "graph" }

// Callable says what can be called.
func (g *graphChecker) Callable() string { return "the name of a kernel, a graph or a function" }

// Operand types an expression.
func (g *graphChecker) Operand(e lang.Expr) operand { return g.expr(e) }

// Value types an expression that must give a value.
func (g *graphChecker) Value(e lang.Expr) operand {
	o := g.expr(e)
	if o.mode == noValue {
		g.Errorf(lang.ErrValueCount, e.Span(), "this gives no value")
		return bad(e.Span())
	}
	return o
}

// Constant types an expression of which a constant is needed.
func (g *graphChecker) Constant(e lang.Expr) operand { return g.scalar(e, "a constant parameter") }

// Adapt gives an untyped operand an element type.
func (g *graphChecker) Adapt(o operand, d typed.DType) operand {
	if o.mode == list {
		return g.listAs(o, d)
	}
	return g.toScalar(o, d)
}

// Literal is a constant of its type.
func (g *graphChecker) Literal(l lang.Literal, at lang.Span) operand { return g.literal(l, at) }

// Describe names what an operand is.
func (g *graphChecker) Describe(o operand) string { return g.describe(o) }

// Unknown says why the bind of a graph does not know a value, and by which parameter.
func (g *graphChecker) Unknown(o operand) (why string, by lang.Span) {
	if p := g.runtimeScalar(o.graph); p != nil {
		return "depends on " + p.Name + ", which is only known when the graph runs", p.At
	}
	return "", lang.Span{}
}

// Builtin types a call of a function of the language.
func (g *graphChecker) Builtin(name string, e *lang.CallExpr) operand { return g.callBuiltin(name, e) }

// Invoke types a call of a kernel or a graph.
func (g *graphChecker) Invoke(ent *entity, e *lang.CallExpr) operand {
	if ent.kind == entKernel {
		return g.callKernel(ent, e)
	}
	return g.callGraph(ent, e)
}

// FnArg types an argument of a fn: a tensor, a scalar or a list.
func (g *graphChecker) FnArg(d *lang.FnDecl, p *lang.Param, x lang.Expr) (argument, bool) {
	o := g.element(g.expr(x), x, d.Name.Name)
	if p.IsAxis {
		if o.mode != invalid {
			g.Errorf(lang.ErrAxisAsValue, x.Span(), "%s takes an axis here, and a graph has none", d.Name.Name).label(p.Place, "declared here").
				help("call it in a kernel, where axes have names, and call that")
		}
		return argument{}, false
	}
	return argument{value: o, bind: func(o operand) { g.bindArg(p.Name, o) }}, o.mode != invalid
}

// LambdaArg types an argument of a lambda.
func (g *graphChecker) LambdaArg(ent *entity, p lang.Pattern, x lang.Expr) (argument, bool) {
	if p.Tuple || len(p.Names) != 1 {
		g.Errorf(lang.ErrValueCount, p.Place, "a lambda of tuples is for `reduce` and `scan`, in kernels").help("name each value")
		return argument{}, false
	}
	o := g.element(g.expr(x), x, ent.name)
	return argument{value: o, bind: func(o operand) { g.bindArg(p.Names[0], o) }}, o.mode != invalid
}

// bindArg gives the parameter of an inlined call its value.
func (g *graphChecker) bindArg(name lang.Ident, o operand) {
	if o.mode == list {
		o = g.settled(o)
	}
	g.scope.names[name.Name] = &entity{kind: entGraphValue, name: name.Name, at: name.Place, value: g.once(o, name)}
}

// Inside types what a call is inlined to.
func (g *graphChecker) Inside(s *scope, at lang.Span, body func() operand, finish func(operand) operand) operand {
	outer := g.scope
	g.scope = s
	o := body()
	g.scope = outer
	if o = finish(o); o.mode == invalid {
		return bad(at)
	}
	o.at = at
	return o
}

// FnBody types the body of a fn in the scope of its parameters.
func (g *graphChecker) FnBody(body lang.Expr) operand { return g.expr(body) }
