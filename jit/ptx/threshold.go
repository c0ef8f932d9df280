package ptx

import (
	"fmt"
	"math"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file finds the largest ranks of a row (see selection), all threads of the block together. They halve the upper halves of ranks, bit by bit from the
// uppermost: each thread counts those of its own that reach the middle, and the block adds up. As soon as as many do as are wanted, the middle is the
// threshold; of elements that are equal there the lower halves, which tell their positions, are halved as well. Those at the threshold or above go to
// shared memory, in any order, and each finds its place by counting the larger ones. A chunk of a row begins with those that come before
// the last one found so far: where none does, nothing is done, and where few do, there is no threshold to be found.

// threshold is one topk of ranks.
type threshold struct {
	k  *kernel
	op *ir.Op
	// low and high are the halves of the ranks of a thread; 0 of what does not exist or another thread has too.
	low, high []asm.Reg
	// counts is where the warps leave what they have counted, twice; slot is the place of the warp, which changes sides with each count.
	counts buffer
	slot   asm.Reg
	// sum is what was counted last.
	sum asm.Reg
}

// topk emits a topk of ranks: those of the results in descending order, 0 where there is none.
func (k *kernel) topk(op *ir.Op) {
	a, v := k.a, op.Results[0]
	results := int(op.Axis.Len)
	s := &threshold{k: k, op: op}
	s.split()
	kept := []*ir.Axis{op.Axis}
	before := 0
	if len(op.Args) > 1 {
		before = results
	}
	s.counts = k.allocate(2*4*k.Warps, "counting "+block.ValueName(v))
	counter := k.allocate(4, "counting "+block.ValueName(v))
	// What was found before, and behind that what is found now; each place is read, four at a time.
	entries := newShared(lang.U64, kept, []int{(before + results + 3) / 4 * 4}, false)
	entries.buffer = k.allocate(entries.Bytes(), "found of "+block.ValueName(v))
	out := newShared(lang.U64, kept, []int{results}, false)
	out.buffer = k.allocate(out.Bytes(), "found of "+block.ValueName(v))
	for _, b := range []buffer{s.counts, counter, entries.buffer, out.buffer} {
		k.writing(b)
	}
	base := k.sharedBase()
	lane := a.Op(asm.B32, "and.b32", k.tid, asm.Int(layout.Lanes-1))
	first := a.Op(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	a.If(first).Do("st.shared.b32", asm.At(base).Plus(counter.at), asm.Int(0))
	zero := a.Op(asm.B64, "mov.b64", asm.Int(0))
	clear := func(t *sharedTile, from int) {
		k.inPieces(t.Extents[0]-from, func(piece, within asm.Reg) {
			at := a.Op(asm.B32, "mad.lo.u32", piece, asm.Int(8), base)
			a.If(within).Do("st.shared.b64", asm.At(at).Plus(t.at+8*from), zero)
		})
	}
	clear(entries, before)
	last := a.Op(asm.B64, "mov.b64", asm.Int(0))
	if before == 0 {
		clear(out, 0)
		if k.Warps == 1 { // several meet when they count
			k.barrier()
		}
	} else {
		prior := op.Args[1]
		l := k.Homes[prior]
		regs := k.get(prior, l)
		head := *entries
		head.Extents = []int{results}
		k.write(&head, prior, l, regs, nil)
		k.write(out, prior, l, regs, nil)
		k.barrier()
		a.Set(last, "ld.shared.b64", asm.At(base).Plus(entries.at+8*(results-1)))
	}
	s.slot = a.Reg(asm.B32)
	warp := a.Op(asm.B32, "shr.u32", k.tid, asm.Int(5))
	a.Set(s.slot, "mad.lo.u32", warp, asm.Int(4), a.Op(asm.B32, "add.s32", base, asm.Int(s.counts.at)))
	leader := a.Op(asm.Pred, "setp.eq.u32", lane, asm.Int(0))

	none, few := a.Label(), a.Label()
	least := a.Op(asm.B64, "add.s64", last, asm.Int(1))
	s.count(leader, func(i int) asm.Reg {
		return a.Op(asm.Pred, "setp.ge.u64", a.Whole(asm.B64, s.low[i], s.high[i]), least)
	})
	found := a.Op(asm.B32, "mov.b32", s.sum)
	a.If(a.Op(asm.Pred, "setp.eq.u32", found, asm.Int(0))).Do("bra.uni", none)
	a.If(a.Op(asm.Pred, "setp.le.u32", found, asm.Int(results))).Do("bra.uni", few)
	a.Set(found, "mov.b32", asm.Int(results))
	s.find(leader, least)
	a.Place(few)

	a.Comment("those at the threshold or above")
	for i := range s.low {
		rank := a.Whole(asm.B64, s.low[i], s.high[i])
		chosen := a.Op(asm.Pred, "setp.ge.u64", rank, least)
		place := a.Op(asm.B32, "mov.b32", asm.Int(0))
		a.If(chosen).Set(place, "atom.shared.add.u32", asm.At(base).Plus(counter.at), asm.Int(1))
		at := a.Op(asm.B32, "mad.lo.u32", place, asm.Int(8), base)
		a.If(chosen).Do("st.shared.b64", asm.At(at).Plus(entries.at+8*before), rank)
	}
	k.barrier()
	s.order(entries, out, a.Op(asm.B32, "add.s32", found, asm.Int(before)), before+results)
	a.Place(none)
	k.barrier()
	k.hold(v, k.Homes[v], k.fetchTile(out, k.Homes[v]))
	k.release(s.counts)
}

// split takes the ranks apart, so that what counts is a comparison of 32 bits.
func (s *threshold) split() {
	k, a := s.k, s.k.a
	x := s.op.Args[0]
	l := k.Homes[x]
	owner, zero := k.owner(l), a.Op(asm.B32, "mov.b32", asm.Int(0))
	for r, rank := range k.get(x, l) {
		lo, hi := a.Halves(rank)
		exists := k.both(k.mask(l, x.Type.Axes, r), owner)
		s.low, s.high = append(s.low, k.selected(exists, lo, zero)), append(s.high, k.selected(exists, hi, zero))
	}
}

// count counts, over the block, the ranks of which one holds that is given by its number in the thread. Warps meet once: what is read is not written again
// before they have met another time.
func (s *threshold) count(leader asm.Reg, holds func(i int) asm.Reg) {
	a := s.k.a
	n := a.Op(asm.B32, "mov.b32", asm.Int(0))
	for i := range s.low {
		a.If(holds(i)).Set(n, "add.s32", n, asm.Int(1))
	}
	s.join("add.s32", leader, n)
}

// join puts together what the threads have, by an operation that redux has too.
func (s *threshold) join(op string, leader, n asm.Reg) {
	k, a := s.k, s.k.a
	if !s.sum.Valid() {
		s.sum = a.Reg(asm.B32)
	}
	a.Set(s.sum, "redux.sync."+op, n, asm.AllLanes)
	if k.Warps == 1 {
		return
	}
	a.If(leader).Do("st.shared.b32", asm.At(s.slot), s.sum)
	k.barrier()
	// The sides are apart by the bytes of one, and the second follows the first.
	bytes := 4 * k.Warps
	warp := a.Op(asm.B32, "mul.lo.u32", a.Op(asm.B32, "shr.u32", k.tid, asm.Int(5)), asm.Int(4))
	side := a.Op(asm.B32, "sub.s32", s.slot, warp)
	width := min(k.Warps, 4)
	for at := 0; at < k.Warps; at += width {
		parts := a.Regs(asm.B32, width)
		name := "ld.shared.b32"
		var to asm.Operand = asm.Vector(parts)
		if width > 1 {
			name = fmt.Sprintf("ld.shared.v%d.b32", width)
		} else {
			to = parts[0]
		}
		a.Set(to, name, asm.At(side).Plus(4*at))
		for i, p := range parts {
			if at+i == 0 {
				a.Set(s.sum, "mov.b32", p)
			} else {
				a.Set(s.sum, op, s.sum, p)
			}
		}
	}
	start := a.Op(asm.B32, "add.s32", k.sharedBase(), asm.Int(s.counts.at))
	far := a.Op(asm.Pred, "setp.ne.u32", side, start)
	a.Set(s.slot, "add.s32", s.slot, a.Op(asm.B32, "selp.b32", asm.Int(-bytes), asm.Int(bytes), far))
}

// find makes least the rank that as many reach as there are results, of a row of which more do than that.
func (s *threshold) find(leader, least asm.Reg) {
	a := s.k.a
	wanted := asm.Int(s.op.Axis.Len)
	a.Comment("the largest")
	most := a.Op(asm.B32, "mov.b32", asm.Int(0))
	for _, hi := range s.high {
		a.Set(most, "max.u32", most, hi)
	}
	s.join("max.u32", leader, most)
	a.Set(most, "mov.b32", s.sum)

	// halve goes through the bits of reached, from one on, which stays as large as it can be with as many reaching it as are wanted. It goes to exact when just
	// so many do.
	halve := func(reached asm.Reg, from int, above asm.Reg, wanted asm.Operand, exact asm.Label, reaches func(middle asm.Reg, i int) asm.Reg) {
		bit := a.Op(asm.B32, "mov.b32", asm.Hex(1<<from))
		step, next := a.Label(), a.Label()
		a.Place(step)
		middle := a.Op(asm.B32, "or.b32", reached, bit)
		if above.Valid() {
			a.If(a.Op(asm.Pred, "setp.gt.u32", middle, above)).Do("bra.uni", next)
		}
		s.count(leader, func(i int) asm.Reg { return reaches(middle, i) })
		a.If(a.Op(asm.Pred, "setp.lt.u32", s.sum, wanted)).Do("bra.uni", next)
		a.Set(reached, "mov.b32", middle)
		a.If(a.Op(asm.Pred, "setp.eq.u32", s.sum, wanted)).Do("bra.uni", exact)
		a.Place(next)
		a.Set(bit, "shr.u32", bit, asm.Int(1))
		a.If(a.Op(asm.Pred, "setp.ne.u32", bit, asm.Int(0))).Do("bra.uni", step)
	}
	exact := a.Label()
	a.Comment("the upper halves")
	high, low := a.Op(asm.B32, "mov.b32", asm.Int(0)), a.Op(asm.B32, "mov.b32", asm.Int(0))
	halve(high, 31, most, wanted, exact, func(middle asm.Reg, i int) asm.Reg { return a.Op(asm.Pred, "setp.ge.u32", s.high[i], middle) })
	a.Comment("the lower halves of those that are equal in the upper")
	s.count(leader, func(i int) asm.Reg { return a.Op(asm.Pred, "setp.gt.u32", s.high[i], high) })
	rest := a.Op(asm.B32, "sub.s32", asm.Int(s.op.Axis.Len), s.sum)
	over := s.op.Over[0]
	bits := 1 // all that positions differ in, twice as large as they are
	last := over.Lo + over.Len
	if over.Kind != ir.Whole { // a chunk of a row
		last = int64(math.MaxInt32)
		if over.Dim.Known() {
			last = over.Dim.Value
		}
	}
	for bits < 32 && 1<<bits <= 2*last+1 {
		bits++
	}
	a.Set(low, "mov.b32", asm.Hex(uint32(0xffffffff)<<bits))
	halve(low, bits-1, asm.Reg{}, rest, exact, func(middle asm.Reg, i int) asm.Reg {
		far := a.Op(asm.Pred, "setp.ge.u32", s.low[i], middle)
		return a.Op(asm.Pred, "setp.eq.and.u32", s.high[i], high, far)
	})
	a.Place(exact)
	a.Set(least, "mov.b64", asm.Vector{low, high})
}

// order puts the first n of up to most entries to their places in descending order, as far as there are results.
func (s *threshold) order(entries, out *sharedTile, n asm.Reg, most int) {
	k, a := s.k, s.k.a
	base := k.sharedBase()
	const together = 4
	k.inPieces(most, func(piece, within asm.Reg) {
		there := a.Op(asm.Pred, "setp.lt.u32", piece, n)
		mine := a.Op(asm.B64, "mov.b64", asm.Int(0))
		at := a.Op(asm.B32, "mad.lo.u32", piece, asm.Int(8), base)
		a.If(there).Set(mine, "ld.shared.b64", asm.At(at).Plus(entries.at))
		place, other := a.Op(asm.B32, "mov.b32", asm.Int(0)), a.Op(asm.B32, "mov.b32", base)
		left := a.Op(asm.B32, "mov.b32", n)
		next := a.Label()
		a.Place(next)
		for i := 0; i < together; i += 2 {
			pair := a.Regs(asm.B64, 2)
			a.Set(asm.Vector(pair), "ld.shared.v2.b64", asm.At(other).Plus(entries.at+8*i))
			for _, x := range pair {
				a.If(a.Op(asm.Pred, "setp.gt.u64", x, mine)).Set(place, "add.s32", place, asm.Int(1))
			}
		}
		a.Set(other, "add.s32", other, asm.Int(8*together))
		a.Set(left, "sub.s32", left, asm.Int(together))
		a.If(a.Op(asm.Pred, "setp.gt.s32", left, asm.Int(0))).Do("bra.uni", next)
		results := asm.Int(s.op.Axis.Len)
		is := a.Op(asm.Pred, "setp.ne.b64", mine, asm.Int(0))
		is = a.Op(asm.Pred, "setp.lt.and.u32", place, results, is)
		to := a.Op(asm.B32, "mad.lo.u32", place, asm.Int(8), base)
		a.If(is).Do("st.shared.b64", asm.At(to).Plus(out.at), mine)
	})
}

// inPieces emits a loop in which the threads share n pieces of work: piece has the
// number of one. The loop is the same for all threads; within holds for those that have a piece.
func (k *kernel) inPieces(n int, work func(piece, within asm.Reg)) {
	a, threads := k.a, k.Warps*layout.Lanes
	piece := a.Reg(asm.B32)
	a.Move(piece, k.tid)
	var within asm.Reg
	steps := (n + threads - 1) / threads
	body := func() {
		if n%threads != 0 {
			within = a.Op(asm.Pred, "setp.lt.u32", piece, asm.Int(n))
		}
		work(piece, within)
	}
	if steps == 1 {
		body()
		return
	}
	top := a.Label()
	left := a.Op(asm.B32, "mov.b32", asm.Int(steps))
	a.Place(top)
	body()
	a.Set(piece, "add.u32", piece, asm.Int(threads))
	a.Set(left, "sub.u32", left, asm.Int(1))
	a.If(a.Op(asm.Pred, "setp.ne.u32", left, asm.Int(0))).Do("bra.uni", top)
}
