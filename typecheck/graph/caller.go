package graph

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// This file is what a graph is to the calls in its body: see rules.Caller.

// Errorf reports an error; inside a fn, with where it was called.
func (g *graphChecker) Errorf(code lang.Code, at lang.Span, format string, args ...any) report.Draft {
	return rules.LabelCalls(g.Log.Errorf(code, at, format, args...), g.Frames)
}

// Names are those that a call can use.
func (g *graphChecker) Names() *rules.Scope { return g.scope }

// Kind is what a body is of.
func (g *graphChecker) Kind() string { return "graph" }

// Callable says what can be called.
func (g *graphChecker) Callable() string { return "the name of a kernel, a graph or a function" }

// Operand types an expression.
func (g *graphChecker) Operand(e lang.Expr) rules.Operand { return g.expr(e) }

// Value types an expression that must give a value.
func (g *graphChecker) Value(e lang.Expr) rules.Operand {
	o := g.expr(e)
	if o.Mode == rules.NoValue {
		g.Errorf(lang.ErrValueCount, e.Span(), "this gives no value")
		return rules.Bad(e.Span())
	}
	return o
}

// Constant types an expression of which a constant is needed.
func (g *graphChecker) Constant(e lang.Expr) rules.Operand {
	return g.scalar(e, "a constant parameter")
}

// Adapt gives an untyped operand an element type.
func (g *graphChecker) Adapt(o rules.Operand, d typed.DType) rules.Operand {
	if o.Mode == rules.List {
		return g.listAs(o, d)
	}
	return g.toScalar(o, d)
}

// Literal is a constant of its type.
func (g *graphChecker) Literal(l lang.Literal, at lang.Span) rules.Operand { return g.literal(l, at) }

// Describe names what an operand is.
func (g *graphChecker) Describe(o rules.Operand) string { return g.describe(o) }

// Unknown says why the bind of a graph does not know a value, and by which parameter.
func (g *graphChecker) Unknown(o rules.Operand) (why string, by lang.Span) {
	if p := g.runtimeScalar(o.Graph); p != nil {
		return "depends on " + p.Name + ", which is only known when the graph runs", p.At
	}
	return "", lang.Span{}
}

// Builtin types a call of a function of the language.
func (g *graphChecker) Builtin(name string, e *lang.CallExpr) rules.Operand {
	return g.callBuiltin(name, e)
}

// Invoke types a call of a kernel or a graph.
func (g *graphChecker) Invoke(ent *rules.Entity, e *lang.CallExpr) rules.Operand {
	if ent.Kind == rules.EntKernel {
		return g.callKernel(ent, e)
	}
	return g.callGraph(ent, e)
}

// FnArg types an argument of a fn: a tensor, a scalar or a list.
func (g *graphChecker) FnArg(d *lang.FnDecl, p *lang.Param, x lang.Expr) (rules.Argument, bool) {
	o := g.element(g.expr(x), x, d.Name.Name)
	if p.IsAxis {
		if o.Mode != rules.Invalid {
			g.Errorf(lang.ErrAxisAsValue, x.Span(), "%s takes an axis here, and a graph has none", d.Name.Name).LabelAt(p.Place, "declared here").
				Help("call it in a kernel, where axes have names, and call that")
		}
		return rules.Argument{}, false
	}
	return rules.Argument{Value: o, Bind: func(o rules.Operand) { g.bindArg(p.Name, o) }}, o.Mode != rules.Invalid
}

// LambdaArg types an argument of a lambda.
func (g *graphChecker) LambdaArg(ent *rules.Entity, p lang.Pattern, x lang.Expr) (rules.Argument, bool) {
	if p.Tuple || len(p.Names) != 1 {
		g.Errorf(lang.ErrValueCount, p.Place, "a lambda of tuples is for `reduce` and `scan`, in kernels").Help("name each value")
		return rules.Argument{}, false
	}
	o := g.element(g.expr(x), x, ent.Name)
	return rules.Argument{Value: o, Bind: func(o rules.Operand) { g.bindArg(p.Names[0], o) }}, o.Mode != rules.Invalid
}

// bindArg gives the parameter of an inlined call its value.
func (g *graphChecker) bindArg(name lang.Ident, o rules.Operand) {
	if o.Mode == rules.List {
		o = g.settled(o)
	}
	g.scope.Names[name.Name] = &rules.Entity{Kind: rules.EntGraphValue, Name: name.Name, At: name.Place, Value: g.once(o, name)}
}

// Inside types what a call is inlined to.
func (g *graphChecker) Inside(s *rules.Scope, at lang.Span, body func() rules.Operand, finish func(rules.Operand) rules.Operand) rules.Operand {
	outer := g.scope
	g.scope = s
	o := body()
	g.scope = outer
	if o = finish(o); o.Mode == rules.Invalid {
		return rules.Bad(at)
	}
	o.At = at
	return o
}

// FnBody types the body of a fn in the scope of its parameters.
func (g *graphChecker) FnBody(body lang.Expr) rules.Operand { return g.expr(body) }
