package ptx

import "math"

// floatMod is x - y trunc(x / y), exactly: the remainder is a number of the
// type, so nothing is rounded. It has the sign of x; y = 0 and infinite x give
// NaN, infinite y gives x.
func floatMod(e elem) reg {
	m, x, y := e.math(), e.args[0], e.args[1]
	a, b := m.abs(x), m.abs(y)
	ok := m.op(pred, "and.pred", m.test("gt", b, 0.0), m.test("lt", a, math.Inf(1)))
	long := m.op(pred, "and.pred", ok, m.test("ge", a, b))
	r := m.reg(m.class)
	m.ins("mov%s %v, %v", m.suffix, r, a)
	done := m.label()
	m.ins("@!%v bra %s", long, done)
	var rest reg
	if m.class == f32 {
		rest = mod32(e.asm, a, b)
	} else {
		rest = m.mod64(a, b)
	}
	m.ins("mov%s %v, %v", m.suffix, r, rest)
	m.place(done)
	z := m.sel(ok, m.copySign(r, x), math.NaN())
	return m.sel(m.test("nan", x, y), m.add(x, y), z)
}

// mod32 divides in f64 until the rest is below b. A quotient rounded toward
// zero, to 53 bits and to a whole number, leaves a rest that is exact: it is
// a multiple of b's last place, times that of the quotient, and under 2^25 of them. A
// step takes 52 bits off the quotient, which has at most 277.
func mod32(e *asm, a, b reg) reg {
	r, d := e.reg(f64), e.op(f64, "cvt.f64.f32", b)
	e.ins("cvt.f64.f32 %v, %v", r, a)
	again := e.label()
	e.place(again)
	q := e.op(f64, "cvt.rzi.f64.f64", e.op(f64, "div.rz.f64", r, d))
	e.ins("fma.rn.f64 %v, %v, %v, %v", r, e.op(f64, "neg.f64", q), d, r)
	e.ins("@%v bra %s", e.op(pred, "setp.ge.f64", r, d), again)
	return e.op(f32, "cvt.rn.f32.f64", r)
}

// mod64 is long division of the mantissas, 11 bits of the quotient a step: the
// rest, below 2^53, then still fits 64 bits. There are at most 191 steps.
func (m flt) mod64(a, b reg) reg {
	ma, ea := m.mantissa(a)
	mb, eb := m.mantissa(b)
	n, r := m.reg(b32), m.reg(b64)
	m.ins("sub.s32 %v, %v, %v", n, ea, eb)
	m.ins("rem.u64 %v, %v, %v", r, ma, mb)
	again, out := m.label(), m.label()
	m.place(again)
	m.ins("@%v bra %s", m.op(pred, "setp.le.s32", n, 0), out)
	by := m.op(b32, "min.s32", n, 11)
	m.ins("rem.u64 %v, %v, %v", r, m.op(b64, "shl.b64", r, by), mb)
	m.ins("sub.s32 %v, %v, %v", n, n, by)
	m.ins("bra %s", again)
	m.place(out)
	// r 2^(eb-1075), in an order in which no step rounds.
	f := m.mul(m.op(f64, "cvt.rn.f64.u64", r), 0x1p-52)
	return m.mul(f, m.fromHigh(m.op(b32, "shl.b32", eb, 20)))
}

// mantissa writes a positive number as man 2^(exp-1075), both integers.
func (m flt) mantissa(x reg) (man, exp reg) {
	bits := m.op(b64, "mov.b64", x)
	field := m.op(b32, "cvt.u32.u64", m.op(b64, "shr.u64", bits, 52))
	frac := m.op(b64, "and.b64", bits, hex64(1<<52-1))
	normal := m.op(pred, "setp.ne.b32", field, 0)
	man = m.op(b64, "selp.b64", m.op(b64, "or.b64", frac, hex64(1<<52)), frac, normal)
	return man, m.op(b32, "max.s32", field, 1)
}
