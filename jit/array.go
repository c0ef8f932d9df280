package jit

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"tilec/jit/backend"
	"tilec/jit/misuse"
	"tilec/jit/tensor"
	"tilec/lang"
)

// Array is a tensor in the host's memory.
type Array struct {
	DType lang.DType
	// Shape is outermost first; an empty one is a scalar's.
	Shape []int64
	// Data is the elements as memory holds them: row-major, without gaps, little-endian, a bool in a byte, of
	// f4e2m1 two elements in a byte, the first in its low half.
	Data []byte
}

// Number is a Go type that has an element type of its own. The floats of 16 and
// 8 bits have none: see Converted.
type Number interface {
	bool | int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// dtypeOf is the element type of a Go type.
func dtypeOf[T Number]() lang.DType {
	var zero T
	switch any(zero).(type) {
	case bool:
		return lang.Bool
	case int8:
		return lang.I8
	case uint8:
		return lang.U8
	case int16:
		return lang.I16
	case uint16:
		return lang.U16
	case int32:
		return lang.I32
	case uint32:
		return lang.U32
	case int64:
		return lang.I64
	case uint64:
		return lang.U64
	case float32:
		return lang.F32
	}
	return lang.F64
}

// NewArray makes an array of zeros. Where the type or the shape cannot be, or this machine has no
// room for the elements, the array has no data, which is an error where the array is used.
func NewArray(d lang.DType, shape ...int64) *Array {
	a := &Array{DType: d, Shape: shape}
	n := tensor.Elements(shape)
	if !d.IsValid() || n >= backend.MaxElements || HostMemory() > 0 && n > d.Elements(HostMemory()) {
		return a
	}
	a.Data = make([]byte, d.Bytes(n))
	return a
}

// ArrayOf makes an array of a slice's elements, which it shares; without a
// shape it has one dimension. That the shape fits is checked where the array is used.
func ArrayOf[T Number](elements []T, shape ...int64) *Array {
	if len(shape) == 0 {
		shape = []int64{int64(len(elements))}
	}
	return &Array{DType: dtypeOf[T](), Shape: shape, Data: Bytes(elements)}
}

// Converted makes an array of any element type, each value converted as the language's `as` does:
// rounded to a float, truncated and saturated to an integer. It is how float16, bfloat16 and the
// 8-bit floats are made of Go's floats.
func Converted[T float32 | float64](d lang.DType, values []T, shape ...int64) *Array {
	if len(shape) == 0 {
		shape = []int64{int64(len(values))}
	}
	a := &Array{DType: d, Shape: shape}
	if !d.IsValid() {
		return a // an error where it is used
	}
	a.Data = make([]byte, d.Bytes(int64(len(values))))
	for i, v := range values {
		d.PutElementAt(a.Data, int64(i), float64(v))
	}
	return a
}

// Slice shows an array's elements as a Go slice, which shares its memory.
func Slice[T Number](a *Array) ([]T, error) {
	var zero T
	if a == nil {
		return nil, misuse.Unset("Slice", fmt.Sprintf("there is no array, and so no elements of type %T", zero))
	}
	if d := dtypeOf[T](); d != a.DType {
		return nil, misuse.New("Slice", fmt.Sprintf("the array is %s, and has no elements of type %T", a, zero), misuse.ErrMismatch)
	}
	if err := a.check(); err != nil {
		return nil, misuse.New("Slice", err.Error(), misuse.ErrRange)
	}
	if len(a.Data) == 0 {
		return []T{}, nil
	}
	first := unsafe.Pointer(unsafe.SliceData(a.Data))
	if uintptr(first)%unsafe.Alignof(zero) != 0 {
		return nil, misuse.New("Slice", fmt.Sprintf("the data of the array does not begin where a %T can lie: copy it", zero), misuse.ErrMismatch)
	}
	return unsafe.Slice((*T)(first), len(a.Data)/int(unsafe.Sizeof(zero))), nil
}

// Bytes shows a slice of numbers as its memory.
func Bytes[T Number](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// String is the array's type: `bf16[8, 768]`.
func (a *Array) String() string {
	if a == nil {
		return "no array"
	}
	return a.DType.String() + tensor.FormatShape(a.Shape)
}

// Len is the number of elements that the shape has.
func (a *Array) Len() int {
	if a == nil {
		return 0
	}
	return int(tensor.Elements(a.Shape))
}

// has reports that there is an element i.
func (a *Array) has(i int) bool {
	return a != nil && a.DType.IsValid() && i >= 0 && int64(i) < a.DType.Elements(int64(len(a.Data)))
}

// Float is element i in row-major order; NaN where there is no such element.
func (a *Array) Float(i int) float64 {
	if !a.has(i) {
		return math.NaN()
	}
	return a.DType.ElementAt(a.Data, int64(i))
}

// SetFloat sets element i to the nearest value of the array's type. An element that
// there is not is a *UseError of ErrRange.
func (a *Array) SetFloat(i int, v float64) error {
	if !a.has(i) {
		return misuse.New("Array.SetFloat", fmt.Sprintf("there is no element %d in %s", i, a), misuse.ErrRange)
	}
	a.DType.PutElementAt(a.Data, int64(i), v)
	return nil
}

// Floats is every element that there is, in row-major order.
func (a *Array) Floats() []float64 {
	if a == nil || !a.DType.IsValid() {
		return nil
	}
	out := make([]float64, min(a.Len(), int(a.DType.Elements(int64(len(a.Data))))))
	for i := range out {
		out[i] = a.Float(i)
	}
	return out
}

// check reports a shape that does not fit the data.
func (a *Array) check() error {
	if !a.DType.IsValid() {
		return errors.New("it has no element type of the language")
	}
	for _, n := range a.Shape {
		if n < 0 {
			return fmt.Errorf("its shape %s has a negative size", tensor.FormatShape(a.Shape))
		}
	}
	if have, want := int64(len(a.Data)), a.DType.Bytes(tensor.Elements(a.Shape)); have != want {
		return fmt.Errorf("it has %d elements, and its shape %s has %d", a.DType.Elements(have), tensor.FormatShape(a.Shape), tensor.Elements(a.Shape))
	}
	return nil
}
