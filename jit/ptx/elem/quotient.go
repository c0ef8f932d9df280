package elem

import (
	"math"

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

// QuotientBy is x / n, of a number n that is known and above 0: correctly rounded by the same remainder, but for quotients below leastQuotient, whose lowest bit may be
// another. It is a few operations, where a division tests its operands and calls its slow way where x is 0: a step of GPT-2 of 124M whose weights are all 0
// took 134 us on an H100, and 129 with a factor in place of the two divisions of each norm.
func QuotientBy(a *asm.Builder, x asm.Reg, n int) asm.Reg {
	m, y, b := flt{a, single}, float32(1/float64(n)), asm.Float32(float32(n))
	q := m.mul(x, asm.Float32(y))
	if n&(n-1) == 0 {
		return q
	}
	right := m.fma(m.fma(q, b, m.neg(x)), asm.Float32(-y), q)
	// Of an infinity the remainder is none.
	return a.Op(asm.F32, "selp.f32", right, q, m.test("lt", m.abs(q), num(math.Inf(1))))
}
