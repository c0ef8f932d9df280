package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file emits the way of a block that stays (block.Tiles) through the tiles of a grid. The ring of stages goes on from tile to
// tile: the producer fills it for the next one while this one's results are stored. Two teams take turns at two things, to
// multiply and to use the shared memory for results, by a named barrier for each team and each thing, at which the team that
// comes waits and the team that leaves arrives.

// walk is what a block that stays knows from its start.
type walk struct {
	// tiles is how many tiles (or pairs of them) there are, and stride how far a block's next one is.
	tiles, stride asm.Number
	// team is the number of the team of a thread; no register where there is one team.
	team asm.Reg
}

// tiles is the number of tiles of the grid.
func (k *kernel) tiles() asm.Number {
	var n asm.Number = asm.Int(1)
	for _, x := range k.Func.Grid() {
		along := k.tilesAlong(x)
		if n == asm.Int(1) {
			n = along
			continue
		}
		a, ok := n.(asm.Int)
		if b, known := along.(asm.Int); ok && known {
			n = a * b
			continue
		}
		n = k.a.Op(asm.B32, "mul.lo.u32", k.a.Register(n), along)
	}
	return n
}

// tilesAlong is the number of tiles along an axis of the grid: of pairs where two blocks have neighbours along it.
func (k *kernel) tilesAlong(x *ir.Axis) asm.Number {
	n := k.blocksOf(x)
	if k.Tiles == nil || k.Tiles.Along != x {
		return n
	}
	if known, ok := n.(asm.Int); ok {
		return (known + 1) / 2
	}
	return k.a.Once("pairs along "+x.Name, func() asm.Reg {
		return k.a.Op(asm.B32, "shr.u32", k.a.Op(asm.B32, "add.s32", n, asm.Int(1)), asm.Int(1))
	})
}

// paired reports that two blocks share copies.
func (k *kernel) paired() bool { return k.Tiles != nil && k.Tiles.Along != nil }

// firstTile is the number of the block's first tile, or of its cluster's first pair of tiles.
func (k *kernel) firstTile() asm.Reg {
	if k.paired() {
		return k.a.Op(asm.B32, "mov.u32", asm.Cluster)
	}
	return k.a.Op(asm.B32, "mov.u32", asm.Block)
}

// readyTiles computes what blocks that stay know from their start.
func (k *kernel) readyTiles() {
	a := k.a
	a.AtEntry(func() {
		k.walk.tiles = k.tiles()
		stride := asm.Blocks
		if k.paired() {
			stride = asm.Clusters
			k.rank()
		}
		k.walk.stride = a.Op(asm.B32, "mov.u32", stride)
		if k.Teams() > 1 {
			k.walk.team = k.ofWarp(a.Op(asm.B32, "shr.u32", k.thread, asm.Int(5+log2(k.Warps))))
		}
	})
}

// log2 is the exponent of a power of two.
func log2(n int) int {
	bits := 0
	for 1<<bits < n {
		bits++
	}
	return bits
}

// eachTile emits what is done for each tile, from the one that first is the number of, every so many; changed are the registers
// that it changes.
func (k *kernel) eachTile(first asm.Reg, every asm.Number, changed []asm.Reg, emit func(tile asm.Reg)) {
	a := k.a
	tile := a.Reg(asm.B32)
	a.Move(tile, first)
	top, done := a.Label(), a.Label()
	begin := a.Here()
	a.If(a.Op(asm.Pred, "setp.ge.u32", tile, k.walk.tiles)).Do("bra.uni", done)
	a.Place(top)
	k.push(begin)
	a.Changes(append(changed, tile)...)
	k.place(tile)
	emit(tile)
	a.Set(tile, "add.s32", tile, every)
	k.pop()
	a.If(a.Op(asm.Pred, "setp.lt.u32", tile, k.walk.tiles)).Do("bra.uni", top)
	a.Place(done)
}

// throughTiles emits the way of those that compute.
func (k *kernel) throughTiles() {
	a := k.a
	var p *pipeline
	for _, op := range k.Func.Body.Ops {
		if x := k.produced[op]; x != nil {
			p = x
		}
	}
	r := p.ring
	r.start(a)
	first, every := k.firstTile(), k.walk.stride
	if k.Teams() > 1 {
		a.Comment("the second team begins with the block's second tile, and lets the first begin")
		first = a.Op(asm.B32, "mad.lo.s32", k.walk.team, every, first)
		every = k.a.Op(asm.B32, "mul.lo.s32", k.a.Register(every), asm.Int(k.Teams()))
		p.skip(k.walk.team)
		second := a.Op(asm.Pred, "setp.eq.u32", k.walk.team, asm.Int(1))
		for _, turn := range []int{block.ProductTurn, block.ResultTurn} {
			a.If(second).Do("bar.arrive", asm.Int(turn), asm.Int(k.Teams()*k.Warps*layout.Lanes))
		}
	}
	k.eachTile(first, every, r.changes(), func(asm.Reg) {
		k.block(k.Func.Body)
		if k.Teams() > 1 {
			k.storesAreRead()
			k.leaveTurn(block.ResultTurn)
		}
	})
	if k.Teams() == 1 {
		k.storesAreRead()
	}
}

// storesAreRead waits until the copies that store results have read the shared memory.
func (k *kernel) storesAreRead() {
	if len(k.Stores) > 0 {
		first := k.a.Calc(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
		k.a.If(first).Do("cp.async.bulk.wait_group.read", asm.Int(0))
	}
}

// steps is how many steps the loop has, the same for every tile.
func (p *pipeline) steps() asm.Reg {
	k := p.k
	k.provide(p.Op.Args[0])
	k.provide(p.Op.Args[1])
	lo, hi := k.bounds(p.Op.Axis, p.Op.Args[0], p.Op.Args[1])
	c := lo.Class
	n := k.a.Calc(c, c.Signed("max"), k.a.Calc(c, c.Signed("sub"), hi, lo), asm.Int(0))
	n = k.a.Calc(c, c.Signed("div"), k.a.Calc(c, c.Signed("add"), n, asm.Int(p.step-1)), asm.Int(p.step))
	if c == asm.B64 {
		n = k.a.Calc(asm.B32, "cvt.u32.u64", n)
	}
	return n
}

// skip moves on by the stages of so many tiles, which others compute.
func (p *pipeline) skip(tiles asm.Number) {
	a, r := p.k.a, p.ring
	n := p.steps()
	if tiles != asm.Int(1) {
		n = a.Calc(asm.B32, "mul.lo.s32", n, tiles)
	}
	sum := a.Op(asm.B32, "add.s32", r.stage, n)
	rounds := a.Quotient(sum, asm.Int(p.Stages))
	a.Set(r.stage, "mov.b32", a.Remainder(sum, asm.Int(p.Stages)))
	odd := a.Op(asm.B32, "and.b32", rounds, asm.Int(1))
	a.Set(r.phase, "xor.b32", r.phase, odd)
}
