package elementary

import "math"

// expLn2High has 32 bits, so that its product with an exponent is exact; expLn2Low is the rest of the logarithm of 2.
const expLn2High, expLn2Low = 0x1.62e42feep-01, 0x1.a39ef35793c76p-33

// overflows and vanishes are from where e**x is infinite and 0.
const overflows, vanishes = 709.79, -745.14

// expTail are 1/3!, 1/4!, ... as far as they count for |r| up to ln(2)/2.
var expTail = func() (c [12]float64) {
	f := 2.0
	for i := range c {
		f *= float64(i + 3)
		c[i] = 1 / f
	}
	return c
}()

// expRest is e**(r + low) - 1 for |r| up to ln(2)/2 and a low that is below an ulp of it.
func expRest(r, low float64) float64 {
	square := float64(r * r)
	c := &expTail
	even := c[0] + float64(square*(c[2]+float64(square*(c[4]+float64(square*(c[6]+float64(square*(c[8]+float64(square*c[10])))))))))
	odd := c[1] + float64(square*(c[3]+float64(square*(c[5]+float64(square*(c[7]+float64(square*(c[9]+float64(square*c[11])))))))))
	p := even + float64(r*odd)
	// r and half its square hold all that counts; the rest of the series and low are small beside them.
	half := ordered(r, float64(square*0.5))
	lost := float64(math.FMA(r, r, -square) * 0.5)
	return half.hi + (half.lo + (lost + (low + float64(low*r) + float64(float64(square*r)*p))))
}

// reduced gives the whole k and the pair r + low for which e**x is 2**k e**(r + low).
func reduced(x float64) (k, r, low float64) {
	k = math.RoundToEven(float64(x * math.Log2E))
	p := sum(x-float64(k*expLn2High), -float64(k*expLn2Low))
	return k, p.hi, p.lo
}

// Exp is e to the power x.
func Exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > overflows:
		return math.Inf(1)
	case x < vanishes:
		return 0
	}
	return expTimes(x, 0)
}

// expTimes is e to the power x times 2 to the power n, where that is a number.
func expTimes(x float64, n int) float64 {
	k, r, low := reduced(x)
	return scaled(1+expRest(r, low), int(k)+n)
}

// Exp2 is 2 to the power x.
func Exp2(x float64) float64 {
	switch {
	case x != x:
		return x
	case x >= 1024:
		return math.Inf(1)
	case x < -1075:
		return 0
	}
	k := math.RoundToEven(x)
	t := ln2.times(x - k)
	return scaled(1+expRest(t.hi, t.lo), int(k))
}

// Expm1 is e to the power x, minus 1.
func Expm1(x float64) float64 {
	switch {
	case x != x || x == 0:
		return x
	case x > 40: // the 1 is below half an ulp
		return Exp(x)
	case x < -40:
		return -1
	}
	k, r, low := reduced(x)
	if k == 0 {
		return expRest(r, low)
	}
	// 2**k (1 + rest) - 1 is 2**k (rest + (1 - 2**-k)); of the two terms the second is the larger, or they are close.
	s := sum(1-math.Ldexp(1, -int(k)), expRest(r, low))
	return math.Ldexp(s.hi+s.lo, int(k))
}

// halfExp is half of e to the power a, for an a above 40; the power may overflow where its half does not.
func halfExp(a float64) float64 {
	if a > overflows+1 {
		return math.Inf(1)
	}
	return expTimes(a, -1)
}

// Sinh is the hyperbolic sine.
func Sinh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a > 40:
		return math.Copysign(halfExp(a), x)
	case a < 0x1p-27: // NaN does not get here
		return x
	}
	t := Expm1(a)
	return math.Copysign(float64((t+t/(t+1))*0.5), x)
}

// Cosh is the hyperbolic cosine.
func Cosh(x float64) float64 {
	a := math.Abs(x)
	if a > 40 {
		return halfExp(a)
	}
	e := Exp(a)
	return float64((e + 1/e) * 0.5)
}

// Tanh is the hyperbolic tangent.
func Tanh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a > 22:
		return math.Copysign(1, x)
	case a < 0x1p-27:
		return x
	}
	t := Expm1(2 * a)
	return math.Copysign(t/(t+2), x)
}

// Sigmoid is 1 / (1 + e**-x).
func Sigmoid(x float64) float64 {
	if x < -700 { // where e**-x may be infinite and the result, which is e**x then, is not 0 yet
		return Exp(x)
	}
	return 1 / (1 + Exp(-x))
}
