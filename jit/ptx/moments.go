package ptx

import (
	"math"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file makes the reductions of a mean and of the squares of what is off it together (block.Moments): in a thread, then over lanes by shuffles, then over
// warps through shared memory, with one barrier where the two would have one each. The order is fixed, and every thread that holds a result
// computes the same bits, for lanes that exchange do the same with a and b as with b and a.

// byMoments emits a reduction that is made with another; false where it is made by itself.
func (k *kernel) byMoments(op *ir.Op) bool {
	if m := k.Moments[op]; m != nil {
		k.moments(m)
		return true
	}
	final, found := k.squares[op]
	if found {
		k.reduced(op, final)
	}
	return found
}

// moment is what is known of some elements: their sum, and the squares of what they are off their mean.
type moment struct{ sum, squares asm.Reg }

// moments emits both reductions, and keeps what the second gives until its turn comes.
func (k *kernel) moments(m *block.Moments) {
	op, d := m.Mean, lang.F32
	v := op.Args[0]
	l := k.Homes[v]
	keep := ir.Without(v.Type.Axes, op.Over)
	out := l.Slice(keep)
	held := k.momentsOfThreads(m, l)
	all := 1 // how many elements of a warp's lanes the result has, for each of a thread
	half := k.scaled(k.oneBy(m, l), 0.5)
	for _, bit := range lanesOver(l, op.Over) {
		for i, x := range held {
			held[i] = k.joinedMoments(x, moment{k.shuffle(x.sum, bit), k.shuffle(x.squares, bit)}, half)
		}
		half, all = k.scaled(half, 0.5), all*2
	}
	pairs := make([][]asm.Reg, len(held))
	for i, x := range held {
		pairs[i] = []asm.Reg{x.sum, x.squares}
	}
	means, squares := make([]asm.Reg, len(held)), make([]asm.Reg, len(held))
	counts, total := partCounts(m, l, all)
	for i, parts := range k.exchangeWarps(op, []lang.DType{d, d}, l, out, pairs) {
		means[i], squares[i] = k.momentsOfWarps(parts, counts, total)
		if m.Squares.Code == lang.OpMean {
			squares[i] = elem.QuotientBy(k.a, squares[i], total)
		}
	}
	k.squares[m.Squares] = squares
	k.reduced(op, means)
}

// momentsOfThreads has each thread's own elements, for each element of the results: their sum, then the squares of what they are off their mean.
func (k *kernel) momentsOfThreads(m *block.Moments, l layout.Layout) []moment {
	op := m.Mean
	regs, keep := k.get(op.Args[0], l), ir.Without(op.Args[0].Type.Axes, op.Over)
	terms := make([][]term, l.Slice(keep).Regs())
	for r := range l.Regs() {
		i := l.Project(r, keep)
		terms[i] = append(terms[i], term{factors: []asm.Reg{regs[r]}, exists: k.mask(l, op.Over, r)})
	}
	held, one := make([]moment, len(terms)), k.oneBy(m, l)
	for i, xs := range terms {
		sum := k.addUp(lang.F32, xs)
		if len(xs) == 1 {
			held[i] = moment{sum, elem.Zero(k.a, lang.F32)}
			continue
		}
		mean := k.a.Op(asm.F32, "mul.rn.f32", sum, one)
		var off []term
		for _, x := range xs {
			e := k.a.Op(asm.F32, "sub.rn.f32", x.factors[0], mean)
			off = append(off, term{factors: []asm.Reg{e, e}, exists: x.exists})
		}
		held[i] = moment{sum, k.addUp(lang.F32, off)}
	}
	return held
}

// joinedMoments is what is known of two parts of n elements each; half is 1 / 2n.
func (k *kernel) joinedMoments(x, y moment, half asm.Operand) moment {
	a := k.a
	off := a.Op(asm.F32, "sub.rn.f32", x.sum, y.sum)
	share := a.Op(asm.F32, "mul.rn.f32", off, half)
	both := a.Op(asm.F32, "add.rn.f32", x.squares, y.squares)
	return moment{a.Op(asm.F32, "add.rn.f32", x.sum, y.sum), a.Op(asm.F32, "fma.rn.f32", off, share, both)}
}

// momentsOfWarps is the mean of all elements, and the squares of what they are off it, from what warps have, which are so many elements each.
func (k *kernel) momentsOfWarps(parts [][]asm.Reg, counts []int, total int) (mean, squares asm.Reg) {
	a := k.a
	var sums []asm.Reg
	for _, p := range parts {
		sums = append(sums, p[0])
	}
	sum := k.sum(lang.F32, sums)
	mean = elem.QuotientBy(k.a, sum, total)
	if len(parts) == 1 {
		return mean, parts[0][1]
	}
	minus := a.Op(asm.F32, "neg.f32", mean)
	var all []asm.Reg
	for i, p := range parts {
		if counts[i] == 0 {
			continue
		}
		off := a.Op(asm.F32, "fma.rn.f32", p[0], asm.Float32(float32(1/float64(counts[i]))), minus)
		share := a.Op(asm.F32, "mul.rn.f32", off, asm.Float32(float32(counts[i])))
		all = append(all, a.Op(asm.F32, "fma.rn.f32", off, share, p[1]))
	}
	return mean, k.sum(lang.F32, all)
}

// partCounts is how many elements each part has that warps exchange, and all of them; a thread's elements stand for those of so many lanes.
func partCounts(m *block.Moments, l layout.Layout, lanes int) (counts []int, total int) {
	parts, digits := partsOfWarps(l, m.Mean.Over)
	counts = make([]int, parts.Len)
	for warp, n := range m.Counts {
		counts[layout.At(digits, warp, parts)] = n * lanes
	}
	for _, n := range counts {
		total += n
	}
	return counts, total
}

// oneBy is 1 / n of the n elements of a thread; where it has none, and others have, that of theirs.
func (k *kernel) oneBy(m *block.Moments, l layout.Layout) asm.Operand {
	least, most := slices.Min(m.Counts), slices.Max(m.Counts)
	one := func(n int) asm.Operand { return asm.Float32(float32(1 / float64(n))) }
	if least == most || least == 0 {
		return one(most)
	}
	return k.a.Calc(asm.F32, "selp.f32", one(most), one(least), k.mask(l, m.Mean.Over, m.Tells))
}

// scaled is a factor times a power of two.
func (k *kernel) scaled(x asm.Operand, by float32) asm.Operand {
	if c, known := x.(asm.Single); known {
		return asm.Float32(math.Float32frombits(uint32(c)) * by)
	}
	return k.a.Op(asm.F32, "mul.rn.f32", x, asm.Float32(by))
}
