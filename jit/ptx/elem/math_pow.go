package elem

import (
	"math"

	"tilec/jit/ptx/asm"
)

// powOf, f32 0.5 ulp, f64 0.98, is 2^(y log2|x|), with C's rules for the special cases. f32 is computed in
// f64; f64 keeps the logarithm in two numbers.
func (m flt) powOf(x, y asm.Reg) asm.Reg {
	if m.class == asm.F32 {
		d := flt{m.Builder, double}
		wide := d.powOf(m.Op(asm.F64, "cvt.f64.f32", x), m.Op(asm.F64, "cvt.f64.f32", y))
		return m.Op(asm.F32, "cvt.rn.f32.f64", wide)
	}
	ax := m.abs(x)
	hi, lo := m.log2Pair(ax)
	// Beyond these y the result is 0, 1 or infinite, whatever x is; the product stays finite.
	yc := m.clamp(y, -0x1p70, 0x1p70)
	p := m.mul(hi, yc)
	q := m.fma(hi, yc, m.neg(p))
	q = m.fma(lo, yc, q)
	pc := m.clamp(p, -1100, 1100)
	q = m.sel(m.test("eq", p, pc), q, num(0.0))
	n, raw := m.nearest(pc, 1, 2*m.bias)
	r := m.add(m.sub(pc, n), q)
	r = m.fma(r, num(m.ln2[0]), m.mul(r, num(m.ln2[1])))
	z := m.scale(m.expNear(r), raw)

	// |x| = 0 and infinity: to the power of a negative number the other way round.
	rise := m.test("gt", y, num(0.0))
	z = m.sel(m.test("eq", ax, num(0.0)), m.sel(rise, num(0.0), num(math.Inf(1))), z)
	z = m.sel(m.test("eq", ax, num(math.Inf(1))), m.sel(rise, num(math.Inf(1)), num(0.0)), z)
	z = m.sel(m.test("eq", ax, num(1.0)), num(1.0), z)

	// Negative x: only whole y, the sign by its parity. Infinite y is whole and even.
	negative := m.Op(asm.Pred, "setp.lt.s32", m.high(x), asm.Int(0))
	whole := m.test("eq", m.f("cvt.rni.f64", y), y)
	halfY := m.mul(y, num(0.5))
	odd := m.test("neu", m.f("cvt.rni.f64", halfY), halfY)
	odd = m.Op(asm.Pred, "and.pred", odd, whole)
	flip := m.Op(asm.Pred, "and.pred", negative, odd)
	z = m.sel(flip, m.neg(z), z)
	bad := m.Op(asm.Pred, "and.pred", m.test("lt", x, num(0.0)), m.test("gt", x, num(math.Inf(-1))))
	bad = m.Op(asm.Pred, "and.pred", bad, m.Op(asm.Pred, "not.pred", whole))
	z = m.sel(bad, num(math.NaN()), z)

	z = m.sel(m.test("nan", x, y), m.add(x, y), z)
	one := m.Op(asm.Pred, "or.pred", m.test("eq", x, num(1.0)), m.test("eq", y, num(0.0)))
	return m.sel(one, num(1.0), z)
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

// timesPair multiplies pairs, to about twice the precision.
func (m flt) timesPair(x, y pair) pair {
	p := m.twoProduct(x.hi, y.hi)
	return m.quickSum(p.hi, m.fma(x.hi, y.lo, m.fma(x.lo, y.hi, p.lo)))
}

// log2Pair is log2 of a positive number, relative error about 2^-64: with
// s = f / (2 + f), log(1 + f) = 2s + 2/3 s³ + s⁵ (...), the first two terms as pairs.
func (m flt) log2Pair(x asm.Reg) (hi, lo asm.Reg) {
	n, shift := m.logNormal(x)
	e, f := m.logReduce(n)
	d := m.add(f, num(2.0))
	dlo := m.sub(f, m.sub(d, num(2.0)))
	s := m.div(f, d)
	rest := m.fma(m.neg(s), d, f)
	rest = m.fma(m.neg(s), dlo, rest)
	s2 := pair{s, m.div(rest, d)}

	z := m.timesPair(s2, s2)
	cube := m.timesPair(z, s2)
	// 2/3 as a pair
	const third2 = 2.0 / 3
	c := pair{m.Op(asm.F64, "mov.f64", asm.Float64(third2)), m.Op(asm.F64, "mov.f64", asm.Float64(0x1.5555555555555p-55))}
	t3 := m.timesPair(cube, c)
	t5 := m.mul(m.mul(cube.hi, z.hi), m.poly(z.hi, logPair))

	l := m.quickSum(m.add(s2.hi, s2.hi), t3.hi)
	l.lo = m.add(l.lo, m.add(m.add(m.add(s2.lo, s2.lo), t3.lo), t5))
	l = m.quickSum(l.hi, l.lo)
	inv := pair{m.Op(asm.F64, "mov.f64", asm.Float64(m.log2e[0])), m.Op(asm.F64, "mov.f64", asm.Float64(m.log2e[1]))}
	l = m.timesPair(l, inv)
	ef := m.add(m.whole(e), shift)
	// |e| >= 1 > |l| or e = 0: exact either way.
	sum := m.quickSum(ef, l.hi)
	out := m.quickSum(sum.hi, m.add(sum.lo, l.lo))
	return out.hi, out.lo
}
