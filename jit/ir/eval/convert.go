package eval

import (
	"math"

	"tilec/jit/ir"
	"tilec/lang"
)

// Wrap gives the value of type d that is congruent to n modulo 2 to the width; of bool, whether n is not 0.
func Wrap(n int64, d lang.DType) int64 {
	switch {
	case d == lang.Bool:
		return truth(n != 0).Int
	case d.IsSigned():
		return n << (64 - d.Bits()) >> (64 - d.Bits())
	}
	return int64(mask(d, n))
}

// Round gives the value of float type d that is nearest to v, ties to even, rounding once.
func Round(v float64, d lang.DType) float64 {
	switch d {
	case lang.F64:
		return v
	case lang.F32:
		return float64(float32(v))
	}
	return float64(d.Round(lang.OddF32(v)))
}

// fusedOdd is a*b+c for a product that is exact in f64 (operands of at most 26
// bits), rounded to odd, so that rounding the result to f32 or less rounds once.
func fusedOdd(a, b, c float64) float64 {
	p := float64(a * b)
	s := p + c
	if s != s || math.IsInf(s, 0) {
		return s
	}
	// Knuth's two-sum: s + e is p + c exactly.
	t := s - p
	e := (p - (s - t)) + (c - t)
	bits := math.Float64bits(s)
	if e == 0 || bits&1 == 1 {
		return s
	}
	if (e > 0) == (s > 0) {
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}

// Cast converts a scalar as the language defines: floats round to nearest even;
// float to integer truncates and saturates, and NaN gives 0; integers wrap; to
// bool, whether it is not 0.
func Cast(c ir.Const, from, to lang.DType) ir.Const {
	switch {
	case to == lang.Bool && from.IsFloat():
		return truth(c.Float != 0)
	case from.IsFloat() && to.IsFloat():
		return ir.Const{Float: Round(c.Float, to)}
	case from.IsFloat():
		return ir.Const{Int: saturate(c.Float, to)}
	case to.IsFloat():
		return ir.Const{Float: fromInt(c.Int, from, to)}
	}
	return ir.Const{Int: Wrap(c.Int, to)}
}

// Limits are the least and the greatest value of an integer type, u64's as bits.
func Limits(d lang.DType) (lo, hi int64) {
	switch {
	case d == lang.Bool:
		return 0, 1
	case d.IsSigned():
		return -1 << (d.Bits() - 1), 1<<(d.Bits()-1) - 1
	}
	return 0, int64(^uint64(0) >> (64 - d.Bits()))
}

func saturate(v float64, d lang.DType) int64 {
	if v != v {
		return 0
	}
	lo, hi := Limits(d)
	v = math.Trunc(v)
	top := math.Ldexp(1, d.Bits()) // one past the greatest
	if d.IsSigned() {
		top /= 2
	}
	switch {
	case v >= top:
		return hi
	case d.IsSigned() && v <= -top, !d.IsSigned() && v <= 0:
		return lo
	case d == lang.U64:
		return int64(uint64(v))
	}
	return int64(v)
}

func fromInt(n int64, from, to lang.DType) float64 {
	switch {
	case from == lang.U64 && to == lang.F64:
		return float64(uint64(n))
	case from == lang.U64 && to == lang.F32:
		return float64(float32(uint64(n)))
	case to == lang.F64:
		return float64(n)
	case to == lang.F32:
		return float64(float32(n))
	}
	// Round to odd at 53 bits: the last of them keeps whether any below was set.
	const low = 1<<11 - 1
	odd := func(n uint64) float64 {
		if n>>53 != 0 && n&low != 0 {
			n = n&^low | (low + 1)
		}
		return float64(n)
	}
	if from != lang.U64 && n < 0 {
		return Round(-odd(uint64(-n)), to)
	}
	return Round(odd(uint64(n)), to)
}
