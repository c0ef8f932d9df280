package number

import "math"

// A FloatOp is an arithmetic operation of two or three operands: Narrow is on numbers of
// f32 and narrower types, with results exact or rounded to odd, and Wide on f64, rounded.
type FloatOp struct {
	Operands     int
	Narrow, Wide func(a, b, c float64, mode Rounding) float64
}

// FloatOps are the arithmetic instructions by name.
var FloatOps = map[string]FloatOp{
	"add": {2, func(a, b, _ float64, m Rounding) float64 { return sum(a, b, m) }, func(a, b, _ float64, m Rounding) float64 { return FMA64(a, 1, b, m) }},
	"sub": {2, func(a, b, _ float64, m Rounding) float64 { return sum(a, -b, m) }, func(a, b, _ float64, m Rounding) float64 { return FMA64(a, 1, -b, m) }},
	"mul": {2, func(a, b, _ float64, _ Rounding) float64 { return a * b }, func(a, b, _ float64, m Rounding) float64 { return FMA64(a, b, math.Copysign(0, sign(a)*sign(b)), m) }},
	"fma": {3, func(a, b, c float64, m Rounding) float64 { return sum(a*b, c, m) }, FMA64},
	"mad": {3, func(a, b, c float64, m Rounding) float64 { return sum(a*b, c, m) }, FMA64},
	"div": {2, func(a, b, _ float64, _ Rounding) float64 { return DivOdd(a, b) }, func(a, b, _ float64, m Rounding) float64 { return Div64(a, b, m) }},
}

// sum is AddOdd, but for the zero of a sum that is rounded down: it is -0 unless both are +0.
func sum(a, b float64, mode Rounding) float64 {
	s := AddOdd(a, b)
	if s == 0 && mode == Downward && (math.Signbit(a) || math.Signbit(b)) {
		return math.Copysign(0, -1)
	}
	return s
}

func sign(v float64) float64 { return math.Copysign(1, v) }

// FastFloatOps are the usual case, on the bits of f32: to nearest, without modifiers.
var FastFloatOps = map[string]func(a, b uint64) uint64{
	"add": func(a, b uint64) uint64 { return Bits32(Float32(a) + Float32(b)) },
	"sub": func(a, b uint64) uint64 { return Bits32(Float32(a) - Float32(b)) },
	"mul": func(a, b uint64) uint64 { return Bits32(Float32(a) * Float32(b)) },
	"div": func(a, b uint64) uint64 { return Bits32(Float32(a) / Float32(b)) },
}

// FMA32 is a*b+c, on the bits of f32, rounded once to nearest.
func FMA32(a, b, c uint64) uint64 {
	return Bits32(float32(fmaOdd(float64(Float32(a)), float64(Float32(b)), float64(Float32(c)))))
}

// DivideApprox is a * (1/b): for |b| above 2^126 the reciprocal is flushed.
func DivideApprox(a, b float64) float64 {
	if m := math.Abs(b); m > 0x1p126 && !math.IsInf(b, 0) {
		if math.IsInf(a, 0) {
			return math.NaN()
		}
		return math.Copysign(0, sign(a)*sign(b))
	}
	return DivOdd(a, b)
}

// GrossReciprocal64 is rcp.approx.ftz.f64, a gross one: 20 bits of the mantissa in and out.
func GrossReciprocal64(a uint64) uint64 {
	v := math.Float64frombits(a &^ 0xffffffff)
	if v != v {
		return 0x7fffffff00000000
	}
	if a>>52&0x7ff == 0 {
		v = math.Copysign(0, v)
	}
	r := 1 / v
	if math.Abs(r) < 0x1p-1022 {
		r = math.Copysign(0, r)
	}
	return math.Float64bits(r) &^ 0xffffffff
}
