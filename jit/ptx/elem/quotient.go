package elem

import (
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// Many quotients by one divisor cost one division: with the reciprocal y of b rounded correctly and q = a y,
// the remainder r = a - q b is exact, and q + r y is a / b rounded correctly (Markstein, IBM J. Res. Dev. 34, 1990; Cornea et al. 1999). That
// holds while nothing leaves the range of normal numbers: for divisors in a range around 1, and quotients that are not too small. What
// is not so, NaN among it, is found by one test of all quotients; where more than zeros fail it, they are divided as ever.
const (
	leastDivisor, mostDivisor = 0x1p-8, 0x1p24
	// leastQuotient keeps the lowest bit of q b, 2^-46 of it, a multiple of 2^-149: 2^-92 times 2^-8 is above 2^-103.
	leastQuotient = 0x1p-92
)

// Quotients is xs[i] / b of floats of up to 32 bits, each correctly rounded, by one reciprocal of b. All lanes of the warp must take part.
func Quotients(a *asm.Builder, d lang.DType, xs []asm.Reg, b asm.Reg) []asm.Reg {
	m := flt{a, single}
	y := a.Calc(asm.F32, "rcp.rn.f32", b)
	back := a.Calc(asm.F32, "neg.f32", y)
	quotients := make([]asm.Reg, len(xs))
	var least asm.Reg
	for i, x := range xs {
		q := m.mul(x, y)
		// The remainder is negated, so that an exact one is +0, and its product with -y is -0, which keeps the sign of a q that is 0.
		quotients[i] = m.fma(m.fma(q, b, m.neg(x)), back, q)
		if size := m.abs(quotients[i]); i == 0 {
			least = size
		} else {
			least = m.f("min.NaN", least, size)
		}
	}
	near := a.Calc(asm.Pred, "setp.ge.f32", b, asm.Float32(leastDivisor))
	near = a.Calc(asm.Pred, "and.pred", near, a.Calc(asm.Pred, "setp.le.f32", b, asm.Float32(mostDivisor)))
	done := a.Label()
	unless := func(right asm.Reg) {
		a.If(a.Op(asm.Pred, "vote.sync.all.pred", right, asm.AllLanes)).Do("bra.uni", done)
	}
	unless(a.Op(asm.Pred, "and.pred", near, m.test("ge", least, num(leastQuotient))))
	right := near
	for i, x := range xs { // a dividend of 0 is right, and frequent where elements do not exist
		one := a.Op(asm.Pred, "or.pred", m.test("ge", m.abs(quotients[i]), num(leastQuotient)), m.test("eq", x, num(0.0)))
		right = a.Op(asm.Pred, "and.pred", right, one)
	}
	unless(right)
	for i, x := range xs {
		a.Set(quotients[i], "div.rn.f32", x, b)
	}
	a.Place(done)
	for i, q := range quotients {
		quotients[i] = roundTo(a, d, q)
	}
	return quotients
}
