package asm

import (
	"math"
	"strconv"
)

// Operand is what an instruction reads, writes or names. It is one of the types of this package: a Reg or a Vector of
// them, an immediate (Int, Hex, Bits32, Bits64, Single, Double), an Addr or a Box, a Special, a Symbol or a Label.
type Operand interface {
	append(b []byte) []byte
}

// Number is an integer that is known now, an Int, or when the code runs, a Reg of 32 or 64 bits.
type Number interface {
	Operand
	number()
}

func (Reg) number() {}
func (Int) number() {}

// Int is an integer immediate.
type Int int64

func (n Int) append(b []byte) []byte { return strconv.AppendInt(b, int64(n), 10) }

// Hex is an immediate of bits, a mask for example, with as many digits as it needs.
type Hex uint64

func (n Hex) append(b []byte) []byte { return strconv.AppendUint(append(b, "0x"...), uint64(n), 16) }

// AllLanes is the mask of a whole warp.
const AllLanes Hex = 0xffffffff

// Bits32 and Bits64 are constants of 32 and of 64 bits, with all their digits.
type (
	Bits32 uint32
	Bits64 uint64
)

func (n Bits32) append(b []byte) []byte { return appendDigits(append(b, "0x"...), uint64(n), 8) }
func (n Bits64) append(b []byte) []byte { return appendDigits(append(b, "0x"...), uint64(n), 16) }

// Single and Double are floating-point immediates, as their bits: text that is exact.
type (
	Single uint32
	Double uint64
)

// Float32 is a number as an immediate of f32; every NaN is the same.
func Float32(v float32) Single {
	if v != v {
		return 0x7FC00000
	}
	return Single(math.Float32bits(v))
}

// Float64 is a number as an immediate of f64; every NaN is the same.
func Float64(v float64) Double {
	if v != v {
		return 0x7FF8000000000000
	}
	return Double(math.Float64bits(v))
}

// Value is the number.
func (n Double) Value() float64 { return math.Float64frombits(uint64(n)) }

func (n Single) append(b []byte) []byte { return appendDigits(append(b, "0f"...), uint64(n), 8) }
func (n Double) append(b []byte) []byte { return appendDigits(append(b, "0d"...), uint64(n), 16) }

// appendDigits writes the low count hexadecimal digits of n.
func appendDigits(b []byte, n uint64, count int) []byte {
	for i := count - 1; i >= 0; i-- {
		b = append(b, "0123456789ABCDEF"[n>>(4*i)&15])
	}
	return b
}

// Vector is registers in braces: a wide access's, the halves of a wider register, a fragment of a matrix.
type Vector []Reg

func (v Vector) append(b []byte) []byte {
	b = append(b, '{')
	for i, r := range v {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = r.append(b)
	}
	return append(b, '}')
}

// List is registers as the operand of a load or a store, which writes a single one without braces.
func List(rs []Reg) Operand {
	if len(rs) == 1 {
		return rs[0]
	}
	return Vector(rs)
}

// Special is a special register.
type Special string

// The special registers in use.
const (
	Thread      Special = "%tid.x"
	Block       Special = "%ctaid.x"
	Blocks      Special = "%nctaid.x"
	Cluster     Special = "%clusterid.x"
	Clusters    Special = "%nclusterid.x"
	ClusterRank Special = "%cluster_ctarank"
	GlobalTimer Special = "%globaltimer"
)

func (s Special) append(b []byte) []byte { return append(b, s...) }

// Symbol is a name: a parameter's, or that of a place in shared memory.
type Symbol string

// Sink takes a result that nobody wants.
const Sink Symbol = "_"

func (s Symbol) append(b []byte) []byte { return append(b, s...) }

// Label is a place in the code. The zero Label is none.
type Label int

// String is the label's name in PTX text.
func (l Label) String() string { return string(l.append(nil)) }

func (l Label) append(b []byte) []byte { return strconv.AppendInt(append(b, "$L"...), int64(l), 10) }

// Addr is a place in memory: a register or a symbol, and bytes from there.
type Addr struct {
	base   Operand
	offset Operand // nil for none
}

// At is where a register points, or a parameter.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func At(base Operand) Addr { return Addr{base: base} }

// Plus is the address some bytes further; it is written even where that is 0.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (x Addr) Plus(bytes int) Addr {
	x.offset = Int(bytes)
	return x
}

func (x Addr) append(b []byte) []byte {
	b = x.base.append(append(b, '['))
	if x.offset != nil {
		b = x.offset.append(append(b, '+'))
	}
	return append(b, ']')
}

// Box is a box of a tensor: the tensor map, and where the box begins, the fastest dimension first.
type Box struct {
	Map Reg
	At  Vector
}

func (x Box) append(b []byte) []byte {
	b = x.Map.append(append(b, '['))
	b = x.At.append(append(b, ", "...))
	return append(b, ']')
}
