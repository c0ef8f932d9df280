package elem

import (
	"tilec/jit/ptx/asm"
)

// precision is what the math functions need to know of a floating-point format.
// They are written once for both formats; coefficients are per format.
//
// Each function gives its largest error as measured, in ulp: in f32 over every
// 53rd bit pattern (81 million; exp and tanh over every 5th), all edges and the neighbours of 70000 multiples of π/2, in
// f64 over 60000 arguments against references of 240 bits. Approximate
// instructions counted with the largest error that PTX permits them, so
// that hardware may be better and not worse.
type precision struct {
	class  asm.Class
	suffix string
	// man is the position of the exponent in the high (or only) 32-bit word; bias is the exponent's.
	man, bias int
	// magic, 1.5 * 2^(precision-1), added and taken away rounds to a whole number,
	// which the low word of the sum holds meanwhile.
	magic float64
	// tiny is a power of two under whose magnitude x + O(x²) rounds to x.
	tiny float64
	// minNormal is the least normal number; subnormals times 2^lift are normal.
	minNormal float64
	lift      int
	// rootHalf is the high word of sqrt(1/2).
	rootHalf uint32
	// ln2, log2e, halfPi and pi as sums of numbers of the format, largest first.
	ln2, log2e, pi [2]float64
	halfPi         [3]float64
	// expMin and expMax bound the arguments of exp whose results are neither 0 nor infinite.
	expMin, expMax float64

	// twoThirds is 2/3 as a sum.
	twoThirds [2]float64

	exp, logR, logPair, sin, cos, atan, erf []float64
}

// flt emits arithmetic in one format. Operands are registers or float64
// constants. Sums and products say .rn, so that the assembler does not contract
// them: the error bounds hold for the operations as they are written.
type flt struct {
	*asm.Builder
	*precision
}

// num is a constant, which flt rounds to its format. Like those that are used most it is called, not copied to its callers: the binary is smaller.
//
//go:noinline
func num(v float64) asm.Operand { return asm.Float64(v) }

// imm is a constant of the format.
func (m flt) imm(v float64) asm.Operand {
	if m.class == asm.F64 {
		return asm.Float64(v)
	}
	return asm.Float32(float32(v))
}

// operands are registers as they are, and constants in the format.
func (m flt) operands(xs ...asm.Operand) []asm.Operand {
	for i, x := range xs {
		if v, ok := x.(asm.Double); ok {
			xs[i] = m.imm(v.Value())
		}
	}
	return xs
}

// f emits an instruction that gives a float; name is without the type's suffix.
func (m flt) f(name string, xs ...asm.Operand) asm.Reg {
	return m.Op(m.class, name+m.suffix, m.operands(xs...)...)
}

//go:noinline
func (m flt) add(x, y asm.Operand) asm.Reg { return m.f("add.rn", x, y) }

//go:noinline
func (m flt) sub(x, y asm.Operand) asm.Reg { return m.f("sub.rn", x, y) }

//go:noinline
func (m flt) mul(x, y asm.Operand) asm.Reg { return m.f("mul.rn", x, y) }

//go:noinline
func (m flt) fma(x, y, z asm.Operand) asm.Reg { return m.f("fma.rn", x, y, z) }

func (m flt) div(x, y asm.Operand) asm.Reg { return m.f("div.rn", x, y) }

//go:noinline
func (m flt) abs(x asm.Operand) asm.Reg { return m.f("abs", x) }

//go:noinline
func (m flt) neg(x asm.Operand) asm.Reg { return m.f("neg", x) }

// test compares: lt, le, gt, ge, eq are false with NaN, ltu, leu, gtu, geu, neu true; nan tests for one.
func (m flt) test(cond string, x, y asm.Operand) asm.Reg {
	return m.Op(asm.Pred, "setp."+cond+m.suffix, m.operands(x, y)...)
}

// sel is x where p holds, else y.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (m flt) sel(p asm.Reg, x, y asm.Operand) asm.Reg { return m.f("selp", x, y, p) }

// clamp limits x to [lo, hi]; NaN stays NaN.
func (m flt) clamp(x asm.Operand, lo, hi float64) asm.Reg {
	if m.class == asm.F32 {
		return m.f("min.NaN", m.f("max.NaN", x, num(lo)), num(hi))
	}
	return m.sel(m.test("nan", x, x), x, m.f("min", m.f("max", x, num(lo)), num(hi)))
}

// copySign is x, which is not negative, with the sign of y.
func (m flt) copySign(x, y asm.Operand) asm.Reg { return m.f("copysign", y, x) }

// quick divides: in f32 by the hardware's reciprocal (1 ulp), whose result
// for |y| > 2^126 and subnormal y is 0 or infinite.
func (m flt) quick(x, y asm.Operand) asm.Reg {
	if m.class == asm.F32 {
		return m.mul(x, m.Op(asm.F32, "rcp.approx.ftz.f32", m.operands(y)...))
	}
	return m.div(x, y)
}

// recip is 1/y within 1 ulp, for y between 2^-100 and 2^100: in f32 the hardware's and a step of Newton's method.
func (m flt) recip(y asm.Reg) asm.Reg {
	if m.class == asm.F64 {
		return m.f("rcp.rn", y)
	}
	r := m.Op(asm.F32, "rcp.approx.ftz.f32", y)
	return m.fma(r, m.fma(m.neg(y), r, num(1.0)), r)
}

// poly is c[0] + c[1] x + ..., by Horner's rule.
func (m flt) poly(x asm.Reg, c []float64) asm.Reg {
	last := len(c) - 1
	p := m.fma(x, num(c[last]), num(c[last-1]))
	for i := last - 2; i >= 0; i-- {
		p = m.fma(x, p, num(c[i]))
	}
	return p
}

// high is the word with sign and exponent, low the other end of the mantissa (the same in f32).
func (m flt) high(x asm.Reg) asm.Reg {
	if m.class == asm.F32 {
		return m.Op(asm.B32, "mov.b32", x)
	}
	_, hi := m.Halves(x)
	return hi
}

func (m flt) low(x asm.Reg) asm.Reg {
	if m.class == asm.F32 {
		return m.Op(asm.B32, "mov.b32", x)
	}
	lo, _ := m.Halves(x)
	return lo
}

// withHigh is x with another high word.
func (m flt) withHigh(x, hi asm.Reg) asm.Reg {
	if m.class == asm.F32 {
		return m.Op(asm.F32, "mov.b32", hi)
	}
	lo, _ := m.Halves(x)
	return m.Whole(asm.F64, lo, hi)
}

// fromHigh is the number with that high word and a low word of 0.
func (m flt) fromHigh(hi asm.Reg) asm.Reg {
	if m.class == asm.F32 {
		return m.Op(asm.F32, "mov.b32", hi)
	}
	return m.Whole(asm.F64, m.Op(asm.B32, "mov.b32", asm.Int(0)), hi)
}

// nearest rounds x * scale to a whole number n. raw is n + offset, in the low
// bits: those above the lowest 9 may be set otherwise in f32.
func (m flt) nearest(x asm.Reg, scale float64, offset int) (n, raw asm.Reg) {
	magic := m.magic + float64(offset)
	t := m.fma(x, num(scale), num(magic))
	return m.sub(t, num(magic)), m.low(t)
}

// scale is p * 2^k, rounded once, for raw = k + 2*bias as nearest gives it. With
// two factors each is a normal number, or infinite.
func (m flt) scale(p, raw asm.Reg) asm.Reg {
	half := m.Op(asm.B32, "shr.s32", raw, asm.Int(1))
	rest := m.Op(asm.B32, "sub.s32", raw, half)
	a := m.fromHigh(m.Op(asm.B32, "shl.b32", half, asm.Int(m.man)))
	b := m.fromHigh(m.Op(asm.B32, "shl.b32", rest, asm.Int(m.man)))
	return m.mul(m.mul(p, a), b)
}

// pow2 is 2^n for n+bias in 1..2*bias.
func (m flt) pow2(n asm.Reg) asm.Reg {
	return m.fromHigh(m.Op(asm.B32, "shl.b32", m.Op(asm.B32, "add.s32", n, asm.Int(m.bias)), asm.Int(m.man)))
}
