package graph

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// bitcast is `bitcast(x, i32)` of a tensor: the same memory as elements of
// another type of the same width, without a copy.
func (g *graphChecker) bitcast(e *lang.CallExpr) rules.Operand {
	if len(e.Args) != 2 {
		g.Errorf(lang.ErrArgCount, e.Place, "bitcast has %s", report.Plural(len(e.Args), "argument")).Help("write `bitcast(x, i32)`")
		return rules.Bad(e.Place)
	}
	x := g.settled(g.expr(e.Args[0].Value))
	n, ok := e.Args[1].Value.(*lang.NameExpr)
	if !ok {
		g.Errorf(lang.ErrUnknownType, e.Args[1].Value.Span(), "the second argument is the element type, as in `i32`")
		return rules.Bad(e.Place)
	}
	to, ok := g.DTypeNamed(g.scope, n.Name, n.Place)
	if !ok || x.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	if x.Mode != rules.TypedValue || x.Graph.GType().Kind != typed.GTensor {
		g.Errorf(lang.ErrWrongType, e.Args[0].Value.Span(), "bitcast in a graph is of a tensor, not of %s", g.describe(x))
		return rules.Bad(e.Place)
	}
	t := x.Graph.GType()
	if !g.SameWidth(g, t.DType, to, n.Place) {
		return rules.Bad(e.Place)
	}
	return graphOperand(&typed.GView{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: to, Shape: t.Shape}, At: e.Place}, X: x.Graph})
}
