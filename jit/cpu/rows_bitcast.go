package cpu

import (
	"math"

	"tilec/lang"
)

// bitcast finds the row that gives elements of type to the bits of those of type
// from: one is a float type, the other an integer type of the same width.
func bitcast(from, to lang.DType) row {
	switch from {
	case lang.F64:
		return castRow(func(x float64) uint64 {
			if x != x {
				return 0x7ff8000000000000
			}
			return math.Float64bits(x)
		})
	case lang.F32:
		return castRow(func(x float32) uint32 {
			if x != x {
				return 0x7fc00000
			}
			return math.Float32bits(x)
		})
	case lang.BF16:
		return bits16(lang.BF16Bits, 0x7fc0)
	case lang.F16:
		return bits16(halfBits, 0x7e00)
	case lang.F8E5M2:
		return bits8(lang.F8E5M2Bits, 0x7e)
	case lang.F8E4M3:
		return bits8(lang.F8E4M3Bits, 0x7f)
	}
	switch to {
	case lang.F64:
		return castRow(math.Float64frombits)
	case lang.F32:
		return castRow(math.Float32frombits)
	case lang.BF16:
		return castRow(lang.BF16Value)
	case lang.F16:
		return castRow(halfValue)
	case lang.F8E5M2:
		return castRow(lang.F8E5M2Value)
	}
	return castRow(lang.F8E4M3Value)
}

// bits16 and bits8 are the bits of narrow floats, which are held as float32; NaN has those given.
func bits16(bits func(float32) uint16, nan uint16) row {
	return castRow(func(x float32) uint16 {
		if x != x {
			return nan
		}
		return bits(x)
	})
}

func bits8(bits func(float32) uint8, nan uint8) row {
	return castRow(func(x float32) uint8 {
		if x != x {
			return nan
		}
		return bits(x)
	})
}
