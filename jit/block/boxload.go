package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds loads outside of loops that the producer does too: those of operands that products in a loop read from shared
// memory, as attention's queries. They take no registers and no barrier of the block on their way.

// BoxLoad is a load by the TMA to a tile that products read.
type BoxLoad struct {
	Tile *Tile
	Box  *Box
}

// loadByBoxes decides which loads of the kernel's body, before the loops that read them, the producer does: before loops whose products
// overlap. (Before the others, the wait for the load has the assembler keep every address in each thread: some spilled by it.)
func (p *Program) loadByBoxes() {
	if !p.Producing {
		return
	}
	for _, op := range p.Func.Body.Ops {
		if op.Code == lang.OpLoad {
			if x := p.boxLoad(op); x != nil {
				p.Loads[op] = x
			}
		}
	}
}

// boxLoad fits boxes to a load; nil where that cannot be.
func (p *Program) boxLoad(op *ir.Op) *BoxLoad {
	v := op.Result()
	if !op.Tensor.ReadOnly() || op.Else() != nil || op.Hint.Given() || len(p.Uses[v]) == 0 || !p.OnDemand(op) || p.Yields(v) > 0 {
		return nil
	}
	var tile *Tile
	for _, u := range p.Uses[v] {
		c := p.Products[u.Op]
		if c == nil || u.Arg > 1 || !c.Wgmma || c.InShared(u.Arg) != v.Type.DType || !p.inOverlap(u.Op) {
			return nil
		}
		want := c.Tiles[u.Arg]
		if tile != nil && !(tile.Holds(want) && want.Holds(tile)) || slices.ContainsFunc(c.K, func(a *ir.Axis) bool { return v.Type.Has(a) && p.Ragged(a) }) {
			return nil
		}
		tile = want
	}
	if tile.Contiguous() != Contiguous(p.Access(op)) {
		return nil
	}
	box, ok := p.newBox(op.Tensor, p.Access(op), tile, nil, false)
	if !ok {
		return nil
	}
	p.nameMap(box)
	return &BoxLoad{tile, box}
}

// inOverlap reports an operation of a step of a loop whose products overlap.
func (p *Program) inOverlap(op *ir.Op) bool {
	for loop, x := range p.Pipelines {
		if x.Overlap != nil && slices.Contains(loop.Blocks[0].Ops, op) {
			return true
		}
	}
	return false
}
