package ptx

import (
	"tilec/jit/block"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file reads the rows of a product of two types, which lie in shared memory as elements of 8 bits and are of 16 in the instruction. A fragment has four
// pairs of neighbours of the depth: of two rows, at two places of the depth.

// loadMixed reads such fragments and widens them; nil when the tile does not lie as that needs.
func (k *kernel) loadMixed(c *block.Product, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	switch {
	case c.Across(c.A):
		return k.loadMixedAcross(c, t)
	case t.Contiguous() != c.K[0] || c.MBits[3].Axis == nil: // copies have no registers
		return nil
	case c.Fours():
		return k.loadMixedFours(c, t)
	case c.KBits[0].Axis == c.K[0] && c.KBits[3].Axis != nil:
		return k.loadMixedAlong(c, t)
	}
	return nil
}

// mixedFragment is how many elements a fragment has in a thread: the depth's lowest bit, the row's highest, the depth's highest.
const mixedFragment = 8

// loadMixedFours reads four neighbours of the depth of each row.
func (k *kernel) loadMixedFours(c *block.Product, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	x := k.accessing(t, c.FragmentLayout(c.A))
	steps, reps := layout.Product(c.KReps), layout.Product(c.MReps)
	return func(step, rep, batch int) []asm.Reg {
		first := mixedFragment * (step + steps*(rep+reps*batch))
		out := make([]asm.Reg, 4)
		for row := range 2 {
			word := k.fetch(lang.U32, 1, "ld.shared", asm.Reg{}, x.at(first+2*row))[0]
			out[row], out[2+row] = elem.WidenNeighbours(k.a, t.DType, c.Element(c.A), word)
		}
		return out
	}
}

// loadFours reads four neighbours of the depth of each column, of 16 bits each.
func (k *kernel) loadFours(c *block.Product, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	x := k.accessing(t, c.FragmentLayout(c.B))
	steps, reps := layout.Product(c.KReps), layout.Product(c.NReps)
	return func(step, rep, batch int) []asm.Reg {
		return k.fetch(lang.U32, 2, "ld.shared", asm.Reg{}, x.at(4*(step+steps*(rep+reps*batch))))
	}
}

// loadMixedAlong reads pairs that are neighbours in shared memory, one by one: no lane has four neighbours of the depth.
func (k *kernel) loadMixedAlong(c *block.Product, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	l := c.FragmentLayout(c.A)
	x := k.accessing(t, l)
	steps, reps := layout.Product(c.KReps), layout.Product(c.MReps)
	d, to := t.DType, c.Element(c.A)
	return func(step, rep, batch int) []asm.Reg {
		first := mixedFragment * (step + steps*(rep+reps*batch))
		pair := func(n int) asm.Reg { return k.fetch(lang.U16, 1, "ld.shared", asm.Reg{}, x.at(first+2*n))[0] }
		var out []asm.Reg
		for half := range 2 {
			both := k.a.Op(asm.B32, "prmt.b32", pair(2*half), pair(2*half+1), asm.Int(0x5410))
			one, other := elem.WidenNeighbours(k.a, d, to, both)
			out = append(out, one, other)
		}
		return out
	}
}

// loadMixedAcross reads rows along which the tile lies by ldmatrix, which transposes pairs of bytes: of two positions of the depth, a matrix gives two
// neighbouring rows, which are the two rows of a fragment.
func (k *kernel) loadMixedAcross(c *block.Product, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	const chunk = 16
	if t.Contiguous() != c.M[0] || t.Extents[0]%chunk != 0 {
		return nil
	}
	kk, depth, twice := c.KBits, c.KReps, layout.Digit{Size: 2}
	if len(depth) > 0 && depth[0].Size%2 == 0 { // two steps of the depth by one instruction
		d := depth[0]
		twice = layout.Digit{Axis: d.Axis, Stride: d.Stride, Size: 2}
		depth = append([]layout.Digit{{Axis: d.Axis, Stride: 2 * d.Stride, Size: d.Size / 2}}, depth[1:]...)
	}
	l := layout.Layout{Lane: []layout.Digit{kk[0], kk[1], kk[2], kk[3], twice}, Warp: c.AWarp}
	l.Reg = append(append(append(l.Reg, depth...), c.MReps...), c.BatchReps...)
	x := k.accessing(t, l)
	together := 1
	if twice.Axis != nil {
		together = 2
	}
	steps, reps := layout.Product(depth), layout.Product(c.MReps)
	d, to := t.DType, c.Element(c.A)
	loaded := map[int][]asm.Reg{}
	return func(step, rep, batch int) []asm.Reg {
		r := step/together + steps*(rep+reps*batch)
		raw, ok := loaded[r]
		if !ok {
			raw = k.a.Regs(asm.B32, 2*together)
			name := map[int]string{1: "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}[together]
			k.a.Set(asm.List(raw), name, x.at(r))
			loaded[r] = raw
		}
		var out []asm.Reg
		for _, word := range raw[step%together*2:][:2] {
			even, odd := elem.WidenAlternate(k.a, d, to, word)
			out = append(out, even, odd)
		}
		return out
	}
}
