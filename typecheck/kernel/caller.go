package kernel

import (
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// This file is what a kernel is to the calls in its body: see rules.Caller.

// Names are those that a call can use.
func (b *bodyChecker) Names() *rules.Scope { return b.scope }

// Kind is what a body is of.
func (b *bodyChecker) Kind() string { return "kernel" }

// Callable says what can be called.
func (b *bodyChecker) Callable() string { return "a function's name" }

// Operand types an expression.
func (b *bodyChecker) Operand(e lang.Expr) rules.Operand { return b.expr(e) }

// Value types an expression that must give one value.
func (b *bodyChecker) Value(e lang.Expr) rules.Operand { return b.value(e) }

// Constant types an expression of which a constant is needed.
func (b *bodyChecker) Constant(e lang.Expr) rules.Operand { return b.value(e) }

// Adapt gives an untyped operand an element type.
func (b *bodyChecker) Adapt(o rules.Operand, d typed.DType) rules.Operand { return b.Convert(o, d) }

// Describe names what an operand is.
func (b *bodyChecker) Describe(o rules.Operand) string { return b.DescribeOperand(o) }

// Literal is a constant of its type.
func (b *bodyChecker) Literal(l lang.Literal, at lang.Span) rules.Operand {
	return rules.TypedOperand(&typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(l.DType)}, At: at}, Int: l.Int, Float: l.Float})
}

// Unknown says why a specialisation does not know a value.
func (b *bodyChecker) Unknown(o rules.Operand) (why string, by lang.Span) {
	if isStatic(o.Expr) {
		return "", lang.Span{}
	}
	return "needs a constant", lang.Span{}
}

// Builtin types a call of a function of the language.
func (b *bodyChecker) Builtin(name string, e *lang.CallExpr) rules.Operand {
	return b.callBuiltin(name, e)
}

// Invoke refuses a call of a kernel or a graph.
func (b *bodyChecker) Invoke(ent *rules.Entity, e *lang.CallExpr) rules.Operand {
	name := e.Fn.(*lang.NameExpr)
	b.Errorf(lang.ErrNameKind, name.Place, "%s is %s: a kernel calls only functions", name.Name, ent.Describe()).LabelAt(ent.At, "declared here").
		Help("call it from a graph, or make what they share a fn")
	return rules.Bad(e.Place)
}

// FnArg types an argument of a fn: an axis, a tensor or a value.
func (b *bodyChecker) FnArg(_ *lang.FnDecl, p *lang.Param, x lang.Expr) (rules.Argument, bool) {
	named := func(e *rules.Entity) rules.Argument {
		e.Name, e.At = p.Name.Name, p.Name.Place
		return rules.Argument{Bind: func(rules.Operand) { b.Declare(b.scope, e, true) }}
	}
	if p.IsAxis {
		if n, isName := x.(*lang.NameExpr); isName {
			if old := b.scope.Lookup(n.Name); old != nil && old.Kind == rules.EntAxis {
				return named(&rules.Entity{Kind: rules.EntAxis, Axis: old.Axis}), true
			}
		}
		b.axisArg(x)
		return rules.Argument{}, false
	}
	o := b.expr(x)
	if o.Mode == rules.TensorOperand {
		return named(&rules.Entity{Kind: rules.EntTensor, Param: o.Param}), true
	}
	o = b.single(o, "argument")
	return rules.Argument{Value: o, Bind: func(o rules.Operand) { b.bindArg(p.Name, o) }}, o.Mode != rules.Invalid
}

// LambdaArg types an argument of a lambda: a value, or several where the parameter has several names.
func (b *bodyChecker) LambdaArg(_ *rules.Entity, p lang.Pattern, x lang.Expr) (rules.Argument, bool) {
	if len(p.Names) == 1 && !p.Tuple {
		o := b.value(x)
		return rules.Argument{Value: o, Bind: func(o rules.Operand) { b.bindArg(p.Names[0], o) }}, o.Mode != rules.Invalid
	}
	o := b.expr(x)
	return rules.Argument{Value: o, Bind: func(o rules.Operand) { b.bindAll(p.Names, o, p.Place) }}, o.Mode != rules.Invalid
}

// bindArg binds an argument in the scope of what is called; what costs nothing to repeat is not bound again.
func (b *bodyChecker) bindArg(name lang.Ident, o rules.Operand) {
	switch o.Expr.(type) {
	case *typed.LocalRef, *typed.ScalarRef, *typed.Const, *typed.SizeExpr, *typed.ConstRef:
		b.Declare(b.scope, &rules.Entity{Kind: rules.EntValue, Name: name.Name, At: name.Place, Value: o}, true)
		return
	}
	b.bind(name, o, o.At)
}

// Inside types what a call is inlined to.
func (b *bodyChecker) Inside(s *rules.Scope, at lang.Span, body func() rules.Operand, finish func(rules.Operand) rules.Operand) rules.Operand {
	inIndex := b.inIndex
	b.inIndex = 0
	stmts, o := b.within(s, body)
	b.inIndex = inIndex
	if o.Mode == rules.AxisOperand || o.Mode == rules.TensorOperand {
		o = b.single(o, "result")
	}
	return b.asExpr(finish(o), stmts, at)
}

// FnBody types the body of a fn in the scope of its parameters.
func (b *bodyChecker) FnBody(body lang.Expr) rules.Operand {
	if blk, ok := body.(*lang.Block); ok {
		return b.stmtsOf(blk)
	}
	return b.expr(body)
}

// isStatic reports an expression that a specialisation decides.
func isStatic(x typed.Expr) bool {
	return typed.All(x, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.Const, *typed.ConstRef, *typed.SizeExpr:
			return true
		case *typed.Apply:
			return n.Op.Row().Elementwise
		}
		return false
	})
}

// asExpr is the value of an inlined call, with the statements that compute it.
func (b *bodyChecker) asExpr(o rules.Operand, stmts []typed.Stmt, at lang.Span) rules.Operand {
	if o.Mode == rules.Invalid {
		return rules.Bad(at)
	}
	o.At = at
	if len(stmts) == 0 && o.Mode != rules.Several {
		return o
	}
	xs := b.results(o, nil)
	if xs == nil {
		return rules.Bad(at)
	}
	return inline(stmts, o, xs, at)
}
