package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file finds reductions in loops whose results nothing needs before the loop has ended: a step adds its sum to what the loop
// carries. Each thread then carries a part of its own, of the elements that it holds itself, and the parts are joined behind the
// loop: no step exchanges anything between lanes or warps for them.

// Deferral is a reduction of each step that is joined behind the loop.
type Deferral struct {
	// Reduce is the reduction, and Carried the number of what it goes into among what the loop carries.
	Reduce  *ir.Op
	Carried int
}

// joins is by which operation a step joins the result of a reduction to what the loop carries.
var joins = map[lang.Op]lang.Op{
	lang.OpSum: lang.OpAdd, lang.OpReduceMax: lang.OpMax, lang.OpReduceMin: lang.OpMin,
}

// deferReductions decides which reductions are joined behind their loops.
func (p *Program) deferReductions() {
	if p.asks("deferred", 2) != 2 {
		return
	}
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpFor {
			for i := range op.Results {
				if d := p.newDeferral(op, i); d != nil {
					p.Deferred[op] = append(p.Deferred[op], d)
				}
			}
		}
		return true
	})
}

// newDeferral finds the reduction that goes into what a loop carries as number i; nil where it cannot be joined behind the loop.
func (p *Program) newDeferral(loop *ir.Op, i int) *Deferral {
	body := loop.Blocks[0]
	carried, next := body.Params[i+1], body.Yield[i]
	join := next.Def
	if join == nil || !slices.Contains(body.Ops, join) || len(join.Args) != 2 || len(p.Uses[next]) > 0 || p.Yields(next) != 1 || len(p.Uses[carried]) != 1 || p.Yields(carried) > 0 {
		return nil
	}
	for n, v := range join.Args {
		before, op := join.Args[1-n], v.Def
		if op == nil || !slices.Contains(body.Ops, op) || joins[op.Code] != join.Code || len(p.Uses[v]) != 1 || p.Yields(v) > 0 || !v.Type.Same(carried.Type) || v.Type.DType != op.Args[0].Type.DType.Accumulator() || len(op.Args[0].Type.Axes) == 0 {
			continue
		}
		parts := p.Homes[op.Args[0]].Slice(v.Type.Axes)
		if !exchanged(p.Homes[op.Args[0]], op.Over) || !p.heldAs(parts, v, next, carried, loop.Results[i]) {
			continue
		}
		if before != carried && !p.rescaled(before, carried, op, parts, body) {
			continue
		}
		// What a sum begins with would be counted by each thread; what a maximum does may be.
		if c, known := loop.Args[i+2].IsConst(); op.Code == lang.OpSum && !(known && c.Int == 0 && c.Float == 0) {
			continue
		}
		return &Deferral{op, i}
	}
	return nil
}

// rescaled reports carried * r, or r * carried, of a sum, with a factor of which all threads that hold it have the same bits, however
// it is computed.
func (p *Program) rescaled(v, carried *ir.Value, reduce *ir.Op, parts layout.Layout, body *ir.Block) bool {
	op := v.Def
	return op != nil && op.Code == lang.OpMul && reduce.Code == lang.OpSum && v.Type.DType.IsFloat() && slices.Contains(body.Ops, op) && slices.Contains(op.Args, carried) &&
		len(p.Uses[v]) == 1 && p.Yields(v) == 0 && p.heldAs(parts, v)
}

// heldAs reports values that are all held in a layout, register by register: none of them is converted on its way.
func (p *Program) heldAs(l layout.Layout, vs ...*ir.Value) bool {
	for _, v := range vs {
		if v.Type.IsScalar() { // which each thread has
			if l.Regs() != 1 {
				return false
			}
			continue
		}
		from, ok := l.Permutation(p.Homes[v], v.Type.Axes)
		for i, r := range from {
			ok = ok && i == r
		}
		if !ok || len(from) != l.Regs() {
			return false
		}
	}
	return true
}

// exchanged reports a layout in which lanes or warps divide one of the axes.
func exchanged(l layout.Layout, over []*ir.Axis) bool {
	return divided(l.Lane, over) || divided(l.Warp, over)
}

// divided reports digits that divide one of the axes.
func divided(digits []layout.Digit, over []*ir.Axis) bool {
	return slices.ContainsFunc(digits, func(d layout.Digit) bool { return d.Axis != nil && d.Size > 1 && slices.Contains(over, d.Axis) })
}
