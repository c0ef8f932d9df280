package plan

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file has what loops of an online softmax take that other products do not: each step multiplies, computes weights of what it has, and
// multiplies those, one behind the other.

const (
	// aloneSoftmax is how much longer a launch takes, in seconds, whose multiprocessors have one block of two warpgroups each: nothing runs while it begins and ends.
	// On an H200, attention of 1x512, 2x512, 1x1024 and 1x2048 positions of 12 heads of 64 by blocks of 64 queries, of one warpgroup, two a multiprocessor: 7.0, 9.1, 14.9 and 23.2 us;
	// by 128 queries of two warpgroups, 2x512 and on: 10.1, 16.5 and 27.8.
	aloneSoftmax = 2e-6
	// busyGroups is how many warpgroups keep a multiprocessor busy with such a loop: while one multiplies, others compute weights. Where it has no room for so many of those that
	// there are, steps take fewGroups times as long (an H100, attention of 4x16x4096 positions, 64 channels: three blocks of 64 queries 324 us, one of 128 by two warpgroups 356, of which a step takes fewer instructions).
	busyGroups, fewGroups = 3, 1.1
	// softmaxByWarps is how much longer steps take of which each warp multiplies by itself, where there are rows for warpgroups: 64 queries of the 1x512 above by 8 warps
	// took 9.7 us where 7.0 were predicted, and 25 of 1x1024 that two blocks shared, where 12 by warpgroups.
	softmaxByWarps = 2
	// softmaxPays is sharingPays of such a loop: 1x1024 took 12.1 us by two blocks, where 14.9, and 1.18 of the time was predicted.
	softmaxPays = 1.15
	// fullSoftmax is how many blocks a multiprocessor has of such a loop where nothing is gained by sharing it: one alone does not keep it busy, and the longest are longer than others
	// (2x1024, 384 blocks of 64 queries: 16.6 us, 20.1 where two blocks shared the loop).
	fullSoftmax = 2
)

// isSoftmax reports a kernel whose products are in a loop that is an online softmax.
func (m *model) isSoftmax() bool {
	for _, op := range m.loops {
		if softmax, err := ir.FindOnlineSoftmax(op); err == nil && softmax != nil {
			return m.contracts
		}
	}
	return false
}

// slowerSoftmax is by how much longer a launch takes than its parts tell, where it is one of an online softmax: there are so many blocks for
// a multiprocessor, which has room for so many at once.
func (c at) slowerSoftmax(blocks, room int64, busy float64) float64 {
	longer := 0.0
	switch {
	case !c.softmax:
	case !c.allByWarpgroups():
		if c.rowsForWarpgroups() {
			longer = (softmaxByWarps - 1) * busy
		}
	default:
		if blocks > room && room*int64(c.warps) < busyGroups*teamWarps {
			longer = (fewGroups - 1) * busy
		}
		if c.warps > teamWarps && min(blocks, room) == 1 {
			longer += aloneSoftmax
		}
	}
	return longer
}

// rowsForWarpgroups reports products of as many rows as a warpgroup has.
func (c at) rowsForWarpgroups() bool {
	return slices.ContainsFunc(c.ops, func(s step) bool {
		if !isContraction(s.op) {
			return false
		}
		rows, _ := c.sides(s.op)
		return rows >= wgmmaRows
	})
}

// chainedProducts is by how much products of f32 take longer that are no multiplication of warpgroups, where another takes what they give, or a reduction (an H200, f32, in graphs, by ncu, whose
// clock is lower: scores, a mask and a softmax of 128 x 8 x 512 rows of 96 channels 2,730 us where 845 were predicted without this, attention of them 5,550 where 1,321, scores, a mask, relu and values of
// 16 x 12 x 1,024 rows of 64 866 where 415). Eight warps, as many as registers allow, go from one to the other in step.
const chainedProducts = 2.2

// chainsProducts reports such products, of rows along one axis: of images they are laid out anew and multiplied by warpgroups, which predictions of what lies as it does would not know.
func (m *model) chainsProducts() bool {
	if !m.target.IsGPU() || m.manyMatrixAxes() {
		return false
	}
	made, reduced := map[*ir.Value]bool{}, map[*ir.Value]bool{}
	for _, s := range m.ops { // in order, but for what loops carry
		op := s.op
		has := func(of map[*ir.Value]bool) bool {
			return slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return of[v] })
		}
		switch {
		case isContraction(op):
			if has(made) {
				return true
			}
			made[op.Result()] = op.Args[0].Type.DType == lang.F32 && op.Precision != "ieee"
		case isReduction(op):
			for _, v := range op.Results {
				reduced[v] = has(made)
			}
		case op.Code.Row().Elementwise:
			if has(made) && has(reduced) { // a row is gone through again
				return true
			}
			made[op.Result()], reduced[op.Result()] = has(made), has(reduced)
		}
	}
	return false
}
