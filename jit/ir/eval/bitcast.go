package eval

import (
	"math"

	"tilec/jit/ir"
	"tilec/lang"
)

// QuietNaN is the bits that NaN of a float type has where bits are looked at.
func QuietNaN(d lang.DType) uint64 {
	switch d {
	case lang.F64:
		return 0x7ff8000000000000
	case lang.F32:
		return 0x7fc00000
	case lang.BF16:
		return 0x7fc0
	case lang.F16:
		return 0x7e00
	case lang.F8E5M2:
		return 0x7e
	}
	return 0x7f
}

// Bitcast gives the value of type to that has the bits of a value of type from,
// one of them a float type, the other an integer type of the same width.
func Bitcast(c ir.Const, from, to lang.DType) ir.Const {
	if from.IsFloat() {
		return ir.Const{Int: Wrap(int64(floatBits(c.Float, from)), to)}
	}
	bits := uint64(c.Int)
	switch to {
	case lang.F64:
		return ir.Const{Float: math.Float64frombits(bits)}
	case lang.F32:
		return ir.Const{Float: float64(math.Float32frombits(uint32(bits)))}
	case lang.BF16:
		return ir.Const{Float: float64(lang.BF16Value(uint16(bits)))}
	case lang.F16:
		return ir.Const{Float: float64(lang.F16Value(uint16(bits)))}
	case lang.F8E5M2:
		return ir.Const{Float: float64(lang.F8E5M2Value(uint8(bits)))}
	}
	return ir.Const{Float: float64(lang.F8E4M3Value(uint8(bits)))}
}

func floatBits(v float64, d lang.DType) uint64 {
	if v != v {
		return QuietNaN(d)
	}
	switch d {
	case lang.F64:
		return math.Float64bits(v)
	case lang.F32:
		return uint64(math.Float32bits(float32(v)))
	case lang.BF16:
		return uint64(lang.BF16Bits(float32(v)))
	case lang.F16:
		return uint64(lang.F16Bits(float32(v)))
	case lang.F8E5M2:
		return uint64(lang.F8E5M2Bits(float32(v)))
	}
	return uint64(lang.F8E4M3Bits(float32(v)))
}
