package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// units takes axes of one position out of a kernel, as the places of rows that a kernel of images is given, and dimensions of one element out of the tensors: neighbours along the
// dimension before are neighbours in memory then, for all that looks for such.
func units(f *ir.Func, pinned func(*ir.Axis) bool) {
	for changed := true; changed; { // of two such dimensions the first is the last one when the last is out
		changed = false
		for _, a := range slices.Clone(f.Axes) {
			if len(f.Axes) > 1 && !pinned(a) && isUnit(f, a) {
				dropUnit(f, a)
				changed = true
			}
		}
	}
	plainPlaces(f)
	dropLastOnes(f)
}

// plainPlaces has accesses at sums that are a position, as S * h + r - P is of a window of one place, be at that position, which needs no check where the tensor has as many.
func plainPlaces(f *ir.Func) {
	f.Walk(func(op *ir.Op) bool {
		if op.Tensor == nil || op.Code != lang.OpLoad && op.Code != lang.OpStore {
			return true
		}
		for d, v := range op.Indices() {
			l, ok := linearIn(v)
			if !ok || len(l.of) != 1 || l.offset != 0 || len(v.Type.Axes) != 1 || l.of[v.Type.Axes[0]] != 1 {
				continue
			}
			a := v.Type.Axes[0]
			op.Args[d] = indexIn(v, a)
			if op.Checked[d] && a.Kind != ir.Loop && a.Ranges == nil && a.Lo == 0 && (sameDim(a.Dim, op.Tensor.Shape[d]) || a.Kind == ir.Whole && op.Tensor.Shape[d].Known() && a.Len <= op.Tensor.Shape[d].Value) {
				op.Checked = slices.Clone(op.Checked)
				op.Checked[d] = false
			}
		}
		if op.Code == lang.OpLoad && !slices.Contains(op.Checked, true) {
			op.Args = op.Args[:len(op.Tensor.Shape)]
		}
		return true
	})
}

// indexIn is the position along an axis of which a sum is made.
func indexIn(v *ir.Value, a *ir.Axis) *ir.Value {
	for v.Def.Code != lang.OpIndex {
		v = v.Def.Args[slices.IndexFunc(v.Def.Args, func(x *ir.Value) bool { return x.Type.Has(a) })]
	}
	return v
}

// dropLastOnes takes last dimensions of one element, of which all accesses name the first, out of tensors.
func dropLastOnes(f *ir.Func) {
	for _, t := range f.Tensors {
		for len(t.Shape) > 1 && t.Strides == nil && !t.Scratch && t.Shape[len(t.Shape)-1].Value == 1 && firstAlone(f, t) {
			last := len(t.Shape) - 1
			f.Walk(func(op *ir.Op) bool {
				if op.Tensor == t {
					op.Args = slices.Concat(op.Args[:last], op.Args[last+1:])
					op.Checked = slices.Clone(op.Checked[:last])
				}
				return true
			})
			t.Shape = t.Shape[:last]
		}
	}
}

// firstAlone reports a tensor of which all accesses are loads and stores of the first element of the last dimension.
func firstAlone(f *ir.Func, t *ir.Tensor) bool {
	only := true
	f.Walk(func(op *ir.Op) bool {
		if op.Tensor == t {
			n, known := ir.KnownInt(op.Indices()[len(t.Shape)-1])
			only = only && known && n == 0 && !op.Checked[len(t.Shape)-1] && (op.Code == lang.OpLoad || op.Code == lang.OpStore)
		}
		return only
	})
	return only
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
