package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// randomAxis is the axis whose positions are the first coordinate of random
// bits, unchanged, where neither the other coordinates nor the key vary along it; nil where there is none.
func randomAxis(op *ir.Op) *ir.Axis {
	lo := op.Args[1]
	rest := []*ir.Value{op.Args[0], op.Args[2]}
	for lo.Def != nil {
		switch d := lo.Def; {
		case d.Code == lang.OpOr:
			lo, rest = d.Args[0], append(rest, d.Args[1])
			continue
		case d.Code == lang.OpAnd || d.Code == lang.OpCast && d.Args[0].Type.DType.IsInt():
			lo = d.Args[0]
			continue
		case d.Code == lang.OpIndex:
			for _, v := range rest {
				if v.Type.Has(d.Axis) {
					return nil
				}
			}
			return d.Axis
		}
		break
	}
	return nil
}

// randomBits emits random bits for a result in the layout l. Where a thread has
// neighbours along the first coordinate, the even one first, they share a call of Philox.
func (k *kernel) randomBits(op *ir.Op, l layout, args [][]asm.Reg) []asm.Reg {
	e := elem{Builder: k.a, d: lang.U64}
	argument := func(i, r int) asm.Reg { return args[i][l.project(r, op.Args[i].Type.Axes)] }
	out := make([]asm.Reg, l.regs())
	axis := randomAxis(op)
	paired := axis != nil && k.startMultiple(axis)%2 == 0
	for _, ds := range [][]digit{l.lane, l.warp} {
		for _, d := range ds {
			paired = paired && (d.axis != axis || d.stride%2 == 0)
		}
	}
	for r := range out {
		if out[r].Valid() {
			continue
		}
		next, ok := 0, false
		if paired && l.regCoord(r, axis)%2 == 0 {
			next, ok = l.regAt(r, 1, axis)
		}
		if !ok {
			e.args = []asm.Reg{argument(0, r), argument(1, r), argument(2, r)}
			out[r] = randomBits(e)
			continue
		}
		c, _ := e.counter(argument(1, r), argument(2, r))
		out[r], out[next] = e.randomPair(argument(0, r), c)
	}
	return out
}

// halves are the low and the high word of a 64-bit register.
func (e elem) halves(x asm.Reg) (lo, hi asm.Reg) {
	lo, hi = e.Reg(asm.B32), e.Reg(asm.B32)
	e.Set(asm.Vector{lo, hi}, "mov.b64", x)
	return lo, hi
}

// whole is the 64-bit register of two words.
func (e elem) whole(lo, hi asm.Reg) asm.Reg {
	x := e.Reg(asm.B64)
	e.Set(x, "mov.b64", asm.Vector{lo, hi})
	return x
}

// randomPair is what eval.RandomBits gives at the coordinates whose first word
// is 2 n and 2 n + 1, n being the first word of the counter: one call of Philox4x32-10.
func (e elem) randomPair(key asm.Reg, c [4]asm.Reg) (even, odd asm.Reg) {
	word := func(name string, args ...asm.Operand) asm.Reg { return e.Op(asm.B32, name, args...) }
	var k [2]asm.Reg
	k[0], k[1] = e.halves(key)
	for round := range 10 {
		hi0, lo0 := word("mul.hi.u32", c[0], asm.Bits32(eval.PhiloxMultipliers[0])), word("mul.lo.u32", c[0], asm.Bits32(eval.PhiloxMultipliers[0]))
		hi1, lo1 := word("mul.hi.u32", c[2], asm.Bits32(eval.PhiloxMultipliers[1])), word("mul.lo.u32", c[2], asm.Bits32(eval.PhiloxMultipliers[1]))
		c = [4]asm.Reg{word("xor.b32", word("xor.b32", hi1, c[1]), k[0]), lo1, word("xor.b32", word("xor.b32", hi0, c[3]), k[1]), lo0}
		if round < 9 {
			k[0], k[1] = word("add.u32", k[0], asm.Bits32(eval.PhiloxWeyl[0])), word("add.u32", k[1], asm.Bits32(eval.PhiloxWeyl[1]))
		}
	}
	return e.whole(c[0], c[1]), e.whole(c[2], c[3])
}

// counter are the words of Philox's counter at coordinates, and the first coordinate.
func (e elem) counter(lo, hi asm.Reg) (c [4]asm.Reg, first asm.Reg) {
	first, c[1] = e.halves(lo)
	c[0] = e.Op(asm.B32, "shr.u32", first, asm.Int(1))
	c[2], c[3] = e.halves(hi)
	return c, first
}

// randomBits is one element of the operation.
func randomBits(e elem) asm.Reg {
	c, first := e.counter(e.args[1], e.args[2])
	even, odd := e.randomPair(e.args[0], c)
	isOdd := e.Op(asm.Pred, "setp.ne.u32", e.Op(asm.B32, "and.b32", first, asm.Int(1)), asm.Int(0))
	return e.Op(asm.B64, "selp.b64", odd, even, isOdd)
}
