package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file has what atomics cost that meet at few elements, in global memory and in a block's own: see block.Private.

// atomicSectors is how many sectors of 32 bytes the L2 changes by atomics at once, one element of each a clock; where a tensor
// has fewer, its atomics wait for one another. privateCycles is what the atomics of a warp take in shared memory.
const atomicSectors, privateCycles = 64, 4

// findPrivate notes the tensors that blocks may change in shared memory first.
func (m *model) findPrivate() {
	if m.mostPrivate == 1 || !m.target.IsGPU() {
		return
	}
	for _, t := range m.f.Tensors {
		if x, ok := block.PrivateIn(m.f, t, m.mostPrivate); ok {
			m.privates = append(m.privates, x)
		}
	}
}

// privateOf is how a tensor is private in this candidate; nil where it is not.
func (c at) privateOf(t *ir.Tensor) *block.Private {
	for i, x := range c.privates {
		if x.Tensor == t && c.sharing() == 1 && x.PaysPrivate(block.Updates(c.f, t, c.perBlock)) {
			return &c.privates[i]
		}
	}
	return nil
}

// perBlock is how many positions of an axis a block has, or a step of a loop.
func (c at) perBlock(a *ir.Axis) int64 {
	if a.Kind == ir.Whole {
		return a.Len
	}
	return c.extent[c.place[a]]
}

// privateBytes is the shared memory of private tensors.
func (c at) privateBytes() int64 {
	n := int64(0)
	for _, x := range c.privates {
		if c.privateOf(x.Tensor) != nil {
			n += int64(x.Slots()) * block.PrivateBytes
		}
	}
	return n
}

// meeting is the time, in seconds, that atomics take beside the bytes that they move: in shared memory those of private tensors,
// full multiprocessors of it, in the L2 those that are at places that are read, of tensors of few sectors.
func (c at) meeting(full float64) (shared, l2 float64) {
	t := &c.target
	for _, s := range c.ops {
		if !s.op.Code.IsAtomic() || s.op.Overwrites() {
			continue
		}
		n, _ := c.elements(s, false)
		if x := c.privateOf(s.op.Tensor); x != nil {
			set := float64(c.blocks() * int64(x.Slots()) * 2) // at the beginning, and read at the end
			shared += float64((n + set) / 32 * privateCycles / (full * t.Clock))
			continue
		}
		if gathered(s.op) {
			bytes := float64(s.op.Tensor.DType.Bits()) / 8
			for _, d := range s.op.Tensor.Shape {
				bytes *= float64(c.dims(d))
			}
			l2 += float64(n / (max(min(bytes/t.SectorBytes, atomicSectors), 1) * t.Clock))
		}
	}
	return shared, l2
}

// fromMemory reports a tile that is computed elementwise of what is read in memory.
func fromMemory(v *ir.Value) bool {
	return v.Def != nil && !v.Type.IsScalar() && (v.Def.Code == lang.OpLoad || v.Def.Code.Row().Elementwise && slices.ContainsFunc(v.Def.Args, fromMemory))
}

// gathered reports an access at places that are read in memory.
func gathered(op *ir.Op) bool {
	for _, v := range op.Indices() {
		if v.Def != nil && v.Def.Code == lang.OpLoad && !v.Type.IsScalar() {
			return true
		}
	}
	return false
}
