package ptx

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file is about what the blocks of a cluster exchange: which registers are moved by which accesses, and how the parts of all blocks are put together, in
// the order of the blocks, so that all have the same bits.

// joined is one element of the tiles of a join, as one thread of each block holds it.
type joined struct {
	op   *ir.Op
	regs []asm.Reg // by tile
	out  []asm.Reg
	// own are the bits of a thread's number by which threads have an element of their own: those that differ in others hold the same.
	own int
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
	sort.SliceStable(ms, func(i, j int) bool { return ms[i].bytes > ms[j].bytes })
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
	calc, _, u := k.counting(begin)
	rank := k.rank()
	if begin.Class == asm.B64 {
		rank = k.a.Wide(rank)
	}
	return k.a.Calc(asm.Pred, "setp.lt."+u, calc("mul.lo."+u, calc("add."+u, rank, asm.Int(1)), each), length)
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
