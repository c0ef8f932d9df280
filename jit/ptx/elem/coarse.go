package elem

import (
	"fmt"
	"math"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// The coarse forms are for f32 that is rounded to f16 or bf16 and shows no more digits than that: each is off by at most 2^-n
// of its value, for the n of the operation's row (lang.OpRow.Coarse), where numbers below 2^-124, in operands and results, may be taken for 0.
var coarseForms = map[lang.Op]func(flt, []asm.Reg) asm.Reg{
	lang.OpExp:     func(m flt, x []asm.Reg) asm.Reg { return m.power(m.mul(x[0], num(math.Log2E))) },
	lang.OpExp2:    func(m flt, x []asm.Reg) asm.Reg { return m.power(x[0]) },
	lang.OpSigmoid: coarseSigmoid,
	lang.OpSqrt:    func(m flt, x []asm.Reg) asm.Reg { return m.Op(asm.F32, "sqrt.approx.ftz.f32", x[0]) },
	lang.OpRsqrt:   func(m flt, x []asm.Reg) asm.Reg { return m.Op(asm.F32, "rsqrt.approx.ftz.f32", x[0]) },
	lang.OpDiv:     coarseQuotient,
}

// Coarse emits the coarse form of an operation on f32.
func Coarse(a *asm.Builder, op lang.Op, args []asm.Reg) asm.Reg {
	form := coarseForms[op]
	if form == nil {
		panic(fmt.Sprintf("elem: no coarse form of %s", op))
	}
	return form(flt{a, single}, args)
}

// power is the hardware's 2^x.
func (m flt) power(x asm.Reg) asm.Reg { return m.Op(asm.F32, "ex2.approx.ftz.f32", x) }

// coarseSigmoid is 1 / (1 + e^-x), which does not cancel. Where e^-x is infinite, it is 0.
func coarseSigmoid(m flt, x []asm.Reg) asm.Reg {
	e := m.power(m.mul(x[0], num(-math.Log2E)))
	return m.Op(asm.F32, "rcp.approx.ftz.f32", m.add(e, num(1.0)))
}

// coarseQuotient is x[0] / x[1], each a quarter, so that the reciprocal of the largest number is not flushed.
func coarseQuotient(m flt, x []asm.Reg) asm.Reg {
	y := m.Op(asm.F32, "rcp.approx.ftz.f32", m.mul(x[1], num(0.25)))
	return m.mul(m.mul(x[0], num(0.25)), y)
}

// CoarseQuotients is xs[i] / b as a coarse form, by one reciprocal of b. The reciprocal of the largest b is subnormal, and so not flushed.
func CoarseQuotients(a *asm.Builder, xs []asm.Reg, b asm.Reg) []asm.Reg {
	m := flt{a, single}
	y := a.Calc(asm.F32, "rcp.approx.f32", b)
	quotients := make([]asm.Reg, len(xs))
	for i, x := range xs {
		quotients[i] = m.mul(x, y)
	}
	return quotients
}
