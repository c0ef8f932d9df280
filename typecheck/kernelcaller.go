package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file is what a kernel is to the calls in its body: see caller.

// Names are those that a call can use.
func (b *bodyChecker) Names() *scope { return b.scope }

// Kind is what a body is of.
func (b *bodyChecker) Kind() string { return "kernel" }

// Callable says what can be called.
func (b *bodyChecker) Callable() string { return "a function's name" }

// Operand types an expression.
func (b *bodyChecker) Operand(e lang.Expr) operand { return b.expr(e) }

// Value types an expression that must give one value.
func (b *bodyChecker) Value(e lang.Expr) operand { return b.value(e) }

// Constant types an expression of which a constant is needed.
func (b *bodyChecker) Constant(e lang.Expr) operand { return b.value(e) }

// Adapt gives an untyped operand an element type.
func (b *bodyChecker) Adapt(o operand, d typed.DType) operand { return b.convert(o, d) }

// Describe names what an operand is.
func (b *bodyChecker) Describe(o operand) string { return b.describeOperand(o) }

// Literal is a constant of its type.
func (b *bodyChecker) Literal(l lang.Literal, at lang.Span) operand {
	return typedOperand(&typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(l.DType)}, At: at}, Int: l.Int, Float: l.Float})
}

// Unknown says why a specialisation does not know a value.
func (b *bodyChecker) Unknown(o operand) (why string, by lang.Span) {
	if isStatic(o.expr) {
		return "", lang.Span{}
	}
	return "needs a constant", lang.Span{}
}

// Builtin types a call of a function of the language.
func (b *bodyChecker) Builtin(name string, e *lang.CallExpr) operand { return b.callBuiltin(name, e) }

// Invoke refuses a call of a kernel or a graph.
func (b *bodyChecker) Invoke(ent *entity, e *lang.CallExpr) operand {
	name := e.Fn.(*lang.NameExpr)
	b.Errorf(lang.ErrNameKind, name.Place, "%s is %s: a kernel calls only functions", name.Name, ent.describe()).label(ent.at, "declared here").
		help("call it from a graph, or make what they share a fn")
	return bad(e.Place)
}

// FnArg types an argument of a fn: an axis, a tensor or a value.
func (b *bodyChecker) FnArg(_ *lang.FnDecl, p *lang.Param, x lang.Expr) (argument, bool) {
	named := func(e *entity) argument {
		e.name, e.at = p.Name.Name, p.Name.Place
		return argument{bind: func(operand) { b.declare(b.scope, e, true) }}
	}
	if p.IsAxis {
		if n, isName := x.(*lang.NameExpr); isName {
			if old := b.scope.lookup(n.Name); old != nil && old.kind == entAxis {
				return named(&entity{kind: entAxis, axis: old.axis}), true
			}
		}
		b.axisArg(x)
		return argument{}, false
	}
	o := b.expr(x)
	if o.mode == tensorOperand {
		return named(&entity{kind: entTensor, param: o.param}), true
	}
	o = b.single(o, "argument")
	return argument{value: o, bind: func(o operand) { b.bindArg(p.Name, o) }}, o.mode != invalid
}

// LambdaArg types an argument of a lambda: a value, or several where the parameter has several names.
func (b *bodyChecker) LambdaArg(_ *entity, p lang.Pattern, x lang.Expr) (argument, bool) {
	if len(p.Names) == 1 && !p.Tuple {
		o := b.value(x)
		return argument{value: o, bind: func(o operand) { b.bindArg(p.Names[0], o) }}, o.mode != invalid
	}
	o := b.expr(x)
	return argument{value: o, bind: func(o operand) { b.bindAll(p.Names, o, p.Place) }}, o.mode != invalid
}

// bindArg binds an argument in the scope of what is called; what costs nothing to repeat is not bound again.
func (b *bodyChecker) bindArg(name lang.Ident, o operand) {
	switch o.expr.(type) {
	case *typed.LocalRef, *typed.ScalarRef, *typed.Const, *typed.SizeExpr, *typed.ConstRef:
		b.declare(b.scope, &entity{kind: entValue, name: name.Name, at: name.Place, value: o}, true)
		return
	}
	b.bind(name, o, o.at)
}

// Inside types what a call is inlined to.
func (b *bodyChecker) Inside(s *scope, at lang.Span, body func() operand, finish func(operand) operand) operand {
	inIndex := b.inIndex
	b.inIndex = 0
	stmts, o := b.within(s, body)
	b.inIndex = inIndex
	if o.mode == axisOperand || o.mode == tensorOperand {
		o = b.single(o, "result")
	}
	return b.asExpr(finish(o), stmts, at)
}

// FnBody types the body of a fn in the scope of its parameters.
func (b *bodyChecker) FnBody(body lang.Expr) operand {
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
func (b *bodyChecker) asExpr(o operand, stmts []typed.Stmt, at lang.Span) operand {
	if o.mode == invalid {
		return bad(at)
	}
	o.at = at
	if len(stmts) == 0 && o.mode != several {
		return o
	}
	xs := b.results(o, nil)
	if xs == nil {
		return bad(at)
	}
	return inline(stmts, o, xs, at)
}
