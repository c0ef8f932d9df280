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
	return widenBytes(a, from, to, w, 0x4140, 0x4342)
}

// WidenAlternate gives the first and the third, and the second and the fourth of four numbers.
func WidenAlternate(a *asm.Builder, from, to lang.DType, w asm.Reg) (even, odd asm.Reg) {
	if from.IsFloat() {
		return widenFloats(a, from, to, a.Op(asm.B32, "prmt.b32", w, asm.Int(0), asm.Int(0x3120)))
	}
	return widenBytes(a, from, to, w, 0x4240, 0x4341)
}

// widenFloats makes pairs of floats of 8 bits pairs of 16 bits.
func widenFloats(a *asm.Builder, from, to lang.DType, w asm.Reg) (low, high asm.Reg) {
	if to == lang.F16 && (from == lang.F8E5M2 || a.Target.Has(target.ConvertPairsE4M3)) {
		return Widen(a, from, w)
	}
	x := unpack8(a, from, w)
	return pack16(a, to, x[0], x[1]), pack16(a, to, x[2], x[3])
}

// widenBytes makes two pairs of floats of integers of 8 bits, which two choices of bytes put into the low bytes of halves, below what is byte 4 to them. A byte is put into the fraction of a
// power of two whose last bit counts as 1, and that power is taken away: 1024 of f16, whose fraction has 10 bits. The fraction of bf16 has 7: there the byte's
// highest bit becomes the exponent's lowest of what is taken away, which is 128 or, of a negative number, 256.
func widenBytes(a *asm.Builder, from, to lang.DType, w asm.Reg, choices ...uint32) (one, other asm.Reg) {
	pair := func(half uint32) asm.Int { return asm.Int(half<<16 | half) }
	constant := func(half uint32) asm.Reg { return a.Op(asm.B32, "mov.b32", pair(half)) }
	var out []asm.Reg
	if to == lang.F16 {
		const one, power, minusPower, minusOffset = 0x3c00, 0x6400, 0xe400, 0xe480 // 1, 1024, -1024, -(1024 + 128)
		taken := constant(minusPower)
		if from.IsSigned() { // counted from -128
			w, taken = a.Op(asm.B32, "xor.b32", w, pair(0x8080)), constant(minusOffset)
		}
		for _, choice := range choices {
			out = append(out, a.Op(asm.B32, "fma.rn.f16x2", a.Op(asm.B32, "prmt.b32", w, pair(power|power>>8), asm.Int(choice)), constant(one), taken))
		}
		return out[0], out[1]
	}
	const minusOne, power, twice = 0xbf80, 0x4300, 0x4380 // -1, 128, 256
	for _, choice := range choices {
		x := a.Op(asm.B32, "prmt.b32", w, pair(power|power>>8), asm.Int(choice))
		low, taken := a.Op(asm.B32, "and.b32", x, pair(0xff7f)), a.Op(asm.B32, "and.b32", x, pair(0xff80))
		if !from.IsSigned() { // 128 with the highest bit clear, and 0 where it is set
			taken = a.Op(asm.B32, "fma.rn.bf16x2", taken, constant(minusOne), constant(twice))
		}
		out = append(out, a.Op(asm.B32, "fma.rn.bf16x2", taken, constant(minusOne), low))
	}
	return out[0], out[1]
}
