package plan

import "tilec/jit/ir"

// This file is about blocks that share loops among themselves, since they would do the same there anyway: block.Program.Along.

// inGrid reports a candidate whose clusters are blocks that the grid has anyway.
func (c at) inGrid() bool {
	n := c.sharing()
	return n > 1 && c.repeats && c.along(c.lastOfGrid())%n == 0
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

// repeated reports that there are loops which blocks share or may share, and that all blocks along the grid's last axis would do the same in each of them.
func (m *model) repeated() bool {
	last := m.lastOfGrid()
	if last < 0 || !m.f.Axes[last].Dim.Known() {
		return false
	}
	var loops []*ir.Op
	for _, op := range m.loops {
		if op.Axis != nil && op.Axis.Split > 1 {
			loops = append(loops, op)
		}
	}
	if op := m.sharedLoop(); op != nil {
		loops = append(loops, op)
	}
	for _, op := range loops {
		if !m.f.Regardless(op, m.f.Axes[last]) {
			return false
		}
	}
	return len(loops) > 0
}

// forOne is how many blocks are launched for one of the grid.
func (c at) forOne() int64 {
	if c.inGrid() {
		return 1
	}
	return c.sharing()
}
