package jittest

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"tilec/jit"
	"tilec/lang"
)

// Array is a tensor in the test's memory: row-major, without gaps.
type Array struct {
	DType lang.DType
	Shape []int64
	// Data is the elements as memory holds them, little-endian.
	Data []byte
}

// NewArray makes an array of zeros.
func NewArray(d lang.DType, shape ...int64) *Array {
	return &Array{DType: d, Shape: shape, Data: make([]byte, jit.Elements(shape)*int64(d.Size()))}
}

// Normal makes an array of normally distributed numbers, rounded to d. The
// values depend on the seed and the shape alone.
func Normal(d lang.DType, seed string, shape ...int64) *Array {
	r := Rand(fmt.Sprint(seed, shape))
	a := NewArray(d, shape...)
	for i := range a.Len() {
		a.SetFloat(i, r.NormFloat64())
	}
	return a
}

// Rand gives random numbers that depend on the seed alone.
func Rand(seed string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(seed))
	return rand.New(rand.NewPCG(h.Sum64(), 0x9e3779b97f4a7c15))
}

// Ints makes an i32 array of the values.
func Ints(values []int32, shape ...int64) *Array {
	a := NewArray(lang.I32, shape...)
	copy(a.Data, jit.Bytes(values))
	return a
}

// Len is the number of elements.
func (a *Array) Len() int { return int(jit.Elements(a.Shape)) }

// Float is element i, of a float array, in row-major order.
func (a *Array) Float(i int) float64 {
	switch a.DType {
	case lang.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:])))
	case lang.BF16:
		return float64(lang.BF16Value(binary.LittleEndian.Uint16(a.Data[2*i:])))
	case lang.F16:
		return float64(lang.F16Value(binary.LittleEndian.Uint16(a.Data[2*i:])))
	}
	panic("jittest: no floats of type " + a.DType.String())
}

// SetFloat sets element i to the nearest value of the array's type.
func (a *Array) SetFloat(i int, v float64) {
	switch a.DType {
	case lang.F32:
		binary.LittleEndian.PutUint32(a.Data[4*i:], math.Float32bits(float32(v)))
	case lang.BF16:
		binary.LittleEndian.PutUint16(a.Data[2*i:], lang.BF16Bits(float32(v)))
	case lang.F16:
		binary.LittleEndian.PutUint16(a.Data[2*i:], lang.F16Bits(float32(v)))
	default:
		panic("jittest: no floats of type " + a.DType.String())
	}
}

// Int is element i of an i32 array.
func (a *Array) Int(i int) int32 { return int32(binary.LittleEndian.Uint32(a.Data[4*i:])) }

// Floats is every element of a float array, in row-major order.
func (a *Array) Floats() []float64 {
	out := make([]float64, a.Len())
	for i := range out {
		out[i] = a.Float(i)
	}
	return out
}
