package ptx

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/lang"
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
	if k.Split > 1 && !k.Func.HasRanges() {
		return a.Register(a.Quotient(number, asm.Int(k.Split)))
	}
	if k.Split > 1 {
		number = a.Register(a.Quotient(number, asm.Int(k.Split)))
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

// joinsAt is the joins that begin at a place of a block: those of one axis that
// follow one another share one exchange.
func joinsAt(ops []*ir.Op) []*ir.Op {
	n := 0
	for n < len(ops) && ops[n].Code == lang.OpJoin && ops[n].Axis == ops[0].Axis {
		for _, v := range ops[n].Args {
			if slices.Contains(ops[:n], v.Def) {
				return ops[:n]
			}
		}
		n++
	}
	return ops[:n]
}

// joined is one element of the tiles of a join, as one thread of each block holds it.
type joined struct {
	op   *ir.Op
	regs []asm.Reg // by tile
	out  []asm.Reg
}

// join puts together what the blocks carry out of loops over an axis that they share.
func (k *kernel) join(ops []*ir.Op) {
	var all []joined
	for _, op := range ops {
		k.a.Comment("%s", describe(op))
		l := k.Homes[op.Results[0]]
		out := make([][]asm.Reg, len(op.Joined()))
		tiles := make([][]asm.Reg, len(op.Joined()))
		for i, v := range op.Joined() {
			tiles[i] = k.get(v, l)
			out[i] = make([]asm.Reg, len(tiles[i]))
		}
		for j := range tiles[0] {
			e := joined{op: op}
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
	threads := k.Warps * layout.Lanes
	for len(all) > 0 {
		n, bytes := 0, 0
		for n < len(all) && (n == 0 || bytes+all[n].bytes()*threads <= exchangeBytes) {
			bytes += all[n].bytes() * threads
			n++
		}
		k.exchangeParts(all[:n], bytes)
		all = all[n:]
	}
}

// bytes is what one thread's element takes.
func (e joined) bytes() int {
	n := 0
	for _, r := range e.regs {
		n += r.Class.Bytes()
	}
	return n
}

// exchangeParts joins some elements. Every thread of a block holds what the same
// thread of the others holds a part of; each reads the parts of all in the order of the blocks.
func (k *kernel) exchangeParts(all []joined, bytes int) {
	a, axis := k.a, all[0].op.Axis
	threads := k.Warps * layout.Lanes
	a.Comment("the parts of %d blocks", k.Split)
	buffer := k.allocate(bytes, fmt.Sprintf("exchanging the parts of axis %s", axis.Name))
	k.writing(buffer)
	// Of each register there is an array with an element for each thread, of which mine is the thread's place.
	mine := map[int]asm.Reg{}
	for _, size := range []int{4, 8} {
		mine[size] = k.a.Register(k.a.Add(k.a.Calc(asm.B32, "add.s32", k.sharedBase(), asm.Int(buffer.at)), k.a.Mul(k.tid, size)))
	}
	each := func(visit func(e joined, i, size, offset int)) {
		at := 0
		for _, size := range []int{8, 4} { // the wide ones first, so that all are aligned
			for _, e := range all {
				for i, r := range e.regs {
					if r.Class.Bytes() == size {
						visit(e, i, size, at)
						at += threads * size
					}
				}
			}
		}
	}
	each(func(e joined, i, size, offset int) {
		x := e.regs[i]
		if x.Class == asm.Pred {
			x = a.Op(asm.B32, "selp.u32", asm.Int(1), asm.Int(0), x)
		}
		a.Do(fmt.Sprintf("st.shared.b%d", 8*size), asm.At(mine[size]).Plus(offset), x)
	})
	k.clusterBarrier()
	fetch := func(rank int) map[asm.Reg]asm.Reg { // the parts of one block, by the block's own registers
		from := map[int]asm.Reg{}
		parts := map[asm.Reg]asm.Reg{}
		each(func(e joined, i, size, offset int) {
			if !from[size].Valid() {
				from[size] = a.Op(asm.B32, "mapa.shared::cluster.u32", mine[size], asm.Int(rank))
			}
			class := e.regs[i].Class
			x := a.Reg(class)
			if class == asm.Pred {
				x = a.Reg(asm.B32)
			}
			a.Set(x, fmt.Sprintf("ld.shared::cluster.b%d", 8*size), asm.At(from[size]).Plus(offset))
			if class == asm.Pred {
				x = a.Op(asm.Pred, "setp.ne.u32", x, asm.Int(0))
			}
			parts[e.out[i]] = x
		})
		return parts
	}
	if all[0].op.Exclusive {
		k.partsBefore(all, fetch)
	} else {
		k.partsOfAll(all, fetch)
	}
	k.clusterBarrier()
	k.release(buffer)
}

// partsOfAll combines the parts of all blocks.
func (k *kernel) partsOfAll(all []joined, fetch func(rank int) map[asm.Reg]asm.Reg) {
	a := k.a
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
