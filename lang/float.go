package lang

import "math"

// This file converts between float32 and the narrow formats. Every conversion
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
// largest finite half (65504, after rounding) become infinite.
func F16Bits(f float32) uint16 { return uint16(narrow(f, 5, 10, true)) }

// F16Value is the value of IEEE binary16 bits.
func F16Value(h uint16) float32 { return widen(uint32(h), 5, 10, true) }

// F8E5M2Bits rounds f to f8e5m2 (OCP FP8). Finite values saturate at the largest
// finite one; an infinity stays. Results of operations saturate too: see Round.
func F8E5M2Bits(f float32) uint8 {
	if a := math.Abs(float64(f)); a > 57344 && a <= math.MaxFloat32 { // NaN compares false
		return uint8(math.Float32bits(f)>>31)<<7 | 0x7b
	}
	return uint8(narrow(f, 5, 2, true))
}

// F8E5M2Value is the value of f8e5m2 bits.
func F8E5M2Value(b uint8) float32 { return widen(uint32(b), 5, 2, true) }

// F8E4M3Bits rounds f to f8e4m3 (OCP FP8, "fn": no infinities, one NaN),
// saturating at 448.
func F8E4M3Bits(f float32) uint8 {
	sign := uint8(math.Float32bits(f)>>31) << 7
	if f != f {
		return sign | 0x7f
	}
	if a := math.Abs(float64(f)); a > 448 {
		return sign | 0x7e
	}
	return uint8(narrow(f, 4, 3, false))
}

// F8E4M3Value is the value of f8e4m3 bits.
func F8E4M3Value(b uint8) float32 {
	if b&0x7f == 0x7f {
		return float32(math.NaN())
	}
	return widen(uint32(b), 4, 3, false)
}

// narrow rounds f to a format with the given exponent and mantissa widths.
// With ieee, the top exponent holds infinities and NaN.
func narrow(f float32, expBits, manBits uint, ieee bool) uint32 {
	b := math.Float32bits(f)
	sign := b >> 31 << (expBits + manBits)
	b &= 0x7fffffff
	top := uint32(1)<<expBits - 1
	if b >= 0x7f800000 {
		if b > 0x7f800000 { // NaN: quiet
			return sign | top<<manBits | 1<<(manBits-1)
		}
		return sign | top<<manBits
	}
	bias := int(1)<<(expBits-1) - 1
	exp := int(b>>23) - 127 + bias
	man := b&0x7fffff | 0x800000
	shift := 23 - manBits
	if exp <= 0 { // subnormal in the target
		if exp < -int(manBits)-1 {
			return sign
		}
		shift += uint(1 - exp)
		exp = 0
	} else {
		man &= 0x7fffff
	}
	half := uint32(1) << (shift - 1)
	r := man >> shift
	if rest := man & (1<<shift - 1); rest > half || rest == half && r&1 == 1 {
		r++
	}
	r += uint32(exp) << manBits // a carry out of the mantissa moves to the next exponent
	if ieee && r > top<<manBits {
		r = top << manBits
	}
	return sign | r
}

func widen(v uint32, expBits, manBits uint, ieee bool) float32 {
	sign := float32(1)
	if v>>(expBits+manBits)&1 == 1 {
		sign = -1
	}
	exp := int(v >> manBits & (1<<expBits - 1))
	man := v & (1<<manBits - 1)
	bias := int(1)<<(expBits-1) - 1
	if ieee && exp == 1<<expBits-1 {
		if man != 0 {
			return float32(math.NaN())
		}
		return sign * float32(math.Inf(1))
	}
	if exp == 0 {
		return sign * float32(math.Ldexp(float64(man), 1-bias-int(manBits)))
	}
	return sign * float32(math.Ldexp(float64(man|1<<manBits), exp-bias-int(manBits)))
}

// Round gives the nearest value of type d to f, for the float types up to 32
// bits. The 8-bit types saturate at their largest finite value, also from an
// infinity, as the hardware's conversions do.
func (d DType) Round(f float32) float32 {
	switch d {
	case F16:
		return F16Value(F16Bits(f))
	case BF16:
		return BF16Value(BF16Bits(f))
	case F8E4M3:
		return F8E4M3Value(F8E4M3Bits(f))
	case F8E5M2:
		return F8E5M2Value(F8E5M2Bits(max(min(f, math.MaxFloat32), -math.MaxFloat32)))
	}
	return f
}
