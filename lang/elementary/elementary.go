// Package elementary has the elementary functions of float64 with the same bits
// on every processor. Those of package math have assembly of their own on some
// processors, and elsewhere are Go in which the compiler may fuse a product with
// the sum behind it; either changes last bits. Here every operation is one that
// IEEE 754 defines to the bit - sums, products, quotients, roundings to whole
// numbers and explicit fused multiply-adds - and each product that is to be rounded
// is converted (float64(a*b)), which keeps a compiler from fusing it. The CPU
// backend, the folding of constants in the tile IR and that in the type checker use them.
//
// The algorithms follow from the functions' definitions: a reduction of the argument
// that is exact or carries what it loses in a second float64, then Taylor's
// series, whose coefficients are quotients of whole numbers. A comment at each
// says how large the error is; TestErrors measures it against jit/ir/eval/exact.
// An ulp is a unit in the last place of the value.
package elementary

import "math"

// pair is an unevaluated sum of two float64, the second at most half an ulp of the first.
type pair struct{ hi, lo float64 }

// sum is a + b, exactly.
func sum(a, b float64) pair {
	s := a + b
	v := s - a
	return pair{s, (a - (s - v)) + (b - v)}
}

// ordered is sum where a is 0 or not smaller than b, or a multiple of what b's last bit counts.
func ordered(a, b float64) pair {
	s := a + b
	return pair{s, b - (s - a)}
}

func (p pair) plus(q pair) pair {
	s := sum(p.hi, q.hi)
	return sum(s.hi, s.lo+p.lo+q.lo)
}

func (p pair) times(b float64) pair {
	h := float64(p.hi * b)
	return ordered(h, math.FMA(p.hi, b, -h)+float64(p.lo*b))
}

func (p pair) mul(q pair) pair {
	r := p.times(q.hi)
	return ordered(r.hi, r.lo+float64(p.hi*q.lo))
}

func (p pair) div(q pair) pair {
	h := p.hi / q.hi
	rest := p.plus(q.times(-h))
	return ordered(h, rest.hi/q.hi)
}

// scaled is x times 2 to the power k, rounded once; x is between 1/2 and 2.
func scaled(x float64, k int) float64 {
	if k < -1020 || k > 1022 {
		return math.Ldexp(x, k)
	}
	return float64(x * math.Float64frombits(uint64(k+1023)<<52))
}
