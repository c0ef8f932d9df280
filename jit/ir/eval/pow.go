package eval

import "math"

// Pow is x to the power y. Package math multiplies x with itself, which loses a
// unit in the last place for every two of y, and takes the logarithm for the
// rest in one f64, which loses as many bits as the exponent has: here the
// logarithm is a pair of f64.
func Pow(x, y float64) float64 {
	whole := y == math.Trunc(y)
	switch {
	case y == 1:
		return x
	case x == 0 || y == 0 || x == 1 || math.IsNaN(x) || math.IsInf(x, 0) || math.IsNaN(y) || math.IsInf(y, 0), x < 0 && !whole:
		return math.Pow(x, y) // the cases without arithmetic
	}
	l := logPair(math.Abs(x))
	sign := 1.0
	if x < 0 && math.Abs(y) < 1<<53 && int64(y)%2 != 0 {
		sign = -1
	}
	switch h := float64(l.hi * y); { // far beyond what f64 holds, where the product may have overflowed too
	case h > 720:
		return sign * math.Inf(1)
	case h < -760:
		return sign * 0
	}
	t := l.times(y)
	// Near both ends of what f64 holds: scaled by a power of two, so that only the last step rounds to fewer bits, or overflows.
	scale := 0
	switch {
	case t.hi > 700:
		scale = 200
	case t.hi < -700:
		scale = -200
	}
	t = t.plus(ln2.times(float64(-scale)))
	// The low part is below an ulp of the high one, where e^low is 1 + low.
	e := Exp(t.hi)
	return sign * math.Ldexp(math.FMA(e, t.lo, e), scale)
}

// pair is an unevaluated sum of two f64, the second below an ulp of the first.
type pair struct{ hi, lo float64 }

func sum(a, b float64) pair {
	s := a + b
	v := s - a
	return pair{s, (a - (s - v)) + (b - v)}
}

func (p pair) plus(q pair) pair {
	s := sum(p.hi, q.hi)
	return sum(s.hi, s.lo+p.lo+q.lo)
}

func (p pair) times(b float64) pair {
	h := float64(p.hi * b)
	return sum(h, math.FMA(p.hi, b, -h)+float64(p.lo*b))
}

func (p pair) mul(q pair) pair {
	r := p.times(q.hi)
	return sum(r.hi, r.lo+float64(p.hi*q.lo))
}

func (p pair) div(q pair) pair {
	h := p.hi / q.hi
	rest := p.plus(q.times(-h))
	return sum(h, rest.hi/q.hi)
}

// ln2 is the natural logarithm of 2.
var ln2 = pair{math.Ln2, 0x1.abc9e3b39803fp-56}

// logPair is the natural logarithm of a positive number, to about 100 bits:
// log m = 2 atanh((m-1)/(m+1)) by its series, for the part m of x near 1.
func logPair(x float64) pair {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := sum(m, -1).div(sum(m, 1))
	square := s.mul(s)
	series := pair{}
	for k := 47; k >= 1; k -= 2 { // s is at most 0.172: the next term is below 2^-120
		series = series.mul(square).plus(pair{1, 0}.div(pair{float64(k), 0}))
	}
	return s.mul(series).times(2).plus(ln2.times(float64(e)))
}
