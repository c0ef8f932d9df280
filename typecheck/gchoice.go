package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// ifExpr types a choice of a graph. Which branch runs is decided when the graph is bound.
func (g *graphChecker) ifExpr(e *lang.IfExpr) operand {
	cond := g.scalar(e.Cond, "a condition")
	ok := cond.mode != invalid
	if ok && (cond.mode != typedValue || cond.graph.GType().DType != typed.Concrete(lang.Bool)) {
		g.Errorf(lang.ErrCondition, e.Cond.Span(), "the condition of `if` is %s, not bool", g.describe(cond)).help("compare it, as in `n > 0`")
		ok = false
	}
	if ok {
		if p := g.runtimeScalar(cond.graph); p != nil {
			g.Errorf(lang.ErrNotConstant, e.Cond.Span(), "the condition depends on %s, which is only known when the graph runs", p.Name).label(p.At, "a scalar parameter").
				help("choose by element with `where(c, a, b)`, or pass %s to a kernel that chooses", p.Name)
			ok = false
		}
	}
	choice := &typed.GIf{GTyped: typed.GTyped{At: e.Place}, Cond: cond.graph}
	g.choices++
	then := g.branch(e.Then, &choice.Then)
	other := operand{mode: noValue, at: e.Place}
	if e.Else != nil {
		other = g.branch(e.Else, &choice.Else)
	}
	g.choices--
	if !ok || then.mode == invalid || other.mode == invalid {
		return bad(e.Place)
	}
	if e.Else == nil && then.mode != noValue {
		g.Errorf(lang.ErrBranches, e.Place, "the `if` gives %s, and nothing when the condition does not hold", g.describe(then)).
			help("add an `else { ... }` with the other value")
		return bad(e.Place)
	}
	pair, ok := g.alike([]operand{then, other})
	if !ok {
		return bad(e.Place)
	}
	then, other = pair[0], pair[1]
	types, thenXs, ok := g.spread(then, e.Then)
	otherTypes, otherXs, ok2 := g.spread(other, e.Else)
	if !ok || !ok2 {
		return bad(e.Place)
	}
	same := len(types) == len(otherTypes)
	for i := 0; same && i < len(types); i++ {
		same = g.sameType(types[i], otherTypes[i])
	}
	if !same {
		g.Errorf(lang.ErrBranches, other.at, "the branches of `if` differ: %s and %s", g.describe(then), g.describe(other)).label(then.at, "%s", g.describe(then))
		return bad(e.Place)
	}
	const gives = "a choice gives"
	if ok = g.values(thenXs, gives); !g.values(otherXs, gives) || !ok {
		return bad(e.Place)
	}
	choice.Then.Results, choice.Else.Results = thenXs, otherXs
	switch len(types) {
	case 0:
		choice.Type = typed.GType{Kind: typed.GTuple}
		return operand{mode: noValue, at: e.Place, graph: choice}
	case 1:
		choice.Type = types[0]
	default:
		choice.Type = typed.GType{Kind: typed.GTuple, Elems: types}
	}
	return graphOperand(choice)
}

// branch types one branch in a scope of its own; its statements go to body.
func (g *graphChecker) branch(e lang.Expr, body *typed.GBody) operand {
	outerScope, outerStmts := g.scope, g.stmts
	g.scope, g.stmts = newScope(outerScope), &body.Stmts
	defer func() { g.scope, g.stmts = outerScope, outerStmts }()
	if b, ok := e.(*lang.Block); ok {
		if b == nil {
			return operand{mode: noValue}
		}
		return g.block(b)
	}
	o := g.expr(e)
	if o.mode == noValue && o.graph != nil {
		body.Stmts = append(body.Stmts, &typed.GDo{X: o.graph})
	}
	return o
}

// alike gives untyped values and lists the element type of those beside them.
func (g *graphChecker) alike(args []operand) ([]operand, bool) {
	args, ok := g.adaptLists(args)
	if !ok {
		return nil, false
	}
	d := typed.DType{}
	floats := false
	for _, a := range args {
		if a.mode == typedValue && d == (typed.DType{}) {
			d = a.graph.GType().DType
		}
		floats = floats || a.mode == untypedFloat && !a.isU64()
	}
	if d == (typed.DType{}) {
		if d = typed.Concrete(lang.I32); floats {
			d = typed.Concrete(lang.F32)
		}
	}
	for i, a := range args {
		if args[i] = g.toScalar(a, d); args[i].mode == invalid {
			return nil, false
		}
	}
	return args, true
}

// sameType reports types that may be one.
func (g *graphChecker) sameType(a, b typed.GType) bool {
	same := a.Kind == b.Kind && a.DType == b.DType && len(a.Shape) == len(b.Shape) && a.Struct == b.Struct && len(a.Elems) == len(b.Elems)
	for i := 0; same && i < len(a.Shape); i++ {
		same = !g.prover.Different(a.Shape[i], b.Shape[i])
	}
	for i := 0; same && i < len(a.Elems); i++ {
		same = g.sameType(a.Elems[i], b.Elems[i])
	}
	return same
}
