package fuzz

import (
	"math"

	"tilec/lang"
)

// sum is a sum of floats that may be added up in any order, and in parts: what
// is known of it before it is rounded. A sum of sums is one too, so that it
// does not matter where a loop or a contraction divides it.
type sum struct {
	// value is the sum in real numbers.
	value interval
	// size is the sum of the finite magnitudes, at least; every partial sum is below it.
	size float64
	// grain divides every number of the sum; 0 where that is not known.
	grain float64
}

// sumOf adds up a list, in float64.
func sumOf(list []interval) sum {
	a := newAddition()
	for _, x := range list {
		a.take(x)
	}
	return a.sum()
}

// addition adds up numbers one by one, in float64: what a scan has behind each of them.
type addition struct {
	r      interval
	size   float64
	grain  float64
	terms  int
	points bool
	// nan is a number that is none, behind which nothing changes; nil where there was none.
	nan                            *interval
	up, down, surelyUp, surelyDown bool
}

func newAddition() *addition { return &addition{grain: infinity, points: true} }

func (a *addition) take(x interval) {
	a.terms++
	if a.nan != nil {
		return
	}
	if x.nan == always {
		a.nan = &x
		return
	}
	a.r.nan = max(a.r.nan, x.nan)
	a.up, a.down = a.up || x.hi == infinity, a.down || x.lo == -infinity
	a.surelyUp, a.surelyDown = a.surelyUp || x.lo == infinity, a.surelyDown || x.hi == -infinity
	if math.IsInf(x.most(), 0) {
		return
	}
	a.r.lo, a.r.hi = a.r.lo+x.lo, a.r.hi+x.hi
	a.size += x.most()
	if a.points = a.points && x.exact(); a.points && x.lo != 0 {
		a.grain = min(a.grain, lastBit(x.lo))
	}
}

// sum is that of what was taken.
func (a *addition) sum() sum {
	s := sum{size: a.size, grain: a.grain}
	switch {
	case a.nan != nil:
		s.value = *a.nan
		return s
	case !a.points:
		s.grain = 0
	}
	switch {
	case a.surelyUp && a.surelyDown:
		s.value = notANum
	case a.up && a.down:
		s.value = unknown
	case a.surelyUp:
		s.value = interval{infinity, infinity, a.r.nan}
	case a.surelyDown:
		s.value = interval{-infinity, -infinity, a.r.nan}
	case a.up || a.down:
		s.value = interval{-infinity, infinity, a.r.nan}
	case a.points && s.size <= s.grain*0x1p52:
		s.value = a.r
	default:
		s.value = a.r.grow(growth(float64(a.terms+1), 0x1p-52) * s.size)
	}
	return s
}

// plus is a sum of both.
func (s sum) plus(t sum) sum {
	r := sumOf([]interval{s.value, t.value})
	r.size, r.grain = max(r.size, s.size+t.size), min(s.grain, t.grain)
	return r
}

// rounded is what a sum of at most so many terms is on arithmetic of d. Weight
// is through how many roundings a term goes, times their unit.
func (s sum) rounded(d lang.DType, weight, terms float64) interval {
	infinite := math.IsInf(s.value.lo, 0) || math.IsInf(s.value.hi, 0)
	if s.value.nan != always && !infinite && s.size <= s.grain/rounding(d) && s.size <= d.Largest() && s.grain >= d.Spacing(0) {
		return s.value // every partial sum is a multiple of grain that d holds
	}
	if s.value.nan == always {
		return s.value
	}
	e := growth(1, weight)*s.size + terms*d.Spacing(0)
	if !(s.size+e <= d.Largest()) {
		return unknown // whether it overflows depends on the order
	}
	return s.value.grow(e)
}

// sumAt is the sum that an element of a tile is; of one that is no sum, the element alone.
func (t *tile) sumAt(i int) sum {
	if t.sums != nil {
		return t.sums[i]
	}
	return sumOf(t.f[i : i+1])
}

// result is the sum as the accumulator of a type has it, in any order.
func (a *addition) result(d lang.DType) interval {
	acc, n := accumulator(d), float64(a.terms)
	return a.sum().rounded(acc, n*rounding(acc), n)
}
