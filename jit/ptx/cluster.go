package ptx

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file is about blocks that work together. The blocks of a cluster may
// divide the steps of a loop: each goes through its part, then they exchange
// what they carry, which they send one another (sending.go) or read in one
// another's shared memory, and combine it in the order of their ranks, so that
// all hold the same bits and the same bits each time (exchange.go). From there on
// they do the same, and the first of them stores, or each goes on by itself
// where they are blocks that the grid has anyway (block.Program.Along).

// blockNumber is the number of the block among those that differ in the grid's
// axes. Where clusters are launched whole, blocks beyond the last end at once, and so do those for which ranges in memory have no tile.
func (k *kernel) blockNumber() asm.Reg {
	a := k.a
	number := a.Op(asm.B32, "mov.u32", asm.Block)
	if k.Func.ScratchBytes() > 0 {
		first := k.argument(ir.Param{Kind: ir.ParamFirst})
		number = a.Op(asm.B32, "add.u32", number, first)
	}
	if n := k.ForOne(); n > 1 {
		number = a.Register(a.Quotient(number, asm.Int(n)))
	}
	if k.Split > 1 && !k.Func.HasRanges() { // a cluster has all that it is launched with
		return number
	}
	if n, ranges := k.ClusterSize(), k.Func.HasRanges(); n > 1 || ranges {
		var blocks asm.Number = asm.Int(1)
		for _, x := range k.Func.Grid() {
			along := k.blocksOf(x)
			b, known := blocks.(asm.Int)
			d, alongKnown := along.(asm.Int)
			switch {
			case known && alongKnown:
				blocks = b * d
			case known:
				blocks = a.Op(asm.B32, "mul.lo.u32", along, b)
			default:
				blocks = a.Op(asm.B32, "mul.lo.u32", blocks, along)
			}
		}
		if b, known := blocks.(asm.Int); ranges || !known || int(b)%n != 0 {
			a.If(a.Op(asm.Pred, "setp.ge.u32", number, blocks)).Do("ret")
		}
	}
	return number
}

// rank is the block's number in its cluster.
func (k *kernel) rank() asm.Reg {
	return k.a.Once("rank", func() asm.Reg {
		k.a.Require(78)
		return k.a.Op(asm.B32, "mov.u32", asm.ClusterRank)
	})
}

// firstBlock holds in the first block of a cluster.
func (k *kernel) firstBlock() asm.Reg { return k.a.Calc(asm.Pred, "setp.eq.u32", k.rank(), asm.Int(0)) }

// onlyFirst emits what only the first of the blocks that share a loop may do: outside the loop all hold the same.
func (k *kernel) onlyFirst(emit func()) {
	a := k.a
	first, done := k.firstBlock(), a.Label()
	begin := a.Here()
	a.Unless(first).Do("bra.uni", done)
	k.push(begin)
	emit()
	k.pop()
	a.Place(done)
	k.assumeTouched()
}

// counting is 32- or 64-bit arithmetic on positions, as a register has them: s and u are the signed and unsigned type.
func (k *kernel) counting(like asm.Reg) (op func(name string, x, y asm.Number) asm.Reg, s, u string) {
	c, s, u := asm.B32, "s32", "u32"
	if like.Class == asm.B64 {
		c, s, u = asm.B64, "s64", "u64"
	}
	return func(name string, x, y asm.Number) asm.Reg { return k.a.Calc(c, name, x, y) }, s, u
}

// share is how many positions a range has, and how many of them each block goes through: whole steps, but for the last.
func (k *kernel) share(lo, hi asm.Reg, step int64) (length, each asm.Reg) {
	op, s, u := k.counting(lo)
	length = op("max."+s, op("sub."+s, hi, lo), asm.Int(0))
	// As unsigned numbers, for their sums may pass the largest i32.
	divide := func(x asm.Reg, n int64) asm.Reg {
		if lo.Class == asm.B32 && length.Class == asm.B32 {
			return k.a.Register(k.a.Quotient(x, asm.Int(n)))
		}
		return op("div."+u, x, asm.Int(n))
	}
	steps := divide(op("add."+u, length, asm.Int(step-1)), step)
	each = divide(op("add."+u, steps, asm.Int(k.Split-1)), int64(k.Split))
	return length, op("mul.lo."+u, each, asm.Int(step))
}

// part is the range of a loop's positions that this block goes through.
func (k *kernel) part(lo, hi asm.Reg, step int64) (from, to asm.Reg) {
	op, s, u := k.counting(lo)
	length, each := k.share(lo, hi, step)
	rank := k.rank()
	if lo.Class == asm.B64 {
		rank = k.a.Wide(rank)
	}
	begin := op("mul.lo."+u, rank, each)
	end := op("add."+u, begin, each)
	from = op("add."+s, lo, op("min."+u, begin, length))
	to = op("add."+s, lo, op("min."+u, end, length))
	return from, to
}

// exchangeBytes bounds the shared memory through which blocks exchange what they carry.
const exchangeBytes = 32 << 10

// exchangeAlign bounds the bytes that lie before it, so that it is aligned.
const exchangeAlign = 1 << 10

// meet puts together what the blocks carry out of loops over an axis that they share. Where only the first block needs it, the others
// leave it to that one, and end.
func (k *kernel) meet(m block.Meeting) {
	var all []joined
	for _, op := range m.Joins {
		k.a.Comment("%s", describe(op))
		l := k.Homes[op.Results[0]]
		out := make([][]asm.Reg, len(op.Joined()))
		tiles := make([][]asm.Reg, len(op.Joined()))
		for i, v := range op.Joined() {
			tiles[i] = k.get(v, l)
			out[i] = make([]asm.Reg, len(tiles[i]))
		}
		for j := range tiles[0] {
			e := joined{op: op, own: l.Own()}
			for i := range tiles {
				out[i][j] = k.a.Reg(tiles[i][j].Class)
				e.regs, e.out = append(e.regs, tiles[i][j]), append(e.out, out[i][j])
			}
			all = append(all, e)
		}
		for i := range tiles {
			k.hold(op.Results[i], l, out[i])
		}
		if op.Exclusive {
			k.hold(op.Results[len(tiles)], layout.Uniform(k.Warps), []asm.Reg{k.anyBefore(op)})
		}
	}
	if s, ok := k.sendings[m.Joins[0]]; ok {
		k.send(s, all)
		return
	}
	var exchanges []*exchange
	most := 0
	room := max(exchangeBytes, k.arena.Peak-k.arena.Top-exchangeAlign) // what the block has anyway costs nothing
	for len(all) > 0 {
		n, bytes := 0, 0
		for n < len(all) && (n == 0 || bytes+all[n].bytes()*all[n].holders() <= room) {
			bytes += all[n].bytes() * all[n].holders()
			n++
		}
		exchanges = append(exchanges, &exchange{k, all[:n], movedTogether(all[:n])})
		most, all = max(most, bytes), all[n:]
	}
	k.a.Comment("the parts of %d blocks", k.Split)
	buffer := k.allocate(most, fmt.Sprintf("exchanging the parts of axis %s", m.Joins[0].Axis.Name))
	if m.FirstAlone {
		k.leaveToFirst(exchanges, buffer)
		k.release(buffer)
		return
	}
	for _, x := range exchanges {
		x.give(buffer)
		k.clusterBarrier()
		x.take(buffer, false)
		k.clusterBarrier()
	}
	k.release(buffer)
}

// leaveToFirst has the first block put the parts together, and the others end when it has read theirs.
func (k *kernel) leaveToFirst(exchanges []*exchange, buffer buffer) {
	a, first := k.a, k.a.Label()
	begin := a.Here()
	a.If(k.firstBlock()).Do("bra.uni", first)
	k.push(begin)
	for _, x := range exchanges {
		x.give(buffer)
		k.clusterBarrier()
		k.clusterBarrier()
	}
	k.pop()
	k.leave()
	a.Place(first)
	for _, x := range exchanges {
		k.clusterBarrier()
		x.take(buffer, true)
		k.clusterBarrier()
	}
}

// leave has the block end.
func (k *kernel) leave() {
	if k.ended == 0 {
		k.ended = k.a.Label()
	}
	k.a.Do("bra.uni", k.ended)
}

// mine is where the thread's element of an array lies that begins where the buffer does.
func (x *exchange) mine(b buffer, m moved) asm.Reg {
	a := x.k.a
	return a.Register(a.Add(a.Calc(asm.B32, "add.s32", x.k.sharedBase(), asm.Int(b.at)), a.Mul(x.k.holder(m.own), m.bytes)))
}

// give puts the block's parts where the others read them.
func (x *exchange) give(b buffer) {
	a := x.k.a
	x.k.writing(b)
	for _, m := range x.moved {
		name, all := m.access("st.shared", asWords(a, m.regs))
		to, gives := asm.At(x.mine(b, m)).Plus(m.at), x.k.gives(m.own)
		if !gives.Valid() {
			a.Do(name, to, all)
			continue
		}
		a.If(gives).Do(name, to, all)
	}
}

// take reads the parts of all blocks in their order and puts them together. The first block, where it alone does, has its own at hand.
func (x *exchange) take(b buffer, onlyFirst bool) {
	a := x.k.a
	fetch := func(rank int) map[asm.Reg]asm.Reg { // the parts of one block, by the block's own registers
		from := map[[2]int]asm.Reg{}
		parts := map[asm.Reg]asm.Reg{}
		for _, m := range x.moved {
			regs := m.regs
			if !onlyFirst || rank > 0 {
				key := [2]int{m.bytes, m.own}
				if !from[key].Valid() {
					from[key] = a.Op(asm.B32, "mapa.shared::cluster.u32", x.mine(b, m), asm.Int(rank))
				}
				regs = x.read("ld.shared::cluster", m, asm.At(from[key]).Plus(m.at))
			}
			for i, r := range m.outs {
				parts[r] = regs[i]
			}
		}
		return parts
	}
	x.join(fetch)
}

// clusterBarrier makes what the cluster's blocks have written visible to all of them.
func (k *kernel) clusterBarrier() {
	k.a.Do("barrier.cluster.arrive.release.aligned")
	k.a.Do("barrier.cluster.wait.acquire.aligned")
	k.arena.reads, k.arena.writes, k.arena.unknown = nil, nil, false
}
