package main

import (
	"encoding/binary"
	"math"
	"strconv"

	"tilec/lang"
)

// element reads and writes one element of a type, little endian. Integers
// beyond 2^53 lose their lowest bits on the way through a float64.
type element struct {
	get func([]byte) float64
	put func([]byte, float64)
}

var order = binary.LittleEndian

func elementOf(d lang.DType) element {
	switch d {
	case lang.Bool:
		return element{func(b []byte) float64 { return float64(b[0]) }, func(b []byte, v float64) {
			if b[0] = 0; v != 0 {
				b[0] = 1
			}
		}}
	case lang.I8:
		return element{func(b []byte) float64 { return float64(int8(b[0])) }, func(b []byte, v float64) { b[0] = byte(int8(v)) }}
	case lang.U8:
		return element{func(b []byte) float64 { return float64(b[0]) }, func(b []byte, v float64) { b[0] = byte(v) }}
	case lang.I16:
		return element{func(b []byte) float64 { return float64(int16(order.Uint16(b))) }, func(b []byte, v float64) { order.PutUint16(b, uint16(int16(v))) }}
	case lang.U16:
		return element{func(b []byte) float64 { return float64(order.Uint16(b)) }, func(b []byte, v float64) { order.PutUint16(b, uint16(v)) }}
	case lang.I32:
		return element{func(b []byte) float64 { return float64(int32(order.Uint32(b))) }, func(b []byte, v float64) { order.PutUint32(b, uint32(int32(v))) }}
	case lang.U32:
		return element{func(b []byte) float64 { return float64(order.Uint32(b)) }, func(b []byte, v float64) { order.PutUint32(b, uint32(v)) }}
	case lang.I64:
		return element{func(b []byte) float64 { return float64(int64(order.Uint64(b))) }, func(b []byte, v float64) { order.PutUint64(b, uint64(int64(v))) }}
	case lang.U64:
		return element{func(b []byte) float64 { return float64(order.Uint64(b)) }, func(b []byte, v float64) { order.PutUint64(b, uint64(v)) }}
	case lang.F8E4M3:
		return element{func(b []byte) float64 { return float64(lang.F8E4M3Value(b[0])) }, func(b []byte, v float64) { b[0] = lang.F8E4M3Bits(float32(v)) }}
	case lang.F8E5M2:
		return element{func(b []byte) float64 { return float64(lang.F8E5M2Value(b[0])) }, func(b []byte, v float64) { b[0] = lang.F8E5M2Bits(float32(v)) }}
	case lang.F16:
		return element{func(b []byte) float64 { return float64(lang.F16Value(order.Uint16(b))) }, func(b []byte, v float64) { order.PutUint16(b, lang.F16Bits(float32(v))) }}
	case lang.BF16:
		return element{func(b []byte) float64 { return float64(lang.BF16Value(order.Uint16(b))) }, func(b []byte, v float64) { order.PutUint16(b, lang.BF16Bits(float32(v))) }}
	case lang.F32:
		return element{func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }, func(b []byte, v float64) { order.PutUint32(b, math.Float32bits(float32(v))) }}
	case lang.F64:
		return element{func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }, func(b []byte, v float64) { order.PutUint64(b, math.Float64bits(v)) }}
	}
	panic("no element type " + d.String())
}

// precision is the number of significant bits of a float type, the hidden one
// included; a value is rounded with a relative error of at most 2^-precision.
func precision(d lang.DType) int {
	switch d {
	case lang.F8E4M3:
		return 4
	case lang.F8E5M2:
		return 3
	case lang.F16:
		return 11
	case lang.BF16:
		return 8
	case lang.F32:
		return 24
	}
	return 53
}

// rank numbers the floats of a type in their order, so that the difference of
// two ranks is their distance in units of the last place.
func rank(d lang.DType, b []byte) int64 {
	var bits int64
	switch d.Size() {
	case 1:
		bits = int64(int8(b[0])) << 56
	case 2:
		bits = int64(order.Uint16(b)) << 48
	case 4:
		bits = int64(order.Uint32(b)) << 32
	default:
		bits = int64(order.Uint64(b))
	}
	if bits < 0 {
		bits = math.MinInt64 - bits
	}
	return bits >> (64 - d.Bits())
}

// format shows a number as people read it.
func format(d lang.DType, v float64) string {
	switch {
	case d == lang.Bool:
		return strconv.FormatBool(v != 0)
	case d.IsInt():
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
