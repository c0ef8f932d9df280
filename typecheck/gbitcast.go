package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// bitcast is `bitcast(x, i32)` of a tensor: the same memory as elements of
// another type of the same width, without a copy.
func (g *graphChecker) bitcast(e *lang.CallExpr) operand {
	if len(e.Args) != 2 {
		g.Errorf(lang.ErrArgCount, e.Place, "bitcast has %s", plural(len(e.Args), "argument")).help("write `bitcast(x, i32)`")
		return bad(e.Place)
	}
	x := g.settled(g.expr(e.Args[0].Value))
	n, ok := e.Args[1].Value.(*lang.NameExpr)
	if !ok {
		g.Errorf(lang.ErrUnknownType, e.Args[1].Value.Span(), "the second argument is the element type, as in `i32`")
		return bad(e.Place)
	}
	to, ok := g.dtypeNamed(g.scope, n.Name, n.Place)
	if !ok || x.mode == invalid {
		return bad(e.Place)
	}
	if x.mode != typedValue || x.graph.GType().Kind != typed.GTensor {
		g.Errorf(lang.ErrWrongType, e.Args[0].Value.Span(), "bitcast in a graph is of a tensor, not of %s", g.describe(x))
		return bad(e.Place)
	}
	t := x.graph.GType()
	if !g.sameWidth(g, t.DType, to, n.Place) {
		return bad(e.Place)
	}
	return graphOperand(&typed.GView{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: to, Shape: t.Shape}, At: e.Place}, X: x.graph})
}
