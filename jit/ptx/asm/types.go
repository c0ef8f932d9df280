package asm

import (
	"fmt"
	"slices"
	"strings"
)

// This file says of which types the operands of pure instructions are, which their names tell: by the last part of most
// names, as in add.s32, by the last two of a conversion.

// typeClasses are the classes of the registers that a type of an instruction may stand in.
var typeClasses = map[string][]Class{
	"pred": {Pred},
	"b16":  {B16}, "u16": {B16, B32}, "s16": {B16, B32}, "u8": {B16, B32}, "s8": {B16, B32},
	"f16": {B16}, "bf16": {B16}, "e4m3x2": {B16}, "e5m2x2": {B16},
	"b32": {B32, F32}, "u32": {B32}, "s32": {B32}, "f16x2": {B32}, "bf16x2": {B32}, "tf32": {B32},
	"b64": {B64, F64}, "u64": {B64}, "s64": {B64},
	"f32": {F32}, "f64": {F64},
}

// fits reports that an operand may be of a type.
func fits(kind string, x Operand) bool {
	classes := typeClasses[kind]
	switch x := x.(type) {
	case Reg:
		return slices.Contains(classes, x.Class)
	case Vector: // the parts of a wider register
		bytes := 0
		for _, r := range x {
			bytes += r.Class.Bytes()
		}
		return kind[0] == 'b' && bytes == classes[0].Bytes()
	case Single:
		return slices.Contains(classes, F32)
	case Double:
		return slices.Contains(classes, F64)
	case Int, Hex, Bits32, Bits64, Special, Symbol:
		return kind[0] != 'f'
	}
	return false
}

// wider is the type of twice the width.
var wider = map[string]string{"u32": "u64", "s32": "s64"}

// operandTypes are the types of the destination and of each source of an instruction; none for one that is not pure, or
// takes addresses.
func (i *Instr) operandTypes() (dst string, src []string) {
	parts := strings.Split(i.Name, ".")
	kind := parts[len(parts)-1]
	src = slices.Repeat([]string{kind}, len(i.Src))
	switch parts[0] {
	case "cvt":
		kind = parts[len(parts)-2]
	case "setp", "testp":
		kind = "pred"
		if len(src) == 3 { // and another predicate
			src[2] = "pred"
		}
	case "selp":
		src[2] = "pred"
	case "shl", "shr":
		src[1] = "u32"
	case "bfe":
		src[1], src[2] = "u32", "u32"
	case "popc", "clz":
		kind = "u32"
	case "mul", "mad":
		if parts[1] == "wide" {
			kind = wider[kind]
			if len(src) == 3 {
				src[2] = kind
			}
		}
	case "abs", "add", "and", "copysign", "cos", "div", "ex2", "fma", "lg2", "lop3", "max", "min", "mov", "neg", "not", "or",
		"prmt", "rcp", "rem", "rsqrt", "sin", "sqrt", "sub", "tanh", "xor":
	default:
		return "", nil
	}
	return kind, src
}

// checkTypes says which operand is not of the type that the instruction's name tells.
func (i *Instr) checkTypes() error {
	dst, src := i.operandTypes()
	if dst == "" {
		return nil
	}
	for n, x := range append([]Operand{i.Dst}, i.Src...) {
		kind := append([]string{dst}, src...)[n]
		if typeClasses[kind] == nil {
			return fmt.Errorf("%q has an unknown type %q", i, kind)
		}
		if !fits(kind, x) {
			return fmt.Errorf("operand %d of %q is not of type %s", n+1, i, kind)
		}
	}
	return nil
}
