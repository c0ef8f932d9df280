package lang

import (
	"encoding/binary"
	"fmt"
	"math"
)

// This file reads and writes single elements as memory holds them: little
// endian, a bool in a byte. Every number of every type but the integers beyond
// 2^53 is a float64, so that is what they are read as.

var little = binary.LittleEndian

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
func (d DType) Element(b []byte) float64 {
	bits := d.RawBits(b)
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
	switch {
	case d.IsFloat():
		d.PutRawBits(b, d.FloatBits(v))
	case d == Bool:
		d.PutRawBits(b, uint64(truth(v != 0)))
	case d == U64:
		d.PutRawBits(b, uint64(v))
	default:
		d.PutRawBits(b, uint64(int64(v)))
	}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
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
