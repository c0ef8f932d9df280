package tensor

import (
	"fmt"
	"math/bits"
	"slices"
	"tilec/jit/backend"
	"tilec/jit/misuse"
)

// This file says where the elements of a tensor lie, and whether they lie in memory that a device can use.

// end is the bytes from element 0 of a tensor to behind its last one, whatever lies between, or why there is no such number.
func (t *Tensor) end() (n int64, reason string, kind error) {
	if t.Strides != nil && len(t.Strides) != len(t.Shape) {
		return 0, fmt.Sprintf("the tensor has the shape %s and %d strides: each dimension has one", FormatShape(t.Shape), len(t.Strides)), misuse.ErrMismatch
	}
	for i, d := range t.Shape {
		if d < 0 {
			return 0, fmt.Sprintf("its shape %s has a negative size", FormatShape(t.Shape)), misuse.ErrRange
		}
		if t.Strides != nil && t.Strides[i] < 0 {
			return 0, fmt.Sprintf("its strides %s have a negative one: elements lie behind the first", FormatShape(t.Strides)), misuse.ErrRange
		}
	}
	if slices.Contains(t.Shape, 0) {
		return 0, "", nil
	}
	beyond := func() (int64, string, error) {
		return 0, fmt.Sprintf("its shape %s with the strides %s reaches further than any memory", FormatShape(t.Shape), FormatShape(t.Strides)), misuse.ErrRange
	}
	if t.Strides == nil {
		if n = Elements(t.Shape); n >= backend.MaxElements {
			return beyond()
		}
		return t.DType.Bytes(n), "", nil
	}
	last := uint64(0)
	for i, d := range t.Shape {
		high, reach := bits.Mul64(uint64(d-1), uint64(t.Strides[i]))
		if last += reach; high != 0 || reach >= backend.MaxElements || last >= backend.MaxElements {
			return beyond()
		}
	}
	return t.DType.Bytes(int64(last) + 1), "", nil
}

// Misuse says why a device cannot use the tensor, and of what kind that is; otherwise it gives the tensor's end.
func (t *Tensor) Misuse(d backend.Device) (end int64, reason string, kind error) {
	switch {
	case t == nil:
		return 0, "is a nil *Tensor", misuse.ErrUnset
	case t.Memory == nil || !t.DType.IsValid():
		return 0, "is a *Tensor without memory or element type: Upload gives memory", misuse.ErrUnset
	}
	if end, reason, kind = t.end(); kind != nil {
		return 0, reason, kind
	}
	reason, kind = t.Place(d, end)
	return end, reason, kind
}

// Place checks where a tensor lies of which the elements take so many bytes.
func (t *Tensor) Place(d backend.Device, end int64) (reason string, kind error) {
	if reason, kind := t.Memory.Misuse(d); kind != nil {
		return reason, kind
	}
	size := int64(t.DType.Size())
	if t.Offset < 0 || t.Offset > t.DType.Elements(t.Memory.Size) {
		return fmt.Sprintf("its offset is %d elements, and its memory has room for %d", t.Offset, t.DType.Elements(t.Memory.Size)), misuse.ErrRange
	}
	if !t.DType.WholeAt(t.Offset) {
		return fmt.Sprintf("its offset is %d elements, and element %d of %s lies within a byte: a tensor begins with one", t.Offset, t.Offset, t.DType), misuse.ErrMismatch
	}
	if err := t.Memory.Within(t.DType.Bytes(t.Offset), end); err != nil {
		return fmt.Sprintf("%s from element %d on does not lie in its memory: %v", t, t.Offset, err), misuse.ErrRange
	}
	if t.Memory.Address()%uint64(size) != 0 {
		return fmt.Sprintf("its memory does not begin at a multiple of the %d bytes of an element", size), misuse.ErrMismatch
	}
	return "", nil
}

// Divisor is the power of two up to 16 that divides where an element of the tensor lies.
func (t *Tensor) Divisor(element int64) int64 {
	return PowerDivisor(t.Memory.Start() + t.DType.Bytes(t.Offset+element))
}

// GivenStrides are the tensor's own, or those that it has without gaps. What has one position at most needs none.
func (t *Tensor) GivenStrides() []int64 {
	plain := Contiguous(t.Shape)
	if t.Strides == nil {
		return plain
	}
	out := slices.Clone(t.Strides)
	for i, n := range t.Shape {
		if n <= 1 {
			out[i] = plain[i]
		}
	}
	return out
}

// Describe is a tensor's type, with its strides.
func Describe(t *Tensor) string {
	if t == nil || t.Memory == nil {
		return "no tensor"
	}
	if t.Strides == nil || slices.Equal(t.Strides, Contiguous(t.Shape)) {
		return t.String()
	}
	return t.String() + " with the strides " + FormatShape(t.Strides)
}

// PowerDivisor is the largest power of two up to 16 that divides n.
func PowerDivisor(n int64) int64 {
	d := int64(16)
	for n%d != 0 {
		d /= 2
	}
	return d
}
