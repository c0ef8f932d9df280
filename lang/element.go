package lang

import (
	"encoding/binary"
	"fmt"
	"math"
)

// This file reads and writes single elements as memory holds them: little
// endian, a bool in a byte. Every number of every type but the integers beyond
// 2^53 is a float64, so that is what they are read as.

// codec reads and writes one element of a type.
type codec struct {
	get func([]byte) float64
	put func([]byte, float64)
}

var little = binary.LittleEndian

var codecs = [...]codec{
	Bool: {func(b []byte) float64 { return float64(b[0]) }, func(b []byte, v float64) {
		if b[0] = 0; v != 0 {
			b[0] = 1
		}
	}},
	I8:     {func(b []byte) float64 { return float64(int8(b[0])) }, func(b []byte, v float64) { b[0] = byte(int8(v)) }},
	U8:     {func(b []byte) float64 { return float64(b[0]) }, func(b []byte, v float64) { b[0] = byte(v) }},
	I16:    {func(b []byte) float64 { return float64(int16(little.Uint16(b))) }, func(b []byte, v float64) { little.PutUint16(b, uint16(int16(v))) }},
	U16:    {func(b []byte) float64 { return float64(little.Uint16(b)) }, func(b []byte, v float64) { little.PutUint16(b, uint16(v)) }},
	I32:    {func(b []byte) float64 { return float64(int32(little.Uint32(b))) }, func(b []byte, v float64) { little.PutUint32(b, uint32(int32(v))) }},
	U32:    {func(b []byte) float64 { return float64(little.Uint32(b)) }, func(b []byte, v float64) { little.PutUint32(b, uint32(v)) }},
	I64:    {func(b []byte) float64 { return float64(int64(little.Uint64(b))) }, func(b []byte, v float64) { little.PutUint64(b, uint64(int64(v))) }},
	U64:    {func(b []byte) float64 { return float64(little.Uint64(b)) }, func(b []byte, v float64) { little.PutUint64(b, uint64(v)) }},
	F8E4M3: {func(b []byte) float64 { return float64(F8E4M3Value(b[0])) }, func(b []byte, v float64) { b[0] = F8E4M3Bits(float32(v)) }},
	F8E5M2: {func(b []byte) float64 { return float64(F8E5M2Value(b[0])) }, func(b []byte, v float64) { b[0] = F8E5M2Bits(float32(v)) }},
	F16:    {func(b []byte) float64 { return float64(F16Value(little.Uint16(b))) }, func(b []byte, v float64) { little.PutUint16(b, F16Bits(float32(v))) }},
	BF16:   {func(b []byte) float64 { return float64(BF16Value(little.Uint16(b))) }, func(b []byte, v float64) { little.PutUint16(b, BF16Bits(float32(v))) }},
	F32:    {func(b []byte) float64 { return float64(math.Float32frombits(little.Uint32(b))) }, func(b []byte, v float64) { little.PutUint32(b, math.Float32bits(float32(v))) }},
	F64:    {func(b []byte) float64 { return math.Float64frombits(little.Uint64(b)) }, func(b []byte, v float64) { little.PutUint64(b, math.Float64bits(v)) }},
}

// Element is the value of the element at the start of b. Integers beyond 2^53 lose their lowest bits.
func (d DType) Element(b []byte) float64 { return codecs[d].get(b) }

// PutElement sets the element at the start of b to v, converted as the language converts:
// rounded to the nearest float, truncated and saturated to an integer, of NaN 0.
func (d DType) PutElement(b []byte, v float64) {
	if d.IsInt() {
		low, high := 0.0, math.Ldexp(1, d.Bits())
		if d.IsSigned() {
			low, high = -high/2, high/2
		}
		switch {
		case math.IsNaN(v):
			v = 0
		case v < low:
			v = low
		case v >= high: // whose nearest float64 is the type's largest number or, in 64 bits, beyond it
			for i := range d.Size() {
				b[i] = 0xff
			}
			if d.IsSigned() {
				b[d.Size()-1] = 0x7f
			}
			return
		}
	}
	codecs[d].put(b, v)
}

// Precision is the number of significant bits of a float type, the hidden one
// included: a value is rounded with a relative error of at most 2^-Precision.
func (d DType) Precision() int {
	switch d {
	case F8E4M3:
		return 4
	case F8E5M2:
		return 3
	case F16:
		return 11
	case BF16:
		return 8
	case F32:
		return 24
	}
	return 53
}

// Rank numbers the floats of a type in their order, so that the difference of
// the ranks of two elements is their distance in units of the last place.
func (d DType) Rank(b []byte) int64 {
	var bits int64
	switch d.Size() {
	case 1:
		bits = int64(int8(b[0])) << 56
	case 2:
		bits = int64(little.Uint16(b)) << 48
	case 4:
		bits = int64(little.Uint32(b)) << 32
	default:
		bits = int64(little.Uint64(b))
	}
	if bits < 0 {
		bits = math.MinInt64 - bits
	}
	return bits >> (64 - d.Bits())
}

// FormatElement shows a value of the type as people read it: six digits of a float, all of an integer.
func (d DType) FormatElement(v float64) string {
	switch {
	case d == Bool:
		return fmt.Sprint(v != 0)
	case d.IsInt():
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.6g", v)
}
