package block

import "tilec/jit/ir"

// A TensorMap is a launch parameter behind those of Params: how a tensor lies in
// memory, and which box of it one instruction copies.
type TensorMap struct {
	// Name is the parameter's.
	Name   string
	Tensor *ir.Tensor
	// Order is the tensor's dimensions in the order of the map, the contiguous one
	// first; Box is how many elements of each a box has. Elements of less than a byte are counted by bytes.
	Order, Box []int
	// Swizzle is the width in bytes of the rows whose chunks of 16 bytes are permuted: 32, 64 or 128.
	Swizzle int
	// TF32: the elements, of f32, are rounded to tf32 as they are copied.
	TF32 bool
}

// A BoxShape is a tensor map with the sizes of a launch, as drivers take it:
// dimensions and boxes in elements, strides in bytes of all dimensions but the
// first, the fastest first.
type BoxShape struct {
	Dims, Strides []uint64
	Box           []uint32
}

// Shape resolves a tensor map; value gives the dimensions and strides that the launch fixes.
func (m *TensorMap) Shape(value func(*ir.Dim) int64) BoxShape {
	of := func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		return value(d)
	}
	t := m.Tensor
	strides, next := make([]int64, len(t.Shape)), int64(1)
	for i := len(t.Shape) - 1; i >= 0; i-- {
		strides[i] = next
		if t.Strides != nil {
			strides[i] = of(t.Strides[i])
		}
		next *= max(of(t.Shape[i]), 1)
	}
	var s BoxShape
	for j, i := range m.Order {
		// A dimension without elements is never copied from, but a map has to have some.
		n := max(of(t.Shape[i]), 1)
		if j == 0 && t.DType.Packed() {
			n = t.DType.Bytes(n)
		}
		s.Dims = append(s.Dims, uint64(n))
		s.Box = append(s.Box, uint32(m.Box[j]))
		if j > 0 {
			s.Strides = append(s.Strides, uint64(t.DType.Bytes(strides[i])))
		}
	}
	return s
}
