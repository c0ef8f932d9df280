package graph

import (
	"slices"

	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
)

// This file finds the tensors that a program writes behind a start alone, as caches of keys and values: what lies before is there when the
// program begins, and a launch may read it before those before it have ended.

// growth is how a memory is written: by whom, where that begins, and through which view.
type growth struct {
	ir.Grows
	starts, through View
}

// grow notes at the launches that read memory which grows where its growth begins.
func (b *Bound) grow(target string) {
	found, kernels := map[Slot]*growth{}, map[writer]*written{}
	for i := range b.Calls {
		c := &b.Calls[i]
		starts := -1
		for j, o := range c.Spec.Operands() {
			if !o.IsTensor || o.Mode == lang.Out || o.Layout.Constant || c.Tensors[j].Slot.Temp {
				continue
			}
			v := &c.Tensors[j]
			g, known := found[v.Slot]
			if !known {
				g = b.growth(v.Slot, target, kernels)
				found[v.Slot] = g
			}
			if g == nil || !g.covers(v) {
				continue
			}
			at := slices.IndexFunc(c.Tensors, func(w View) bool { return w.sameAs(&g.starts) })
			if at < 0 || starts >= 0 && starts != at || !c.Spec.Operands()[at].Layout.Constant { // the start may have moved
				continue
			}
			starts = at
			o.Layout.Grows = &g.Grows
		}
		if starts >= 0 {
			c.Spec.Operands()[starts].Layout.Starts = true
		}
	}
}

// covers reports a view that shows what all launches write, index for index, or nothing of that, as another layer's.
func (g *growth) covers(v *View) bool {
	n := int64(1)
	for _, size := range v.Shape {
		n *= size
	}
	return n > 0 && v.DType == g.through.DType && v.Contiguous() && slices.Equal(v.Shape, g.through.Shape) && (v.Offset-g.through.Offset)%n == 0
}

// sameAs reports the same elements in the same order.
func (v *View) sameAs(w *View) bool {
	return v.Slot == w.Slot && v.DType == w.DType && v.Offset == w.Offset && slices.Equal(v.Shape, w.Shape) && slices.Equal(v.Strides, w.Strides)
}

// growth is how the launches write a memory; nil where they do not behind a start alone.
func (b *Bound) growth(s Slot, target string, kernels map[writer]*written) *growth {
	var g *growth
	for i := range b.Calls {
		c := &b.Calls[i]
		ok := true
		c.each(func(place int, v *View, mode lang.ParamMode) {
			if mode == lang.In || v.Slot != s || !ok {
				return
			}
			one := growthBy(c, place, target, kernels)
			switch {
			case one == nil || slices.Contains(c.Fills, place):
				ok = false
			case g == nil:
				g = one
			default:
				ok = g.Grows == one.Grows && g.starts.sameAs(&one.starts) && g.covers(v)
			}
		})
		if !ok {
			return nil
		}
	}
	return g
}

// growthBy is how one launch writes a tensor of its own.
func growthBy(c *Call, place int, target string, known map[writer]*written) *growth {
	if !c.Tensors[place].Contiguous() {
		return nil
	}
	key := writer{c.Spec.Key(), place}
	w, ok := known[key]
	if !ok { // layers are written by one kernel
		w = writtenBy(c, place, target)
		known[key] = w
	}
	if w == nil {
		return nil
	}
	return &growth{Grows: w.Grows, starts: c.Tensors[w.starts], through: c.Tensors[place]}
}

// writer is a kernel that writes its tensor at a place.
type writer struct {
	spec.Key
	place int
}

// written is how a kernel writes a tensor: behind the elements of its tensor number starts.
type written struct {
	ir.Grows
	starts int
}

// writtenBy reads that of the stores in a launch's tile IR; nil where they may be anywhere.
func writtenBy(c *Call, place int, target string) *written {
	if len(c.Spec.Kernel.Parts) > 0 || c.Spec.Cut != nil {
		return nil
	}
	f, dims, err := build.Kernel(c.Spec, target)
	if err != nil || len(dims.Views) > 0 {
		return nil
	}
	t := tensorOf(f, c.Spec, place)
	var all *written
	ok := true
	f.Walk(func(op *ir.Op) bool {
		if op.Tensor != t || op.Code == lang.OpLoad {
			return true
		}
		one := writtenAt(c, f, op)
		ok = ok && one != nil && op.Code == lang.OpStore && (all == nil || *all == *one)
		all = one
		return true
	})
	if !ok {
		return nil
	}
	return all
}

// writtenAt finds the start behind which a store writes: an element of a constant, at an index that the store has too, to which nothing negative is added.
func writtenAt(c *Call, f *ir.Func, store *ir.Op) *written {
	for dim, v := range store.Indices() {
		start := startIn(v)
		if start == nil {
			continue
		}
		by := slices.IndexFunc(store.Indices(), func(w *ir.Value) bool { return sameIndex(w, start.Args[0]) })
		if by < 0 || by == dim {
			return nil
		}
		var w *written
		c.each(func(place int, _ *View, _ lang.ParamMode) {
			if tensorOf(f, c.Spec, place) == start.Tensor {
				w = &written{ir.Grows{Dim: dim, By: by}, place}
			}
		})
		return w
	}
	return nil
}

// startIn is the load of a start that an index is, or is counted from; nil where it is not. A sum that wraps around is negative: no element has such an index.
func startIn(v *ir.Value) *ir.Op {
	op := v.Def
	switch {
	case op == nil:
		return nil
	case op.Code == lang.OpLoad:
		if t := op.Tensor; t.Constant && len(t.Shape) == 1 && t.DType == lang.I32 && op.Else() == nil && !op.Checked[0] {
			return op
		}
	case op.Code == lang.OpAdd && countsUp(op.Args[1]):
		return startIn(op.Args[0])
	case op.Code == lang.OpAdd && countsUp(op.Args[0]):
		return startIn(op.Args[1])
	}
	return nil
}

// countsUp reports a position along an axis or a constant, where it is not negative.
func countsUp(v *ir.Value) bool {
	op := v.Def
	if c, ok := v.IsConst(); ok {
		return c.Int >= 0
	}
	return op != nil && (op.Code == lang.OpIndex || op.Code == lang.OpStart) && (op.Axis.Kind != ir.Whole || op.Axis.Lo >= 0)
}

// sameIndex reports two indices that are the same position.
func sameIndex(v, w *ir.Value) bool {
	if v == w {
		return true
	}
	a, b := v.Def, w.Def
	return a != nil && b != nil && a.Code == b.Code && (a.Code == lang.OpIndex || a.Code == lang.OpStart) && a.Axis == b.Axis
}
