package elem

import (
	"math"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file computes two elements at a time: floats of 16 bits in the halves of a register, low and high. One by one such floats are widened, computed, and rounded together. Integers that the
// type has exactly are computed as its numbers.

// Field is some bits of a word, from bit Shift on: an integer without a sign. The word may have others beside.
type Field struct {
	Word        asm.Reg
	Shift, Bits int
}

// inBoth times the bits of a half are those bits in both.
const inBoth = 0x10001

// Twice is a number of type d, f16 or bf16, in both halves of a register.
func Twice(a *asm.Builder, d lang.DType, x float64) asm.Reg {
	return a.Calc(asm.B32, "mov.b32", asm.Bits32(uint32(d.FloatBits(x))*inBoth))
}

// Halves is an operation on two pairs of numbers of type d, f16 or bf16, each rounded once; false for operations other than sums, differences and products.
func Halves(a *asm.Builder, op lang.Op, d lang.DType, x, y asm.Reg) (asm.Reg, bool) {
	switch op {
	case lang.OpAdd:
		return fmaHalves(a, d, x, Twice(a, d, 1), y), true
	case lang.OpSub:
		return fmaHalves(a, d, y, Twice(a, d, -1), x), true
	case lang.OpMul:
		return fmaHalves(a, d, x, y, noTerm(a, d)), true
	}
	return asm.Reg{}, false
}

// Rest is what a product of two pairs of numbers of bf16 lost when it was rounded to such numbers, which have it exactly (but below 2^-133).
func Rest(a *asm.Builder, x, y, rounded asm.Reg) asm.Reg {
	return fmaHalves(a, lang.BF16, x, y, a.Op(asm.B32, "neg.bf16x2", rounded))
}

// fmaHalves is x y + z.
func fmaHalves(a *asm.Builder, d lang.DType, x, y, z asm.Reg) asm.Reg {
	return a.Op(asm.B32, "fma.rn."+d.String()+"x2", x, y, z)
}

// noTerm is what changes no number that it is added to: 0 would change -0.
func noTerm(a *asm.Builder, d lang.DType) asm.Reg { return Twice(a, d, math.Copysign(0, -1)) }

// fraction is how many bits the fraction of a float has.
func fraction(d lang.DType) int { return d.Precision() - 1 }

// Power is the power of two of a type of which the fraction's last bit counts as 1: with an integer in the fraction a number is that much above it.
func Power(d lang.DType) float64 { return math.Ldexp(1, fraction(d)) }

// FieldsFit reports fields of so many bits of which Numbers gives the integers less from as numbers of type d.
func FieldsFit(d lang.DType, bits int, from int64) bool {
	most := int64(1) << fraction(d)
	return bits <= fraction(d) && -most <= from && from <= most
}

// Raised is two fields' integers and Power, as numbers of type d.
func Raised(a *asm.Builder, d lang.DType, lo, hi Field) asm.Reg {
	return masked(a, together(a, lo, hi), asm.Bits32(1<<hi.Bits-1)<<16|asm.Bits32(1<<lo.Bits-1), Twice(a, d, Power(d)))
}

// Numbers is two fields' integers less from, as numbers of type d.
func Numbers(a *asm.Builder, d lang.DType, lo, hi Field, from int64) asm.Reg {
	return fmaHalves(a, d, Raised(a, d, lo, hi), Twice(a, d, 1), Twice(a, d, -Power(d)-float64(from)))
}

// masked is a register's bits of a mask, and those of another. The assembler makes two instructions of `and` and `or` with two constants.
func masked(a *asm.Builder, x asm.Reg, mask asm.Bits32, or asm.Reg) asm.Reg {
	const andOr = 0xea // of 0xf0, 0xcc and 0xaa
	return a.Op(asm.B32, "lop3.b32", x, mask, or, asm.Int(andOr))
}

// together brings the lowest bits of two fields to bits 0 and 16 of a register: what is above them is anything.
func together(a *asm.Builder, lo, hi Field) asm.Reg {
	if lo.Word == hi.Word && hi.Shift == lo.Shift+16 {
		return shifted(a, lo.Word, lo.Shift)
	}
	if _, most, ok := a.SpanOf(lo.Word); ok && lo.Word == hi.Word && lo.Shift == 0 && 0 < hi.Shift && hi.Shift < 16 && most < 1<<(16-hi.Shift) { // copies that do not meet
		return a.Op(asm.B32, "mul.lo.s32", lo.Word, asm.Int(1<<(16-hi.Shift)|1))
	}
	bytes := func(f Field) int { // that which the field begins in, and the next
		n := f.Shift / 8
		return n | min(n+1, 3)<<4
	}
	return a.Op(asm.B32, "prmt.b32", shifted(a, lo.Word, lo.Shift%8), shifted(a, hi.Word, hi.Shift%8), asm.Hex(bytes(lo)|(bytes(hi)|0x44)<<8))
}

func shifted(a *asm.Builder, w asm.Reg, by int) asm.Reg {
	if by == 0 {
		return w
	}
	return a.Calc(asm.B32, "shr.u32", w, asm.Int(by))
}

// Bytes is two of the integers of 8 bits of a word, given their places from the low end, as numbers of type d.
func Bytes(a *asm.Builder, from, d lang.DType, w asm.Reg, lo, hi int) asm.Reg {
	const power = 4 // is the byte of the power of two, to a permutation
	return widenBytes(a, from, d, w, asm.Hex(lo|power<<4|hi<<8|power<<12))
}

// Fours is two elements of f4e2m1, fields of 4 bits, as numbers of type d: with their bits for an exponent and a fraction they are too small, all by one power of two.
func Fours(a *asm.Builder, d lang.DType, lo, hi Field) asm.Reg {
	top := func(f Field) (w asm.Reg, place int) { // the byte that has the field as its upper half
		if w = f.Word; f.Shift%8 == 0 {
			w = a.Calc(asm.B32, "shl.b32", w, asm.Int(4))
		}
		return w, f.Shift / 8
	}
	x, i := top(lo)
	y, j := top(hi)
	w := a.Op(asm.B32, "prmt.b32", x, y, asm.Hex(i|i<<4|(4|j)<<8|(4|j)<<12))
	const sign, magnitude, least = 0x8000, 0x7000, 12 // bits of a half, and the magnitude's last
	down := least - (fraction(d) - 1)                 // to the fraction's first
	minus := a.Op(asm.B32, "and.b32", w, asm.Bits32(sign*inBoth))
	w = masked(a, a.Op(asm.B32, "shr.u32", w, asm.Int(down)), magnitude>>down*inBoth, minus)
	return fmaHalves(a, d, w, Twice(a, d, 1/d.LeastNormal()), noTerm(a, d))
}
