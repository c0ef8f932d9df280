package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file has what products need whose depth warps share, as those of few rows in a step of decoding: each warp reads its part
// of the rows straight from global memory, and what the warps have is added up at the end, in their order.

// directly loads the columns of a product from global memory as the instruction takes them, a pair of neighbours along the depth in
// each register; nil where they cannot be read so.
func (k *kernel) directly(c *block.Product, arg int) []asm.Reg {
	op := c.Op.Args[arg].Def
	if c.Parts < 2 || arg != c.B || c.MMA.InRegister != 1 || op == nil || op.Code != lang.OpLoad || op.Else() != nil || !op.Tensor.ReadOnly() {
		return nil
	}
	v, t := op.Result(), op.Tensor
	if t.DType.Bits() != 16 || c.Element(arg) != t.DType || !k.Again(v) {
		return nil
	}
	dims := k.Access(op)
	along := block.Contiguous(dims)
	if along != c.K[0] || k.Vector(t, dims, along) < 2 || slices.ContainsFunc(dims, func(d block.DimAccess) bool { return d.Gather }) {
		return nil
	}
	l := c.FragmentLayout(arg)
	groups, n := l.Groups(along, 2)
	if n != 2 {
		return nil
	}
	k.a.Comment("rows %s", describe(op))
	k.orderRead(t)
	from := k.addressing(op, l)
	var regs []asm.Reg
	for _, g := range groups {
		r := k.a.Reg(asm.B32)
		p := k.both(k.mask(l, v.Type.Axes, g[0]), from.inside(g[0]))
		if p.Valid() {
			k.a.Set(r, "mov.b32", asm.Int(0))
		}
		k.a.If(p).Set(r, k.loading(t)+".b32", from.at(g[0]).addr())
		regs = append(regs, r)
	}
	return regs
}

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
		sum[i] = got[i*c.Parts]
		for p := 1; p < c.Parts; p++ {
			sum[i] = elem.Apply(k.a, lang.OpAdd, d, []asm.Reg{sum[i], got[i*c.Parts+p]}, false)
		}
	}
	return sum
}
