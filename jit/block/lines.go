package block

import (
	"cmp"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
)

// This file decides which results threads store in lines, through shared memory: those whose rows begin anywhere in memory, where the TMA cannot store them.

// longRun is from how many bytes of neighbours on a tile is worth the way through shared memory where its rows begin anywhere: of those that are shorter, the ends are most of it.
const longRun = 256

// tearsSectors reports a result of a product in an image whose rows begin anywhere: threads that store what they hold write a part of most sectors, and others the rest at
// another time (H200s, L2 warm, us: 3x3 of f32 from 64 to 16 x 128 x 126 x 126 188 and 174, from 16 to 2 x 128 x 510 x 1,022 455 and 373 with rows of tiles in another order besides).
func (p *Program) tearsSectors(op *ir.Op) bool {
	v := op.Stored()
	c, size := Contiguous(p.Access(op)), op.Tensor.DType.Size()
	if c == nil || len(v.Type.Axes) == 2 || int(c.Extent)*size < longRun || p.Vector(op.Tensor, p.Access(op), c)*size >= chunkBytes {
		return false
	}
	for _, x := range p.Products {
		if x.MMA != nil && p.Homes[v].Equal(x.Result) {
			return true
		}
	}
	return false
}

// lineStore finds how the threads of a block store a tile in lines; nil where they cannot.
func (p *Program) lineStore(op *ir.Op) *BoxStore {
	c, ok := p.throughShared(op)
	v, size := op.Stored(), op.Tensor.DType.Size()
	if !ok || p.fillsSectors(op, c) || op.Tensor.Held().Packed() || op.Tensor.Shared || len(v.Type.Axes) < 2 || p.Func.HasRanges() || size != 2 && size != 4 {
		return nil
	}
	axes := append([]*ir.Axis{c}, ir.Without(v.Type.Axes, []*ir.Axis{c})...)
	oddLast(axes[1:])
	t := NewTile(op.Tensor.DType, axes, Extents(axes), true)
	t.panel()
	if !t.boxed() {
		return nil
	}
	// A warp has neighbours of one panel, and no register is of several.
	columns := min(t.Width()/size, layout.Lanes)
	rows := placesAlong(axes[1:], t.Extents[1:])
	l := layout.Layout{Lane: append(digits(c, 1, columns), rows.take(layout.Lanes/columns)...), Warp: rows.take(p.Warps)}
	if t.Extents[0]%columns != 0 || rows.short {
		return nil
	}
	l.Reg = append(rows.rest(), layout.Digit{Axis: c, Stride: columns, Size: t.Extents[0] / columns})
	s := &BoxStore{Tile: t, Lines: &l, Parts: 1}
	if m, turned, ok := storedMatrices(p.Homes[v], t); ok {
		s.Matrices, s.Turned = &m, turned
	}
	return s
}

// oddLast puts axes of no power of two behind the others: only the last axis of a tile can have any number of positions.
func oddLast(axes []*ir.Axis) {
	slices.SortStableFunc(axes, func(a, b *ir.Axis) int { return cmp.Compare(a.Extent&(a.Extent-1), b.Extent&(b.Extent-1)) })
}

// places are the positions along several axes, the first the fastest, of which digits take one part after the other.
type places struct {
	axes  []*ir.Axis
	left  []int // along each axis, how many no digit counts yet
	taken []int // how many the digits count
	short bool  // digits were asked for that would count more than there are
}

func placesAlong(axes []*ir.Axis, extents []int) *places {
	return &places{axes: axes, left: slices.Clone(extents), taken: slices.Repeat([]int{1}, len(axes))}
}

// take gives the digits of the next n positions, a power of two.
func (x *places) take(n int) (all []layout.Digit) {
	for i, a := range x.axes {
		for ; n > 1 && x.left[i]%2 == 0; n /= 2 {
			all = append(all, layout.Digit{Axis: a, Stride: x.taken[i], Size: 2})
			x.taken[i], x.left[i] = 2*x.taken[i], x.left[i]/2
		}
	}
	x.short = x.short || n > 1
	return all
}

// rest gives the digits of all that are left.
func (x *places) rest() (all []layout.Digit) {
	for i, a := range x.axes {
		all = append(all, layout.Digit{Axis: a, Stride: x.taken[i], Size: x.left[i]})
	}
	return all
}

// digits are those that count n positions along an axis, a power of two, every so many.
func digits(a *ir.Axis, stride, n int) (all []layout.Digit) {
	for ; n > 1; n, stride = n/2, stride*2 {
		all = append(all, layout.Digit{Axis: a, Stride: stride, Size: 2})
	}
	return all
}
