package elem

import (
	"tilec/jit/ptx/asm"
	"tilec/jit/target"
	"tilec/lang"
)

// This file widens four numbers of 8 bits in a register to two pairs of floats of 16 bits, without loss.

// WidenNeighbours gives the lower two and the upper two of four numbers of type from, each two in a register, the first in the low half.
func WidenNeighbours(a *asm.Builder, from, to lang.DType, w asm.Reg) (low, high asm.Reg) {
	if from.IsFloat() {
		return widenFloats(a, from, to, w)
	}
	return widenBytes(a, from, to, w, 0x4140), widenBytes(a, from, to, w, 0x4342)
}

// WidenAlternate gives the first and the third, and the second and the fourth of four numbers.
func WidenAlternate(a *asm.Builder, from, to lang.DType, w asm.Reg) (even, odd asm.Reg) {
	if from.IsFloat() {
		return widenFloats(a, from, to, a.Op(asm.B32, "prmt.b32", w, asm.Int(0), asm.Int(0x3120)))
	}
	return widenBytes(a, from, to, w, 0x4240), widenBytes(a, from, to, w, 0x4341)
}

// widenFloats makes pairs of floats of 8 bits pairs of 16 bits.
func widenFloats(a *asm.Builder, from, to lang.DType, w asm.Reg) (low, high asm.Reg) {
	if to == lang.F16 && (from == lang.F8E5M2 || a.Target.Has(target.ConvertPairsE4M3)) {
		return Widen(a, from, w)
	}
	x := unpack8(a, from, w)
	return pack16(a, to, x[0], x[1]), pack16(a, to, x[2], x[3])
}

// widenBytes makes a pair of floats of integers of 8 bits, which a choice of bytes puts into the low bytes of halves, below what is byte 4 to it. A byte is put into the fraction of a
// power of two whose last bit counts as 1, and that power is taken away: 1024 of f16, whose fraction has 10 bits. The fraction of bf16 has 7: there the byte's
// highest bit becomes the exponent's lowest of what is taken away, which is 128 or, of a negative number, 256.
func widenBytes(a *asm.Builder, from, to lang.DType, w asm.Reg, choice asm.Hex) asm.Reg {
	power := Power(to)
	if to == lang.F16 {
		taken := -power
		if from.IsSigned() { // counted from -128
			w, taken = a.Calc(asm.B32, "xor.b32", w, asm.Bits32(0x80808080)), taken-128
		}
		const byteOfPower = 0x64
		return fmaHalves(a, to, a.Op(asm.B32, "prmt.b32", w, asm.Bits32(byteOfPower*inBoth), choice), Twice(a, to, 1), Twice(a, to, taken))
	}
	const byteOfPower, highest = 0x43, 0x80
	x := a.Op(asm.B32, "prmt.b32", w, asm.Bits32(byteOfPower*inBoth), choice)
	low, taken := a.Op(asm.B32, "and.b32", x, asm.Bits32((0xffff-highest)*inBoth)), a.Op(asm.B32, "and.b32", x, asm.Bits32((0xff00|highest)*inBoth))
	if !from.IsSigned() { // 128 with the highest bit clear, and 0 where it is set
		taken = fmaHalves(a, to, taken, Twice(a, to, -1), Twice(a, to, 2*power))
	}
	return fmaHalves(a, to, taken, Twice(a, to, -1), low)
}
