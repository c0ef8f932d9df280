package block

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file tells which elements of a thread are one and the same: a scale for each 32 positions, at `index(k) / 32`, is loaded once for those of them that a thread has.

// Repeats gives, of a quotient of positions in a layout, the first register of a thread that has the same as each; nil where it is not known of any two that they have.
func (p *Program) Repeats(op *ir.Op, l layout.Layout) []int {
	a, divisor := QuotientOf(op)
	if a == nil || divisor < 2 {
		return nil
	}
	// Positions that begin at a multiple of n, so many of them, have one quotient. What a thread adds to the position of a register must not carry beyond them.
	n := gcd(divisor, p.StartMultiple(a))
	carried := addedBelow(l, a, n)
	first, known := make([]int, l.Regs()), map[int64]int{}
	for r := range first {
		at := int64(l.RegCoord(r, a))
		if at%n+carried >= n {
			return nil
		}
		if _, ok := known[at/n]; !ok {
			known[at/n] = r
		}
		first[r] = known[at/n]
	}
	if len(known) == len(first) {
		return nil
	}
	return first
}

// addedBelow is more than what a thread adds to a position has below n, or as much.
func addedBelow(l layout.Layout, a *ir.Axis, n int64) (sum int64) {
	for _, digits := range [][]layout.Digit{l.Lane, l.Warp} {
		for _, d := range digits {
			if d.Axis == a && int64(d.Stride)%n != 0 {
				sum += int64(d.Stride * (d.Size - 1))
			}
		}
	}
	return sum
}

// Remainder gives the divisor of a remainder of positions that depends neither on where the block or the step begins, nor on anything but the sum of what the thread and the register add;
// 0 for anything else.
func (p *Program) Remainder(op *ir.Op, l layout.Layout) int64 {
	if len(op.Args) != 2 || op.Args[0].Def == nil || op.Args[0].Def.Code != lang.OpIndex || op.Args[0].Type.IsScalar() {
		return 0
	}
	a := op.Args[0].Def.Axis
	c, ok := op.Args[1].IsConst()
	n := c.Int
	if op.Code == lang.OpAnd {
		n++
	}
	if !ok || op.Code != lang.OpAnd && op.Code != lang.OpMod || n < 2 || n&(n-1) != 0 || p.StartMultiple(a)%n != 0 {
		return 0
	}
	added, most := addedBelow(l, a, n), int64(0)
	for r := range l.Regs() {
		most = max(most, int64(l.RegCoord(r, a))%n)
	}
	if added+most >= n {
		return 0
	}
	return n
}

// QuotientOf gives the axis and the divisor of a quotient of positions; no axis for anything else.
func QuotientOf(op *ir.Op) (*ir.Axis, int64) {
	if len(op.Args) != 2 || op.Args[0].Def == nil || op.Args[0].Def.Code != lang.OpIndex || op.Args[0].Type.Axes == nil {
		return nil, 0
	}
	n, ok := op.Args[1].IsConst()
	if !ok {
		return nil, 0
	}
	switch op.Code {
	case lang.OpDiv, lang.OpFloorDiv:
		return op.Args[0].Def.Axis, n.Int
	case lang.OpShr:
		if 0 <= n.Int && n.Int < 31 {
			return op.Args[0].Def.Axis, 1 << n.Int
		}
	}
	return nil, 0
}

// loaded is how many elements a thread loads for a result in a layout: each of those that are one and the same once.
func (p *Program) loaded(op *ir.Op, l layout.Layout) int {
	indices := op.Indices()
	repeats := make([][]int, len(indices))
	for i, v := range indices {
		if v.Def != nil && !v.Type.IsScalar() {
			repeats[i] = p.Repeats(v.Def, l.Slice(v.Type.Axes))
		}
	}
	different := map[string]bool{}
	for r := range l.Regs() {
		at := make([]int, len(indices))
		for i, v := range indices {
			if at[i] = l.Project(r, v.Type.Axes); repeats[i] != nil {
				at[i] = repeats[i][at[i]]
			}
		}
		different[fmt.Sprint(at)] = true
	}
	return len(different)
}
