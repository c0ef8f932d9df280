package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file has what products need whose depth warps share, as those of few rows in a step of decoding: what each warp has is added up
// at the end, in their order.

// joinDepth adds up what the warps have of a product, of a type, and gives it in the layout c.Joined.
func (k *kernel) joinDepth(c *block.Product, d lang.DType, acc []asm.Reg) []asm.Reg {
	// A synthetic axis numbers the parts; in the accumulator's layout its digits take the place of the depth's.
	parts := &ir.Axis{Name: "part", Kind: ir.Whole, Len: int64(c.Parts), Extent: int64(c.Parts)}
	from := c.Result
	from.Warp = slices.Clone(from.Warp)
	scale := 1
	for i, g := range c.AWarp {
		if g.Axis == c.K[0] {
			from.Warp[i] = layout.Digit{Axis: parts, Stride: scale, Size: g.Size}
			scale *= g.Size
		}
	}
	to := c.Joined
	to.Reg = append([]layout.Digit{{Axis: parts, Stride: 1, Size: c.Parts}}, to.Reg...)
	axes := slices.Concat(c.M, c.N, c.Batch, []*ir.Axis{parts})
	t := newShared(d, axes, block.Extents(axes), false)
	t.buffer = k.allocate(t.Bytes(), "parts of the depth of "+block.ValueName(c.Op.Result()))
	k.a.Comment("add up %d parts of the depth", c.Parts)
	k.write(t, c.Op.Result(), from, acc, nil)
	got := k.fetchTile(t, to)
	k.release(t.buffer)
	sum := make([]asm.Reg, c.Joined.Regs())
	for i := range sum {
		sum[i] = k.sum(d, got[i*c.Parts:][:c.Parts])
	}
	return sum
}
