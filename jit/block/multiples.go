package block

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// This file tells what divides positions and sizes, and so where all elements exist.

// Ragged reports an axis whose range may have fewer positions than its extent.
func (p *Program) Ragged(a *ir.Axis) bool {
	switch {
	case a.Kind == ir.Whole || a.Scalar:
		return false
	case a.Ranges != nil:
		return true
	case a.Kind == ir.Grid:
		return a.Dim.Multiple()%a.Extent != 0
	}
	return len(p.loops[a]) == 0 || p.endMultiple(a)%a.Extent != 0 || p.StartMultiple(a)%a.Extent != 0
}

// manyMultiples stands for what divides zero.
const manyMultiples = 1 << 40

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// StartMultiple and endMultiple are numbers known to divide the start and the end of an axis's range.
func (p *Program) StartMultiple(a *ir.Axis) int64 {
	switch {
	case a.Ranges != nil:
		return 1
	case a.Kind == ir.Grid:
		return a.Extent
	case a.Kind == ir.Whole:
		return multipleOf(a.Lo)
	case p.LoopsByWords(a): // from where the row's first word begins
		return 1
	}
	m := a.Extent
	for _, op := range p.loops[a] {
		m = gcd(m, p.multiple(op.Args[0]))
	}
	return m
}

func (p *Program) endMultiple(a *ir.Axis) int64 {
	if a.Kind == ir.Whole {
		return multipleOf(a.Lo + a.Len)
	}
	if a.Ranges != nil {
		return 1
	}
	if a.Kind == ir.Grid {
		return gcd(a.Extent, a.Dim.Multiple())
	}
	m := p.StartMultiple(a)
	for _, op := range p.loops[a] {
		m = gcd(m, p.multiple(op.Args[1]))
		if !WithinDim(op.Args[1], a.Dim) {
			m = gcd(m, a.Dim.Multiple())
		}
	}
	return m
}

// mostTogether is the most neighbours about which Together says anything.
const mostTogether = 1 << 10

// Together is how many neighbours along an axis, beginning at multiples of that number, exist as a whole or not at all: a power of two.
func (p *Program) Together(a *ir.Axis) int {
	return int(gcd(gcd(p.StartMultiple(a), p.endMultiple(a)), mostTogether))
}

// WithinDim reports a bound that is at most the size of the dimension for sure.
func WithinDim(hi *ir.Value, d *ir.Dim) bool {
	switch {
	case d == nil:
		return true
	case hi.Def == nil:
		return false
	case hi.Def.Code == lang.OpConst:
		return d.Known() && hi.Def.Const.Int <= d.Value
	case hi.Def.Code == lang.OpSize:
		return hi.Def.Dim == d
	case hi.Def.Code == lang.OpEnd:
		return hi.Def.Axis.Dim == d
	}
	return false
}

func multipleOf(n int64) int64 {
	if n == 0 {
		return manyMultiples
	}
	if n < 0 {
		return -n
	}
	return n
}

// multiple is a number known to divide an integer scalar.
func (p *Program) multiple(v *ir.Value) int64 {
	m, ok := p.multiples[v]
	if !ok {
		m = p.multipleOf(v)
		p.multiples[v] = m
	}
	return m
}

func (p *Program) multipleOf(v *ir.Value) int64 {
	op := v.Def
	if op == nil {
		for a, loops := range p.loops {
			for _, l := range loops {
				if l.Blocks[0].Params[0] == v {
					return p.StartMultiple(a)
				}
			}
		}
		return 1
	}
	switch op.Code {
	case lang.OpConst:
		return multipleOf(op.Const.Int)
	case lang.OpStart:
		return p.StartMultiple(op.Axis)
	case lang.OpEnd:
		return p.endMultiple(op.Axis)
	case lang.OpSize:
		return multipleOf(op.Dim.Multiple())
	case lang.OpAdd, lang.OpSub, lang.OpMin, lang.OpMax:
		return gcd(p.multiple(op.Args[0]), p.multiple(op.Args[1]))
	case lang.OpMul:
		return min(p.multiple(op.Args[0]), 1<<20) * min(p.multiple(op.Args[1]), 1<<20)
	case lang.OpCast:
		if op.Args[0].Type.DType.IsInt() && v.Type.DType.IsInt() {
			return p.multiple(op.Args[0])
		}
	}
	return 1
}
