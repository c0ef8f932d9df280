package emu

import "math"

// A floatOp is an arithmetic operation: narrow is on numbers of f32 and narrower
// types, with results exact or rounded to odd, and wide on f64, rounded.
type floatOp struct {
	operands     int
	narrow, wide func(a, b, c float64, mode rounding) float64
}

// exactOps are the arithmetic instructions: on numbers of f32 and narrower, with
// results exact or rounded to odd, and on f64, rounded.
var exactOps = map[string]floatOp{
	"add": {2, func(a, b, _ float64, m rounding) float64 { return sum(a, b, m) }, func(a, b, _ float64, m rounding) float64 { return fma64(a, 1, b, m) }},
	"sub": {2, func(a, b, _ float64, m rounding) float64 { return sum(a, -b, m) }, func(a, b, _ float64, m rounding) float64 { return fma64(a, 1, -b, m) }},
	"mul": {2, func(a, b, _ float64, _ rounding) float64 { return a * b }, func(a, b, _ float64, m rounding) float64 { return fma64(a, b, math.Copysign(0, sign(a)*sign(b)), m) }},
	"fma": {3, func(a, b, c float64, m rounding) float64 { return sum(a*b, c, m) }, fma64},
	"mad": {3, func(a, b, c float64, m rounding) float64 { return sum(a*b, c, m) }, fma64},
	"div": {2, func(a, b, _ float64, _ rounding) float64 { return divOdd(a, b) }, func(a, b, _ float64, m rounding) float64 { return div64(a, b, m) }},
}

// sum is addOdd, but for the zero of a sum that is rounded down: it is -0 unless both are +0.
func sum(a, b float64, mode rounding) float64 {
	s := addOdd(a, b)
	if s == 0 && mode == downward && (math.Signbit(a) || math.Signbit(b)) {
		return math.Copysign(0, -1)
	}
	return s
}

func sign(v float64) float64 { return math.Copysign(1, v) }

// fastOps are the usual case: f32, to nearest, without modifiers.
var fastOps = map[string]func(a, b uint64) uint64{
	"add": func(a, b uint64) uint64 { return bits32(float(a) + float(b)) },
	"sub": func(a, b uint64) uint64 { return bits32(float(a) - float(b)) },
	"mul": func(a, b uint64) uint64 { return bits32(float(a) * float(b)) },
	"div": func(a, b uint64) uint64 { return bits32(float(a) / float(b)) },
}

// fma32 is a*b+c rounded once to nearest.
func fma32(a, b, c uint64) uint64 {
	return bits32(float32(fmaOdd(float64(float(a)), float64(float(b)), float64(float(c)))))
}

// divideApprox is a * (1/b): for |b| above 2^126 the reciprocal is flushed.
func divideApprox(a, b float64) float64 {
	if m := math.Abs(b); m > 0x1p126 && !math.IsInf(b, 0) {
		if math.IsInf(a, 0) {
			return math.NaN()
		}
		return math.Copysign(0, sign(a)*sign(b))
	}
	return divOdd(a, b)
}

// grossReciprocal64 is rcp.approx.ftz.f64, a gross one: 20 bits of the mantissa in and out.
func grossReciprocal64(a uint64) uint64 {
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
