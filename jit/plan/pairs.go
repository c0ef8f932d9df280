package plan

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file has pairs of blocks that stay and share what they copy of a product's columns (block.Tiles.Along). They are planned for rows that begin in the middle of lines, of
// which the L2 then brings two for one: each block of a pair asks for half of them.

// pairTime is how much longer a launch takes by pairs of blocks, which wait for each other at their beginning and their end (an H200, bf16: 1000x1000x1000 by 64x128 9.7 us, 8.2 by
// pairs; 1024x1024x1000 8.4 and 7.7; 1024x4040x1024, of which the rows of the first operand alone lie in two lines and no pair is planned, 16.3 and 19.2).
const pairTime = 1e-6

// splitLines is which part of the rows of boxes lie in two lines, reckoned by how much of the L2's time they take: all where they begin at any multiple of 16 bytes, a quarter where at
// those of 64. Of what each block of a pair copies a half of, half. As all copies of a kernel take up to their own time longer, by the square of that part (an H200, bf16, tiles of 64x128:
// of the first operand, a third, 1.1; of the second 1.7; of both 2.1. By pairs, of the second 1.2 and of both 1.5. With a depth of 4000 in place of 4096, both 1.06). Of other
// sizes of elements nothing was timed, and nothing is reckoned.
func (c at) splitLines(op *ir.Op) float64 {
	apart := c.apart(op)
	if op.Code != lang.OpLoad || op.Tensor.DType.Size() != 2 || !c.allByWarpgroups() || block.RowsMisaligned(op.Tensor) {
		return 0
	}
	within := apart & -apart // rows begin at multiples of it
	if within == 0 || within >= lineBytes {
		return 0
	}
	part := block.RowUnit / float64(within)
	if c.paired && c.sharedByPair(op) {
		part /= pair
	}
	return part
}

// pairAxis is the axis of the grid along which pairs have neighbouring tiles, nil where none is planned.
func (m *model) pairAxis() *ir.Axis {
	grid := m.f.Grid()
	if m.cluster > 0 || m.stepwise || m.ofBytes || m.manyMatrixAxes() || len(grid) != 2 || m.f.HasRanges() {
		return nil
	}
	return grid[0]
}

// pairsFit reports a candidate whose pairs share copies of which the L2 brings most, and leave few multiprocessors idle (1000x1000x1000 by pairs of 64x192, which 96 of 132 have, takes 9.6 us,
// and 9.5 by other blocks; by 64x128 8.3 and 9.7).
func (c at) pairsFit() bool {
	along := c.pairAxis()
	if along == nil || !c.allByWarpgroups() || !c.loadsOperands() || c.stages < pipelineStages {
		return false
	}
	i, places := c.place[along], c.rounds()*int64(c.target.SMs)
	if ceilDiv(c.size[i], c.extent[i])%pair != 0 || float64(c.blocks()) < float64(leastFilled*float64(places)) {
		return false
	}
	for _, s := range c.ops { // of whole lines, pairs have nothing to gain
		if c.sharedByPair(s.op) && c.splitLines(s.op) > 0 {
			return true
		}
	}
	return false
}

// sharedByPair reports a load of which each block of a pair copies a half for both.
func (c at) sharedByPair(op *ir.Op) bool {
	return op.Code == lang.OpLoad && len(op.Result().Type.Axes) == 2 && !op.Result().Type.Has(c.pairAxis())
}
