package cpu

import "math"

// The float32 functions below work in float64 with short polynomials: their
// error before the last rounding is under 1e-8 relative, so that they are
// within 0.6 ulp. They are what softmax and the activations spend their time on.

// exp2Poly is 2**r for r in [-1/2, 1/2]: the Taylor series of exp(r ln 2), whose
// first term left out is under 3e-10.
func exp2Poly(r float64) float64 {
	const (
		c1 = 6.93147180559945286e-01
		c2 = 2.40226506959100690e-01
		c3 = 5.55041086648215762e-02
		c4 = 9.61812910762847687e-03
		c5 = 1.33335581464284411e-03
		c6 = 1.54035303933816060e-04
		c7 = 1.52527338040598372e-05
		c8 = 1.32154867901443084e-06
	)
	r2 := r * r
	r4 := r2 * r2
	lo := (1 + c1*r) + r2*(c2+c3*r)
	hi := (c4 + c5*r) + r2*(c6+c7*r)
	return lo + r4*(hi+r4*c8)
}

// exp2Wide is 2**t in float64 with the accuracy of exp2Poly; t beyond ±1000 counts as that.
func exp2Wide(t float64) float64 {
	if t != t {
		return t
	}
	t = min(max(t, -1000), 1000)
	n := int64(t + 1024.5) // t + 1024 is positive: truncation rounds down
	r := t - float64(n-1024)
	return exp2Poly(r) * math.Float64frombits(uint64(n-1)<<52)
}

func expRow(d, a []float32) {
	for i, x := range a {
		d[i] = float32(exp2Wide(float64(x) * math.Log2E))
	}
}

func exp2Row(d, a []float32) {
	for i, x := range a {
		d[i] = float32(exp2Wide(float64(x)))
	}
}

func sigmoidRow(d, a []float32) {
	for i, x := range a {
		d[i] = float32(1 / (1 + exp2Wide(float64(x)*-math.Log2E)))
	}
}

func tanhRow(d, a []float32) {
	for i, v := range a {
		x := float64(v)
		if x > -0.3 && x < 0.3 {
			d[i] = float32(tanhPoly(x))
			continue
		}
		e := exp2Wide(math.Abs(x) * (-2 * math.Log2E))
		d[i] = float32(math.Copysign((1-e)/(1+e), x))
	}
}

// tanhPoly is tanh's Taylor series, for |x| < 0.3: its first term left out is under 1e-10 relative.
func tanhPoly(x float64) float64 {
	const (
		c3  = -1.0 / 3
		c5  = 2.0 / 15
		c7  = -17.0 / 315
		c9  = 62.0 / 2835
		c11 = -1382.0 / 155925
		c13 = 21844.0 / 6081075
	)
	s := x * x
	return x + x*s*(c3+s*(c5+s*(c7+s*(c9+s*(c11+s*c13)))))
}
