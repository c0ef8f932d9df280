// Package exact has the functions of the language to about 180 bits, from the
// series that define them: what the backends are measured against.
package exact

import (
	"math"
	"math/big"
)

const prec = 240

// Of is x, exactly.
func Of(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }
func newFloat() *big.Float    { return new(big.Float).SetPrec(prec) }

// Add is x + y.
func Add(x, y *big.Float) *big.Float { return newFloat().Add(x, y) }

// Sub is x - y.
func Sub(x, y *big.Float) *big.Float { return newFloat().Sub(x, y) }

// Mul is x y.
func Mul(x, y *big.Float) *big.Float { return newFloat().Mul(x, y) }

// Div is x / y.
func Div(x, y *big.Float) *big.Float { return newFloat().Quo(x, y) }

// Sqrt is the square root.
func Sqrt(x *big.Float) *big.Float { return newFloat().Sqrt(x) }

// Scale is x 2ⁿ.
func Scale(x *big.Float, n int) *big.Float {
	return newFloat().SetMantExp(x, n)
}

// series sums term after term until they no longer count.
func series(first *big.Float, next func(term *big.Float, k int) *big.Float) *big.Float {
	sum, term := newFloat().Set(first), first
	for k := 1; ; k++ {
		term = next(term, k)
		if term.Sign() == 0 || sum.Sign() != 0 && term.MantExp(nil) < sum.MantExp(nil)-prec {
			return sum
		}
		sum = Add(sum, term)
	}
}

// atanhInv is atanh(1/n), atanInv atan(1/n).
func atanInv(n float64, sign float64) *big.Float {
	x := Div(Of(1), Of(n))
	z := Mul(Mul(x, x), Of(sign))
	power := x
	return series(x, func(_ *big.Float, k int) *big.Float {
		power = Mul(power, z)
		return Div(power, Of(float64(2*k+1)))
	})
}

var (
	Ln2 = Scale(atanInv(3, 1), 1) // log 2 = 2 atanh(1/3)
	// Machin's formula.
	Pi = Scale(Sub(Scale(atanInv(5, -1), 2), atanInv(239, -1)), 2)
	// bigPiPrecise reduces the largest f64.
	bigPiPrecise = precisePi(1400)
)

func precisePi(prec uint) *big.Float {
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

// Exp is e to the power x.
func Exp(x *big.Float) *big.Float {
	f, _ := Div(x, Ln2).Float64()
	n := int(math.RoundToEven(f))
	r := Scale(Sub(x, Mul(Of(float64(n)), Ln2)), -16)
	y := series(Of(1), func(t *big.Float, k int) *big.Float { return Div(Mul(t, r), Of(float64(k))) })
	for range 16 {
		y = Mul(y, y)
	}
	return Scale(y, n)
}

// Expm1 keeps its digits near 0.
func Expm1(x *big.Float) *big.Float {
	if x.Sign() == 0 || x.MantExp(nil) > -20 {
		return Sub(Exp(x), Of(1))
	}
	return series(x, func(t *big.Float, k int) *big.Float { return Div(Mul(t, x), Of(float64(k+1))) })
}

// Log is the natural logarithm of a positive number.
func Log(x *big.Float) *big.Float {
	m := newFloat()
	e := x.MantExp(m)
	if f, _ := m.Float64(); f < math.Sqrt2/2 {
		m, e = Scale(m, 1), e-1
	}
	return Add(Log1p(Sub(m, Of(1))), Mul(Of(float64(e)), Ln2))
}

// Log1p is log(1 + f) for small f: 2 atanh(f / (2 + f)).
func Log1p(f *big.Float) *big.Float {
	s := Div(f, Add(Of(2), f))
	z, power := Mul(s, s), s
	return Scale(series(s, func(_ *big.Float, k int) *big.Float {
		power = Mul(power, z)
		return Div(power, Of(float64(2*k+1)))
	}), 1)
}

// SinCos reduces with as much of π as the argument needs.
func SinCos(x float64) (sin, cos *big.Float) {
	wide := new(big.Float).SetPrec(1400).SetFloat64(x)
	half := new(big.Float).SetPrec(1400).SetMantExp(bigPiPrecise, -1)
	q := new(big.Float).SetPrec(1400).Quo(wide, half)
	if x < 0 {
		q.Sub(q, big.NewFloat(0.5))
	} else {
		q.Add(q, big.NewFloat(0.5))
	}
	n, _ := q.Int(nil)
	rest := new(big.Float).SetPrec(1400).Sub(wide, new(big.Float).SetPrec(1400).Mul(new(big.Float).SetPrec(1400).SetInt(n), half))
	r := newFloat().Set(rest)
	z := Mul(r, r)
	z.Neg(z)
	alternating := func(first *big.Float, from int) *big.Float {
		return series(first, func(t *big.Float, k int) *big.Float {
			return Div(Mul(t, z), Of(float64((2*k+from-1)*(2*k+from))))
		})
	}
	s, c := alternating(r, 1), alternating(Of(1), 0)
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

// Atan halves its argument until the series is quick.
func Atan(x *big.Float) *big.Float {
	one := Of(1)
	for range 8 { // atan x = 2 atan(x / (1 + sqrt(1 + x²)))
		root := newFloat().Sqrt(Add(one, Mul(x, x)))
		x = Div(x, Add(one, root))
	}
	z, power := Mul(x, x), x
	z.Neg(z)
	return Scale(series(x, func(_ *big.Float, k int) *big.Float {
		power = Mul(power, z)
		return Div(power, Of(float64(2*k+1)))
	}), 8)
}

// Atan2 is the angle of the point (x, y).
func Atan2(y, x float64) *big.Float {
	a := Of(math.Pi / 2)
	if x == 0 {
		a = Scale(Pi, -1)
	} else {
		a = Atan(Div(Of(math.Abs(y)), Of(math.Abs(x))))
	}
	if math.Signbit(x) {
		a = Sub(Pi, a)
	}
	if math.Signbit(y) {
		a.Neg(a)
	}
	return a
}

// Erf is the error function, for |x| below 7: its series alternates.
func Erf(x float64) *big.Float {
	v := Of(x)
	z := Mul(v, v)
	term := newFloat().Set(v) // (-1)^k x^(2k+1) / k!
	sum := series(v, func(_ *big.Float, k int) *big.Float {
		term = Div(Mul(term, z), Of(float64(-k)))
		return Div(term, Of(float64(2*k+1)))
	})
	return Div(Scale(sum, 1), newFloat().Sqrt(Pi))
}
