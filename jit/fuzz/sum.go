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
	r := interval{}
	s := sum{grain: infinity}
	points := true
	var up, down, surelyUp, surelyDown bool
	for _, x := range list {
		if x.nan == always {
			s.value = x
			return s
		}
		r.nan = max(r.nan, x.nan)
		up, down = up || x.hi == infinity, down || x.lo == -infinity
		surelyUp, surelyDown = surelyUp || x.lo == infinity, surelyDown || x.hi == -infinity
		if math.IsInf(x.most(), 0) {
			continue
		}
		r.lo, r.hi = r.lo+x.lo, r.hi+x.hi
		s.size += x.most()
		if points = points && x.exact(); points && x.lo != 0 {
			s.grain = min(s.grain, lastBit(x.lo))
		}
	}
	if !points {
		s.grain = 0
	}
	switch {
	case surelyUp && surelyDown:
		s.value = notANum
	case up && down:
		s.value = unknown
	case surelyUp:
		s.value = interval{infinity, infinity, r.nan}
	case surelyDown:
		s.value = interval{-infinity, -infinity, r.nan}
	case up || down:
		s.value = interval{-infinity, infinity, r.nan}
	case points && s.size <= s.grain*0x1p52:
		s.value = r
	default:
		s.value = r.grow(growth(float64(len(list)+1), 0x1p-52) * s.size)
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
