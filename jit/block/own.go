package block

import (
	"fmt"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// own reports a tensor in shared memory of which each thread reads what it has stored itself: all accesses have one layout, by
// the tensor's dimensions, and no element is held by several threads.
func (p *Program) own(t *ir.Tensor) bool {
	one, all := "", true
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Tensor != t {
			return true
		}
		var l layout.Layout
		switch op.Code {
		case lang.OpLoad:
			l = p.Homes[op.Result()]
		case lang.OpStore:
			l = p.StoreLayout(op)
		default:
			all = false
			return true
		}
		text, ok := byDimension(op, l)
		if one == "" {
			one = text
		}
		all = all && ok && text == one && !p.OnDemand(op)
		return true
	})
	return all
}

// byDimension is the text of a layout with the dimensions of the tensor in place of the axes; false where threads hold the same elements.
func byDimension(op *ir.Op, l layout.Layout) (string, bool) {
	place := map[*ir.Axis]int{}
	for d, v := range op.Indices() {
		for _, a := range v.Type.Axes {
			place[a] = d
		}
	}
	var b strings.Builder
	ok := true
	for i, digits := range [][]layout.Digit{l.Reg, l.Lane, l.Warp} {
		fmt.Fprintf(&b, "%d:", i)
		for _, g := range digits {
			if g.Axis == nil {
				ok = ok && g.Size == 1
				continue
			}
			fmt.Fprintf(&b, " %d+%d*%d", place[g.Axis], g.Stride, g.Size)
		}
	}
	return b.String(), ok
}
