package lang

import "math"

// This file converts between numbers and the bits of the float types. Every conversion
// to a narrower format rounds to nearest, ties to even; NaN stays NaN.

// BF16Bits rounds f to bfloat16 and gives its bits.
func BF16Bits(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + (b>>16)&1) >> 16)
}

// BF16Value is the value of bfloat16 bits.
func BF16Value(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// F16Bits rounds f to IEEE binary16 and gives its bits. Values past the
// largest finite half (after rounding) become infinite.
func F16Bits(f float32) uint16 { return uint16(half.encode(f)) }

// F16Value is the value of IEEE binary16 bits.
func F16Value(h uint16) float32 { return half.decode(uint32(h)) }

// F8E5M2Bits rounds f to f8e5m2 (OCP FP8). Finite values saturate at the largest
// finite one; an infinity stays. Results of operations saturate too: see Round.
func F8E5M2Bits(f float32) uint8 { return uint8(e5m2.encode(f)) }

// F8E5M2Value is the value of f8e5m2 bits.
func F8E5M2Value(b uint8) float32 { return e5m2.decode(uint32(b)) }

// F8E4M3Bits rounds f to f8e4m3 (OCP FP8, "fn": no infinities, one NaN),
// saturating at its largest number.
func F8E4M3Bits(f float32) uint8 { return uint8(e4m3.encode(f)) }

// F8E4M3Value is the value of f8e4m3 bits.
func F8E4M3Value(b uint8) float32 { return e4m3.decode(uint32(b)) }

// FloatBits rounds v to a float type and gives its bits, in the low end. Of the types that saturate, infinities stay where
// they have them.
func (d DType) FloatBits(v float64) uint64 {
	switch d {
	case F64:
		return math.Float64bits(v)
	case F32:
		return uint64(math.Float32bits(float32(v)))
	case BF16: // cut off f32's, which its exponents are
		return uint64(BF16Bits(OddF32(v)))
	}
	return uint64(d.format().encode(OddF32(v)))
}

// OddF32 rounds to f32 so that rounding again to a format of at most 22 bits gives what rounding once would: an inexact result is cut off and
// gets its last bit set.
func OddF32(v float64) float32 {
	f := float32(v)
	if float64(f) == v || v != v {
		return f
	}
	b := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(v) {
		b-- // the magnitude is in the low bits
	}
	return math.Float32frombits(b | 1)
}

// FloatValue is the value of the bits of a float type, which are the low ones.
func (d DType) FloatValue(bits uint64) float64 {
	switch d {
	case F64:
		return math.Float64frombits(bits)
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	case BF16:
		return float64(BF16Value(uint16(bits)))
	}
	return float64(d.format().decode(uint32(bits)))
}

// Round gives the nearest value of type d to f, for the float types up to 32
// bits. The types that saturate do so at their largest finite value, also from an
// infinity, as the hardware's conversions do.
func (d DType) Round(f float32) float32 {
	if d == F32 || d == F64 {
		return f
	}
	if d.Saturates() {
		f = max(min(f, math.MaxFloat32), -math.MaxFloat32)
	}
	return float32(d.FloatValue(d.FloatBits(float64(f))))
}

// format is that of a float type.
func (d DType) format() *format { return dtypeTable[d].format }

// Precision is the number of significant bits of a float type, the hidden one
// included: a value is rounded with a relative error of at most 2^-Precision.
func (d DType) Precision() int { return d.format().mantissa + 1 }

// ExponentBits is the width of a float type's exponent.
func (d DType) ExponentBits() int { return d.format().exponent }

// HasInfinity reports a float type with infinities.
func (d DType) HasInfinity() bool { return d.IsFloat() && d.format().specials == ieee }

// HasNaN reports a float type with a NaN. What is NaN becomes the largest number of one that has none.
func (d DType) HasNaN() bool { return d.IsFloat() && d.format().specials != allFinite }

// Saturates reports a float type in which results of operations that are beyond the largest number become it.
func (d DType) Saturates() bool { return d.IsFloat() && d.format().saturates }

// Largest is the greatest finite number of a float type.
func (d DType) Largest() float64 { return d.format().largest }

// LeastNormal is the least normal number of a float type above 0.
func (d DType) LeastNormal() float64 { return math.Ldexp(1, 1-d.format().bias) }

// Spacing is the distance between the numbers of a type about v: of integers, 1.
func (d DType) Spacing(v float64) float64 {
	if !d.IsFloat() {
		return 1
	}
	e := 1 - d.format().bias
	if v = math.Abs(v); v > 0 && !math.IsInf(v, 0) {
		e = max(e, math.Ilogb(v))
	}
	return math.Ldexp(1, e-d.format().mantissa)
}

// NaNBits is the bits that NaN of a float type has where bits are looked at; of a type without one, those that conversions
// make of it.
func (d DType) NaNBits() uint64 { return d.format().nan }

// InfinityBits is the bits of a float type's infinity, without its sign: all those of the exponent. 0 where it has none.
func (d DType) InfinityBits() uint64 {
	if !d.HasInfinity() {
		return 0
	}
	return d.format().top + 1
}

// Holds reports that every value of type e is one of type d.
func (d DType) Holds(e DType) bool {
	switch {
	case d == e || e == Bool:
		return true
	case d.IsFloat() && e.IsFloat():
		return d.Precision() >= e.Precision() && d.ExponentBits() >= e.ExponentBits()
	case d.IsInt() && e.IsInt():
		return d.Bits() > e.Bits() && (d.IsSigned() || !e.IsSigned())
	case d.IsFloat() && e.IsInt():
		return d.Precision() >= e.Bits() && d.ExponentBits() >= 8
	}
	return false
}
