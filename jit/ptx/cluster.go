package ptx

import (
	"fmt"
	"math/bits"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file is about blocks that work together. The blocks of a cluster may
// divide the steps of a loop: each goes through its part, then they exchange
// what they carry through one another's shared memory and combine it in the
// order of their ranks, so that all hold the same bits and the same bits each
// time. From there on they do the same, and the first of them stores.

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

// joined is one element of the tiles of a join, as one thread of each block holds it.
type joined struct {
	op   *ir.Op
	regs []asm.Reg // by tile
	out  []asm.Reg
	// own are the bits of a thread's number by which threads have an element of their own: those that differ in others hold the same.
	own int
}

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

// bytes is what one thread's element takes.
func (e joined) bytes() int {
	n := 0
	for _, r := range e.regs {
		n += r.Class.Bytes()
	}
	return n
}

// holders is how many threads of a block have elements of their own.
func (e joined) holders() int { return 1 << bits.OnesCount(uint(e.own)) }

// exchange is elements whose parts blocks exchange at a time. Every thread of a block holds what the same thread of the others holds
// a part of.
type exchange struct {
	k     *kernel
	all   []joined
	moved []moved
}

// moved is registers of each thread that one access moves to shared memory or from it. There is an array with an element for each
// thread that has some of its own, which begins at a place of the buffer.
type moved struct {
	regs, outs     []asm.Reg
	bytes, at, own int
}

// mostMoved is the bytes that one access moves at most.
const mostMoved = 16

// movedTogether are the accesses that move some elements, the wide ones first, so that all are aligned.
func movedTogether(all []joined) []moved {
	var ms []moved
	for left := all; len(left) > 0; {
		own := left[0].own
		alike := func(e joined) bool { return e.own == own }
		for _, size := range []int{8, 4} {
			var regs, outs []asm.Reg
			for _, e := range left {
				for i, r := range e.regs {
					if alike(e) && r.Class.Bytes() == size {
						regs, outs = append(regs, r), append(outs, e.out[i])
					}
				}
			}
			for n := mostMoved / size; n > 0; n /= 2 {
				for ; len(regs) >= n; regs, outs = regs[n:], outs[n:] {
					ms = append(ms, moved{regs: regs[:n], outs: outs[:n], bytes: n * size, own: own})
				}
			}
		}
		left = slices.DeleteFunc(slices.Clone(left), alike)
	}
	slices.SortStableFunc(ms, func(x, y moved) int { return y.bytes - x.bytes })
	at := 0
	for i := range ms {
		ms[i].at = at
		at += ms[i].bytes << bits.OnesCount(uint(ms[i].own))
	}
	return ms
}

// access is the name of the instruction, and its registers as an operand.
func (m moved) access(name string, regs []asm.Reg) (string, asm.Operand) {
	each := 8 * m.bytes / len(regs)
	if len(regs) == 1 {
		return fmt.Sprintf("%s.b%d", name, each), regs[0]
	}
	return fmt.Sprintf("%s.v%d.b%d", name, len(regs), each), asm.Vector(slices.Clone(regs))
}

// mine is where the thread's element of an array lies that begins where the buffer does.
func (x *exchange) mine(b buffer, m moved) asm.Reg {
	a := x.k.a
	return a.Register(a.Add(a.Calc(asm.B32, "add.s32", x.k.sharedBase(), asm.Int(b.at)), a.Mul(x.k.holder(m.own), m.bytes)))
}

// holder is the number of the thread, or of the one that holds the same for it, among those that differ in some bits of their numbers.
func (k *kernel) holder(own int) asm.Number {
	threads := k.Warps * layout.Lanes
	if own&(threads-1) == threads-1 {
		return k.tid
	}
	a := k.a
	var number asm.Number = asm.Int(0)
	for at, place := 0, 0; own>>at != 0; {
		if own>>at&1 == 0 {
			at++
			continue
		}
		n := bits.TrailingZeros(^uint(own >> at)) // bits side by side
		x := k.tid
		if at > place {
			x = a.Calc(asm.B32, "shr.u32", x, asm.Int(at-place))
		}
		number = a.Add(number, a.Calc(asm.B32, "and.b32", x, asm.Int((1<<n-1)<<place)))
		at, place = at+n, place+n
	}
	return number
}

// gives is the predicate that nobody else gives what the thread has; no register where every thread has something of its own.
func (k *kernel) gives(own int) asm.Reg {
	others := (k.Warps*layout.Lanes - 1) &^ own
	if others == 0 {
		return asm.Reg{}
	}
	return k.a.Calc(asm.Pred, "setp.eq.u32", k.a.Calc(asm.B32, "and.b32", k.tid, asm.Int(others)), asm.Int(0))
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

// asWords are registers that can be stored.
func asWords(a *asm.Builder, regs []asm.Reg) []asm.Reg {
	words := slices.Clone(regs)
	for i, r := range regs {
		if r.Class == asm.Pred {
			words[i] = a.Op(asm.B32, "selp.u32", asm.Int(1), asm.Int(0), r)
		}
	}
	return words
}

// read loads what an access moves, into registers like those that it was stored from.
func (x *exchange) read(name string, m moved, from asm.Addr) []asm.Reg {
	a := x.k.a
	regs := make([]asm.Reg, len(m.regs))
	for i, r := range m.regs {
		if regs[i] = a.Reg(r.Class); r.Class == asm.Pred {
			regs[i] = a.Reg(asm.B32)
		}
	}
	name, all := m.access(name, regs)
	a.Set(all, name, from)
	for i, r := range m.regs {
		if r.Class == asm.Pred {
			regs[i] = a.Op(asm.Pred, "setp.ne.u32", regs[i], asm.Int(0))
		}
	}
	return regs
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

// join puts the parts of the blocks together.
func (x *exchange) join(fetch func(rank int) map[asm.Reg]asm.Reg) {
	if x.all[0].op.Exclusive {
		x.k.partsBefore(x.all, fetch)
	} else {
		x.k.partsOfAll(x.all, fetch)
	}
}

// partsAtOnce is how many registers of a thread the parts of several blocks take that are asked for before the first is looked at: one way to another
// block's memory takes as long as several dozen operations.
const partsAtOnce = 48

// partsOfAll combines the parts of all blocks.
func (k *kernel) partsOfAll(all []joined, fetch func(rank int) map[asm.Reg]asm.Reg) {
	a, words := k.a, 0
	for _, e := range all {
		words += e.bytes() / 4
	}
	if n := min(partsAtOnce/max(words, 1), k.Split); n > 1 {
		k.partsTogether(all, n, fetch)
		return
	}
	// Parts without steps are the last ones: behind the first of them there is nothing more.
	end := a.Label()
	conditional := false
	for rank := range k.Split {
		if exists := k.partExists(all[0].op, rank); exists.Valid() {
			begin := a.Here()
			a.Unless(exists).Do("bra.uni", end)
			if !conditional {
				k.push(begin)
				conditional = true
			}
		}
		parts := fetch(rank)
		for _, e := range all {
			xs := make([]asm.Reg, len(e.out))
			for i, r := range e.out {
				xs[i] = parts[r]
			}
			if rank > 0 {
				xs = k.function(e.op, e.out, xs)
			}
			for i, r := range e.out {
				k.a.Move(r, xs[i])
			}
		}
	}
	if conditional {
		k.pop()
		a.Place(end)
	}
}

// partsTogether combines the parts of all blocks, and asks for those of so many at once. What parts without steps hold is left out.
func (k *kernel) partsTogether(all []joined, n int, fetch func(rank int) map[asm.Reg]asm.Reg) {
	for first := 0; first < k.Split; first += n {
		var parts []map[asm.Reg]asm.Reg
		for rank := first; rank < min(first+n, k.Split); rank++ {
			parts = append(parts, fetch(rank))
		}
		for i, p := range parts {
			exists := k.partExists(all[0].op, first+i)
			for _, e := range all {
				xs := make([]asm.Reg, len(e.out))
				for j, r := range e.out {
					xs[j] = p[r]
				}
				if first+i > 0 {
					for j, x := range k.function(e.op, e.out, xs) {
						xs[j] = k.selected(exists, x, e.out[j])
					}
				}
				for j, r := range e.out {
					k.a.Move(r, xs[j])
				}
			}
		}
	}
}

// partsBefore combines, for each block, the parts of those before it; behind it in a reversed join.
func (k *kernel) partsBefore(all []joined, fetch func(rank int) map[asm.Reg]asm.Reg) {
	op := all[0].op
	totals := make([][]asm.Reg, len(all))
	for i := range k.Split {
		rank, exists := i, asm.Reg{}
		if op.Reverse { // there the parts without steps come first
			rank = k.Split - 1 - i
			exists = k.partExists(op, rank+1)
		}
		parts := fetch(rank)
		mine := k.a.Calc(asm.Pred, "setp.eq.u32", k.rank(), asm.Int(rank))
		for n, e := range all {
			xs := make([]asm.Reg, len(e.out))
			for j, r := range e.out {
				xs[j] = parts[r]
				if i == 0 {
					k.a.Move(r, xs[j])
				} else {
					k.a.Move(r, k.selected(mine, totals[n][j], r))
				}
			}
			if i > 0 {
				for j, x := range k.function(op, totals[n], xs) {
					xs[j] = k.selected(exists, x, xs[j])
				}
			}
			totals[n] = xs
		}
	}
}

// anyBefore holds in blocks before which there are steps; behind which, in a reversed join.
func (k *kernel) anyBefore(op *ir.Op) asm.Reg {
	if !op.Reverse {
		return k.a.Calc(asm.Pred, "setp.ne.u32", k.rank(), asm.Int(0))
	}
	lo, hi := op.Bounds()
	begin, end := k.bounds(op.Axis, lo, hi)
	length, each := k.share(begin, end, op.Axis.Extent)
	next := k.a.Calc(asm.B32, "add.u32", k.rank(), asm.Int(1))
	return k.a.Calc(asm.Pred, "setp.lt.u32", k.a.Calc(asm.B32, "mul.lo.u32", next, each), length)
}

// partExists is the predicate that the block of a rank has steps of a shared loop, given that all before it
// have; no register where it does for sure.
func (k *kernel) partExists(join *ir.Op, rank int) asm.Reg {
	lo, hi := join.Bounds()
	step := join.Axis.Extent
	if rank == 0 {
		return asm.Reg{}
	}
	from, fromKnown := lo.IsConst()
	to, toKnown := hi.IsConst()
	if fromKnown && toKnown {
		steps := (max(to.Int-from.Int, 0) + step - 1) / step
		each := (steps + int64(k.Split) - 1) / int64(k.Split)
		if int64(rank)*each < steps {
			return asm.Reg{}
		}
	}
	begin, end := k.bounds(join.Axis, lo, hi)
	length, each := k.share(begin, end, step)
	op, _, u := k.counting(begin)
	return k.a.Calc(asm.Pred, "setp.lt."+u, op("mul.lo."+u, each, asm.Int(rank)), length)
}

// clusterBarrier makes what the cluster's blocks have written visible to all of them.
func (k *kernel) clusterBarrier() {
	k.a.Do("barrier.cluster.arrive.release.aligned")
	k.a.Do("barrier.cluster.wait.acquire.aligned")
	k.arena.reads, k.arena.writes, k.arena.unknown = nil, nil, false
}
