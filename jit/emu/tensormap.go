package emu

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

// A TensorType is the element type of a tensor map, numbered as the driver does (CUtensorMapDataType).
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

// tensorTypes are the types by number. What loads do to values of the types ...FTZ is not known to the bit: they have no name.
var tensorTypes = [...]string{"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", TensorTFloat32: "f32"}

// A Swizzle is how a box is permuted in shared memory (CUtensorMapSwizzle).
type Swizzle uint32

// The swizzles, named for the span in bytes that they permute.
const (
	SwizzleNone Swizzle = iota
	Swizzle32
	Swizzle64
	Swizzle128
)

// span is the width of the pattern in bytes; 0 for none.
func (s Swizzle) span() int {
	if s == SwizzleNone {
		return 0
	}
	return 16 << s
}

// swizzled is where the byte of a shared address lies: the bits of the 16-byte
// chunk within its span, turned over by the number of the 128-byte line.
func swizzled(at, span int) int { return at ^ at>>3&(span-1)&^15 }

// A TensorMap tells how a tensor lies in global memory and which box of it one
// instruction moves. Dimensions are listed fastest first.
type TensorMap struct {
	Type    TensorType
	Address uint64   // a multiple of 16
	Dims    []uint64 // extents in elements, 1 to 5 of them
	Strides []uint64 // bytes from one index to the next, of every dimension but the first
	Box     []uint32 // extents in elements that one instruction spans, at most 256 each
	Steps   []uint32 // every how many elements of the box count; nil for all. The first is ignored
	Swizzle Swizzle
	NaNFill bool // fill what is out of bounds with NaN, not with zeros
}

func (t *TensorMap) elem() number.Type { return number.Types[tensorTypes[t.Type]] }

// check finds what the driver would not encode.
func (t *TensorMap) check() error {
	rank := len(t.Dims)
	if rank < 1 || rank > 5 || len(t.Strides) != rank-1 || len(t.Box) != rank || t.Steps != nil && len(t.Steps) != rank {
		return fmt.Errorf("has %d dimensions, %d strides, %d box extents and %d steps: need 1 to 5 dimensions, a stride fewer, as many box extents, and as many steps or none",
			rank, len(t.Strides), len(t.Box), len(t.Steps))
	}
	if int(t.Type) >= len(tensorTypes) || tensorTypes[t.Type] == "" {
		return fmt.Errorf("has element type %d: the emulator knows those below %d, and %d", t.Type, TensorFloat32FTZ, TensorTFloat32)
	}
	if t.Address%16 != 0 {
		return fmt.Errorf("has address %#x: need a multiple of 16", t.Address)
	}
	for i, s := range t.Strides {
		if s%16 != 0 || s >= 1<<40 {
			return fmt.Errorf("has stride %d in dimension %d: need a multiple of 16 below 2^40", s, i+1)
		}
	}
	for i := range rank {
		if t.Dims[i] < 1 || t.Dims[i] > 1<<32 || t.Box[i] < 1 || t.Box[i] > 256 || t.Steps != nil && (t.Steps[i] < 1 || t.Steps[i] > 8) {
			return fmt.Errorf("dimension %d is out of range: need an extent of 1 to 2^32, a box of 1 to 256 and a step of 1 to 8", i)
		}
	}
	inner, span := t.rowBytes(), t.Swizzle.span()
	if inner%16 != 0 {
		return fmt.Errorf("has rows of %d bytes in its box: need a multiple of 16", inner)
	}
	if t.Swizzle > Swizzle128 || span > 0 && inner > span {
		return fmt.Errorf("has rows of %d bytes in its box and swizzle %d: need at most its span of %d", inner, t.Swizzle, span)
	}
	if inner < span && t.rows() > 1 {
		return fmt.Errorf("has rows of %d bytes in its box, narrower than the span %d of its swizzle: the layout of that is not documented", inner, span)
	}
	return nil
}

// rowBytes is the size of a row of the box.
func (t *TensorMap) rowBytes() int { return int(t.Box[0]) * t.elem().Bytes() }

// extent is how many elements of the box count along a dimension.
func (t *TensorMap) extent(dim int) int {
	if dim == 0 || t.Steps == nil {
		return int(t.Box[dim])
	}
	step := int(t.Steps[dim])
	return (int(t.Box[dim]) + step - 1) / step
}

// rows is how many rows the box has.
func (t *TensorMap) rows() int {
	n := 1
	for i := 1; i < len(t.Box); i++ {
		n *= t.extent(i)
	}
	return n
}

// bytes is the size of the box in shared memory.
func (t *TensorMap) bytes() int { return t.rows() * t.rowBytes() }

// A boxRow is where a row of a box lies in global memory: n bytes from an
// address on, after skip bytes that are out of bounds, as is what follows.
type boxRow struct {
	address uint64
	skip, n int
}

// boxRows finds the rows of the box at some coordinates, in the order in which they lie in shared memory.
func (t *TensorMap) boxRows(coords []int64) []boxRow {
	size := int64(t.elem().Bytes())
	from, to := max(coords[0], 0), min(coords[0]+int64(t.Box[0]), int64(t.Dims[0]))
	rows := make([]boxRow, t.rows())
	index := make([]int64, len(coords))
	for r := range rows {
		address, inside := t.Address, from < to
		for d := 1; d < len(coords); d++ {
			step := int64(1)
			if t.Steps != nil {
				step = int64(t.Steps[d])
			}
			at := coords[d] + index[d]*step
			inside = inside && at >= 0 && at < int64(t.Dims[d])
			address += uint64(at) * t.Strides[d-1]
		}
		if inside {
			rows[r] = boxRow{address + uint64(from*size), int((from - coords[0]) * size), int((to - from) * size)}
		}
		for d := 1; d < len(coords); d++ {
			if index[d]++; index[d] < int64(t.extent(d)) {
				break
			}
			index[d] = 0
		}
	}
	return rows
}

// rounded is what a load of type TensorTFloat32 makes of the bits of an f32, as an H200 did: to nearest even at 10 bits of
// fraction, from where the largest numbers become infinite; subnormal numbers become 0, and a NaN keeps its upper bits.
func rounded(bits uint32) uint32 {
	const exponent, low = 0x7f80_0000, 0x1fff
	switch bits & exponent {
	case 0:
		return bits &^ 0x7fff_ffff
	case exponent:
		return bits &^ low
	}
	return (bits + low>>1 + bits>>13&1) &^ low
}

// convert does to the elements of a row, loaded from global memory, what the type of the map says.
func (t *TensorMap) convert(row []byte) {
	if t.Type != TensorTFloat32 {
		return
	}
	for i := 0; i+4 <= len(row); i += 4 {
		binary.LittleEndian.PutUint32(row[i:], rounded(binary.LittleEndian.Uint32(row[i:])))
	}
}

// background is a box of what stands for elements out of bounds: zeros, or the
// OOB-NaN, whose bits the ISA does not give; these are those of an H200, in every type.
func (t *TensorMap) background() []byte {
	b := make([]byte, t.bytes())
	if t.NaNFill && t.elem().IsFloat() {
		for i := 0; i < len(b); i += 2 {
			b[i], b[i+1] = 0xf7, 0x7f
		}
	}
	return b
}

// permute moves the rows of a box between their own order and that of shared
// memory at an address; the permutation is its own inverse.
func (t *TensorMap) permute(box []byte, at int) []byte {
	span := t.Swizzle.span()
	if span == 0 {
		return box
	}
	out := slices.Clone(box)
	for i := 0; i+16 <= len(box); i += 16 {
		to := swizzled(at+i, span) - at
		copy(out[to:to+16], box[i:i+16])
	}
	return out
}

// checkTensorMaps finds the maps among the parameters.
func (l *launch) checkTensorMaps() error {
	l.maps = map[uint64]*TensorMap{}
	for name, t := range l.options.TensorMaps {
		i := slices.IndexFunc(l.kernel.Params, func(p syntax.Param) bool { return p.Name == name })
		if i < 0 {
			return fmt.Errorf("there is no parameter %s for a tensor map", name)
		}
		p := l.kernel.Params[i]
		if p.Size != tensorMapSize || p.Offset%tensorMapAlign != 0 {
			return fmt.Errorf("parameter %s has %d bytes at offset %d: a tensor map needs %d, aligned to %d", name, p.Size, p.Offset, tensorMapSize, tensorMapAlign)
		}
		if err := t.check(); err != nil {
			return fmt.Errorf("tensor map %s %w", name, err)
		}
		l.maps[uint64(p.Offset)] = t
	}
	return nil
}

const (
	tensorMapSize  = 128
	tensorMapAlign = 64
)
