package ptx

import "math"

// trigFast is the largest |x| whose reduction by three parts of π/2 is good
// enough: the multiple is then exact in the first step.
const trigFast = 100000

// trigReduce writes x as q π/2 + r with |r| <= π/4, r rounded once. q is right in its two
// lowest bits. Infinities give NaN.
func (m flt) trigReduce(x reg) (r, q reg) {
	r, q = m.reg(m.class), m.reg(b32)
	n, raw := m.nearest(x, 2/math.Pi, 0)
	s := m.fma(n, -m.halfPi[0], x)
	s = m.fma(n, -m.halfPi[1], s)
	s = m.fma(n, -m.halfPi[2], s)
	m.ins("mov%s %v, %v", m.suffix, r, s)
	m.ins("mov.b32 %v, %v", q, raw)

	done := m.label()
	m.ins("@%v bra %s", m.test("leu", m.abs(x), float64(trigFast)), done)
	var far, farQ reg
	if m.class == f32 {
		far, farQ = m.trigFar32(x)
	} else {
		far, farQ = m.trigFar64(x)
	}
	far = m.sel(m.test("lt", m.abs(x), math.Inf(1)), far, math.NaN())
	m.ins("mov%s %v, %v", m.suffix, r, far)
	m.ins("mov.b32 %v, %v", q, farQ)
	m.place(done)
	return r, q
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
func (m flt) bitsOfTwoOverPi(offset reg, limit, count int) []reg {
	index := m.op(b32, "shr.u32", offset, 6)
	raw := make([]reg, count+1)
	for j := range raw {
		raw[j] = m.op(b64, "mov.b64", hex64(twoOverPi[j]))
	}
	for i := 1; i <= limit; i++ {
		here := m.op(pred, "setp.eq.u32", index, i)
		for j := range raw {
			raw[j] = m.op(b64, "selp.b64", hex64(twoOverPi[i+j]), raw[j], here)
		}
	}
	up := m.op(b32, "and.b32", offset, 63)
	down := m.op(b32, "sub.s32", 64, up)
	words := make([]reg, count)
	for j := range words {
		words[j] = m.op(b64, "or.b64", m.op(b64, "shl.b64", raw[j], up), m.op(b64, "shr.u64", raw[j+1], down))
	}
	return words
}

// trigFar32 multiplies the mantissa of x, an integer, by those bits of 2/π that
// matter: x 2/π / 4 modulo 1, in 64 bits. Payne and Hanek (1983).
func (m flt) trigFar32(x reg) (r, q reg) {
	bits := m.high(x)
	exp := m.op(b32, "bfe.u32", bits, 23, 8)
	man := m.op(b32, "or.b32", m.op(b32, "and.b32", bits, 0x7fffff), 0x800000)
	// x = man 2^(exp-150); dropped bits of 2/π weigh whole turns. 64 zeros come first.
	offset := m.op(b32, "sub.s32", exp, 150+2-64)
	offset = m.op(b32, "min.s32", offset, 254-152+64)
	w := m.bitsOfTwoOverPi(offset, 2, 2)
	wide := m.op(b64, "cvt.u64.u32", man)
	turn := m.op(b64, "add.s64", m.op(b64, "mul.lo.u64", wide, w[0]), m.op(b64, "mul.hi.u64", wide, w[1]))
	q, rest := m.quarters(turn)
	f := m.op(f64, "mul.rn.f64", m.op(f64, "cvt.rn.f64.s64", rest), imm64(math.Pi/2*0x1p-62))
	return m.trigSign(x, m.op(f32, "cvt.rn.f32.f64", f), q)
}

// trigFar64 is the same in 128 bits, as the worst f64 comes within 2^-60 of a multiple of π/2.
func (m flt) trigFar64(x reg) (r, q reg) {
	bits := m.op(b64, "mov.b64", x)
	exp := m.op(b32, "cvt.u32.u64", m.op(b64, "bfe.u64", bits, 52, 11))
	man := m.op(b64, "or.b64", m.op(b64, "and.b64", bits, hex64(1<<52-1)), hex64(1<<52))
	offset := m.op(b32, "sub.s32", exp, 1075+2-64)
	offset = m.op(b32, "min.s32", offset, 2046-1077+64)
	w := m.bitsOfTwoOverPi(offset, (2046-1077+64)/64, 3)
	mid := m.op(b64, "mul.lo.u64", man, w[1])
	low := m.op(b64, "add.s64", mid, m.op(b64, "mul.hi.u64", man, w[2]))
	carry := m.op(b64, "selp.b64", 1, 0, m.op(pred, "setp.lt.u64", low, mid))
	high := m.op(b64, "add.s64", m.op(b64, "mul.lo.u64", man, w[0]), m.op(b64, "mul.hi.u64", man, w[1]))
	q, rest := m.quarters(m.op(b64, "add.s64", high, carry))
	f := m.fma(m.op(f64, "cvt.rn.f64.u64", low), 0x1p-64, m.op(f64, "cvt.rn.f64.s64", rest))
	r = m.fma(f, m.halfPi[0]*0x1p-62, m.mul(f, m.halfPi[1]*0x1p-62))
	return m.trigSign(x, r, q)
}

// quarters splits a fraction of a turn, in units of 2^-64, into the nearest
// quarter and what is left, signed, in units of 2^-62 quarters.
func (m flt) quarters(turn reg) (q, rest reg) {
	n := m.op(b64, "shr.u64", m.op(b64, "add.s64", turn, hex64(1<<61)), 62)
	rest = m.op(b64, "sub.s64", turn, m.op(b64, "shl.b64", n, 62))
	return m.op(b32, "cvt.u32.u64", n), rest
}

// trigSign makes of the reduction of |x| that of x.
func (m flt) trigSign(x, r, q reg) (reg, reg) {
	below := m.test("lt", x, 0.0)
	return m.sel(below, m.neg(r), r), m.op(b32, "selp.b32", m.op(b32, "neg.s32", q), q, below)
}

// sinCos gives sine and cosine of r, |r| <= π/4.
func (m flt) sinCos(r reg) (sin, cos reg) {
	z := m.mul(r, r)
	sin = m.fma(m.mul(z, r), m.poly(z, m.precision.sin), r)
	// 1 - z/2 loses bits; they are put back in f64, where they count.
	h := m.mul(z, 0.5)
	if m.class == f32 {
		return sin, m.fma(z, m.fma(z, m.poly(z, m.precision.cos), -0.5), 1.0)
	}
	w := m.sub(1.0, h)
	lost := m.sub(m.sub(1.0, w), h)
	return sin, m.add(w, m.fma(m.mul(z, z), m.poly(z, m.precision.cos), lost))
}

func hasBit(m flt, q reg, bit int) reg {
	return m.op(pred, "setp.ne.b32", m.op(b32, "and.b32", q, bit), 0)
}

// turned is the sine of q quarters and r.
func (m flt) turned(r, q reg) reg {
	s, c := m.sinCos(r)
	y := m.sel(hasBit(m, q, 1), c, s)
	return m.sel(hasBit(m, q, 2), m.neg(y), y)
}

func (m flt) sinOf(x reg) reg {
	r, q := m.trigReduce(x)
	return m.sel(m.test("lt", m.abs(x), m.tiny), x, m.turned(r, q))
}

func (m flt) cosOf(x reg) reg {
	r, q := m.trigReduce(x)
	return m.turned(r, m.op(b32, "add.s32", q, 1))
}

func (m flt) tanOf(x reg) reg {
	r, q := m.trigReduce(x)
	s, c := m.sinCos(r)
	odd := hasBit(m, q, 1)
	y := m.div(m.sel(odd, c, s), m.sel(odd, m.neg(s), c))
	return m.sel(m.test("lt", m.abs(x), m.tiny), x, y)
}

// atan2Of is the arctangent of the smaller of |y| and |x| over the larger, then
// reflected at the diagonal, the vertical and the horizontal.
func (m flt) atan2Of(y, x reg) reg {
	ax, ay := m.abs(x), m.abs(y)
	steep := m.test("gt", ay, ax)
	small, large := m.sel(steep, ax, ay), m.sel(steep, ay, ax)
	t := m.div(small, large)
	t = m.sel(m.test("eq", small, large), 1.0, t)
	t = m.sel(m.test("eq", large, 0.0), 0.0, t)
	z := m.mul(t, t)
	r := m.fma(m.mul(z, t), m.poly(z, m.atan), t)
	r = m.sel(steep, m.add(m.sub(m.pi[0]/2, r), m.pi[1]/2), r)
	left := m.op(pred, "setp.lt.s32", m.high(x), 0) // -0 is left
	r = m.sel(left, m.add(m.sub(m.pi[0], r), m.pi[1]), r)
	r = m.copySign(r, y)
	return m.sel(m.test("nan", x, y), m.add(x, y), r)
}
