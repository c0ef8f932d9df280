package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file makes one axis of two that go through the same positions, where a tensor is loaded along each of them at positions that are the same otherwise: as a
// row that a norm adds up and the product behind it multiplies, which kernels that were fused have along an axis of each.

// joinAxes joins what axes it can, for the pass `cse` to find what is computed twice then.
func joinAxes(f *ir.Func) (changed bool) {
	var loads []*ir.Op
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpLoad && op.Tensor.ReadOnly() {
			loads = append(loads, op)
		}
		return true
	})
	for i, x := range loads {
		for _, y := range loads[:i] {
			if a, b := twins(x, y); a != nil && joinable(f, a, b) {
				joinAxis(f, a, b)
				changed = true
			}
		}
	}
	return changed
}

// twins gives the axes of two loads that are the same but for one axis.
func twins(x, y *ir.Op) (a, b *ir.Axis) {
	if x.Tensor != y.Tensor || x.Else() != nil || y.Else() != nil || x.Hint != y.Hint {
		return nil, nil
	}
	for d, v := range x.Indices() {
		w := y.Indices()[d]
		switch p, q := v.Def, w.Def; {
		case x.Checked[d] || y.Checked[d]:
			return nil, nil
		case v == w:
		case a == nil && p != nil && q != nil && p.Code == lang.OpIndex && q.Code == lang.OpIndex && p.Axis != q.Axis:
			a, b = p.Axis, q.Axis
		default:
			return nil, nil
		}
	}
	return a, b
}

// joinable reports two axes that may be one: whole ones over the same positions, of which the plan is told at most one extent, and that no value has both.
func joinable(f *ir.Func, a, b *ir.Axis) bool {
	plain := func(x *ir.Axis) bool {
		return x.Kind == ir.Whole && x.Dim != nil && x.Split <= 1 && x.Edges == 0 && len(x.Choices) == 0
	}
	if !plain(a) || !plain(b) || a.Dim != b.Dim || a.Lo != b.Lo || a.Len != b.Len || a.Tile != "" && b.Tile != "" {
		return false
	}
	fits := true
	both := func(axes []*ir.Axis) bool { return slices.Contains(axes, a) && slices.Contains(axes, b) }
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpRename || op.Code == lang.OpTake { // which tell axes apart
			for _, v := range slices.Concat(op.Args, op.Results) {
				fits = fits && !v.Type.Has(a) && !v.Type.Has(b)
			}
		}
		fits = fits && !both(op.Axes) && !both(op.Over) && !(op.Code == lang.OpLoad && both(op.AccessAxes()))
		for _, v := range slices.Concat(op.Args, op.Results) {
			fits = fits && !both(v.Type.Axes)
		}
		return fits
	})
	return fits
}

// joinAxis puts axis a in the place of b.
func joinAxis(f *ir.Func, a, b *ir.Axis) {
	in := func(axes []*ir.Axis) {
		if n := slices.Index(axes, b); n >= 0 {
			axes[n] = a
		}
	}
	var block func(*ir.Block)
	block = func(x *ir.Block) {
		for _, v := range x.Params {
			in(v.Type.Axes)
		}
		for _, op := range x.Ops {
			in(op.Axes)
			in(op.Over)
			if op.Axis == b {
				op.Axis = a
			}
			for _, v := range op.Results {
				in(v.Type.Axes)
			}
			for _, inner := range op.Blocks {
				block(inner)
			}
		}
	}
	block(f.Body)
	if b.Tile != "" {
		a.Tile = b.Tile
	}
	f.Axes = slices.DeleteFunc(f.Axes, func(x *ir.Axis) bool { return x == b })
}
