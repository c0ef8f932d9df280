package cpu

import (
	"math"

	"tilec/lang"
)

// rounder rounds a run of float32 to a narrower element type; nil for f32.
func rounder(d lang.DType) func([]float32) {
	switch d {
	case lang.F16:
		return roundF16
	case lang.BF16:
		return roundBF16
	}
	if narrowFloat(d) {
		return func(x []float32) {
			for i, v := range x {
				x[i] = d.Round(v)
			}
		}
	}
	return nil
}

func roundBF16(x []float32) {
	if whole := len(x) &^ (lanes - 1); vectors && whole > 0 {
		roundBF16AVX(whole, ptrOf(x))
		x = x[whole:]
	}
	for i, v := range x {
		b := math.Float32bits(v)
		if b&0x7fffffff > 0x7f800000 {
			b |= 0x400000
		} else {
			b += 0x7fff + b>>16&1
		}
		x[i] = math.Float32frombits(b &^ 0xffff)
	}
}

func roundF16(x []float32) {
	if whole := len(x) &^ (lanes - 1); vectors && whole > 0 {
		roundF16AVX(whole, ptrOf(x))
		x = x[whole:]
	}
	for i, v := range x {
		b := math.Float32bits(v)
		sign := b & 0x80000000
		b &= 0x7fffffff
		switch {
		case b > 0x7f800000: // NaN: quiet, and what a half can hold of it
			b = 0x7fc00000
		case b >= 0x477ff000: // 65520 and more
			b = 0x7f800000
		case b < 0x38800000: // subnormal halves are the multiples of 2^-24
			b = math.Float32bits(math.Float32frombits(b) + 0.75 - 0.75)
		default:
			b = (b + 0xfff + b>>13&1) &^ 0x1fff
		}
		x[i] = math.Float32frombits(b | sign)
	}
}

// fmaOdd is a*b + c, rounded to odd in 53 bits: one more rounding is then the only one.
func fmaOdd(a, b, c float32) float64 {
	p := float64(float64(a) * float64(b)) // exact
	x := float64(c)
	s := p + x
	if math.IsInf(s, 0) || s != s {
		return s
	}
	// The exact error of the sum.
	v := s - p
	e := (p - (s - v)) + (x - v)
	if e != 0 && math.Float64bits(s)&1 == 0 {
		if (e > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) + 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return s
}
