package ptx

import (
	"fmt"
	"math"
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

	exp, logR, sin, cos, atan, erf []float64
}

// flt emits arithmetic in one format. Operands are registers or float64
// constants. Sums and products say .rn, so that the assembler does not contract
// them: the error bounds hold for the operations as they are written.
type flt struct {
	*asm.Builder
	*precision
}

// imm is a constant as an immediate of the format, exact in hexadecimal.
func (m flt) imm(v float64) string {
	if m.class == asm.F64 {
		return imm64(v)
	}
	return imm32(float32(v))
}

func imm32(v float32) string {
	if v != v {
		return "0f7FC00000"
	}
	return fmt.Sprintf("0f%08X", math.Float32bits(v))
}

func imm64(v float64) string {
	if v != v {
		return "0d7FF8000000000000"
	}
	return fmt.Sprintf("0d%016X", math.Float64bits(v))
}

func (m flt) operands(xs []any) []any {
	out := make([]any, len(xs))
	for i, x := range xs {
		if v, ok := x.(float64); ok {
			x = m.imm(v)
		}
		out[i] = x
	}
	return out
}

// f emits an instruction that gives a float; name is without the type's suffix.
func (m flt) f(name string, xs ...any) asm.Reg {
	return m.Op(m.class, name+m.suffix, m.operands(xs)...)
}

func (m flt) add(x, y any) asm.Reg    { return m.f("add.rn", x, y) }
func (m flt) sub(x, y any) asm.Reg    { return m.f("sub.rn", x, y) }
func (m flt) mul(x, y any) asm.Reg    { return m.f("mul.rn", x, y) }
func (m flt) fma(x, y, z any) asm.Reg { return m.f("fma.rn", x, y, z) }
func (m flt) div(x, y any) asm.Reg    { return m.f("div.rn", x, y) }
func (m flt) abs(x any) asm.Reg       { return m.f("abs", x) }
func (m flt) neg(x any) asm.Reg       { return m.f("neg", x) }

// test compares: lt, le, gt, ge, eq are false with NaN, ltu, leu, gtu, geu, neu true; nan tests for one.
func (m flt) test(cond string, x, y any) asm.Reg {
	return m.Op(asm.Pred, "setp."+cond+m.suffix, m.operands([]any{x, y})...)
}

// sel is x where p holds, else y.
func (m flt) sel(p asm.Reg, x, y any) asm.Reg { return m.f("selp", x, y, p) }

// clamp limits x to [lo, hi]; NaN stays NaN.
func (m flt) clamp(x any, lo, hi float64) asm.Reg {
	if m.class == asm.F32 {
		return m.f("min.NaN", m.f("max.NaN", x, lo), hi)
	}
	return m.sel(m.test("nan", x, x), x, m.f("min", m.f("max", x, lo), hi))
}

// copySign is x, which is not negative, with the sign of y.
func (m flt) copySign(x, y any) asm.Reg { return m.f("copysign", y, x) }

// quick divides: in f32 by the hardware's reciprocal (1 ulp), whose result
// for |y| > 2^126 and subnormal y is 0 or infinite.
func (m flt) quick(x, y any) asm.Reg {
	if m.class == asm.F32 {
		return m.mul(x, m.Op(asm.F32, "rcp.approx.ftz.f32", m.operands([]any{y})...))
	}
	return m.div(x, y)
}

// recip is 1/y within 1 ulp, for y between 2^-100 and 2^100: in f32 the hardware's and a step of Newton's method.
func (m flt) recip(y asm.Reg) asm.Reg {
	if m.class == asm.F64 {
		return m.f("rcp.rn", y)
	}
	r := m.Op(asm.F32, "rcp.approx.ftz.f32", y)
	return m.fma(r, m.fma(m.neg(y), r, 1.0), r)
}

// poly is c[0] + c[1] x + ..., by Horner's rule.
func (m flt) poly(x asm.Reg, c []float64) asm.Reg {
	var p any = c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		p = m.fma(x, p, c[i])
	}
	return p.(asm.Reg)
}

// high is the word with sign and exponent, low the other end of the mantissa (the same in f32).
func (m flt) high(x asm.Reg) asm.Reg {
	if m.class == asm.F32 {
		return m.Op(asm.B32, "mov.b32", x)
	}
	_, hi := m.words(x)
	return hi
}

func (m flt) low(x asm.Reg) asm.Reg {
	if m.class == asm.F32 {
		return m.Op(asm.B32, "mov.b32", x)
	}
	lo, _ := m.words(x)
	return lo
}

func (m flt) words(x asm.Reg) (lo, hi asm.Reg) {
	lo, hi = m.Reg(asm.B32), m.Reg(asm.B32)
	m.Ins("mov.b64 {%v, %v}, %v", lo, hi, x)
	return lo, hi
}

// withHigh is x with another high word.
func (m flt) withHigh(x, hi asm.Reg) asm.Reg {
	if m.class == asm.F32 {
		return m.Op(asm.F32, "mov.b32", hi)
	}
	lo, _ := m.words(x)
	d := m.Reg(asm.F64)
	m.Ins("mov.b64 %v, {%v, %v}", d, lo, hi)
	return d
}

// fromHigh is the number with that high word and a low word of 0.
func (m flt) fromHigh(hi asm.Reg) asm.Reg {
	if m.class == asm.F32 {
		return m.Op(asm.F32, "mov.b32", hi)
	}
	d := m.Reg(asm.F64)
	m.Ins("mov.b64 %v, {%v, %v}", d, m.Op(asm.B32, "mov.b32", 0), hi)
	return d
}

// nearest rounds x * scale to a whole number n. raw is n + offset, in the low
// bits: those above the lowest 9 may be set otherwise in f32.
func (m flt) nearest(x asm.Reg, scale float64, offset int) (n, raw asm.Reg) {
	magic := m.magic + float64(offset)
	t := m.fma(x, scale, magic)
	return m.sub(t, magic), m.low(t)
}

// scale is p * 2^k, rounded once, for raw = k + 2*bias as nearest gives it. With
// two factors each is a normal number, or infinite.
func (m flt) scale(p, raw asm.Reg) asm.Reg {
	half := m.Op(asm.B32, "shr.s32", raw, 1)
	rest := m.Op(asm.B32, "sub.s32", raw, half)
	a := m.fromHigh(m.Op(asm.B32, "shl.b32", half, m.man))
	b := m.fromHigh(m.Op(asm.B32, "shl.b32", rest, m.man))
	return m.mul(m.mul(p, a), b)
}

// pow2 is 2^n for n+bias in 1..2*bias.
func (m flt) pow2(n asm.Reg) asm.Reg {
	return m.fromHigh(m.Op(asm.B32, "shl.b32", m.Op(asm.B32, "add.s32", n, m.bias), m.man))
}
