package jittest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"tilec/jit"
	"tilec/lang"
)

// Array is a tensor in the test's memory.
type Array = jit.Array

// NewArray makes an array of zeros.
func NewArray(d lang.DType, shape ...int64) *Array { return jit.NewArray(d, shape...) }

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
