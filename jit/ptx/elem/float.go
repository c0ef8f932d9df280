package elem

import (
	"math"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// math is the arithmetic of the operand type: f64, or f32 for it and the narrow types.
func (e elem) math() flt {
	if e.d == lang.F64 {
		return flt{e.Builder, double}
	}
	return flt{e.Builder, single}
}

// roundTo rounds a float of d's register class to d: to nearest even, once. The
// operations + - * / and sqrt of narrow types are computed in f32 and then
// rounded, which gives what one rounding would: f32 has at least 2p + 2 bits for each
// of them (p = 11, 8, 4, 3, 2), and subnormals lose bits in both.
func roundTo(a *asm.Builder, d lang.DType, x asm.Reg) asm.Reg {
	switch d {
	case lang.F16:
		h := a.Op(asm.B16, "cvt.rn.f16.f32", x)
		return a.Op(asm.F32, "cvt.f32.f16", h)
	case lang.BF16:
		// In the upper half of a register, with 0 below, bf16 is f32.
		return a.Op(asm.F32, "mov.b32", a.Op(asm.B32, "cvt.rn.bf16x2.f32", x, asm.Float32(0)))
	case lang.F4E2M1:
		m := flt{a, single} // NaN is the largest number, whatever its sign
		x = m.sel(m.test("nan", x, x), num(d.Largest()), x)
		return roundNarrow(a, x, d.Largest(), d.Precision()-1, float32(d.LeastNormal()))
	case lang.F8E4M3, lang.F8E5M2:
		return roundNarrow(a, x, d.Largest(), d.Precision()-1, float32(d.LeastNormal()))
	}
	return x
}

// roundNarrow saturates at largest and rounds to man bits of mantissa, or to the
// spacing at the least normal number below it: added to a number 2^(23-man) times as
// large as x's power of two, x loses the bits that do not fit, by f32's own rounding.
func roundNarrow(a *asm.Builder, x asm.Reg, largest float64, man int, minNormal float32) asm.Reg {
	m := flt{a, single}
	v := m.f("min.NaN", m.abs(x), num(largest))
	exp := a.Op(asm.B32, "and.b32", v, asm.Int(0x7f800000))
	exp = a.Op(asm.B32, "max.u32", exp, asm.Int(math.Float32bits(minNormal)))
	anchor := a.Op(asm.F32, "mov.b32", a.Op(asm.B32, "add.s32", exp, asm.Int((23-man)<<23)))
	return m.copySign(m.sub(m.add(v, anchor), anchor), x)
}

func floatDiv(e elem) asm.Reg {
	if e.approx && e.d != lang.F64 {
		return e.Op(asm.F32, "div.full.f32", e.args[0], e.args[1])
	}
	return e.math().div(e.args[0], e.args[1])
}

// floatFloorDiv rounds the quotient, rounded to f32 or f64, down.
func floatFloorDiv(e elem) asm.Reg {
	m := e.math()
	return m.f("cvt.rmi"+m.suffix, m.div(e.args[0], e.args[1]))
}

func towards(name string) emitter {
	return func(e elem) asm.Reg { m := e.math(); return m.f(name+m.suffix, e.args[0]) }
}

// floatSign keeps zeros and NaN.
func floatSign(e elem) asm.Reg {
	m, x := e.math(), e.args[0]
	other := m.sel(m.test("lt", x, num(0.0)), num(-1.0), x)
	return m.sel(m.test("gt", x, num(0.0)), num(1.0), other)
}

// floatExtreme is min or max, NaN when either is.
func floatExtreme(name string) emitter {
	return func(e elem) asm.Reg {
		m, a, b := e.math(), e.args[0], e.args[1]
		if m.class == asm.F32 {
			return m.f(name+".NaN", a, b)
		}
		return m.sel(m.test("nan", a, b), m.add(a, b), m.f(name, a, b))
	}
}

func isNaN(e elem) asm.Reg { return e.math().test("nan", e.args[0], e.args[0]) }

func isInf(e elem) asm.Reg {
	m := e.math()
	return m.test("eq", m.abs(e.args[0]), num(math.Inf(1)))
}

// floatFma rounds once. f16 and bf16 have instructions of their own, as
// f32 would round twice. Products and sums of f8 are exact in f64 (their bits
// span 2^-32 to 2^31), which then is rounded to odd on its way.
func floatFma(e elem) asm.Reg {
	x, y, z := e.args[0], e.args[1], e.args[2]
	switch e.d {
	case lang.F16, lang.BF16:
		t := "." + e.d.String()
		half := func(r asm.Reg) asm.Reg { return e.Op(asm.B16, "cvt.rn"+t+".f32", r) }
		h := e.Op(asm.B16, "fma.rn"+t, half(x), half(y), half(z))
		return fromHalf(e.Builder, e.d, h)
	case lang.F4E2M1, lang.F8E4M3, lang.F8E5M2:
		wide := func(r asm.Reg) asm.Reg { return e.Op(asm.F64, "cvt.f64.f32", r) }
		s := e.Op(asm.F64, "fma.rn.f64", wide(x), wide(y), wide(z))
		return roundTo(e.Builder, e.d, oddF64(e.Builder, s))
	}
	return e.math().fma(x, y, z)
}

// fromHalf is the value of an f16 or bf16 in a .b16 register.
func fromHalf(a *asm.Builder, d lang.DType, h asm.Reg) asm.Reg {
	if d == lang.F16 {
		return a.Op(asm.F32, "cvt.f32.f16", h)
	}
	w := a.Op(asm.B32, "mov.b32", asm.Vector{a.Op(asm.B16, "mov.b16", asm.Int(0)), h})
	return a.Op(asm.F32, "mov.b32", w)
}

// mathOp is a math function, by its fast form where that is permitted and there is one.
func mathOp(exact func(flt, asm.Reg) asm.Reg, fast func(elem) asm.Reg) emitter {
	return func(e elem) asm.Reg {
		if e.approx && e.d != lang.F64 && fast != nil {
			return fast(e)
		}
		return exact(e.math(), e.args[0])
	}
}

func mathOp2(exact func(flt, asm.Reg, asm.Reg) asm.Reg) emitter {
	return func(e elem) asm.Reg { return exact(e.math(), e.args[0], e.args[1]) }
}

// approxBy is one instruction of the hardware.
func approxBy(name string) emitter {
	return func(e elem) asm.Reg { return e.Op(asm.F32, name, e.args[0]) }
}

func approxExp(e elem) asm.Reg {
	m := e.math()
	return m.Op(asm.F32, "ex2.approx.ftz.f32", m.f("mul", e.args[0], num(math.Log2E)))
}

func approxLog(e elem) asm.Reg {
	m := e.math()
	return m.f("mul", m.Op(asm.F32, "lg2.approx.ftz.f32", e.args[0]), num(math.Ln2))
}

func approxTan(e elem) asm.Reg {
	s := e.Op(asm.F32, "sin.approx.ftz.f32", e.args[0])
	return e.Op(asm.F32, "div.full.f32", s, e.Op(asm.F32, "cos.approx.ftz.f32", e.args[0]))
}

// approxSigmoid is (1 + tanh(x/2)) / 2.
func approxSigmoid(e elem) asm.Reg {
	m := e.math()
	t := m.Op(asm.F32, "tanh.approx.f32", m.f("mul", e.args[0], num(0.5)))
	return m.f("fma.rn", t, num(0.5), num(0.5))
}
