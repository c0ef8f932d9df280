package elem

import (
	"tilec/jit/ir/eval"
	"tilec/jit/ptx/asm"
)

// philox is one call of Philox4x32-10: what eval.RandomBits gives at the coordinates whose first word
// is 2 n and 2 n + 1, n being the first word of the counter.
func philox(a *asm.Builder, key asm.Reg, c [4]asm.Reg) (even, odd asm.Reg) {
	word := func(name string, args ...asm.Operand) asm.Reg { return a.Op(asm.B32, name, args...) }
	var k [2]asm.Reg
	k[0], k[1] = a.Halves(key)
	for round := range 10 {
		hi0, lo0 := word("mul.hi.u32", c[0], asm.Bits32(eval.PhiloxMultipliers[0])), word("mul.lo.u32", c[0], asm.Bits32(eval.PhiloxMultipliers[0]))
		hi1, lo1 := word("mul.hi.u32", c[2], asm.Bits32(eval.PhiloxMultipliers[1])), word("mul.lo.u32", c[2], asm.Bits32(eval.PhiloxMultipliers[1]))
		c = [4]asm.Reg{word("xor.b32", word("xor.b32", hi1, c[1]), k[0]), lo1, word("xor.b32", word("xor.b32", hi0, c[3]), k[1]), lo0}
		if round < 9 {
			k[0], k[1] = word("add.u32", k[0], asm.Bits32(eval.PhiloxWeyl[0])), word("add.u32", k[1], asm.Bits32(eval.PhiloxWeyl[1]))
		}
	}
	return a.Whole(asm.B64, c[0], c[1]), a.Whole(asm.B64, c[2], c[3])
}

// philoxCounter is the words of Philox's counter at the coordinates lo and hi, and the first coordinate.
func philoxCounter(a *asm.Builder, lo, hi asm.Reg) (c [4]asm.Reg, first asm.Reg) {
	first, c[1] = a.Halves(lo)
	c[0] = a.Op(asm.B32, "shr.u32", first, asm.Int(1))
	c[2], c[3] = a.Halves(hi)
	return c, first
}

// RandomPair is random bits at the coordinates lo and hi, the first of which is even, and at the next of the first.
func RandomPair(a *asm.Builder, key, lo, hi asm.Reg) (even, odd asm.Reg) {
	c, _ := philoxCounter(a, lo, hi)
	return philox(a, key, c)
}

// randomBits is one element of the operation: its operands are the key and the coordinates.
func randomBits(e elem) asm.Reg {
	c, first := philoxCounter(e.Builder, e.args[1], e.args[2])
	even, odd := philox(e.Builder, e.args[0], c)
	isOdd := e.Op(asm.Pred, "setp.ne.u32", e.Op(asm.B32, "and.b32", first, asm.Int(1)), asm.Int(0))
	return e.Op(asm.B64, "selp.b64", odd, even, isOdd)
}
