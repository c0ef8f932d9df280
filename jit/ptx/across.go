package ptx

import (
	"tilec/jit/block"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file reads operands of bytes that lie along their rows (or columns), where
// fragments want four neighbours of the depth in a register. ldmatrix transposes
// pairs of bytes: of four positions of the depth, two matrices give a register each
// with two neighbouring rows, which a permutation of bytes takes apart. So the rows
// that one fragment holds are every other one: the lanes count in twos, and the odd
// rows are the fragment's second half, or the next tile of columns.

// loadAcross reads fragments by ldmatrix and takes their bytes apart; nil when the tile does not lie as that needs.
func (k *kernel) loadAcross(c *block.Product, arg int, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	axis, reps, warp := c.M, c.MReps, c.AWarp
	if arg == c.B {
		axis, reps, warp = c.N, c.NReps[1:], c.BWarp
	}
	const chunk = 16
	if t.Contiguous() != axis[0] || t.Extents[0]%chunk != 0 {
		return nil
	}
	// Of eight rows of a matrix, a lane gets two neighbours: positions 4t and 4t+1 of the
	// depth from the first matrix, 4t+2 and 4t+3 from the second, 16 further from the others.
	kk := c.KBits
	l := layout.Layout{Lane: []layout.Digit{kk[0], kk[2], kk[3], kk[1], kk[4]}, Warp: warp}
	l.Reg = append(append(append(l.Reg, c.KReps...), reps...), c.BatchReps...)
	x := k.accessing(t, l)
	steps, groups := layout.Product(c.KReps), layout.Product(reps)
	loaded := map[int][]asm.Reg{}
	return func(step, rep, batch int) []asm.Reg {
		group := rep
		if arg == c.B {
			group /= 2
		}
		r := step + steps*(group+groups*batch)
		regs, ok := loaded[r]
		if !ok {
			raw := k.a.Regs(asm.B32, 4)
			k.a.Set(asm.List(raw), "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", x.at(r))
			for _, pair := range [][]asm.Reg{raw[:2], raw[2:]} {
				for _, bytes := range []int{0x6420, 0x7531} { // those of the even and of the odd row
					regs = append(regs, k.a.Op(asm.B32, "prmt.b32", pair[0], pair[1], asm.Int(bytes)))
				}
			}
			loaded[r] = regs
		}
		if arg == c.B {
			return []asm.Reg{regs[rep%2], regs[2+rep%2]}
		}
		return regs
	}
}
