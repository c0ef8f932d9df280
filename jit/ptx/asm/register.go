package asm

import "strconv"

// Class is a PTX register class.
type Class uint8

// The classes, in the order in which a kernel declares them.
const (
	B32 Class = iota
	B64
	F32
	F64
	Pred
	B16
	numClasses
)

// classes gives each class the prefix of its registers' names and its type.
var classes = [numClasses]struct{ prefix, name string }{
	B32:  {"%r", "b32"},
	B64:  {"%rd", "b64"},
	F32:  {"%f", "f32"},
	F64:  {"%fd", "f64"},
	Pred: {"%p", "pred"},
	B16:  {"%h", "b16"},
}

// String is the type of the class in instructions and declarations, without its dot.
func (c Class) String() string { return classes[c].name }

// Bytes is what a register takes in memory; a predicate is a word.
func (c Class) Bytes() int {
	switch c {
	case F64, B64:
		return 8
	case B16:
		return 2
	}
	return 4
}

// Zero is the immediate 0 of the class.
func (c Class) Zero() Operand {
	switch c {
	case F32:
		return Single(0)
	case F64:
		return Double(0)
	}
	return Int(0)
}

// Signed is the name of an instruction on signed integers of the class: add gives add.s32, or add.s64.
func (c Class) Signed(name string) string {
	if c == B64 {
		return name + ".s64"
	}
	return name + ".s32"
}

// Reg is a virtual register. The zero Reg is no register at all.
type Reg struct {
	Class Class
	id    int32 // from 1
}

// Valid reports a register, not the lack of one.
func (r Reg) Valid() bool { return r.id > 0 }

// String is the register's name in PTX text.
func (r Reg) String() string { return string(r.append(nil)) }

func (r Reg) append(b []byte) []byte {
	return strconv.AppendInt(append(b, classes[r.Class].prefix...), int64(r.id), 10)
}
