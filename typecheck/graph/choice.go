package graph

import (
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// ifExpr types a choice of a graph. Which branch runs is decided when the graph is bound.
func (g *graphChecker) ifExpr(e *lang.IfExpr) rules.Operand {
	cond := g.scalar(e.Cond, "a condition")
	ok := cond.Mode != rules.Invalid
	if ok && (cond.Mode != rules.TypedValue || cond.Graph.GType().DType != typed.Concrete(lang.Bool)) {
		g.Errorf(lang.ErrCondition, e.Cond.Span(), "the condition of `if` is %s, not bool", g.describe(cond)).Help("compare it, as in `n > 0`")
		ok = false
	}
	if ok {
		if p := g.runtimeScalar(cond.Graph); p != nil {
			g.Errorf(lang.ErrNotConstant, e.Cond.Span(), "the condition depends on %s, which is only known when the graph runs", p.Name).LabelAt(p.At, "a scalar parameter").
				Help("choose by element with `where(c, a, b)`, or pass %s to a kernel that chooses", p.Name)
			ok = false
		}
	}
	choice := &typed.GIf{GTyped: typed.GTyped{At: e.Place}, Cond: cond.Graph}
	g.choices++
	then := g.branch(e.Then, &choice.Then)
	other := rules.Operand{Mode: rules.NoValue, At: e.Place}
	if e.Else != nil {
		other = g.branch(e.Else, &choice.Else)
	}
	g.choices--
	if !ok || then.Mode == rules.Invalid || other.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	if e.Else == nil && then.Mode != rules.NoValue {
		g.Errorf(lang.ErrBranches, e.Place, "the `if` gives %s, and nothing when the condition does not hold", g.describe(then)).
			Help("add an `else { ... }` with the other value")
		return rules.Bad(e.Place)
	}
	pair, ok := g.alike([]rules.Operand{then, other})
	if !ok {
		return rules.Bad(e.Place)
	}
	then, other = pair[0], pair[1]
	types, thenXs, ok := g.spread(then, e.Then)
	otherTypes, otherXs, ok2 := g.spread(other, e.Else)
	if !ok || !ok2 {
		return rules.Bad(e.Place)
	}
	same := len(types) == len(otherTypes)
	for i := 0; same && i < len(types); i++ {
		same = g.sameType(types[i], otherTypes[i])
	}
	if !same {
		g.Errorf(lang.ErrBranches, other.At, "the branches of `if` differ: %s and %s", g.describe(then), g.describe(other)).LabelAt(then.At, "%s", g.describe(then))
		return rules.Bad(e.Place)
	}
	const gives = "a choice gives"
	if ok = g.values(thenXs, gives); !g.values(otherXs, gives) || !ok {
		return rules.Bad(e.Place)
	}
	choice.Then.Results, choice.Else.Results = thenXs, otherXs
	switch len(types) {
	case 0:
		choice.Type = typed.GType{Kind: typed.GTuple}
		return rules.Operand{Mode: rules.NoValue, At: e.Place, Graph: choice}
	case 1:
		choice.Type = types[0]
	default:
		choice.Type = typed.GType{Kind: typed.GTuple, Elems: types}
	}
	return graphOperand(choice)
}

// branch types one branch in a scope of its own; its statements go to body.
func (g *graphChecker) branch(e lang.Expr, body *typed.GBody) rules.Operand {
	outerScope, outerStmts := g.scope, g.stmts
	g.scope, g.stmts = rules.NewScope(outerScope), &body.Stmts
	defer func() { g.scope, g.stmts = outerScope, outerStmts }()
	if b, ok := e.(*lang.Block); ok {
		if b == nil {
			return rules.Operand{Mode: rules.NoValue}
		}
		return g.block(b)
	}
	o := g.expr(e)
	if o.Mode == rules.NoValue && o.Graph != nil {
		body.Stmts = append(body.Stmts, &typed.GDo{X: o.Graph})
	}
	return o
}

// alike gives untyped values and lists the element type of those beside them.
func (g *graphChecker) alike(args []rules.Operand) ([]rules.Operand, bool) {
	args, ok := g.adaptLists(args)
	if !ok {
		return nil, false
	}
	d := typed.DType{}
	floats := false
	for _, a := range args {
		if a.Mode == rules.TypedValue && d == (typed.DType{}) {
			d = a.Graph.GType().DType
		}
		floats = floats || a.Mode == rules.UntypedFloat && !a.IsU64()
	}
	if d == (typed.DType{}) {
		if d = typed.Concrete(lang.I32); floats {
			d = typed.Concrete(lang.F32)
		}
	}
	for i, a := range args {
		if args[i] = g.toScalar(a, d); args[i].Mode == rules.Invalid {
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
