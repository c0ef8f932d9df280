package elem

import (
	"math"

	"tilec/jit/ptx/asm"
)

// floatMod is x - y trunc(x / y), exactly: the remainder is a number of the
// type, so nothing is rounded. It has the sign of x; y = 0 and infinite x give
// NaN, infinite y gives x.
func floatMod(e elem) asm.Reg {
	m, x, y := e.math(), e.args[0], e.args[1]
	a, b := m.abs(x), m.abs(y)
	ok := m.Op(asm.Pred, "and.pred", m.test("gt", b, num(0.0)), m.test("lt", a, num(math.Inf(1))))
	long := m.Op(asm.Pred, "and.pred", ok, m.test("ge", a, b))
	r := m.Op(m.class, "mov"+m.suffix, a)
	done := m.Label()
	m.Unless(long).Do("bra", done)
	var rest asm.Reg
	if m.class == asm.F32 {
		rest = mod32(e.Builder, a, b)
	} else {
		rest = m.mod64(a, b)
	}
	m.Set(r, "mov"+m.suffix, rest)
	m.Place(done)
	z := m.sel(ok, m.copySign(r, x), num(math.NaN()))
	r = m.sel(m.test("nan", x, y), m.add(x, y), z)
	if !e.d.HasNaN() {
		return roundTo(e.Builder, e.d, r)
	}
	return r
}

// mod32 divides in f64 until the rest is below b. A quotient rounded toward
// zero, to 53 bits and to a whole number, leaves a rest that is exact: it is
// a multiple of b's last place, times that of the quotient, and under 2^25 of them. A
// step takes 52 bits off the quotient, which has at most 277.
func mod32(e *asm.Builder, a, b asm.Reg) asm.Reg {
	r, d := e.Reg(asm.F64), e.Op(asm.F64, "cvt.f64.f32", b)
	e.Set(r, "cvt.f64.f32", a)
	again := e.Label()
	e.Place(again)
	q := e.Op(asm.F64, "cvt.rzi.f64.f64", e.Op(asm.F64, "div.rz.f64", r, d))
	e.Set(r, "fma.rn.f64", e.Op(asm.F64, "neg.f64", q), d, r)
	e.If(e.Op(asm.Pred, "setp.ge.f64", r, d)).Do("bra", again)
	return e.Op(asm.F32, "cvt.rn.f32.f64", r)
}

// mod64 is long division of the mantissas, 11 bits of the quotient a step: the
// rest, below 2^53, then still fits 64 bits. There are at most 191 steps.
func (m flt) mod64(a, b asm.Reg) asm.Reg {
	ma, ea := m.mantissa(a)
	mb, eb := m.mantissa(b)
	n, r := m.Reg(asm.B32), m.Reg(asm.B64)
	m.Set(n, "sub.s32", ea, eb)
	m.Set(r, "rem.u64", ma, mb)
	again, out := m.Label(), m.Label()
	m.Place(again)
	m.If(m.Op(asm.Pred, "setp.le.s32", n, asm.Int(0))).Do("bra", out)
	by := m.Op(asm.B32, "min.s32", n, asm.Int(11))
	m.Set(r, "rem.u64", m.Op(asm.B64, "shl.b64", r, by), mb)
	m.Set(n, "sub.s32", n, by)
	m.Do("bra", again)
	m.Place(out)
	// r 2^(eb-1075), in an order in which no step rounds.
	f := m.mul(m.Op(asm.F64, "cvt.rn.f64.u64", r), num(0x1p-52))
	return m.mul(f, m.fromHigh(m.Op(asm.B32, "shl.b32", eb, asm.Int(20))))
}

// mantissa writes a positive number as man 2^(exp-1075), both integers.
func (m flt) mantissa(x asm.Reg) (man, exp asm.Reg) {
	bits := m.Op(asm.B64, "mov.b64", x)
	field := m.Op(asm.B32, "cvt.u32.u64", m.Op(asm.B64, "shr.u64", bits, asm.Int(52)))
	frac := m.Op(asm.B64, "and.b64", bits, asm.Bits64(1<<52-1))
	normal := m.Op(asm.Pred, "setp.ne.b32", field, asm.Int(0))
	man = m.Op(asm.B64, "selp.b64", m.Op(asm.B64, "or.b64", frac, asm.Bits64(1<<52)), frac, normal)
	return man, m.Op(asm.B32, "max.s32", field, asm.Int(1))
}
