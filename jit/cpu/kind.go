package cpu

import (
	"unsafe"

	"tilec/lang"
)

// kind is how the elements of a tile are held while a block runs. Floats up to
// 32 bits are float32, always rounded to their element type; every other type
// is held as the Go type of its width.
type kind uint8

const (
	kBool kind = iota // uint8, 0 or 1
	kI8
	kU8
	kI16
	kU16
	kI32
	kU32
	kI64
	kU64
	kF32
	kF64
	numKinds
)

// kindOfDType has one entry for each type.
var kindOfDType = func() map[lang.DType]kind {
	kinds := map[lang.DType]kind{
		lang.Bool: kBool, lang.F64: kF64,
		lang.I8: kI8, lang.U8: kU8, lang.I16: kI16, lang.U16: kU16,
		lang.I32: kI32, lang.U32: kU32, lang.I64: kI64, lang.U64: kU64,
	}
	for _, d := range lang.DTypes() {
		if d.IsFloat() && d.Bits() <= 32 {
			kinds[d] = kF32
		}
	}
	return kinds
}()

// size is the bytes of one element in a tile's buffer.
func (k kind) size() int {
	return [numKinds]int{1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8}[k]
}

// narrowFloat reports an element type that is held wider than it is.
func narrowFloat(d lang.DType) bool { return d.IsFloat() && d.Bits() < 32 }

type signed interface{ int8 | int16 | int32 | int64 }
type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}
type integer interface{ signed | unsigned }
type float interface{ float32 | float64 }
type number interface{ integer | float }

func slice[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }
