package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/target"
)

// This file has what it costs that rows of a product's operands begin where no box can: threads copy them, a few bytes at a time.

const (
	// registerCopy and asyncCopy are the cycles of a multiprocessor for a warp's copy to shared memory of one piece a thread, by way of registers
	// and by cp.async, in pieces of asyncPiece bytes (an H200: 5.8 and 6.4 of bf16, 17.6 and 19.7 of f32, in products of
	// 8205x2949x5921 and 4097x4095x4099). Longer pieces have no figure, and are reckoned as whole ones are.
	registerCopy, asyncCopy, asyncPiece = 6, 18.5, 4
)

// misalignedOf gives, by tensor, the bytes of the short pieces in which threads copy what boxes cannot, for products on the matrix unit.
func misalignedOf(f *ir.Func, t target.Machine) map[*ir.Tensor]int64 {
	if !t.Has(target.TMA) {
		return nil
	}
	pieces := map[*ir.Tensor]int64{}
	for _, r := range block.Misaligned(f) {
		if _, matrix := contractRate(&t, r.Product); matrix && r.Unit <= asyncPiece {
			pieces[r.Tensor] = r.Unit
		}
	}
	return pieces
}

// copied is the cycles of multiprocessors for the copies of n elements that a load takes where its rows are misaligned, or the taps of a window shift along them; 0 for others.
func (c at) copied(load *ir.Op, n float64) float64 {
	piece := c.misaligned[load.Tensor]
	if p := c.piecewise[load]; piece == 0 && p > 0 && p <= asyncPiece && !slices.ContainsFunc(c.multiplied[load.Result()], c.byWarpgroups) {
		piece = p
	}
	if piece == 0 {
		return 0
	}
	cycles := asyncCopy
	if piece < asyncPiece {
		cycles = registerCopy
	}
	return n * float64(load.Tensor.DType.Size()) / float64(piece) / 32 * cycles
}
