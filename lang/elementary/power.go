package elementary

import "math"

// Pow is x to the power y, within 0.8 ulp: e to the power y log x. The logarithm
// is a pair, for its relative error times y log x, up to 710, is the power's.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return math.NaN()
	case y == 1:
		return x
	}
	a, negative := math.Abs(x), math.Signbit(x)
	if negative && !math.IsInf(y, 0) {
		// A number is even where its half is whole, as all from 2**53 on are; -0 and -Inf have powers that are not whole.
		half := float64(y * 0.5)
		switch {
		case y != math.Trunc(y) && a > 0 && a <= math.MaxFloat64:
			return math.NaN()
		case y != math.Trunc(y), half == math.Trunc(half):
			negative = false
		}
	} else {
		negative = false
	}
	p := magnitude(a, y)
	if negative {
		return -p
	}
	return p
}

// magnitude is a to the power y, for an a that is not negative.
func magnitude(a, y float64) float64 {
	switch {
	case a == 1:
		return 1
	case a == 0 || a > math.MaxFloat64 || math.IsInf(y, 0):
		if (a < 1) == (y < 0) {
			return math.Inf(1)
		}
		return 0
	}
	l := logarithm(a, 0)
	switch h := float64(l.hi * y); { // far beyond what float64 holds, where the product may have overflowed too
	case h > 720:
		return math.Inf(1)
	case h < -760:
		return 0
	}
	t := l.times(y)
	k, r, low := reduced(t.hi)
	rest := sum(r, low+t.lo)
	return scaled(1+expRest(rest.hi, rest.lo), int(k))
}
