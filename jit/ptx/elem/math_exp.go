package elem

import (
	"math"

	"tilec/jit/ptx/asm"
)

// expPoly is e^r - 1 for |r| <= ln(2)/2, as r + r² q(r).
func (m flt) expPoly(r asm.Reg) asm.Reg {
	return m.fma(m.mul(r, r), m.poly(r, m.precision.exp), r)
}

// expNear is e^r for |r| <= ln(2)/2.
func (m flt) expNear(r asm.Reg) asm.Reg {
	return m.fma(m.fma(m.poly(r, m.precision.exp), r, num(1.0)), r, num(1.0))
}

// expReduce writes x as n ln 2 + r; raw is n + offset as nearest gives it.
func (m flt) expReduce(x asm.Reg, offset int) (r, n, raw asm.Reg) {
	n, raw = m.nearest(x, m.log2e[0], offset)
	r = m.fma(n, num(-m.ln2[0]), x)
	return m.fma(n, num(-m.ln2[1]), r), n, raw
}

// expScaled is e^x * 2^shift for whole shift, correct also where e^x alone
// would be infinite.
func (m flt) expScaled(x asm.Reg, shift int) asm.Reg {
	x = m.clamp(x, m.expMin, m.expMax+1)
	r, _, raw := m.expReduce(x, 2*m.bias+shift)
	return m.scale(m.expNear(r), raw)
}

// expOf is e^x: f64 0.85 ulp; f32 1.94, of all numbers on an H200.
func (m flt) expOf(x asm.Reg) asm.Reg {
	if m.class == asm.F64 {
		return m.expScaled(x, 0)
	}
	n, scale := m.wholePower(x, math.Log2E)
	return m.mul(m.Op(asm.F32, "ex2.approx.ftz.f32", m.fma(x, num(m.log2e[1]), m.fma(x, num(m.log2e[0]), m.neg(n)))), scale)
}

// exp2Of is 2^x: f64 0.94 ulp; f32 2.04, of 2^24 numbers on an H200.
func (m flt) exp2Of(x asm.Reg) asm.Reg {
	if m.class == asm.F64 {
		x = m.clamp(x, float64(-m.bias-60), float64(m.bias+2))
		n, raw := m.nearest(x, 1, 2*m.bias)
		r := m.mul(m.sub(x, n), num(math.Ln2))
		return m.scale(m.expNear(r), raw)
	}
	n, scale := m.wholePower(x, 1)
	return m.mul(m.Op(asm.F32, "ex2.approx.ftz.f32", m.sub(x, n)), scale)
}

// wholePower is, of b^x in f32, where log2 of b is given, the whole number n next to x log2(b), kept from -126 to 127, and 2^n. The rest is left to the hardware's 2^f,
// which was off by less than 1.5 ulp for f between -1 and 1 on an H100. Further out f lies only where 2^n alone cannot be as small as the result; there the hardware
// alone would be off by 2.05 ulp (of all numbers, on an H100).
func (m flt) wholePower(x asm.Reg, log2 float64) (n, power asm.Reg) {
	const bias, span, magic = 127, 253, 0x1.8p23 // whole numbers at magic have their bits at the low end
	part := m.Op(asm.F32, "fma.rn.sat.f32", m.operands(x, num(log2/span), num((bias-1.0)/span))...)
	raw := m.Op(asm.F32, "fma.rn.f32", m.operands(part, num(span), num(magic+1))...) // n + bias in its low bits
	power = m.Op(asm.F32, "mov.b32", m.Op(asm.B32, "shl.b32", m.Op(asm.B32, "mov.b32", raw), asm.Int(23)))
	return m.sub(raw, num(magic+bias)), power
}

// expm1Of is e^x - 1: f32 1.58 ulp, f64 1.99. It computes with 2^(n-1), so that
// the largest results do not overflow early:
// e^x - 1 = 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)).
func (m flt) expm1Of(x asm.Reg) asm.Reg {
	c := m.clamp(x, -64, m.expMax)
	r, _, raw := m.expReduce(c, m.bias-1)
	s := m.fromHigh(m.Op(asm.B32, "shl.b32", raw, asm.Int(m.man)))
	y := m.fma(m.expPoly(r), s, m.sub(s, num(0.5)))
	y = m.add(y, y)
	return m.sel(m.test("lt", m.abs(x), num(m.tiny)), x, y)
}

// sigmoidOf, f32 2.61 ulp, f64 2.27, is 1/(1+e) or e/(1+e) with e = exp(-|x|): neither overflows.
func (m flt) sigmoidOf(x asm.Reg) asm.Reg {
	e := m.expScaled(m.neg(m.abs(x)), 0)
	y := m.recip(m.add(e, num(1.0)))
	return m.sel(m.test("lt", x, num(0.0)), m.mul(e, y), y)
}

// sinhOf, f32 1.65 ulp, f64 2.02, is by its series near 0, else (e^x - e^-x) / 2 with e^x halved first.
func (m flt) sinhOf(x asm.Reg) asm.Reg {
	a := m.abs(x)
	t := m.expScaled(a, -1)
	far := m.sub(t, m.quick(num(0.25), t))
	far = m.sel(m.test("gt", t, num(0x1p60)), t, far)
	var near asm.Reg
	if m.class == asm.F32 {
		z := m.mul(a, a)
		near = m.fma(m.mul(z, a), m.poly(z, sinhSmall), a)
	} else {
		e := m.expm1Of(a)
		near = m.mul(m.add(e, m.div(e, m.add(e, num(1.0)))), num(0.5))
		near = m.sel(m.test("lt", a, num(m.tiny)), a, near)
	}
	return m.copySign(m.sel(m.test("lt", a, num(1.0)), near, far), x)
}

// coshOf is (e^x + e^-x) / 2: f32 1.38 ulp, f64 1.22.
func (m flt) coshOf(x asm.Reg) asm.Reg {
	t := m.expScaled(m.abs(x), -1)
	return m.sel(m.test("gt", t, num(0x1p60)), t, m.add(t, m.quick(num(0.25), t)))
}

// tanhOf, f32 3.34 ulp, f64 2.17, is by its series near 0, else 1 - 2/(e^2x + 1). In f32 the
// hardware's 2^x is enough there: tanh takes at most 3/4 of its error.
func (m flt) tanhOf(x asm.Reg) asm.Reg {
	a := m.abs(x)
	if m.class == asm.F64 {
		e := m.expm1Of(m.f("min", m.add(a, a), num(64.0)))
		y := m.sel(m.test("lt", a, num(m.tiny)), a, m.div(e, m.add(e, num(2.0))))
		return m.copySign(m.sel(m.test("nan", x, x), x, y), x)
	}
	e := m.Op(asm.F32, "ex2.approx.ftz.f32", m.mul(a, num(2*math.Log2E)))
	far := m.fma(m.Op(asm.F32, "rcp.approx.ftz.f32", m.add(e, num(1.0))), num(-2.0), num(1.0))
	z := m.mul(a, a)
	near := m.fma(m.mul(z, a), m.poly(z, tanhSmall), a)
	return m.copySign(m.sel(m.test("lt", a, num(0.6)), near, far), x)
}

// erfOf, f32 2.75 ulp, f64 1.42, is x times a polynomial in x² near 0, else 1 - 2^-g(x) with a polynomial g.
func (m flt) erfOf(x asm.Reg) asm.Reg {
	a := m.abs(x)
	z := m.mul(x, x)
	near := m.fma(x, m.poly(z, m.precision.erf), x)
	if m.class == asm.F32 {
		g := m.poly(m.sub(m.f("min.NaN", a, num(4.0)), num(2.0)), erfcSingle)
		far := m.sub(num(1.0), m.Op(asm.F32, "ex2.approx.ftz.f32", m.neg(g)))
		return m.sel(m.test("lt", a, num(0.92)), near, m.copySign(far, x))
	}
	a = m.clamp(a, 0, 6)
	g := m.sel(m.test("lt", a, num(2.2)), m.poly(m.sub(a, num(1.6)), erfcNear), m.poly(m.sub(a, num(4.0)), erfcFar))
	far := m.sub(num(1.0), m.exp2Of(m.neg(g)))
	return m.sel(m.test("lt", a, num(1.0)), near, m.copySign(far, x))
}
