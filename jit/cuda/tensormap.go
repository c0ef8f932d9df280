package cuda

import (
	"fmt"
	"slices"
	"unsafe"
)

// A TensorMap tells the tensor memory accelerator how a tensor lies in global
// memory and which box of it one instruction moves. Its bits are the driver's own.
type TensorMap [128]byte

// A TensorType is the element type of a tensor map (CUtensorMapDataType).
type TensorType uint32

// The element types.
const (
	TensorUint8 TensorType = iota
	TensorUint16
	TensorUint32
	TensorInt32
	TensorUint64
	TensorInt64
	TensorFloat16
	TensorFloat32
	TensorFloat64
	TensorBFloat16
	TensorFloat32FTZ
	TensorTFloat32
	TensorTFloat32FTZ
)

// tensorTypeSizes are the sizes in bytes, by type.
var tensorTypeSizes = [...]uint64{1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}

// A Swizzle is how a box is permuted in shared memory (CUtensorMapSwizzle).
type Swizzle uint32

// The swizzles, named for the span in bytes that they permute.
const (
	SwizzleNone Swizzle = iota
	Swizzle32
	Swizzle64
	Swizzle128
)

// span is the widest inner box extent of the swizzle in bytes; 0 for no limit.
func (s Swizzle) span() uint64 {
	if s == SwizzleNone {
		return 0
	}
	return 16 << s
}

// An L2Promotion widens the reads that fill L2 (CUtensorMapL2promotion).
type L2Promotion uint32

// The promotions, in bytes.
const (
	L2PromotionNone L2Promotion = iota
	L2Promotion64
	L2Promotion128
	L2Promotion256
)

// A TensorMapDesc describes a tensor map. Dimensions are listed fastest first.
type TensorMapDesc struct {
	Type    TensorType
	Address Ptr      // a multiple of 16
	Dims    []uint64 // extents in elements, 1 to 5 of them
	Strides []uint64 // bytes from one index to the next, of every dimension but the first
	Box     []uint32 // extents in elements that one instruction moves, at most 256 each
	Steps   []uint32 // element strides within the box; nil for ones
	Swizzle Swizzle
	L2      L2Promotion
	NaNFill bool // fill what is out of bounds with NaN, not with zeros
}

// check finds what the driver would only call an invalid value.
func (t *TensorMapDesc) check() error {
	rank := len(t.Dims)
	if rank < 1 || rank > 5 {
		return fmt.Errorf("tensor map has rank %d: it must be 1 to 5", rank)
	}
	if len(t.Strides) != rank-1 || len(t.Box) != rank || (t.Steps != nil && len(t.Steps) != rank) {
		return fmt.Errorf("tensor map of rank %d has %d strides, %d box extents and %d steps: it must have %d, %d and %d or none",
			rank, len(t.Strides), len(t.Box), len(t.Steps), rank-1, rank, rank)
	}
	if int(t.Type) >= len(tensorTypeSizes) {
		return fmt.Errorf("tensor map has element type %d: the last is %d", t.Type, len(tensorTypeSizes)-1)
	}
	if t.Address%16 != 0 {
		return fmt.Errorf("tensor map has address %v: it must be a multiple of 16", t.Address)
	}
	for i, d := range t.Dims {
		if d == 0 || d > 1<<32 {
			return fmt.Errorf("tensor map has extent %d in dimension %d: it must be 1 to 2^32", d, i)
		}
	}
	for i, s := range t.Strides {
		if s%16 != 0 || s >= 1<<40 {
			return fmt.Errorf("tensor map has stride %d in dimension %d: it must be a multiple of 16 below 2^40", s, i+1)
		}
	}
	for i, b := range t.Box {
		if b == 0 || b > 256 {
			return fmt.Errorf("tensor map has box extent %d in dimension %d: it must be 1 to 256", b, i)
		}
	}
	for i, s := range t.Steps {
		if s == 0 || s > 8 {
			return fmt.Errorf("tensor map has step %d in dimension %d: it must be 1 to 8", s, i)
		}
	}
	inner := uint64(t.Box[0]) * tensorTypeSizes[t.Type]
	if inner%16 != 0 {
		return fmt.Errorf("tensor map has an inner box extent of %d bytes: it must be a multiple of 16", inner)
	}
	if span := t.Swizzle.span(); span != 0 && inner > span {
		return fmt.Errorf("tensor map has an inner box extent of %d bytes: it must be at most %d, the span of its swizzle", inner, span)
	}
	return nil
}

// size is the extent of the tensor in memory in bytes.
func (t *TensorMapDesc) size() uint64 {
	last := len(t.Dims) - 1
	if last == 0 {
		return t.Dims[0] * tensorTypeSizes[t.Type]
	}
	return t.Dims[last] * t.Strides[last-1]
}

// Drivers up to CUDA 13.1 set a bit for tensors below 128 KiB that should be clear;
// NVIDIA's own CUTLASS clears it after encoding.
const (
	smallTensor          = 128 << 10
	smallTensorBadDriver = 13010
	smallTensorWord      = 1
	smallTensorBit       = 21
)

// setsSmallTensorBit reports a map that the driver encodes with the bit.
func (d *Driver) setsSmallTensorBit(t *TensorMapDesc) bool {
	return d.version <= smallTensorBadDriver && t.size() < smallTensor
}

// TensorMap encodes a tensor map. It needs CUDA 12 and a device of capability 9.0.
func (c *Context) TensorMap(t TensorMapDesc) (TensorMap, error) {
	if err := t.check(); err != nil {
		return TensorMap{}, err
	}
	if err := c.enter(); err != nil {
		return TensorMap{}, err
	}
	defer c.leave()
	steps := t.Steps
	if steps == nil {
		steps = slices.Repeat([]uint32{1}, len(t.Dims))
	}
	strides := append(slices.Clone(t.Strides), 0) // of rank 1 there is none, and no address of one
	var fill uintptr
	if t.NaNFill {
		fill = 1
	}
	// The driver writes to an address that is a multiple of 64, which Go does not
	// promise for any type.
	var buffer [(len(TensorMap{}) + tensorMapAlign) / 8]uint64
	first := (tensorMapAlign - int(uintptr(unsafe.Pointer(&buffer))%tensorMapAlign)) % tensorMapAlign / 8
	words := buffer[first : first+len(TensorMap{})/8]
	err := c.driver.lib.do(cuTensorMapEncodeTiled, uintptr(unsafe.Pointer(&words[0])),
		uintptr(t.Type), uintptr(len(t.Dims)), uintptr(t.Address),
		uintptr(unsafe.Pointer(&t.Dims[0])), uintptr(unsafe.Pointer(&strides[0])),
		uintptr(unsafe.Pointer(&t.Box[0])), uintptr(unsafe.Pointer(&steps[0])),
		0, uintptr(t.Swizzle), uintptr(t.L2), fill)
	if err != nil {
		return TensorMap{}, withDetail(err, "tensor map of %v with box %v", t.Dims, t.Box)
	}
	if c.driver.setsSmallTensorBit(&t) {
		words[smallTensorWord] &^= 1 << smallTensorBit
	}
	return TensorMap(Bytes(words)), nil
}
