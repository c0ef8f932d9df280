package ptx

import "math"

// sqrtOf is correctly rounded.
func (m flt) sqrtOf(x reg) reg { return m.f("sqrt.rn", x) }

// rsqrtOf, f32 1.00 ulp, f64 1.45, is, in f32, the hardware's approximation and a step of Newton's
// method, except where that would multiply 0 by infinity.
func (m flt) rsqrtOf(x reg) reg {
	if m.class == f64 {
		return m.f("rcp.rn", m.f("sqrt.rn", x))
	}
	y := m.op(f32, "rsqrt.approx.f32", x)
	h := m.mul(x, y)
	better := m.fma(m.mul(y, 0.5), m.fma(m.neg(h), y, 1.0), y)
	plain := m.op(pred, "and.pred", m.test("gt", x, 0.0), m.test("lt", x, math.Inf(1)))
	return m.sel(plain, better, y)
}
