package number

import (
	"math"
	"math/big"
)

// exactBits holds any sum of a product of two float64 and a third.
const exactBits = 4400

func exact(v float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(v) }

// direct turns a result rounded to nearest into one rounded in another direction;
// cmp is the sign of what is exact minus that result.
func direct(nearest float64, cmp int, mode Rounding) float64 {
	switch {
	case cmp == 0 || nearest != nearest:
	case mode == TowardZero && cmp < 0 && nearest > 0, mode == Downward && cmp < 0:
		return math.Nextafter(nearest, math.Inf(-1))
	case mode == TowardZero && cmp > 0 && nearest < 0, mode == Upward && cmp > 0:
		return math.Nextafter(nearest, math.Inf(1))
	}
	return nearest
}

// FMA64 is a*b+c rounded once, in any mode.
func FMA64(a, b, c float64, mode Rounding) float64 {
	nearest := math.FMA(a, b, c)
	if mode == NearestEven || nearest != nearest || math.IsInf(a, 0) || math.IsInf(b, 0) || math.IsInf(c, 0) {
		return nearest
	}
	sum := exact(a)
	sum.Mul(sum, exact(b)).Add(sum, exact(c))
	if sum.Sign() == 0 {
		if mode == Downward && a*b == -c && (math.Signbit(a*b) != math.Signbit(c)) {
			return math.Copysign(0, -1) // x - x is -0 when rounding down
		}
		return nearest
	}
	return direct(nearest, sum.Cmp(bigOf(nearest)), mode)
}

// bigOf is exact, with infinity as a power of two above every float64.
func bigOf(v float64) *big.Float {
	if math.IsInf(v, 0) {
		b := new(big.Float).SetMantExp(big.NewFloat(1), 5000)
		if v < 0 {
			b.Neg(b)
		}
		return b
	}
	return exact(v)
}

// Div64 is a/b rounded once, in any mode.
func Div64(a, b float64, mode Rounding) float64 {
	q := a / b
	if mode == NearestEven || q != q || b == 0 || a == 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return q
	}
	// a/b against q is a against q*b, turned round when b is negative.
	cmp := exact(a).Cmp(new(big.Float).SetPrec(exactBits).Mul(bigOf(q), exact(b)))
	if b < 0 {
		cmp = -cmp
	}
	return direct(q, cmp, mode)
}

// Sqrt64 is the square root rounded once, in any mode.
func Sqrt64(a float64, mode Rounding) float64 {
	q := math.Sqrt(a)
	if mode == NearestEven || q != q || q == 0 || math.IsInf(q, 0) {
		return q
	}
	return direct(q, exact(a).Cmp(new(big.Float).SetPrec(exactBits).Mul(exact(q), exact(q))), mode)
}
