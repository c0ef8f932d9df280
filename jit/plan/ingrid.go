package plan

import "tilec/jit/ir"

// This file is about blocks that share loops among themselves, since they would do the same there anyway: block.Program.Along.

// inGrid reports a candidate whose clusters are blocks that the grid has anyway.
func (c at) inGrid() bool {
	n, last := c.sharing(), c.lastOfGrid()
	return n > 1 && last >= 0 && c.f.Axes[last].Dim.Known() && c.along(last)%n == 0 && c.regardless(last)
}

// lastOfGrid is the place of the grid's last axis, -1 where blocks along that one are no neighbours by number, or there is none.
func (m *model) lastOfGrid() int {
	grid := m.f.Grid()
	if len(grid) == 0 || m.f.HasRanges() || m.f.ScratchBytes() > 0 || m.contracts && len(grid) > 1 && !grid[len(grid)-1].Scalar && !grid[len(grid)-2].Scalar {
		return -1
	}
	return m.place[grid[len(grid)-1]]
}

// repeatedPays is sharingPays of a loop that the blocks of the grid would otherwise repeat: no block is launched for it, and what it costs is what they send.
const repeatedPays = 1.05

// repeated reports a loop that blocks may share and that all blocks along the grid's last axis would go through.
func (m *model) repeated() bool {
	last := m.lastOfGrid()
	return m.sharedLoop() != nil && last >= 0 && m.f.Axes[last].Dim.Known() && m.f.Regardless(m.sharedLoop(), m.f.Axes[last])
}

// regardless reports that all loops that blocks share do the same in all blocks along an axis of the grid.
func (c at) regardless(i int) bool {
	for _, loop := range c.loops {
		if loop.Axis == nil || c.blocksAlong(c.place[loop.Axis]) == 1 {
			continue
		}
		key := loopAlong{loop, i}
		same, known := c.alike[key]
		if !known {
			same = c.f.Regardless(loop, c.f.Axes[i])
			c.alike[key] = same
		}
		if !same {
			return false
		}
	}
	return c.sharedLoop() != nil || c.split > 1
}

// loopAlong is a loop, and the place of an axis of the grid.
type loopAlong struct {
	loop *ir.Op
	axis int
}

// forOne is how many blocks are launched for one of the grid.
func (c at) forOne() int64 {
	if c.inGrid() {
		return 1
	}
	return c.sharing()
}
