package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file decides whether blocks stay: there are then no more than the multiprocessors hold at once, and each goes through
// tiles of the grid, one after the other. What begins a block is done once, and the producer copies for the next tile while this
// one's results are stored.

// Tiles says how blocks go through the tiles of a grid.
type Tiles struct {
	// Teams is how many teams of warps a block has, of Warps each. One computes one tile after the other. Of two, each has every
	// other tile of the block, and they take turns: while one multiplies, the other does what is behind its product.
	Teams int
	// Blocks is how many blocks a launch has at most. Resident is how many of them a multiprocessor must hold, where the code is made for that; 0 where
	// the plan says so.
	Blocks, Resident int
	// Along is the axis along which the two blocks of a cluster have neighbouring tiles; nil where blocks are alone. What both
	// need alike each of them copies a half of, for both (Copy.Shared).
	Along *ir.Axis
}

// Named barriers of a block, beside number 0, for which all threads meet. Those of teams are followed by the other team's.
const (
	// TeamBarrier is where the threads of a team meet, ProductTurn where a team waits for its turn to multiply, and ResultTurn for
	// its turn to use the shared memory for results.
	TeamBarrier = 1
	ProductTurn = 3
	ResultTurn  = 5
)

// mostTeams is how many teams can take turns.
const mostTeams = 2

// goThroughTiles decides whether the block stays, where that is asked for. What it does then has to be one product in one loop
// whose operands the producer copies, with as many steps for each tile, and what is stored of it.
func (p *Program) goThroughTiles() {
	if p.Persist == 0 || !p.Producing || len(p.Pipelines) != 1 || p.Split > 1 || p.Cluster > pair || p.Func.ScratchBytes() > 0 || len(p.Func.Grid()) == 0 {
		return
	}
	if teams := min(p.Persist, mostTeams); teams > 1 && p.Warps != groupWarps {
		return
	}
	var loop *ir.Op
	for _, op := range p.Func.Body.Ops {
		if loop == nil && !p.inPlace(op) {
			return
		}
		switch {
		case op.Code == lang.OpFor:
			x := p.Pipelines[op]
			if x == nil || !x.Produced || !x.Overlapped && !(p.Cluster < pair && p.stepwise(op)) || p.movesWithTile(op.Args[0]) || p.movesWithTile(op.Args[1]) {
				return
			}
			loop = op
		case op.Code.Row().Elementwise, op.Code.Row().Group == lang.GroupCreate, op.Code == lang.OpLoad, op.Code == lang.OpStore && !op.Collides(), loop != nil && p.onlyStores(op):
		default:
			return
		}
	}
	for _, op := range p.StoresOf(p.Func.Body) {
		if p.Stores[op] == nil && !p.storedAsHeld(op) { // a thread has not the registers to arrange so large a tile
			return
		}
	}
	if loop == nil || slices.ContainsFunc(p.Func.Tensors, p.Contended) {
		return
	}
	p.Tiles = &Tiles{Teams: p.Persist, Blocks: p.Target.SMs * max(p.Resident, 1)}
	if p.Cluster == pair && !p.shareCopies(p.Pipelines[loop]) {
		p.Tiles = nil
	}
}

// storedAsHeld reports a store whose threads write what they hold, without shared memory between.
func (p *Program) storedAsHeld(op *ir.Op) bool {
	c := Contiguous(p.Access(op))
	return c != nil && op.Stored().Type.Has(c) && p.fillsSectors(op, c)
}

// pair is how many blocks share copies.
const pair = 2

// shareCopies decides which copies the two blocks of a cluster share, whose tiles are neighbours along the rows of the grid; false
// where there are none.
func (p *Program) shareCopies(x *Pipeline) bool {
	axes := p.Func.Grid()
	if !p.Grouped || axes[len(axes)-2].Dim.Wide {
		return false
	}
	along := axes[len(axes)-2]
	if p.Func.HasRanges() { // neighbours may be of two ranges
		return false
	}
	if !p.Ragged(along) && along.Dim.Multiple()%(pair*along.Extent) != 0 {
		for _, op := range p.Func.Body.Ops { // of the last pair one tile may not exist, and nothing masks it
			if op.Code == lang.OpLoad && op.Result().Type.Has(along) {
				return false
			}
		}
		for _, op := range p.StoresOf(p.Func.Body) { // boxes end with the tensor, what threads store does not
			if s := p.Stores[op]; s == nil || s.Box == nil {
				return false
			}
		}
	}
	for i := range x.Copies {
		c := &x.Copies[i]
		// A half begins where the pattern of the swizzle does.
		if half := c.Tile.Extents[1] / pair; len(c.Tile.Axes) == 2 && !c.Load.Result().Type.Has(along) && c.Tile.Extents[1]%pair == 0 && half%8 == 0 {
			c.Shared, c.Box.Map.Box[1] = true, half
			p.Tiles.Along = along
		}
	}
	return p.Tiles.Along != nil
}

// inPlace reports an operation that takes its operands as threads hold them: before its turn a team has no shared memory to
// arrange them anew.
func (p *Program) inPlace(op *ir.Op) bool {
	for i, v := range op.Args {
		if v.Type.IsScalar() || p.Cheap(v) || p.Again(v) {
			continue
		}
		want, ok := p.Wanted(op, i)
		if !ok {
			return false
		}
		if _, same := p.Homes[v].Permutation(want, v.Type.Axes); !same {
			return false
		}
	}
	return true
}

// storeInParts decides in how many parts results go through shared memory, of which a block that stays has what its stages leave.
func (p *Program) storeInParts() {
	if p.Tiles == nil {
		return
	}
	left := int(p.Target.SharedShare(max(p.Resident, 1))) - sharedReserve
	for _, x := range p.Pipelines {
		left -= x.Stages * x.Bytes()
	}
	for _, b := range p.Beside {
		left -= p.Teams() * b.Tile.Bytes()
	}
	for op, s := range p.Stores {
		panels, home := s.Tile.RowBytes()/s.Tile.Width(), p.Homes[op.Stored()]
		if layout.Reach(s.Tile.Contiguous(), home.Lane, home.Warp)*s.Tile.DType.Size() > s.Tile.Width() {
			continue // a register is of several panels
		}
		if len(p.OfOneTile(op)) > 1 || s.Box != nil && s.Box.MayBeginOutside() {
			continue // other stores take the whole tile, or threads do
		}
		for s.Parts < panels && (panels%s.Parts != 0 || s.Tile.Bytes()/s.Parts > left) {
			s.Parts++
		}
	}
}

// PartOf is in which part of a stored tile an element lies, given where along the contiguous axis.
func (s *BoxStore) PartOf(column int) int {
	return column * s.Tile.DType.Size() * s.Parts / s.Tile.RowBytes()
}

// sharedReserve is what barriers and alignment take of shared memory, in bytes.
const sharedReserve = 3 << 10

// movesWithTile reports a scalar that depends on which tile a block computes.
func (p *Program) movesWithTile(v *ir.Value) bool {
	op := v.Def
	if op == nil {
		return false
	}
	if op.Code == lang.OpStart || op.Code == lang.OpEnd {
		return op.Axis.Kind == ir.Grid
	}
	return slices.ContainsFunc(op.Args, p.movesWithTile)
}

// Teams is how many teams of warps a block has.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (p *Program) Teams() int {
	if p.Tiles == nil {
		return 1
	}
	return p.Tiles.Teams
}
