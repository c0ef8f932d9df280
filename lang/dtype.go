// Package lang is the language as data: sources and spans, diagnostics, the
// syntax tree, the element types and the table of operations. It imports
// nothing of ours; every other stage reads it.
package lang

import "fmt"

// DType is the type of one element of a tile or a tensor.
type DType uint8

// The element types, in the order in which documentation lists them.
const (
	Invalid DType = iota
	Bool
	I8
	U8
	I16
	U16
	I32
	U32
	I64
	U64
	F4E2M1
	F8E4M3
	F8E5M2
	F16
	BF16
	F32
	F64
	numDTypes
)

// Class groups element types by the arithmetic that applies to them.
type Class uint8

// The classes. A type has exactly one.
const (
	NoClass Class = iota
	ClassBool
	ClassInt
	ClassFloat
)

type dtypeRow struct {
	name  string
	class Class
	// bits is the width of an element in memory.
	bits   int
	signed bool
	// format is that of a float; nil of other types.
	format *format
	// accumulator is the type in which sums and products are accumulated.
	accumulator DType
	// safetensors and npy are the names of the type in those file formats; "" where the format has none.
	safetensors, npy string
}

var dtypeTable = [numDTypes]dtypeRow{
	Invalid: {name: "invalid"},
	Bool:    {"bool", ClassBool, 8, false, nil, Bool, "BOOL", "|b1"},
	I8:      {"i8", ClassInt, 8, true, nil, I32, "I8", "|i1"},
	U8:      {"u8", ClassInt, 8, false, nil, I32, "U8", "|u1"},
	I16:     {"i16", ClassInt, 16, true, nil, I32, "I16", "<i2"},
	U16:     {"u16", ClassInt, 16, false, nil, I32, "U16", "<u2"},
	I32:     {"i32", ClassInt, 32, true, nil, I32, "I32", "<i4"},
	U32:     {"u32", ClassInt, 32, false, nil, U32, "U32", "<u4"},
	I64:     {"i64", ClassInt, 64, true, nil, I64, "I64", "<i8"},
	U64:     {"u64", ClassInt, 64, false, nil, U64, "U64", "<u8"},
	F4E2M1:  {"f4e2m1", ClassFloat, 4, true, e2m1, F32, "F4", ""},
	F8E4M3:  {"f8e4m3", ClassFloat, 8, true, e4m3, F32, "F8_E4M3", ""},
	F8E5M2:  {"f8e5m2", ClassFloat, 8, true, e5m2, F32, "F8_E5M2", ""},
	F16:     {"f16", ClassFloat, 16, true, half, F32, "F16", "<f2"},
	BF16:    {"bf16", ClassFloat, 16, true, bfloat, F32, "BF16", ""},
	F32:     {"f32", ClassFloat, 32, true, binary32, F32, "F32", "<f4"},
	F64:     {"f64", ClassFloat, 64, true, binary64, F64, "F64", "<f8"},
}

// DTypes lists every valid element type.
func DTypes() []DType {
	all := make([]DType, 0, numDTypes-1)
	for d := Bool; d < numDTypes; d++ {
		all = append(all, d)
	}
	return all
}

// ParseDType finds an element type by its name in the language ("bf16").
func ParseDType(name string) (DType, bool) {
	return findDType(func(r dtypeRow) bool { return r.name == name })
}

// DTypeFromSafetensors finds an element type by its name in a safetensors header ("BF16").
func DTypeFromSafetensors(name string) (DType, bool) {
	return findDType(func(r dtypeRow) bool { return r.safetensors == name && name != "" })
}

// DTypeFromNpy finds an element type by its descriptor in an .npy header ("<f4").
func DTypeFromNpy(descr string) (DType, bool) {
	return findDType(func(r dtypeRow) bool { return r.npy == descr && descr != "" })
}

func findDType(match func(dtypeRow) bool) (DType, bool) {
	for d := Bool; d < numDTypes; d++ {
		if match(dtypeTable[d]) {
			return d, true
		}
	}
	return Invalid, false
}

// IsValid reports an element type of the language.
func (d DType) IsValid() bool { return d > Invalid && d < numDTypes }

// row is the type's row of the table, that of no type for others. It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (d DType) row() *dtypeRow {
	if d >= numDTypes {
		panic(fmt.Sprintf("lang: dtype %d does not exist", d))
	}
	return &dtypeTable[d]
}

// String is the type's name in the language.
func (d DType) String() string {
	if d >= numDTypes {
		return fmt.Sprintf("DType(%d)", uint8(d))
	}
	return d.row().name
}

// Safetensors is the type's name in a safetensors header.
func (d DType) Safetensors() string { return d.row().safetensors }

// Npy is the type's descriptor in an .npy header, "" where the format has none.
func (d DType) Npy() string { return d.row().npy }

// Class is the type's class.
func (d DType) Class() Class { return d.row().class }

// Bits is the width of one element in memory; bool takes 8.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (d DType) Bits() int { return d.row().bits }

// Size is how many bytes one element takes by itself.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (d DType) Size() int { return (d.row().bits + 7) / 8 }

// Packed reports a type of which several elements share a byte.
func (d DType) Packed() bool { return d.row().bits < 8 }

// WholeAt reports that element n of a tensor's memory begins with a byte, as all do of a type that is not packed.
func (d DType) WholeAt(n int64) bool { return !d.Packed() || n*int64(d.row().bits)%8 == 0 }

// WholeBytes is d, or of a packed type one of whole bytes that has all of its numbers, in which code may keep elements that
// are no tensor's.
func (d DType) WholeBytes() DType {
	if d == F4E2M1 {
		return F8E5M2
	}
	return d
}

// Bytes is how many bytes n elements take that lie one after the other in memory, which those of a type narrower than a
// byte do without a gap.
func (d DType) Bytes(n int64) int64 {
	bits := int64(d.row().bits)
	if bits%8 == 0 { // n * bits may be beyond an int64
		return n * (bits / 8)
	}
	return (n*bits + 7) / 8
}

// Elements is how many whole elements so many bytes of memory hold.
func (d DType) Elements(bytes int64) int64 {
	bits := int64(d.row().bits)
	if bits%8 == 0 { // 8 * bytes may be beyond an int64
		return bytes / (bits / 8)
	}
	return bytes * 8 / bits
}

// IsFloat reports a floating-point type.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (d DType) IsFloat() bool { return d.Class() == ClassFloat }

// IsInt reports an integer type; bool is not one.
func (d DType) IsInt() bool { return d.Class() == ClassInt }

// IsSigned reports a type with negative values.
func (d DType) IsSigned() bool { return d.row().signed }

// Accumulator is the type in which sums and products of d are accumulated and
// the type that such a reduction gives: f32 for every float up to 32 bits, i32
// for integers narrower than 32 bits, d itself otherwise.
func (d DType) Accumulator() DType { return d.row().accumulator }
