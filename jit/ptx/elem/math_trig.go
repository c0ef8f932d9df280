package elem

import (
	"math"

	"tilec/jit/ptx/asm"
)

// trigFast is the largest |x| whose reduction by three parts of π/2 is good
// enough: the multiple is then exact in the first step.
const trigFast = 100000

// angle is q quarter turns and hi + lo, |hi| <= π/4, lo what hi's rounding
// lost. q is right in its two lowest bits.
type angle struct{ hi, lo, q asm.Reg }

// trigReduce reduces x. Infinities give NaN.
func (m flt) trigReduce(x asm.Reg) angle {
	n, raw := m.nearest(x, 2/math.Pi, 0)
	// The first step is exact, the second a difference of pairs.
	first := m.fma(n, num(-m.halfPi[0]), x)
	p := m.twoProduct(n, num(m.halfPi[1]))
	d := m.difference(first, p.hi)
	sum := m.quickSum(d.hi, m.fma(n, num(-m.halfPi[2]), m.sub(d.lo, p.lo)))
	out := angle{m.Reg(m.class), m.Reg(m.class), m.Reg(asm.B32)}
	set := func(v angle) {
		m.Set(out.hi, "mov"+m.suffix, v.hi)
		m.Set(out.lo, "mov"+m.suffix, v.lo)
		m.Set(out.q, "mov.b32", v.q)
	}
	set(angle{sum.hi, sum.lo, raw})

	done := m.Label()
	m.If(m.test("leu", m.abs(x), num(float64(trigFast)))).Do("bra", done)
	var far angle
	if m.class == asm.F32 {
		far = m.trigFar32(x)
	} else {
		far = m.trigFar64(x)
	}
	below := m.test("lt", x, num(0.0))
	far.hi = m.sel(below, m.neg(far.hi), far.hi)
	far.lo = m.sel(below, m.neg(far.lo), far.lo)
	far.q = m.Op(asm.B32, "selp.b32", m.Op(asm.B32, "neg.s32", far.q), far.q, below)
	far.hi = m.sel(m.test("lt", m.abs(x), num(math.Inf(1))), far.hi, num(math.NaN()))
	set(far)
	m.Place(done)
	return out
}

// twoOverPi is the binary fraction of 2/π after 64 zeros; enough for the largest f64.
var twoOverPi = []uint64{
	0,
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
	0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
	0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
	0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
}

// bitsOfTwoOverPi gives count words of 64 bits of twoOverPi from the bit at an offset of
// limit words at most.
func (m flt) bitsOfTwoOverPi(offset asm.Reg, limit, count int) []asm.Reg {
	index := m.Op(asm.B32, "shr.u32", offset, asm.Int(6))
	raw := make([]asm.Reg, count+1)
	for j := range raw {
		raw[j] = m.Op(asm.B64, "mov.b64", asm.Bits64(twoOverPi[j]))
	}
	for i := 1; i <= limit; i++ {
		here := m.Op(asm.Pred, "setp.eq.u32", index, asm.Int(i))
		for j := range raw {
			raw[j] = m.Op(asm.B64, "selp.b64", asm.Bits64(twoOverPi[i+j]), raw[j], here)
		}
	}
	up := m.Op(asm.B32, "and.b32", offset, asm.Int(63))
	down := m.Op(asm.B32, "sub.s32", asm.Int(64), up)
	words := make([]asm.Reg, count)
	for j := range words {
		words[j] = m.Op(asm.B64, "or.b64", m.Op(asm.B64, "shl.b64", raw[j], up), m.Op(asm.B64, "shr.u64", raw[j+1], down))
	}
	return words
}

// trigFar32 multiplies the mantissa of x, an integer, by those bits of 2/π that
// matter: |x| 2/π / 4 modulo 1, in 64 bits. Payne and Hanek (1983).
func (m flt) trigFar32(x asm.Reg) angle {
	bits := m.high(x)
	exp := m.Op(asm.B32, "bfe.u32", bits, asm.Int(23), asm.Int(8))
	man := m.Op(asm.B32, "or.b32", m.Op(asm.B32, "and.b32", bits, asm.Int(0x7fffff)), asm.Int(0x800000))
	// x = man 2^(exp-150); dropped bits of 2/π weigh whole turns. 64 zeros come first.
	offset := m.Op(asm.B32, "sub.s32", exp, asm.Int(150+2-64))
	offset = m.Op(asm.B32, "min.s32", offset, asm.Int(254-152+64))
	w := m.bitsOfTwoOverPi(offset, 2, 2)
	wide := m.Op(asm.B64, "cvt.u64.u32", man)
	turn := m.Op(asm.B64, "add.s64", m.Op(asm.B64, "mul.lo.u64", wide, w[0]), m.Op(asm.B64, "mul.hi.u64", wide, w[1]))
	q, rest := m.quarters(turn)
	f := m.Op(asm.F64, "mul.rn.f64", m.Op(asm.F64, "cvt.rn.f64.s64", rest), asm.Float64(math.Pi/2*0x1p-62))
	hi := m.Op(asm.F32, "cvt.rn.f32.f64", f)
	lo := m.Op(asm.F32, "cvt.rn.f32.f64", m.Op(asm.F64, "sub.rn.f64", f, m.Op(asm.F64, "cvt.f64.f32", hi)))
	return angle{hi, lo, q}
}

// trigFar64 is the same in 128 bits, as the worst f64 comes within 2^-60 of a multiple of π/2.
func (m flt) trigFar64(x asm.Reg) angle {
	bits := m.Op(asm.B64, "mov.b64", x)
	exp := m.Op(asm.B32, "cvt.u32.u64", m.Op(asm.B64, "bfe.u64", bits, asm.Int(52), asm.Int(11)))
	man := m.Op(asm.B64, "or.b64", m.Op(asm.B64, "and.b64", bits, asm.Bits64(1<<52-1)), asm.Bits64(1<<52))
	offset := m.Op(asm.B32, "sub.s32", exp, asm.Int(1075+2-64))
	offset = m.Op(asm.B32, "min.s32", offset, asm.Int(2046-1077+64))
	w := m.bitsOfTwoOverPi(offset, (2046-1077+64)/64, 3)
	mid := m.Op(asm.B64, "mul.lo.u64", man, w[1])
	low := m.Op(asm.B64, "add.s64", mid, m.Op(asm.B64, "mul.hi.u64", man, w[2]))
	carry := m.Op(asm.B64, "selp.b64", asm.Int(1), asm.Int(0), m.Op(asm.Pred, "setp.lt.u64", low, mid))
	high := m.Op(asm.B64, "add.s64", m.Op(asm.B64, "mul.lo.u64", man, w[0]), m.Op(asm.B64, "mul.hi.u64", man, w[1]))
	q, rest := m.quarters(m.Op(asm.B64, "add.s64", high, carry))
	// The fraction as a pair, then times π/2.
	hi := m.Op(asm.F64, "cvt.rn.f64.s64", rest)
	rest = m.Op(asm.B64, "sub.s64", rest, m.Op(asm.B64, "cvt.rzi.s64.f64", hi))
	lo := m.fma(m.Op(asm.F64, "cvt.rn.f64.u64", low), num(0x1p-64), m.Op(asm.F64, "cvt.rn.f64.s64", rest))
	p := m.twoProduct(hi, num(m.halfPi[0]*0x1p-62))
	p = m.quickSum(p.hi, m.fma(hi, num(m.halfPi[1]*0x1p-62), m.fma(lo, num(m.halfPi[0]*0x1p-62), p.lo)))
	return angle{p.hi, p.lo, q}
}

// quarters splits a fraction of a turn, in units of 2^-64, into the nearest
// quarter and what is left, signed, in units of 2^-62 quarters.
func (m flt) quarters(turn asm.Reg) (q, rest asm.Reg) {
	n := m.Op(asm.B64, "shr.u64", m.Op(asm.B64, "add.s64", turn, asm.Bits64(1<<61)), asm.Int(62))
	rest = m.Op(asm.B64, "sub.s64", turn, m.Op(asm.B64, "shl.b64", n, asm.Int(62)))
	return m.Op(asm.B32, "cvt.u32.u64", n), rest
}

// sinCos gives sine and cosine of the angle without its quarter turns: hi and
// 1 - hi²/2, whose error is put back, and small terms added last.
func (m flt) sinCos(v angle) (sin, cos asm.Reg) {
	z := m.mul(v.hi, v.hi)
	sin = m.add(v.hi, m.fma(m.mul(z, v.hi), m.poly(z, m.precision.sin), v.lo))
	h := m.mul(z, num(0.5))
	w := m.sub(num(1.0), h)
	lost := m.fma(v.hi, m.neg(v.lo), m.sub(m.sub(num(1.0), w), h))
	return sin, m.add(w, m.fma(m.mul(z, z), m.poly(z, m.precision.cos), lost))
}

func hasBit(m flt, q asm.Reg, bit int) asm.Reg {
	return m.Op(asm.Pred, "setp.ne.b32", m.Op(asm.B32, "and.b32", q, asm.Int(bit)), asm.Int(0))
}

// turned is the sine of the whole angle.
func (m flt) turned(v angle) asm.Reg {
	s, c := m.sinCos(v)
	y := m.sel(hasBit(m, v.q, 1), c, s)
	return m.sel(hasBit(m, v.q, 2), m.neg(y), y)
}

// sinOf is the sine: f32 0.92 ulp, f64 0.88.
func (m flt) sinOf(x asm.Reg) asm.Reg {
	return m.sel(m.test("lt", m.abs(x), num(m.tiny)), x, m.turned(m.trigReduce(x)))
}

// cosOf is the cosine: f32 0.93 ulp, f64 0.84.
func (m flt) cosOf(x asm.Reg) asm.Reg {
	v := m.trigReduce(x)
	v.q = m.Op(asm.B32, "add.s32", v.q, asm.Int(1))
	return m.turned(v)
}

// tanOf is the tangent: f32 2.45 ulp, f64 1.87.
func (m flt) tanOf(x asm.Reg) asm.Reg {
	v := m.trigReduce(x)
	s, c := m.sinCos(v)
	odd := hasBit(m, v.q, 1)
	y := m.div(m.sel(odd, c, s), m.sel(odd, m.neg(s), c))
	return m.sel(m.test("lt", m.abs(x), num(m.tiny)), x, y)
}

// atan2Of, f32 1.38 ulp, f64 1.64, is the arctangent of the smaller of |y| and |x| over the larger, then
// reflected at the diagonal, the vertical and the horizontal.
func (m flt) atan2Of(y, x asm.Reg) asm.Reg {
	ax, ay := m.abs(x), m.abs(y)
	steep := m.test("gt", ay, ax)
	small, large := m.sel(steep, ax, ay), m.sel(steep, ay, ax)
	t := m.div(small, large)
	t = m.sel(m.test("eq", small, large), num(1.0), t)
	t = m.sel(m.test("eq", large, num(0.0)), num(0.0), t)
	z := m.mul(t, t)
	r := m.fma(m.mul(z, t), m.poly(z, m.atan), t)
	r = m.sel(steep, m.add(m.sub(num(m.pi[0]/2), r), num(m.pi[1]/2)), r)
	left := m.Op(asm.Pred, "setp.lt.s32", m.high(x), asm.Int(0)) // -0 is left
	r = m.sel(left, m.add(m.sub(num(m.pi[0]), r), num(m.pi[1])), r)
	r = m.copySign(r, y)
	return m.sel(m.test("nan", x, y), m.add(x, y), r)
}
