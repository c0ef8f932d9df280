package elem

import (
	"math"

	"tilec/jit/ptx/asm"
)

// powOf, f32 1.04 ulp, f64 1.01, is 2^(y log2|x|), with C's rules for the special cases. The logarithm is a pair, for its error times
// y is that of the power.
func (m flt) powOf(x, y asm.Reg) asm.Reg {
	ax := m.abs(x)
	hi, lo := m.log2Pair(ax)
	hi = m.sel(m.test("eq", ax, num(0.0)), num(math.Inf(-1)), hi)
	hi = m.sel(m.test("lt", ax, num(math.Inf(1))), hi, ax) // infinite, or NaN
	p := m.mul(hi, y)
	q := m.fma(lo, y, m.fma(hi, y, m.neg(p)))
	// Beyond these powers the result is 0 or infinite.
	most := 1.5 * float64(m.bias)
	pc := m.clamp(p, -most, most)
	q = m.sel(m.test("eq", p, pc), q, num(0.0))
	n, raw := m.nearest(pc, 1, 2*m.bias)
	r := m.add(m.sub(pc, n), q)
	r = m.fma(r, num(m.ln2[0]), m.mul(r, num(m.ln2[1])))
	z := m.scale(m.expNear(r), raw)

	// Negative x: only whole y, the sign by its parity. Infinite y is whole and even.
	negative := m.Op(asm.Pred, "setp.lt.s32", m.high(x), asm.Int(0))
	whole := m.test("eq", m.f("cvt.rni"+m.suffix, y), y)
	halfY := m.mul(y, num(0.5))
	odd := m.test("neu", m.f("cvt.rni"+m.suffix, halfY), halfY)
	odd = m.Op(asm.Pred, "and.pred", odd, whole)
	flip := m.Op(asm.Pred, "and.pred", negative, odd)
	z = m.sel(flip, m.neg(z), z)
	bad := m.Op(asm.Pred, "and.pred", m.test("lt", x, num(0.0)), m.test("gt", x, num(math.Inf(-1))))
	bad = m.Op(asm.Pred, "and.pred", bad, m.Op(asm.Pred, "not.pred", whole))
	z = m.sel(bad, num(math.NaN()), z)

	// 1 is 1 to any power, -1 to an infinite one, and what is not a number to 0.
	one := m.Op(asm.Pred, "or.pred", m.test("eq", x, num(1.0)), m.test("eq", y, num(0.0)))
	beyond := m.Op(asm.Pred, "and.pred", m.test("eq", ax, num(1.0)), m.test("eq", m.abs(y), num(math.Inf(1))))
	return m.sel(m.Op(asm.Pred, "or.pred", one, beyond), num(1.0), z)
}

// pair is a sum of two numbers, the second small beside the first.
type pair struct{ hi, lo asm.Reg }

// twoProduct is x y exactly.
func (m flt) twoProduct(x asm.Reg, y asm.Operand) pair {
	p := m.mul(x, y)
	return pair{p, m.fma(x, y, m.neg(p))}
}

// difference is x - y exactly.
func (m flt) difference(x, y asm.Reg) pair {
	d := m.sub(x, y)
	v := m.sub(d, x)
	return pair{d, m.sub(m.sub(x, m.sub(d, v)), m.add(y, v))}
}

// quickSum is x + y exactly, for |x| >= |y|.
func (m flt) quickSum(x, y asm.Reg) pair {
	s := m.add(x, y)
	return pair{s, m.sub(y, m.sub(s, x))}
}

// timesPair multiplies pairs, to about twice the precision. The second of the product may be a few units of the first.
func (m flt) timesPair(x, y pair) pair {
	p := m.twoProduct(x.hi, y.hi)
	return pair{p.hi, m.fma(x.hi, y.lo, m.fma(x.lo, y.hi, p.lo))}
}

// log2Pair is log2 of a positive number as a sum of two, relative error about 2^-33 in f32, 2^-64 in f64: with
// s = f / (2 + f), log(1 + f) = 2s + s z (2/3 + z R), z = s². All but z R are pairs.
func (m flt) log2Pair(x asm.Reg) (hi, lo asm.Reg) {
	n, shift := m.logNormal(x)
	e, f := m.logReduce(n)
	d := m.add(f, num(2.0))
	dlo := m.sub(f, m.sub(d, num(2.0)))
	s := pair{hi: m.quick(f, d)}
	rest := m.fma(m.neg(s.hi), dlo, m.fma(m.neg(s.hi), d, f))
	s.lo = m.quick(rest, d)

	z := m.timesPair(s, s)
	third := m.f("mov", num(m.twoThirds[0]))
	c := m.quickSum(third, m.mul(z.hi, m.poly(z.hi, m.logPair)))
	c.lo = m.add(c.lo, num(m.twoThirds[1]))
	cube := m.timesPair(s, m.timesPair(z, c))
	l := m.quickSum(m.add(s.hi, s.hi), cube.hi)
	l.lo = m.add(l.lo, m.fma(s.lo, num(2.0), cube.lo))
	l = m.timesPair(l, pair{m.f("mov", num(m.log2e[0])), m.f("mov", num(m.log2e[1]))})
	// |e| >= 1 > |l| or e = 0: exact either way.
	sum := m.quickSum(m.add(m.whole(e), shift), l.hi)
	return sum.hi, m.add(sum.lo, l.lo)
}
