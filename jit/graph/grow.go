package graph

import (
	"slices"

	"tilec/jit/build"
	"tilec/jit/ir"
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
	found := map[Slot]*growth{}
	written := map[Slot]bool{}
	for i := range b.Calls {
		c := &b.Calls[i]
		c.each(func(_ int, v *View, mode lang.ParamMode) {
			if mode != lang.In && !v.Slot.Temp {
				written[v.Slot] = true
			}
		})
	}
	for i := range b.Calls {
		c := &b.Calls[i]
		starts := -1
		for j, o := range c.Spec.Operands() {
			if !o.IsTensor || o.Mode != lang.In || !written[c.Tensors[j].Slot] {
				continue
			}
			v := &c.Tensors[j]
			g, known := found[v.Slot]
			if !known {
				g = b.growth(v.Slot, target)
				found[v.Slot] = g
			}
			if g == nil || !g.covers(v) {
				continue
			}
			at := slices.IndexFunc(c.Tensors, func(w View) bool { return w.sameAs(&g.starts) })
			if at < 0 || starts >= 0 && starts != at {
				continue
			}
			starts = at
			o.Layout.Grows = &ir.Grows{Dim: g.Dim, By: g.By}
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
func (b *Bound) growth(s Slot, target string) *growth {
	var g *growth
	for i := range b.Calls {
		c := &b.Calls[i]
		ok := true
		c.each(func(place int, v *View, mode lang.ParamMode) {
			if mode == lang.In || v.Slot != s || !ok {
				return
			}
			one := b.growthBy(c, place, target)
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

// growthBy is how one launch writes a tensor of its own, by the stores of its tile IR.
func (b *Bound) growthBy(c *Call, place int, target string) *growth {
	if len(c.Spec.Kernel.Parts) > 0 {
		return nil
	}
	f, dims, err := build.Kernel(c.Spec, target)
	if err != nil || len(dims.Views) > 0 || !c.Tensors[place].Contiguous() {
		return nil
	}
	t := tensorOf(f, c.Spec, place)
	var g *growth
	ok := true
	f.Walk(func(op *ir.Op) bool {
		if op.Tensor != t || op.Code == lang.OpLoad || !ok {
			return true
		}
		one := b.growthAt(c, f, op)
		switch {
		case one == nil || op.Code != lang.OpStore:
			ok = false
		case g == nil:
			g = one
		default:
			ok = g.Grows == one.Grows && g.starts.sameAs(&one.starts)
		}
		return true
	})
	if !ok || g == nil {
		return nil
	}
	g.through = c.Tensors[place]
	return g
}

// growthAt finds the start behind which a store writes: an element of a constant, at an index that the store has too, to which nothing negative is added.
func (b *Bound) growthAt(c *Call, f *ir.Func, store *ir.Op) *growth {
	for dim, v := range store.Indices() {
		start := startIn(v)
		if start == nil {
			continue
		}
		by := slices.IndexFunc(store.Indices(), func(w *ir.Value) bool { return sameIndex(w, start.Args[0]) })
		if by < 0 || by == dim {
			return nil
		}
		var g *growth
		c.each(func(place int, v *View, _ lang.ParamMode) {
			if tensorOf(f, c.Spec, place) == start.Tensor {
				g = &growth{Grows: ir.Grows{Dim: dim, By: by}, starts: *v}
			}
		})
		return g
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
