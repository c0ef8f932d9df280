package elem

import (
	"math"

	"tilec/jit/ptx/asm"
)

// sqrtOf is correctly rounded.
func (m flt) sqrtOf(x asm.Reg) asm.Reg { return m.f("sqrt.rn", x) }

// rsqrtOf, f32 1.00 ulp, f64 1.45, is, in f32, the hardware's approximation and a step of Newton's
// method, except where that would multiply 0 by infinity.
func (m flt) rsqrtOf(x asm.Reg) asm.Reg {
	if m.class == asm.F64 {
		return m.f("rcp.rn", m.f("sqrt.rn", x))
	}
	y := m.Op(asm.F32, "rsqrt.approx.f32", x)
	h := m.mul(x, y)
	better := m.fma(m.mul(y, num(0.5)), m.fma(m.neg(h), y, num(1.0)), y)
	plain := m.Op(asm.Pred, "and.pred", m.test("gt", x, num(0.0)), m.test("lt", x, num(math.Inf(1))))
	return m.sel(plain, better, y)
}
