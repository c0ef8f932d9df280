package lang

import (
	"encoding/binary"
	"fmt"
	"math"
)

// This file reads and writes single elements as memory holds them: little
// endian, a bool in a byte, of types narrower than a byte the first element in the low bits. Every number of every type but the integers beyond
// 2^53 is a float64, so that is what they are read as.

var little = binary.LittleEndian

// RawBitsAt is the bits of element i of a tensor's memory, in the low end.
func (d DType) RawBitsAt(data []byte, i int64) uint64 {
	if bits := int64(d.Bits()); bits%8 != 0 {
		return uint64(data[i*bits/8]) >> (i * bits % 8) & (1<<bits - 1)
	}
	return d.RawBits(data[i*int64(d.Size()):])
}

// PutRawBitsAt sets the bits of element i of a tensor's memory to the low ones of those given.
func (d DType) PutRawBitsAt(data []byte, i int64, raw uint64) {
	if bits := int64(d.Bits()); bits%8 != 0 {
		b, up := &data[i*bits/8], i*bits%8
		mask := byte(1<<bits-1) << up
		*b = *b&^mask | byte(raw)<<up&mask
		return
	}
	d.PutRawBits(data[i*int64(d.Size()):], raw)
}

// RawBits is the bits of the element at the start of b, in the low end.
func (d DType) RawBits(b []byte) uint64 {
	switch d.Size() {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(little.Uint16(b))
	case 4:
		return uint64(little.Uint32(b))
	}
	return little.Uint64(b)
}

// PutRawBits sets the bits of the element at the start of b to the low ones of those given.
func (d DType) PutRawBits(b []byte, bits uint64) {
	switch d.Size() {
	case 1:
		b[0] = byte(bits)
	case 2:
		little.PutUint16(b, uint16(bits))
	case 4:
		little.PutUint32(b, uint32(bits))
	default:
		little.PutUint64(b, bits)
	}
}

// IntValue is the value of the bits of an integer type or bool, which are the low ones; u64 values of 2^63 and more wrap.
func (d DType) IntValue(bits uint64) int64 {
	up := 64 - d.Bits()
	if d.IsSigned() {
		return int64(bits<<up) >> up
	}
	return int64(bits << up >> up)
}

// Element is the value of the element at the start of b. Integers beyond 2^53 lose their lowest bits.
func (d DType) Element(b []byte) float64 { return d.ElementAt(b, 0) }

// ElementAt is the value of element i of a tensor's memory. Integers beyond 2^53 lose their lowest bits.
func (d DType) ElementAt(data []byte, i int64) float64 {
	bits := d.RawBitsAt(data, i)
	switch {
	case d.IsFloat():
		return d.FloatValue(bits)
	case d == U64:
		return float64(bits)
	}
	return float64(d.IntValue(bits))
}

// PutElement sets the element at the start of b to v, converted as the language converts:
// rounded to the nearest float, truncated and saturated to an integer, of NaN 0.
func (d DType) PutElement(b []byte, v float64) { d.PutElementAt(b, 0, v) }

// PutElementAt sets element i of a tensor's memory to v, converted as PutElement does.
func (d DType) PutElementAt(data []byte, i int64, v float64) { d.PutRawBitsAt(data, i, d.bitsOf(v)) }

// bitsOf is the bits of v converted to the type.
func (d DType) bitsOf(v float64) uint64 {
	switch {
	case d.IsFloat():
		return d.FloatBits(v)
	case d == Bool:
		if v != 0 {
			return 1
		}
		return 0
	case math.IsNaN(v):
		return 0
	}
	low, high := 0.0, math.Ldexp(1, d.Bits())
	if d.IsSigned() {
		low, high = -high/2, high/2
	}
	switch {
	case v >= high && d.IsSigned(): // whose nearest float64 is the type's largest number or, in 64 bits, beyond it
		return 1<<(d.Bits()-1) - 1
	case v >= high:
		return 1<<d.Bits() - 1
	case d == U64:
		return uint64(max(v, low))
	}
	return uint64(int64(max(v, low)))
}

// Rank numbers the floats of a type in their order, so that the difference of
// the ranks of two elements is their distance in units of the last place.
func (d DType) Rank(b []byte) int64 {
	bits := int64(d.RawBits(b) << (64 - d.Bits()))
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
