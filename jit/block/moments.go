package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file finds means of which the kernel needs the squares of what is off them too, as a norm does: mean(x), and the mean or the sum of (x - mean(x))
// squared. One after the other they are two reductions, and the second begins when all threads have the first. Together they are one: a thread has the sum of
// its elements and the squares of what they are off their own mean, and where two parts of n elements each with the sums a and b meet, the squares of
// the whole are those of both and (a - b)² / 2n (Chan, Golub and LeVeque, Algorithms for Computing the Sample Variance, 1983). Nothing cancels there, as it would in
// the mean of squares less the square of the mean.

// Moments are two reductions that threads make together.
type Moments struct {
	// Mean is the first, and Squares the sum or the mean of the squares of what is off it.
	Mean, Squares *ir.Op
	// Counts is how many elements a thread has for each element of the results, by warp: one number or two. Tells is a register of an element that exists
	// in the threads that have more of them, and in no others.
	Counts []int
	Tells  int
}

// findMoments decides which means are found with the squares of what is off them.
func (p *Program) findMoments() {
	if p.asks("moments", 2) != 2 {
		return
	}
	p.Func.Walk(func(op *ir.Op) bool {
		if m := p.newMoments(op); m != nil {
			p.Moments[op] = m
		}
		return true
	})
}

// newMoments finds the squares of what is off a mean; nil where there are none, or where threads of a warp have unlike numbers of elements.
func (p *Program) newMoments(mean *ir.Op) *Moments {
	if mean.Code != lang.OpMean || p.isDeferred(mean) || mean.Result().Type.DType != lang.F32 {
		return nil
	}
	v := mean.Args[0]
	counts, tells := counted(p.Homes[v], v.Type, mean.Over)
	if counts == nil || v.Type.DType != lang.F32 {
		return nil
	}
	for _, off := range p.Uses[mean.Result()] {
		if off.Op.Code != lang.OpSub || off.Arg != 1 || off.Op.Args[0] != v {
			continue
		}
		for _, square := range p.Uses[off.Op.Result()] {
			if square.Op.Code != lang.OpMul || square.Op.Args[0] != square.Op.Args[1] {
				continue
			}
			for _, u := range p.Uses[square.Op.Result()] {
				squares := u.Op
				if (squares.Code == lang.OpMean || squares.Code == lang.OpSum) && slices.Equal(squares.Over, mean.Over) && !p.isDeferred(squares) &&
					slices.Equal(square.Op.Result().Type.Axes, v.Type.Axes) && p.Homes[square.Op.Result()].Equal(p.Homes[v]) && p.inOneRegion(mean, squares) {
					return &Moments{mean, squares, counts, tells}
				}
			}
		}
	}
	return nil
}

// inOneRegion reports operations of one region, so that either is done as often as the other.
func (p *Program) inOneRegion(x, y *ir.Op) bool {
	within := p.Func.Body
	p.Func.Walk(func(op *ir.Op) bool {
		for _, inner := range op.Blocks {
			if slices.Contains(inner.Ops, x) {
				within = inner
			}
		}
		return true
	})
	return slices.Contains(within.Ops, y)
}

// counted is, by warp, how many elements along axes a thread has for each element that is left when these are reduced, and a register that tells those
// that have more from those that have fewer; nil where lanes of a warp are unlike, where there are more than two numbers, or where a launch tells how long an axis is.
func counted(l layout.Layout, t ir.Type, over []*ir.Axis) (counts []int, tells int) {
	for _, a := range over {
		if a.Kind != ir.Whole || a.Len <= 0 {
			return nil, 0
		}
	}
	keep := ir.Without(t.Axes, over)
	var regs []int
	for r := range l.Regs() {
		if l.Project(r, keep) == 0 {
			regs = append(regs, r)
		}
	}
	exists := func(r, lane, warp int) bool {
		return !slices.ContainsFunc(over, func(a *ir.Axis) bool { return int64(l.RegCoord(r, a)+l.ThreadCoord(lane, warp, a)) >= a.Len })
	}
	for warp := range l.Warps() {
		n := 0
		for _, r := range regs {
			here := exists(r, 0, warp)
			for lane := range layout.Lanes {
				if exists(r, lane, warp) != here {
					return nil, 0
				}
			}
			if here {
				n++
			}
		}
		counts = append(counts, n)
	}
	least, most := slices.Min(counts), slices.Max(counts)
	if most == 0 || slices.ContainsFunc(counts, func(n int) bool { return n != least && n != most }) {
		return nil, 0
	}
	if least == most {
		return counts, regs[0]
	}
	for _, r := range regs {
		alike := true
		for warp, n := range counts {
			alike = alike && exists(r, 0, warp) == (n == most)
		}
		if alike {
			return counts, r
		}
	}
	return nil, 0
}
