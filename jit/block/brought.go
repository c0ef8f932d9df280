package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds operands that threads copy to shared memory with what they copy for the first step of a loop: what all steps take, as the queries
// of attention, and the loop's own operands are then under way together, and nobody waits for a register in between.

// bringOperands decides which loads outside of the kernel's only loop are brought so.
func (p *Program) bringOperands() {
	for _, x := range p.Pipelines {
		if x.Produced || p.Tiles != nil || !p.Alone(x.Op) {
			continue
		}
		for _, op := range p.Func.Body.Ops {
			if op.Code == lang.OpLoad && !op.Tensor.Constant && !p.begunEarlier(op) {
				if b := p.brought(op, x.Op); b != nil {
					p.Brought = append(p.Brought, b)
				}
			}
		}
	}
}

// brought is a load whose elements products of the loop alone read, all of them from one small tile in which the elements lie as in memory; nil for another.
func (p *Program) brought(op, loop *ir.Op) *Beside {
	v, dims := op.Result(), p.Access(op)
	c := Contiguous(dims)
	if v.Type.IsScalar() || len(p.Uses[v]) == 0 || p.Yields(v) > 0 || c == nil || !op.Tensor.ReadOnly() || !ZeroElse(op) || op.Hint.Given() || op.Tensor.DType.Packed() ||
		!p.Again(v) || !p.knownAtStart(dims) {
		return nil
	}
	var tile *Tile
	for _, u := range p.Uses[v] {
		of := p.Products[u.Op]
		if of == nil || of.Wgmma || u.Arg > 1 || of.MMA == nil || of.InShared(u.Arg) != v.Type.DType || !slices.Contains(loop.Blocks[0].Ops, u.Op) || of.Tiles[u.Arg] == nil {
			return nil
		}
		want := of.Tiles[u.Arg]
		if tile != nil && !(tile.Holds(want) && want.Holds(tile)) {
			return nil
		}
		tile = want
	}
	if tile.Contiguous() != c || tile.Bytes() > mostBeside {
		return nil
	}
	vector := min(p.Vector(op.Tensor, dims, c), tile.Vector())
	if vector*tile.DType.Size() < 4 { // cp.async moves 4, 8 or 16 bytes
		return nil
	}
	return &Beside{op, tile, p.CopyLayout(tile, vector), vector}
}
