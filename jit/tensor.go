// Package jit compiles and runs the typed program: it specialises kernels,
// builds and optimises their tile IR, plans them, compiles them for a device,
// and binds graphs to shapes, buffers and launches.
package jit

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// Memory is a piece of a device's memory.
type Memory struct {
	// Size is in bytes.
	Size int64
	// host is the memory itself on the CPU; address is where it lies on a GPU.
	host    []byte
	address uint64
}

// Slice is n bytes of m from offset on.
func (m *Memory) Slice(offset, n int64) *Memory {
	s := &Memory{Size: n}
	if m.host != nil {
		s.host = m.host[offset : offset+n : offset+n]
	} else {
		s.address = m.address + uint64(offset)
	}
	return s
}

// Tensor is an array in a device's memory.
type Tensor struct {
	DType lang.DType
	// Shape is outermost first.
	Shape []int64
	// Strides, in elements; nil when the elements are contiguous in row-major order.
	Strides []int64
	Memory  *Memory
	// Offset of element 0, in elements.
	Offset int64
}

// maxElements is more than any memory holds, and so many of any type are bytes that an int64 counts.
const maxElements = 1 << 58

// Elements is the number of elements of a shape; 1<<58, which no memory holds, where there are more.
func Elements(shape []int64) int64 {
	if slices.Contains(shape, 0) {
		return 0
	}
	n := int64(1)
	for _, d := range shape {
		if d > maxElements/n {
			return maxElements
		}
		n *= d
	}
	return n
}

// Bytes is the size of the tensor's elements.
func (t *Tensor) Bytes() int64 { return Elements(t.Shape) * int64(t.DType.Size()) }

// contiguous gives the row-major strides of a shape, in elements.
func contiguous(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	return strides
}

// FormatShape shows a shape: `[8, 768]`.
func FormatShape(shape []int64) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = fmt.Sprint(d)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// String is the tensor's type: `bf16[8, 768]`.
func (t *Tensor) String() string { return t.DType.String() + FormatShape(t.Shape) }

// Value is an argument or a result: exactly one of its parts is set.
type Value struct {
	Tensor *Tensor
	Scalar *lang.Literal
	// Elems are the fields of a struct, or the elements of an array.
	Elems []Value
}

// TensorValue is a tensor as a Value.
func TensorValue(t *Tensor) Value { return Value{Tensor: t} }

// IntValue is an integer scalar.
func IntValue(d lang.DType, n int64) Value {
	return Value{Scalar: &lang.Literal{DType: d, Int: n}}
}

// FloatValue is a float scalar.
func FloatValue(d lang.DType, f float64) Value {
	return Value{Scalar: &lang.Literal{DType: d, Float: f}}
}

// leaves appends the tensors and scalars inside v, in order.
func (v Value) leaves(tensors []*Tensor, scalars []lang.Literal) ([]*Tensor, []lang.Literal) {
	switch {
	case v.Tensor != nil:
		tensors = append(tensors, v.Tensor)
	case v.Scalar != nil:
		scalars = append(scalars, *v.Scalar)
	default:
		for _, e := range v.Elems {
			tensors, scalars = e.leaves(tensors, scalars)
		}
	}
	return tensors, scalars
}

// Upload puts data on a device. The CPU uses it where it lies when its address
// is a multiple of align bytes; the data must then stay as it is.
func Upload(d Device, data []byte, align int) (*Memory, error) {
	if cpu, ok := d.(*CPU); ok {
		if m := cpu.wrap(data, align); m != nil {
			return m, nil
		}
	}
	m, err := d.Alloc(int64(len(data)))
	if err != nil {
		return nil, err
	}
	return m, d.Write(m, 0, data)
}

// ReadTensor copies a tensor's elements, row-major without gaps, to data.
func ReadTensor(d Device, t *Tensor, data []byte) error {
	size := int64(t.DType.Size())
	if t.Strides == nil {
		return d.Read(data, t.Memory, t.Offset*size)
	}
	// A strided tensor is read as the range that it spans, and gathered here.
	span := int64(1)
	for i, n := range t.Shape {
		if n == 0 {
			return nil
		}
		span += (n - 1) * t.Strides[i]
	}
	raw := make([]byte, span*size)
	if err := d.Read(raw, t.Memory, t.Offset*size); err != nil {
		return err
	}
	index := make([]int64, len(t.Shape))
	for at := int64(0); at < int64(len(data)); at += size {
		offset := int64(0)
		for i, n := range index {
			offset += n * t.Strides[i]
		}
		copy(data[at:at+size], raw[offset*size:])
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < t.Shape[i] {
				break
			}
			index[i] = 0
		}
	}
	return nil
}
