package elem

import (
	"math"

	"tilec/jit/ptx/asm"
)

// logReduce writes a positive normal x as 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).
func (m flt) logReduce(x asm.Reg) (e, f asm.Reg) {
	hi := m.high(x)
	e = m.Op(asm.B32, "shr.s32", m.Op(asm.B32, "sub.s32", hi, asm.Int(m.rootHalf)), asm.Int(m.man))
	hi = m.Op(asm.B32, "sub.s32", hi, m.Op(asm.B32, "shl.b32", e, asm.Int(m.man)))
	return e, m.sub(m.withHigh(x, hi), num(1.0))
}

// logTail is log(1 + f) - f for 1 + f between sqrt(1/2) and sqrt(2): with
// s = f / (2 + f), log(1 + f) = 2s + s R = f - f²/2 + s (f²/2 + R), R = O(s²).
func (m flt) logTail(f asm.Reg) asm.Reg {
	s := m.quick(f, m.add(f, num(2.0)))
	z := m.mul(s, s)
	half := m.mul(m.mul(f, num(0.5)), f)
	r := m.fma(z, m.poly(z, m.logR), half)
	return m.fma(s, r, m.neg(half))
}

// logNormal lifts a subnormal x; shift is what to add to the exponent, a float.
func (m flt) logNormal(x asm.Reg) (normal, shift asm.Reg) {
	low := m.test("lt", x, num(m.minNormal))
	return m.sel(low, m.mul(x, num(math.Ldexp(1, m.lift))), x), m.sel(low, num(float64(-m.lift)), num(0.0))
}

// logSpecial is y for positive finite x; else -inf at 0, NaN below, inf and NaN as they are.
func (m flt) logSpecial(x, y asm.Reg) asm.Reg {
	other := m.sel(m.test("lt", x, num(0.0)), num(math.NaN()), x)
	other = m.sel(m.test("eq", x, num(0.0)), num(math.Inf(-1)), other)
	ok := m.Op(asm.Pred, "and.pred", m.test("gt", x, num(0.0)), m.test("lt", x, num(math.Inf(1))))
	return m.sel(ok, y, other)
}

// logOf is the natural logarithm: f32 0.85 ulp, f64 0.72.
func (m flt) logOf(x asm.Reg) asm.Reg {
	n, shift := m.logNormal(x)
	e, f := m.logReduce(n)
	ef := m.add(m.whole(e), shift)
	y := m.add(f, m.fma(ef, num(m.ln2[1]), m.logTail(f)))
	return m.logSpecial(x, m.fma(ef, num(m.ln2[0]), y))
}

// whole converts an s32.
func (m flt) whole(n asm.Reg) asm.Reg { return m.Op(m.class, "cvt.rn"+m.suffix+".s32", n) }

// log2Of is the logarithm to base 2: f32 0.95 ulp, f64 0.88.
func (m flt) log2Of(x asm.Reg) asm.Reg {
	n, shift := m.logNormal(x)
	e, f := m.logReduce(n)
	l := m.fma(f, num(m.log2e[0]), m.fma(f, num(m.log2e[1]), m.mul(m.logTail(f), num(m.log2e[0]))))
	return m.logSpecial(x, m.add(m.add(m.whole(e), shift), l))
}

// log1pOf is log(1 + x): f32 1.53 ulp, f64 0.95. It takes the exponent e from 1 + x rounded and then f exactly enough
// from x itself: (1 + x) 2^-e - 1 = x 2^-e + (2^-e - 1), in quarters so that 2^-e is normal.
func (m flt) log1pOf(x asm.Reg) asm.Reg {
	u := m.add(x, num(1.0))
	e := m.Op(asm.B32, "shr.s32", m.Op(asm.B32, "sub.s32", m.high(u), asm.Int(m.rootHalf)), asm.Int(m.man))
	s := m.pow2(m.Op(asm.B32, "sub.s32", asm.Int(2), e))
	f := m.fma(m.mul(x, num(0.25)), s, m.fma(s, num(0.25), num(-1.0)))
	ef := m.whole(e)
	y := m.add(f, m.fma(ef, num(m.ln2[1]), m.logTail(f)))
	y = m.logSpecial(u, m.fma(ef, num(m.ln2[0]), y))
	return m.sel(m.test("lt", m.abs(x), num(m.tiny)), x, y)
}
