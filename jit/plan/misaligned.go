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

// copied is the cycles of multiprocessors for the copies of n elements that a load takes where its rows are misaligned; 0 for others.
func (c at) copied(load *ir.Op, n float64) float64 {
	piece := c.misaligned[load.Tensor]
	if piece == 0 {
		return 0
	}
	cycles := asyncCopy
	if piece < asyncPiece {
		cycles = registerCopy
	}
	return n * float64(load.Tensor.DType.Size()) / float64(piece) / 32 * cycles
}

// lineOfCopy is the cycles of a multiprocessor for each row of which a warp's copy brings pieces, where these are of several rows. (An H200, by ncu, 3x3 of f32 of two images as they lie: 512 x 7 x 7 to 512 channels 75 us,
// in steps of 2 256 x 14 x 14 to 512 40, 128 x 28 x 28 to 256 38, 64 x 56 x 56 to 128 26.5; predicted without 21, 16, 12 and 9.5, and by this 64, 36, 14 and 18 more.) Plans are not chosen by it: where many warps
// copy, less was seen.
const lineOfCopy = 4.6

// inPieces is the cycles of multiprocessors for the copies of n elements of a window in short pieces of several rows; 0 for other loads.
func (c at) inPieces(load *ir.Op, n float64) float64 {
	dims, found := c.piecewise[load]
	if !found || slices.ContainsFunc(c.multiplied[load.Result()], c.byWarpgroups) {
		return 0
	}
	rows := 32.0
	for _, along := range dims {
		for _, a := range along {
			rows /= float64(c.extentOf(a))
		}
		if len(along) != 1 || int64(c.extentOf(along[0])) < c.size[c.place[along[0]]] { // the neighbours of a part of a row are elsewhere
			break
		}
	}
	if rows <= 1 {
		return 0
	}
	return n / 32 * rows * lineOfCopy
}
