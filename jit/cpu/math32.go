package cpu

import "math"

// The float32 functions below are those of the vector loops, lane by lane: the
// same operations in the same order, fused where those are, so that a result
// does not depend on the machine. They are what softmax and the activations
// spend their time on.
//
// A product that is not to be fused with what follows is converted explicitly:
// without that, compilers for machines with a fused multiply-add may use one.

// round32 is the nearest whole number, ties to even.
func round32(x float32) float32 { return float32(math.RoundToEven(float64(x))) }

// bits32 is a constant of the vector loops.
func bits32(b uint32) float32 { return math.Float32frombits(b) }

// The constants of the vector loops, by the names that they have there.
var (
	log2e, ln2          = bits32(0x3fb8aa3b), bits32(0x3f317218)
	ln2hi, ln2lo        = bits32(0x3f318000), bits32(0xb95e8083)
	c2, c3, c4          = bits32(0x3f000000), bits32(0x3e2aaaab), bits32(0x3d2aaaab)
	c5, c6, c7          = bits32(0x3c088889), bits32(0x3ab60b61), bits32(0x39500d01)
	t0, t1, t2          = bits32(0xbeaaaa99), bits32(0x3e088393), bits32(0xbd5c1e2d)
	t3, t4              = bits32(0x3ca9134e), bits32(0xbbbaf0ea)
	expLow, expHigh     = bits32(0xc2d00000), bits32(0x42b20000)
	exp2Low, exp2High   = bits32(0xc3170000), bits32(0x43010000)
	tanhLimit, tanhMost = bits32(0x3f200000), bits32(0x41a00000)
)

// expPoly is e**r for |r| up to ln(2)/2: the Taylor series.
func expPoly(r float32) float32 {
	p := fma32(c7, r, c6)
	p = fma32(p, r, c5)
	p = fma32(p, r, c4)
	p = fma32(p, r, c3)
	p = fma32(p, r, c2)
	p = float32(p * r)
	return fma32(p, r, r) + 1
}

// scale32 is x times 2 to the power of the whole number n, in two steps so that
// results below the normal numbers are rounded once.
func scale32(x, n float32) float32 {
	whole := int32(n)
	half := whole >> 1
	x = float32(x * math.Float32frombits(uint32(whole-half+127)<<23))
	return float32(x * math.Float32frombits(uint32(half+127)<<23))
}

func exp32(x float32) float32 {
	if x != x {
		return x
	}
	x = min(max(x, expLow), expHigh)
	n := round32(float32(x * log2e))
	r := fma32(-n, ln2hi, x)
	r = fma32(-n, ln2lo, r)
	return scale32(expPoly(r), n)
}

func exp2of32(x float32) float32 {
	if x != x {
		return x
	}
	x = min(max(x, exp2Low), exp2High)
	n := round32(x)
	return scale32(expPoly(float32((x-n)*ln2)), n)
}

// sigmoid32 is e / (1 + e) below 0 and 1 / (1 + e) above, for e = e**-|x|, which does not overflow.
func sigmoid32(x float32) float32 {
	b := math.Float32bits(x)
	e := exp32(math.Float32frombits(b | 1<<31))
	if b>>31 != 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// tanh32 is x + x**3 P(x**2) near 0 and 1 - 2 / (1 + e**2x) elsewhere.
func tanh32(x float32) float32 {
	if x != x {
		return x
	}
	b := math.Float32bits(x)
	a := math.Float32frombits(b &^ (1 << 31))
	var y float32
	if a < tanhLimit {
		s := float32(a * a)
		p := fma32(t4, s, t3)
		p = fma32(p, s, t2)
		p = fma32(p, s, t1)
		p = fma32(p, s, t0)
		y = fma32(float32(p*s), a, a)
	} else {
		m := min(a, tanhMost)
		y = 1 - 2/(exp32(m+m)+1)
	}
	return math.Float32frombits(math.Float32bits(y) | b&(1<<31))
}
