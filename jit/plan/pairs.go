package plan

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file has pairs of blocks that stay and share what they copy of a product's columns (block.Tiles.Along): the L2 brings it once for both. They are planned where
// it brings most, for rows that begin in the middle of lines.

// splitLine is how much longer the L2 takes for a row of a box that lies in two lines, as a part of the time of one that fills a line, and pairTime how much longer a launch takes
// by pairs of blocks, which wait for each other at their beginning and their end (an H200, bf16: 1000x1000x1000 by 64x128 12.4 us, 10.7 by pairs; 1000x4000x1000 26.8 and 20.3;
// 1024x1024x1000 8.6 and 7.7; 1024x1000x1024, of which no pair is planned, 6.1 and 7.4).
const (
	splitLine = 0.75
	pairTime  = 1e-6
)

// splitLines is how much longer the L2 takes for the rows of boxes of which many lie in two lines, as a part of the time for what a load moves.
func (c at) splitLines(op *ir.Op) float64 {
	apart := c.apart(op)
	if op.Code != lang.OpLoad || !c.allByWarpgroups() || block.RowsMisaligned(op.Tensor) {
		return 0
	}
	within := apart & -apart // rows begin at multiples of it
	return float64(splitLine * max(1-float64(within)/lineBytes, 0))
}

// pairAxis is the axis of the grid along which pairs have neighbouring tiles, nil where none is planned: as for blocks that stay alone, but of 16 bits, whose columns' rows lie in two lines.
func (m *model) pairAxis() *ir.Axis {
	grid := m.f.Grid()
	if m.cluster > 0 || m.stepwise || m.ofBytes || m.manyMatrixAxes() || len(grid) != 2 || m.f.HasRanges() {
		return nil
	}
	return grid[0]
}

// pairsFit reports a candidate whose pairs share copies of which the L2 brings most.
func (c at) pairsFit() bool {
	along := c.pairAxis()
	if along == nil || c.persist != alone || !c.allByWarpgroups() || c.fromRegisters() || !c.loadsOperands() || c.stages < pipelineStages {
		return false
	}
	i := c.place[along]
	if ceilDiv(c.size[i], c.extent[i])%pair != 0 {
		return false
	}
	for _, s := range c.ops {
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
