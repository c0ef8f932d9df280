package cpu

import (
	"math"
	"unsafe"

	"tilec/lang"
)

// bitcast finds the row that gives elements of type to the bits of those of type
// from: one is a float type, the other an integer type of the same width.
func bitcast(from, to lang.DType) row {
	if from.IsFloat() {
		return bitsOfFloat(from)
	}
	switch to {
	case lang.F64, lang.F32:
		return sameBits(to.Size())
	case lang.BF16:
		return castRow(lang.BF16Value)
	case lang.F16:
		return castRow(halfValue)
	}
	return castRow(func(b uint8) float32 { return float32(to.FloatValue(uint64(b))) })
}

// sameBits copies elements of so many bytes.
func sameBits(size int) row {
	return func(d, a, _, _ unsafe.Pointer, n int) {
		copy(unsafe.Slice((*byte)(d), size*n), unsafe.Slice((*byte)(a), size*n))
	}
}

// bitsOfFloat finds the row that gives the bits of a float type: NaN has the same always. Narrow floats are held as float32.
func bitsOfFloat(d lang.DType) row {
	switch nan := d.NaNBits(); d {
	case lang.F64:
		return bitsRow(math.Float64bits, nan)
	case lang.F32:
		return bitsRow(math.Float32bits, uint32(nan))
	case lang.BF16:
		return bitsRow(lang.BF16Bits, uint16(nan))
	case lang.F16:
		return bitsRow(halfBits, uint16(nan))
	default:
		return bitsRow(func(x float32) uint8 { return uint8(d.FloatBits(float64(x))) }, uint8(nan))
	}
}

func bitsRow[S float, D unsigned](bits func(S) D, nan D) row {
	return castRow(func(x S) D {
		if x != x {
			return nan
		}
		return bits(x)
	})
}
