package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// units takes axes of one position out of a kernel, as the places of rows that a kernel of images is given, and dimensions of one element out of the tensors: neighbours along the
// dimension before are neighbours in memory then, for all that looks for such.
func units(f *ir.Func, pinned func(*ir.Axis) bool) {
	for _, a := range slices.Clone(f.Axes) {
		if len(f.Axes) > 1 && !pinned(a) && isUnit(f, a) {
			dropUnit(f, a)
		}
	}
}

// isUnit reports an axis of one position that nothing but reductions tells from none.
func isUnit(f *ir.Func, a *ir.Axis) bool {
	one := (a.Dim == nil || a.Dim.Known() && a.Dim.Value == 1) && !a.Scalar && a.Extent <= 1 && len(a.Choices) == 0 && a.Ranges == nil && a.Split <= 1
	if !one || a.Kind != ir.Grid && (a.Kind != ir.Whole || a.Lo != 0 || a.Len != 1) || a.Kind == ir.Grid && len(f.Grid()) == 1 {
		return false
	}
	last := false // of some tensor: elsewhere the dimension is in nobody's way
	f.Walk(func(op *ir.Op) bool {
		if op.Tensor != nil && len(op.Tensor.Shape) > 1 {
			v := op.Indices()[len(op.Tensor.Shape)-1]
			last = last || v.Def != nil && v.Def.Code == lang.OpIndex && v.Def.Axis == a
		}
		has := func(v *ir.Value) bool { return v.Type.Has(a) }
		if slices.ContainsFunc(op.Args, has) || slices.ContainsFunc(op.Results, has) {
			row := op.Code.Row()
			one = one && (row.Elementwise || addsAll(op) || slices.Contains([]lang.Op{lang.OpIndex, lang.OpFull, lang.OpLoad, lang.OpStore, lang.OpFor, lang.OpIf}, op.Code))
		}
		one = one && (op.Axis != a || op.Code == lang.OpIndex) && op.From != a && (!slices.Contains(op.Over, a) || addsAll(op) && op.Code.Row().Group == lang.GroupReduce)
		return one
	})
	return one && last
}

// dropUnit takes the axis out.
func dropUnit(f *ir.Func, a *ir.Axis) {
	only := []*ir.Axis{a}
	// places are where each tensor has the dimension, at the position of the axis in each access.
	places := map[*ir.Tensor]int{}
	f.Walk(func(op *ir.Op) bool {
		if t := op.Tensor; t != nil {
			at := slices.IndexFunc(op.Indices(), func(v *ir.Value) bool {
				return v.Def != nil && v.Def.Code == lang.OpIndex && v.Def.Axis == a
			})
			if old, seen := places[t]; seen && old != at || at >= 0 && (op.Checked[at] || t.Shape[at].Value != 1) || t.Strides != nil || t.Scratch || len(t.Shape) == 1 {
				at = -1
			}
			places[t] = at
		}
		return true
	})
	instead := map[*ir.Value]*ir.Value{}
	seen := map[*ir.Value]bool{}
	retype := func(v *ir.Value) {
		if !seen[v] {
			seen[v], v.Type.Axes = true, ir.Without(v.Type.Axes, only)
		}
	}
	b := &ir.Builder{Func: f}
	var block func(*ir.Block)
	block = func(in *ir.Block) {
		for _, v := range in.Params {
			retype(v)
		}
		old := in.Ops
		in.Ops, b.Block = nil, in
		for _, op := range old {
			b.Block, b.At = in, op.At
			for _, v := range op.Results {
				retype(v)
			}
			if op.Code == lang.OpIndex && op.Axis == a {
				instead[op.Result()] = b.Position(a, 0)
				continue
			}
			reduced := slices.Contains(op.Over, a)
			if op.Axes, op.Over = ir.Without(op.Axes, only), ir.Without(op.Over, only); reduced && len(op.Over) == 0 {
				instead[op.Result()] = b.Cast(op.Args[0], op.Result().Type.DType)
				continue
			}
			if op.Code == lang.OpFull && len(op.Axes) == 0 {
				instead[op.Result()] = op.Args[0]
				continue
			}
			if at, ok := places[op.Tensor]; ok && at >= 0 && op.Tensor != nil {
				op.Args = slices.Concat(op.Args[:at], op.Args[at+1:])
				op.Checked = slices.Concat(op.Checked[:at], op.Checked[at+1:])
			}
			for _, inner := range op.Blocks {
				block(inner)
			}
			in.Ops = append(in.Ops, op)
		}
	}
	block(f.Body)
	f.Body.Replace(instead)
	for t, at := range places {
		if at >= 0 {
			t.Shape = slices.Concat(t.Shape[:at], t.Shape[at+1:])
		}
	}
	f.Axes = slices.DeleteFunc(f.Axes, func(o *ir.Axis) bool { return o == a })
}
