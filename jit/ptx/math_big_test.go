package ptx

import (
	"math"
	"math/big"
)

// References to about 180 bits, from the series that define the functions.

const bigPrec = 240

func bf(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }
func bnew() *big.Float        { return new(big.Float).SetPrec(bigPrec) }

func bAdd(x, y *big.Float) *big.Float { return bnew().Add(x, y) }
func bSub(x, y *big.Float) *big.Float { return bnew().Sub(x, y) }
func bMul(x, y *big.Float) *big.Float { return bnew().Mul(x, y) }
func bDiv(x, y *big.Float) *big.Float { return bnew().Quo(x, y) }
func bScale(x *big.Float, n int) *big.Float {
	return bnew().SetMantExp(x, n)
}

// series sums term after term until they no longer count.
func series(first *big.Float, next func(term *big.Float, k int) *big.Float) *big.Float {
	sum, term := bnew().Set(first), first
	for k := 1; ; k++ {
		term = next(term, k)
		if term.Sign() == 0 || sum.Sign() != 0 && term.MantExp(nil) < sum.MantExp(nil)-bigPrec {
			return sum
		}
		sum = bAdd(sum, term)
	}
}

// atanhInv is atanh(1/n), atanInv atan(1/n).
func atanInv(n float64, sign float64) *big.Float {
	x := bDiv(bf(1), bf(n))
	z := bMul(bMul(x, x), bf(sign))
	power := x
	return series(x, func(_ *big.Float, k int) *big.Float {
		power = bMul(power, z)
		return bDiv(power, bf(float64(2*k+1)))
	})
}

var (
	bigLn2 = bScale(atanInv(3, 1), 1) // log 2 = 2 atanh(1/3)
	// Machin's formula.
	bigPi = bScale(bSub(bScale(atanInv(5, -1), 2), atanInv(239, -1)), 2)
	// bigPiWide reduces the largest f64.
	bigPiWide = widePi(1400)
)

func widePi(prec uint) *big.Float {
	inv := func(n int64) *big.Float {
		x := new(big.Float).SetPrec(prec).SetInt64(1)
		x.Quo(x, new(big.Float).SetInt64(n))
		sum, power := new(big.Float).Copy(x), new(big.Float).Copy(x)
		n2 := new(big.Float).SetInt64(n * n)
		for k := int64(1); ; k++ {
			power.Quo(power, n2)
			term := new(big.Float).SetPrec(prec).Quo(power, new(big.Float).SetInt64(2*k+1))
			if term.MantExp(nil) < -int(prec) {
				return sum
			}
			if k%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
		}
	}
	a, b := inv(5), inv(239)
	a.SetMantExp(a, 2)
	a.Sub(a, b)
	return a.SetMantExp(a, 2)
}

func bExp(x *big.Float) *big.Float {
	f, _ := bDiv(x, bigLn2).Float64()
	n := int(math.RoundToEven(f))
	r := bScale(bSub(x, bMul(bf(float64(n)), bigLn2)), -16)
	y := series(bf(1), func(t *big.Float, k int) *big.Float { return bDiv(bMul(t, r), bf(float64(k))) })
	for range 16 {
		y = bMul(y, y)
	}
	return bScale(y, n)
}

// bExpm1 keeps its digits near 0.
func bExpm1(x *big.Float) *big.Float {
	if x.Sign() == 0 || x.MantExp(nil) > -20 {
		return bSub(bExp(x), bf(1))
	}
	return series(x, func(t *big.Float, k int) *big.Float { return bDiv(bMul(t, x), bf(float64(k+1))) })
}

func bLog(x *big.Float) *big.Float {
	m := bnew()
	e := x.MantExp(m)
	if f, _ := m.Float64(); f < math.Sqrt2/2 {
		m, e = bScale(m, 1), e-1
	}
	return bAdd(bLog1p(bSub(m, bf(1))), bMul(bf(float64(e)), bigLn2))
}

// bLog1p is for small f: 2 atanh(f / (2 + f)).
func bLog1p(f *big.Float) *big.Float {
	s := bDiv(f, bAdd(bf(2), f))
	z, power := bMul(s, s), s
	return bScale(series(s, func(_ *big.Float, k int) *big.Float {
		power = bMul(power, z)
		return bDiv(power, bf(float64(2*k+1)))
	}), 1)
}

// bSinCos reduces with as much of π as the argument needs.
func bSinCos(x float64) (sin, cos *big.Float) {
	wide := new(big.Float).SetPrec(1400).SetFloat64(x)
	half := new(big.Float).SetPrec(1400).SetMantExp(bigPiWide, -1)
	q := new(big.Float).SetPrec(1400).Quo(wide, half)
	if x < 0 {
		q.Sub(q, big.NewFloat(0.5))
	} else {
		q.Add(q, big.NewFloat(0.5))
	}
	n, _ := q.Int(nil)
	rest := new(big.Float).SetPrec(1400).Sub(wide, new(big.Float).SetPrec(1400).Mul(new(big.Float).SetPrec(1400).SetInt(n), half))
	r := bnew().Set(rest)
	z := bMul(r, r)
	z.Neg(z)
	alternating := func(first *big.Float, from int) *big.Float {
		return series(first, func(t *big.Float, k int) *big.Float {
			return bDiv(bMul(t, z), bf(float64((2*k+from-1)*(2*k+from))))
		})
	}
	s, c := alternating(r, 1), alternating(bf(1), 0)
	switch quadrant := new(big.Int).And(n, big.NewInt(3)).Int64(); quadrant {
	case 1:
		return c, s.Neg(s)
	case 2:
		return s.Neg(s), c.Neg(c)
	case 3:
		return c.Neg(c), s
	}
	return s, c
}

// bAtan halves its argument until the series is quick.
func bAtan(x *big.Float) *big.Float {
	one := bf(1)
	for range 8 { // atan x = 2 atan(x / (1 + sqrt(1 + x²)))
		root := bnew().Sqrt(bAdd(one, bMul(x, x)))
		x = bDiv(x, bAdd(one, root))
	}
	z, power := bMul(x, x), x
	z.Neg(z)
	return bScale(series(x, func(_ *big.Float, k int) *big.Float {
		power = bMul(power, z)
		return bDiv(power, bf(float64(2*k+1)))
	}), 8)
}

func bAtan2(y, x float64) *big.Float {
	a := bf(math.Pi / 2)
	if x == 0 {
		a = bScale(bigPi, -1)
	} else {
		a = bAtan(bDiv(bf(math.Abs(y)), bf(math.Abs(x))))
	}
	if math.Signbit(x) {
		a = bSub(bigPi, a)
	}
	if math.Signbit(y) {
		a.Neg(a)
	}
	return a
}

func bErf(x float64) *big.Float {
	v := bf(x)
	z := bMul(v, v)
	term := bnew().Set(v) // (-1)^k x^(2k+1) / k!
	sum := series(v, func(_ *big.Float, k int) *big.Float {
		term = bDiv(bMul(term, z), bf(float64(-k)))
		return bDiv(term, bf(float64(2*k+1)))
	})
	return bDiv(bScale(sum, 1), bnew().Sqrt(bigPi))
}
