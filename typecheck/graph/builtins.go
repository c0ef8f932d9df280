package graph

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types calls of the functions of the language in graphs.

// callBuiltin types a call of a function of the language.
func (g *graphChecker) callBuiltin(name string, e *lang.CallExpr) rules.Operand {
	at := e.Fn.Span()
	if e.Else != nil {
		g.Errorf(lang.ErrBounds, e.Else.Span(), "%s reads nothing that may lie outside, and takes no `else`", name).Help("remove the `else`")
		return rules.Bad(e.Place)
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
		if !g.AllByPosition(g, e) {
			return rules.Bad(e.Place)
		}
		exprs := make([]lang.Expr, len(e.Args))
		for i, a := range e.Args {
			exprs[i] = a.Value
		}
		return g.elementwise(op, e.Place, at, exprs)
	}
	switch {
	case rules.IsBuiltin(name):
		r := g.Errorf(lang.ErrNameKind, at, "%s is of tiles, in kernels", name)
		if name == "assert" || name == "all" {
			r.Help("in a test, `check c` says that c holds for every element")
		} else {
			r.Help("do it in a kernel, and call that")
			r.Neighbour(true, name, lang.AsCall)
		}
	default:
		g.UnknownName(g.scope, name, at, append(rules.FunctionNames(), "view", "arange", "rand", "randn"), true, rules.CalledPlaces...)
		if lang.FindNeighbour(name, rules.CalledPlaces...) == nil { // what another language's function is given are no arguments of ours
			g.ArgumentsOf(g, e)
		}
	}
	return rules.Bad(e.Place)
}

// view types `view(x, [B, S, H, D])`.
func (g *graphChecker) view(e *lang.CallExpr) rules.Operand {
	if len(e.Args) != 2 {
		g.Errorf(lang.ErrArgCount, e.Place, "view has %s", report.Plural(len(e.Args), "argument")).Help("write `view(x, [B, S, C])`")
		return rules.Bad(e.Place)
	}
	x := g.settled(g.expr(e.Args[0].Value))
	shape, ok := g.shapeList(e.Args[1].Value)
	if !ok || x.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	count := size.Const(1)
	for _, s := range shape {
		count = count.Mul(s)
	}
	if x.Mode != rules.TypedValue || x.Graph.GType().Kind != typed.GTensor {
		g.Errorf(lang.ErrWrongType, e.Args[0].Value.Span(), "view is of a tensor, not of %s", g.describe(x))
		return rules.Bad(e.Place)
	}
	t := x.Graph.GType()
	have := size.Const(1)
	for _, s := range t.Shape {
		have = have.Mul(s)
	}
	if g.prover.Different(have, count) {
		g.Errorf(lang.ErrView, e.Args[1].Value.Span(), "the view has %s elements, and %s has %s", count, t, have).LabelAt(x.At, "%s", t).
			Help("a view has as many elements as what it shows")
		return rules.Bad(e.Place)
	}
	return graphOperand(&typed.GView{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: t.DType, Shape: shape}, At: e.Place}, X: x.Graph})
}
