package fuzz

import (
	"math"

	"tilec/jit/ir/eval"
	"tilec/lang"
)

// may says whether a number is NaN in correct computations.
type may uint8

const (
	never may = iota
	perhaps
	always
)

// interval holds what a correct computation of a float may give: a number from
// lo to hi, or NaN as nan says. Bounds are float64 numbers, infinite ones
// included; with nan = always there is no number. It is running error analysis
// (Higham 2002, 3.3) with the two ends kept apart: monotone operations keep the
// ends, each rounding moves them outward, and what is exact stays one point.
type interval struct {
	lo, hi float64
	nan    may
}

var (
	unknown  = interval{math.Inf(-1), math.Inf(1), perhaps}
	notANum  = interval{math.Inf(1), math.Inf(-1), always}
	infinity = math.Inf(1)
)

// point is the interval of one value.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func point(v float64) interval {
	if v != v {
		return notANum
	}
	return interval{v, v, never}
}

// exact reports that every correct computation gives the same number.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a interval) exact() bool { return a.lo == a.hi && a.nan == never }

// isUnknown reports that nothing can be said.
func (a interval) isUnknown() bool { return a.nan != always && a.lo == -infinity && a.hi == infinity }

// has reports whether v may be the number.
func (a interval) has(v float64) bool { return a.lo <= v && v <= a.hi }

// most is the largest magnitude.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a interval) most() float64 {
	if a.nan == always {
		return 0
	}
	return max(math.Abs(a.lo), math.Abs(a.hi))
}

// least is the smallest magnitude.
func (a interval) least() float64 {
	if a.lo <= 0 && a.hi >= 0 {
		return 0
	}
	return min(math.Abs(a.lo), math.Abs(a.hi))
}

// accepts reports whether got is a correct result.
func (a interval) accepts(got float64) bool {
	if got != got {
		return a.nan != never
	}
	return a.has(got)
}

// union holds whatever a or b holds.
func (a interval) union(b interval) interval {
	switch {
	case a.nan == always && b.nan == always:
		return a
	case a.nan == always:
		b.nan = perhaps
		return b
	case b.nan == always:
		a.nan = perhaps
		return a
	}
	return interval{min(a.lo, b.lo), max(a.hi, b.hi), max(a.nan, b.nan)}
}

// taint lets NaN through: the result of an operation is NaN where an operand is.
func (a interval) taint(operands ...interval) interval {
	for _, o := range operands {
		switch {
		case o.nan == always:
			return notANum
		case o.nan == perhaps && a.nan == never:
			a.nan = perhaps
		}
	}
	return a
}

// below and above are the float64 numbers next to v; infinities stay.
func below(v float64) float64 {
	if math.IsInf(v, 0) {
		return v
	}
	return math.Nextafter(v, -infinity)
}

func above(v float64) float64 {
	if math.IsInf(v, 0) {
		return v
	}
	return math.Nextafter(v, infinity)
}

// widen moves the ends outward by the roundings of the reference itself, which computes in float64.
func (a interval) widen(ulps int) interval {
	for range ulps {
		a.lo, a.hi = below(a.lo), above(a.hi)
	}
	return a
}

// grow moves the ends outward by a distance.
func (a interval) grow(by float64) interval {
	if a.nan == always || by == 0 {
		return a
	}
	if by != by {
		return unknown
	}
	return interval{below(a.lo - by), above(a.hi + by), a.nan}
}

// off moves finite ends outward by a number of units in the last place of d.
func (a interval) off(d lang.DType, ulps float64) interval {
	if a.nan == always || ulps == 0 {
		return a
	}
	if !math.IsInf(a.lo, 0) {
		a.lo -= ulps * d.Spacing(a.lo)
	}
	if !math.IsInf(a.hi, 0) {
		a.hi += ulps * d.Spacing(a.hi)
	}
	return a
}

// least is the magnitude below which the coarse form of a function may take a number for 0 (Numbers in docs/language.md).
const least = 0x1p-124

// flushed has 0 beside numbers that may be taken for it.
func (a interval) flushed() interval {
	if a.nan != always && a.lo < least && a.hi > -least {
		return a.union(interval{0, 0, a.nan})
	}
	return a
}

// coarse is what the coarse form of an operation on f32 may give, off by 2^-bits of the value.
func (a interval) coarse(bits int) interval {
	if a.nan == always {
		return a
	}
	by := math.Ldexp(1, -bits)
	a.lo, a.hi = min(a.lo, lang.F32.Largest()), max(a.hi, -lang.F32.Largest()) // what is infinite may be just beyond the largest number
	a.lo, a.hi = below(a.lo-by*math.Abs(a.lo)), above(a.hi+by*math.Abs(a.hi))
	return interval{eval.Round(a.lo, lang.F32), eval.Round(a.hi, lang.F32), a.nan}.flushed()
}

// rounded is what numbers are off by a rounding to a type, which other numbers had: those by another number.
func (a interval) rounded(d lang.DType) interval {
	if a.nan == always || math.IsInf(a.lo, 0) || math.IsInf(a.hi, 0) {
		return a
	}
	by, least := math.Ldexp(1, -d.Precision()), d.Spacing(0)/2
	return interval{below(a.lo - by*math.Abs(a.lo) - least), above(a.hi + by*math.Abs(a.hi) + least), a.nan}
}

// round rounds to a type: the ends, since rounding is monotone.
func (a interval) round(d lang.DType) interval {
	if a.nan != never && d.IsFloat() && !d.HasNaN() {
		a = a.union(point(d.Largest()))
		a.nan = never
	}
	if a.nan == always {
		return a
	}
	return interval{eval.Round(a.lo, d), eval.Round(a.hi, d), a.nan}
}

// inType is what may be where a computation gives a NaN that the type has not.
func (a interval) inType(d lang.DType) interval {
	if d.IsFloat() && !d.HasNaN() {
		return a.round(d)
	}
	return a
}

// within is the part of a between two numbers; a must reach there.
func (a interval) within(lo, hi float64) interval {
	a.lo, a.hi = min(max(a.lo, lo), hi), max(min(a.hi, hi), lo)
	return a
}

func (a interval) neg() interval {
	if a.nan == always {
		return a
	}
	return interval{-a.hi, -a.lo, a.nan}
}

// add is a + b in real numbers.
func (a interval) add(b interval) interval {
	r := interval{lo: a.lo + b.lo, hi: a.hi + b.hi}
	if a.lo == -infinity && b.hi == infinity || a.hi == infinity && b.lo == -infinity { // inf - inf
		r.nan = perhaps
		if a.exact() && b.exact() {
			return notANum
		}
		if r.lo != r.lo {
			r.lo = -infinity
		}
		if r.hi != r.hi {
			r.hi = infinity
		}
	}
	if !exactSum(a.lo, b.lo, r.lo) {
		r.lo = below(r.lo)
	}
	if !exactSum(a.hi, b.hi, r.hi) {
		r.hi = above(r.hi)
	}
	return r.taint(a, b)
}

func exactSum(a, b, s float64) bool {
	if math.IsInf(s, 0) {
		return true
	}
	t := s - a
	return (a-(s-t))+(b-t) == 0
}

// mul is a * b in real numbers.
func (a interval) mul(b interval) interval {
	r := interval{lo: infinity, hi: -infinity}
	if mayMeet(a, b) || mayMeet(b, a) { // 0 * inf
		if a.exact() && b.exact() {
			return notANum
		}
		return unknown
	}
	for _, x := range [2]float64{a.lo, a.hi} {
		for _, y := range [2]float64{b.lo, b.hi} {
			p := x * y
			lo, hi := p, p
			if !math.IsInf(p, 0) && (math.FMA(x, y, -p) != 0 || math.Abs(p) < tinyProduct && x != 0 && y != 0) {
				lo, hi = below(p), above(p)
			}
			if math.IsInf(p, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) { // too large for float64, and finite until it is rounded
				lo, hi = min(p, math.Copysign(math.MaxFloat64, p)), max(p, math.Copysign(math.MaxFloat64, p))
			}
			r.lo, r.hi = min(r.lo, lo), max(r.hi, hi)
		}
	}
	return r.taint(a, b)
}

// tinyProduct is where the rest of a float64 product may itself be rounded away.
const tinyProduct = 0x1p-960

func mayMeet(zero, inf interval) bool {
	return zero.has(0) && (inf.lo == -infinity || inf.hi == infinity)
}

// div is a / b in real numbers.
func (a interval) div(b interval) interval {
	if b.has(0) {
		if b.exact() && (a.exact() && a.lo == 0) {
			return notANum
		}
		infinite := math.IsInf(a.most(), 0) && math.IsInf(b.most(), 0)
		if !a.has(0) && !infinite && a.nan == never && b.nan == never {
			return interval{-infinity, infinity, never} // the sign of the zero is not followed
		}
		return unknown
	}
	infA, infB := math.IsInf(a.most(), 0), math.IsInf(b.most(), 0)
	if infA && infB {
		if a.exact() && b.exact() {
			return notANum
		}
		return unknown
	}
	r := interval{lo: infinity, hi: -infinity}
	for _, x := range [2]float64{a.lo, a.hi} {
		for _, y := range [2]float64{b.lo, b.hi} {
			q := x / y
			lo, hi := q, q
			if !math.IsInf(q, 0) && !math.IsInf(y, 0) && (math.FMA(q, y, -x) != 0 || math.Abs(x) < tinyProduct && x != 0) {
				lo, hi = below(q), above(q)
			}
			r.lo, r.hi = min(r.lo, lo), max(r.hi, hi)
		}
	}
	return r.taint(a, b)
}

func minimum(a, b interval) interval {
	return interval{min(a.lo, b.lo), min(a.hi, b.hi), never}.taint(a, b)
}

func maximum(a, b interval) interval {
	return interval{max(a.lo, b.lo), max(a.hi, b.hi), never}.taint(a, b)
}

// verdict is a bool that may not be decided.
type verdict uint8

const (
	no verdict = iota
	yes
	undecided
)

func (v verdict) not() verdict {
	switch v {
	case no:
		return yes
	case yes:
		return no
	}
	return v
}

// less is a < b, where no operand is NaN.
func (a interval) less(b interval) verdict {
	switch {
	case a.hi < b.lo:
		return yes
	case a.lo >= b.hi:
		return no
	}
	return undecided
}

// equal is a == b, where no operand is NaN.
func (a interval) equal(b interval) verdict {
	switch {
	case a.exact() && b.exact() && a.lo == b.lo:
		return yes
	case a.hi < b.lo || b.hi < a.lo:
		return no
	}
	return undecided
}
