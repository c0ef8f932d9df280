package interp

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
)

// This file is about loops whose steps the blocks of a cluster divide.

// join puts together what the blocks of a cluster carry out of a loop that they share.
func (w *warp) join(op *ir.Op) {
	p := w.p()
	l := p.Homes[op.Results[0]]
	mine := make([][]cell, len(op.Joined()))
	for i, v := range op.Joined() {
		mine[i] = slices.Clone(w.get(v, l))
	}
	all := w.meetBlocks("join "+block.ValueName(op.Results[0]), mine)
	lo, hi := op.Bounds()
	from, to := w.bounds(op.Axis, w.scalar(lo).Int, w.scalar(hi).Int, hi)
	_, each := w.share(from, to, op.Axis.Extent)
	exists := func(rank int) bool { return int64(rank)*each < max(to-from, 0) }
	var using []cell
	for _, v := range op.Using() {
		using = append(using, cell{w.scalar(v), true})
	}
	put := func(a, b [][]cell) [][]cell {
		out := make([][]cell, len(a))
		for i := range a {
			out[i] = make([]cell, len(a[i]))
		}
		for e := range a[0] {
			var x, y []cell
			for i := range a {
				x, y = append(x, a[i][e]), append(y, b[i][e])
			}
			ok := !slices.ContainsFunc(slices.Concat(x, y), func(c cell) bool { return !c.ok })
			if !ok {
				continue
			}
			for i, c := range function(op.Fn, slices.Concat(x, y, using)) {
				out[i][e] = c
			}
		}
		return out
	}
	var so [][]cell
	ranks := make([]int, len(all))
	for i := range ranks {
		ranks[i] = i
	}
	if op.Exclusive && op.Reverse {
		slices.Reverse(ranks)
	}
	for _, rank := range ranks {
		if op.Exclusive && rank == w.block.rank {
			break
		}
		if rank > 0 && !exists(rank) {
			continue
		}
		if theirs := all[rank].([][]cell); so == nil {
			so = theirs
		} else {
			so = put(so, theirs)
		}
	}
	any := so != nil
	if !any {
		so = mine
	}
	for i := range so {
		w.hold(op.Results[i], l, so[i])
	}
	if op.Exclusive {
		c := ir.Const{}
		if any {
			c.Int = 1
		}
		w.hold(op.Results[len(so)], layout.Uniform(p.Warps), []cell{{c, true}})
	}
}

// bounds are the bounds of a loop over an axis, of what exists.
func (w *warp) bounds(a *ir.Axis, lo, hi int64, to *ir.Value) (int64, int64) {
	if a == nil {
		return lo, hi
	}
	if a.Dim != nil {
		lo = max(lo, 0)
		if !block.WithinDim(to, a.Dim) {
			hi = min(hi, w.block.l.size(a.Dim))
		}
	}
	return lo, max(hi, 0)
}

// share is how many steps a range has in all, and how many positions of it each block goes through.
func (w *warp) share(lo, hi, step int64) (steps, each int64) {
	length := max(hi-lo, 0)
	return (length + step - 1) / step, ir.PartOf(length, step, int64(w.p().Split))
}
