package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file has plans whose blocks stay and go through the tiles of the grid (block.Tiles), with two teams of warps that take turns:
// what is behind a product costs nothing where it takes no longer than the other team's product.

const (
	// teams are those that take turns, and teamWarps the warps of each: a warpgroup.
	teams, teamWarps = 2, 4
	// alone is all warps of a block that stays as one team: it hides nothing of one tile behind another but the start, for which its operands are there already.
	alone = 1
	// pair is how many blocks of a cluster can share what they copy.
	pair = 2
	// teamRegisters is how many registers a thread has for accumulators where a warpgroup that only copies has given away its own
	// (with 208 of 240 the assembler kept three in memory).
	teamRegisters = 200
	// fewestRounds is from how many tiles for each multiprocessor on teams have something to take turns at.
	fewestRounds = 2
	// oneFromRegisters is what part of shared memory's rate one warpgroup alone reaches that loads rows of f32 from there and rounds them before it multiplies: it does one
	// of both at a time (an H200, 1024x4096x1024 and 1024x3072x768 by tiles of 64x128: 43.6 and 34.5 us by one, 38.7 and 27.0 by two).
	oneFromRegisters = 0.8
	// teamColumns is from how many columns on a team that multiplies alone keeps the tensor cores as busy as two warpgroups do (H200, bf16, bias,
	// 8192x768x3072, 8192x3072x768: with 192 columns 57 and 55 us, with 128 63 and 62).
	teamColumns = 192
	// aloneRegisters is from how many accumulators a thread on blocks that stay alone are planned: with fewer, two blocks have hidden more (an H200, bf16, 4096x4096x4096: 64 took
	// 1.08 of the time of two blocks of as many rows and columns, 128 0.97).
	aloneRegisters = 96
	// worthStaying is what part of the time a block that stays alone has to hide for that to count: blocks that go need not hold on to shared memory.
	worthStaying = 0.0125
	// registerSteps is up to how many steps of a loop a team multiplies alone whose rows come from registers, as those of f32 do: with more,
	// what it hides behind a product is little, and it has not been timed whether one warpgroup keeps the tensor cores as busy as two.
	registerSteps = 48
)

// mayStay reports a kernel that is one product of what it loads, what is computed of it element by element, and stores.
func (m *model) mayStay() bool {
	t := m.target
	if !t.IsGPU() || !t.Has(target.Wgmma|target.TMA) || m.split > 1 || m.cluster > pair || m.f.HasDebug() {
		return false
	}
	products, written := 0, map[*ir.Tensor]bool{}
	for _, s := range m.ops {
		row := s.op.Code.Row()
		switch {
		case isContraction(s.op):
			products++
		case s.op.Code == lang.OpStore:
			if written[s.op.Tensor] || s.op.Collides() || s.op.Hint.Given() {
				return false
			}
			written[s.op.Tensor] = true
		case s.op.Code == lang.OpLoad || row.Elementwise || row.Group == lang.GroupCreate:
		case s.op.Code == lang.OpIf && len(s.op.Results) == 0: // stores of some blocks
		default:
			return false
		}
	}
	return products == 1 && len(m.stored) > 0 && !slices.ContainsFunc(m.ops, func(s step) bool { return s.op.Code == lang.OpLoad && written[s.op.Tensor] })
}

// persists are the ways in which blocks may stay: the one that is asked for, or none and two teams.
func (m *model) persists(pins map[string]int64) ([]int, error) {
	n, err := m.asked("persist", pins)
	if err != nil {
		return nil, err
	}
	stays := m.mayStay()
	if stays {
		m.depth = m.onlyDepth()
	}
	_, pinned := pins["persist"]
	if _, hinted := m.f.Hints["persist"]; pinned || hinted {
		return []int{int(n)}, nil
	}
	if m.occupancy > 0 || m.producer == 1 || m.deep || m.fine || !stays {
		return []int{0}, nil
	}
	// With the sums of a step beside, a thread of a team has no registers for a tile that is worth while; and the rows that one team widens, the other does not hide (an H200, bf16 and i8: 607 us by two
	// teams of 256 x 64 where 500 by blocks of one warpgroup).
	if m.stepwise || m.mixed {
		return []int{0, alone}, nil
	}
	if m.ofBytes || m.manyMatrixAxes() { // not timed alone
		return []int{0, teams}, nil
	}
	return []int{0, alone, teams}, nil
}

// takesTurns reports a candidate of two teams.
func (c at) takesTurns() bool { return c.persist == teams && c.allByWarpgroups() }

// turnsFit reports a candidate that is no nonsense: two teams are of a warpgroup each, and have work for both, unless they are asked for.
func (c at) turnsFit(asked bool) bool {
	if c.paired {
		return c.pairsFit()
	}
	if c.persist > 0 && !asked && c.functionsOfImages() {
		return false
	}
	if c.persist == alone && !asked {
		return c.allByWarpgroups() && c.loadsOperands() && c.stages >= pipelineStages && c.rounds() >= fewestRounds &&
			(c.stepwise || c.accumulators() >= aloneRegisters) && !(c.fromRegisters() && c.arranged())
	}
	if c.persist != teams || !c.target.IsGPU() {
		return true
	}
	if asked {
		return c.warps == teamWarps || !c.allByWarpgroups()
	}
	if c.fromRegisters() {
		if steps, _ := c.chained(); steps > registerSteps || c.hasFunctions() {
			return false
		}
	}
	return c.warps == teamWarps && c.allByWarpgroups() && c.loadsOperands() && c.stages > pipelineStages && c.rounds() >= fewestRounds
}

// onlyDepth is the place of the axis that has all the depth of a kernel's only product, outside of any loop, -1 where there is none. Blocks
// that stay may have a loop over it of one step: the steps that loads run ahead are those of the tiles to come.
func (m *model) onlyDepth() int {
	depth := -1
	for _, s := range m.ops {
		if !isContraction(s.op) {
			continue
		}
		i := m.place[s.op.Over[0]]
		if len(s.op.Over) > 1 || s.op.Over[0].Kind != ir.Whole || !m.streamable[i] {
			return -1
		}
		depth = i
	}
	return depth
}

// fromRegisters reports a product of f32 whose rows are loaded from where they lie across the depth.
func (c at) fromRegisters() bool {
	for _, s := range c.ops {
		if isContraction(s.op) && s.op.Args[0].Type.DType == lang.F32 {
			roles, ok := c.roles[s.op]
			return ok && roles.Across
		}
	}
	return false
}

// hasFunctions reports functions that take several instructions and registers of their own: of results that threads store as they hold
// them, all are computed at once (with GELU the assembler kept 836 bytes a thread in memory).
func (c at) hasFunctions() bool {
	return slices.ContainsFunc(c.ops, func(s step) bool { return s.op.Code.Row().Elementwise && weight(s.op) > 1 })
}

// functionsOfImages reports images that products of several axes make, with functions of their elements. Threads store them in lines, and four warps do not hide what they wait for between the
// functions (an H200, 3x3 of f32 to 16 x 128 x 126 x 126 and tanh(log(1 + exp(x))) * x: in a graph, counted by ncu, two teams 543 us; by itself two blocks of four warps 324, of
// eight 205; without the functions 148). Of results at every second place threads store what they hold, and four warps are
// mostly faster (five transposed convolutions in steps of 2: 0.88 to 0.96 of the time of eight, one 1.19, two calls).
func (c at) functionsOfImages() bool {
	return c.manyMatrixAxes() && !c.softmax && c.hasFunctions() && slices.ContainsFunc(c.ops, func(s step) bool {
		if !c.results[s.op] {
			return false
		}
		v := innermost(s.op)
		return v != nil && v.Def != nil && v.Def.Code == lang.OpIndex
	})
}

// teamIsEnough reports teams of which one keeps the tensor cores as busy as two warpgroups do: with enough columns, of operands that lie ready in
// shared memory (an H200: of f32, whose rows are loaded and rounded between the products, and of i8, teams took 8 to 14 % longer than two blocks or two warpgroups).
func (c at) teamIsEnough() bool {
	return c.takesTurns() && c.columns() >= teamColumns && !c.fromRegisters() && !c.ofBytes
}

// rounds is how many tiles a block that stays has at most.
func (c at) rounds() int64 { return ceilDiv(c.blocks(), int64(c.target.SMs)) }

// columns is the columns of the product of a kernel that has one, as the tensor cores take them.
func (c at) columns() int64 {
	for _, s := range c.ops {
		if !isContraction(s.op) {
			continue
		}
		columns := 1
		if roles, ok := c.roles[s.op]; ok && (s.op.Mixed() || s.op.Args[0].Type.DType == lang.F32) {
			columns = roles.Columns
		}
		if w := c.windowOf(s.op); w != nil {
			columns = c.columnsOf(s.op)
		}
		return c.free(s.op.Args[columns], s.op.Args[1-columns])
	}
	return 0
}

// accumulators is the registers of a thread that products take.
func (c at) accumulators() int64 {
	n := int64(0)
	for _, s := range c.ops {
		if isContraction(s.op) {
			t := c.tile(s.op.Result())
			n += c.count(t, false) * t.bytes / 4 / c.threads()
		}
	}
	return n
}

// partBytes is the least shared memory through which results can go beside the stages of a block that stays: a panel of each.
func (c at) partBytes() int64 {
	most := int64(0)
	for _, t := range c.stored {
		bytes := c.count(t.tile, false) * t.bytes
		if c.fromRegisters() && !c.arranged() {
			continue // threads store what they hold
		}
		if row := c.row(t.tile) * t.bytes; row > block.PanelBytes {
			bytes = bytes / row * block.PanelBytes
		}
		most = max(most, bytes)
	}
	return most
}

// heldBytes is what a thread has of neighbours in a row of a product of f32, in bytes: one access stores them.
const heldBytes = 8

// arranged reports results of which threads do not store a tile as they hold it: rows begin where no access of heldBytes can.
func (c at) arranged() bool {
	for s := range c.results {
		if block.RowsAt(s.Tensor) < heldBytes {
			return true
		}
	}
	return false
}

// row is the positions of a tile along its last axis.
func (c at) row(t tile) int64 {
	if len(t.axes) == 0 {
		return 1
	}
	return c.extent[t.axes[len(t.axes)-1]]
}

// storedByThreads is the time in which blocks everywhere store a tile each, where threads store what they hold, as those do that multiply f32:
// little of it is hidden by products, be they of another block or of another team (an H200: 3.5 us a tile of 192x128, 6.4 for two of 128x128).
func (c at) storedByThreads() float64 {
	for _, s := range c.ops {
		if isContraction(s.op) && s.op.Args[0].Type.DType == lang.F32 {
			return float64(c.resultBytes()*int64(c.target.SMs)) / c.target.DRAM
		}
	}
	return 0
}

// multiplying is the time of products alone, with what brings their operands from the L2.
func (c at) multiplying(e *estimate) float64 { return max(e.compute, e.shared, e.l2) }

// turns is the time beside the busy time of blocks whose teams take turns: a block starts once, the last team stores alone, and each
// turn takes a little of the tensor cores' time, as each step takes of all.
func (c at) turns(e *estimate, busy float64) float64 {
	t := &c.target
	steps, _ := c.chained()
	rounds := float64(c.rounds())
	// While the main memory keeps the tensor cores waiting, turns take nothing.
	between := max(e.compute+float64(rounds*t.TurnTime)-busy, c.multiplying(e)+float64((rounds-1)*c.storedByThreads())-busy, 0)
	last := float64(c.resultBytes()*int64(t.SMs)) / t.DRAM
	return t.BlockOverhead + t.LoadLatency + last + between + float64(rounds*steps*c.stepTime(steps, busy/rounds)) + c.unhidden(e)
}
