package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types calls of the functions of the language in graphs.

// callBuiltin types a call of a function of the language.
func (g *graphChecker) callBuiltin(name string, e *lang.CallExpr) operand {
	at := e.Fn.Span()
	if e.Else != nil {
		g.Errorf(lang.ErrBounds, e.Else.Span(), "%s reads nothing that may lie outside, and takes no `else`", name).help("remove the `else`")
		return bad(e.Place)
	}
	switch name {
	case "view":
		return g.view(e)
	case "bitcast":
		return g.bitcast(e)
	case "rand", "randn", "random_bits":
		return g.random(name, e)
	}
	if _, ok := makers[name]; ok {
		return g.make(name, e)
	}
	if op, ok := lang.FindOp(name, lang.FormCall); ok && op.Row().Elementwise {
		if !g.allByPosition(g, e) {
			return bad(e.Place)
		}
		exprs := make([]lang.Expr, len(e.Args))
		for i, a := range e.Args {
			exprs[i] = a.Value
		}
		return g.elementwise(op, e.Place, at, exprs)
	}
	switch {
	case isBuiltin(name):
		r := g.Errorf(lang.ErrNameKind, at, "%s is of tiles, in kernels", name)
		if name == "assert" || name == "all" {
			r.help("in a test, `check c` says that c holds for every element")
		} else {
			r.help("do it in a kernel, and call that")
			r.neighbour(true, name, lang.AsCall)
		}
	default:
		g.unknown(g.scope, name, at, append(functionNames(), "view", "arange", "rand", "randn"), true, calledPlaces...)
		if lang.FindNeighbour(name, calledPlaces...) == nil { // what another language's function is given are no arguments of ours
			g.argumentsOf(g, e)
		}
	}
	return bad(e.Place)
}

// view types `view(x, [B, S, H, D])`.
func (g *graphChecker) view(e *lang.CallExpr) operand {
	if len(e.Args) != 2 {
		g.Errorf(lang.ErrArgCount, e.Place, "view has %s", plural(len(e.Args), "argument")).help("write `view(x, [B, S, C])`")
		return bad(e.Place)
	}
	x := g.settled(g.expr(e.Args[0].Value))
	shape, ok := g.shapeList(e.Args[1].Value)
	if !ok || x.mode == invalid {
		return bad(e.Place)
	}
	count := size.Const(1)
	for _, s := range shape {
		count = count.Mul(s)
	}
	if x.mode != typedValue || x.graph.GType().Kind != typed.GTensor {
		g.Errorf(lang.ErrWrongType, e.Args[0].Value.Span(), "view is of a tensor, not of %s", g.describe(x))
		return bad(e.Place)
	}
	t := x.graph.GType()
	have := size.Const(1)
	for _, s := range t.Shape {
		have = have.Mul(s)
	}
	if g.prover.Different(have, count) {
		g.Errorf(lang.ErrView, e.Args[1].Value.Span(), "the view has %s elements, and %s has %s", count, t, have).label(x.at, "%s", t).
			help("a view has as many elements as what it shows")
		return bad(e.Place)
	}
	return graphOperand(&typed.GView{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: t.DType, Shape: shape}, At: e.Place}, X: x.graph})
}
