package elem

import (
	"math"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// Cast emits the conversion of one element: floats round to nearest even,
// once; float to integer truncates and saturates, NaN gives 0; integers wrap;
// to bool, whether it is not 0 (NaN is not).
func Cast(a *asm.Builder, from, to lang.DType, x asm.Reg) asm.Reg {
	switch {
	case from == to:
		return x
	case to == lang.Bool:
		if from.IsFloat() {
			return a.Op(asm.Pred, "setp.neu"+Suffix(from), x, flt{a, precisionOf(from)}.imm(0))
		}
		return a.Op(asm.Pred, "setp.ne"+BitsSuffix(from), x, asm.Int(0))
	case from == lang.Bool:
		return castBool(a, to, x)
	case from.IsInt() && to.IsInt():
		return castInt(a, from, to, x)
	case from.IsInt():
		return intToFloat(a, from, to, x)
	case to.IsInt():
		return floatToInt(a, from, to, x)
	}
	return castFloat(a, from, to, x)
}

// precisionOf is the format in which a float type is computed.
func precisionOf(d lang.DType) *precision {
	if d == lang.F64 {
		return double
	}
	return single
}

func castBool(a *asm.Builder, to lang.DType, x asm.Reg) asm.Reg {
	if to.IsFloat() {
		return flt{a, precisionOf(to)}.sel(x, num(1.0), num(0.0))
	}
	return a.Op(ClassOf(to), "selp"+BitsSuffix(to), asm.Int(1), asm.Int(0), x)
}

func castInt(a *asm.Builder, from, to lang.DType, x asm.Reg) asm.Reg {
	switch {
	case from.Bits() == 64 && to.Bits() == 64:
		return x
	case from.Bits() == 64:
		return extend(a, to, a.Op(asm.B32, "cvt.u32.u64", x))
	case to.Bits() == 64 && from.IsSigned():
		return a.Op(asm.B64, "cvt.s64.s32", x)
	case to.Bits() == 64:
		return a.Op(asm.B64, "cvt.u64.u32", x)
	case holds(to, from):
		return x
	}
	if lo, hi := spanOf(a, from, x); Fits(to, lo, hi) {
		return x
	}
	return extend(a, to, x)
}

// holds reports that every value of one integer type, up to 32 bits, is one of the other in the same register.
func holds(to, from lang.DType) bool {
	if to.Bits() == 32 {
		return true
	}
	if from.IsSigned() {
		return to.IsSigned() && from.Bits() <= to.Bits()
	}
	return from.Bits() < to.Bits() || from.Bits() == to.Bits() && !to.IsSigned()
}

func intToFloat(a *asm.Builder, from, to lang.DType, x asm.Reg) asm.Reg {
	s := Suffix(from)
	word, place, known := a.ByteOf(x)
	if from.Bits() <= 32 && to != lang.F64 && !known {
		if lo, hi := spanOf(a, from, x); ExactIn(to, lo, hi) {
			return a.Op(asm.F32, "cvt.rn.f32"+s, x)
		}
	}
	switch {
	case to == lang.F64:
		return a.Op(asm.F64, "cvt.rn.f64"+s, x)
	case from.Bits() == 8 && known:
		return roundTo(a, to, byteToFloat(a, from, word, place))
	case to == lang.F32 || from.Bits() <= 16: // exact in f32
		return roundTo(a, to, a.Op(asm.F32, "cvt.rn.f32"+s, x))
	}
	// Truncated to f32 and, where that lost something, made odd.
	t := a.Op(asm.F32, "cvt.rz.f32"+s, x)
	back := a.Op(ClassOf(from), "cvt.rzi"+s+".f32", t)
	lost := a.Op(asm.Pred, "setp.ne"+BitsSuffix(from), back, x)
	return roundTo(a, to, makeOdd(a, t, lost))
}

// byteToFloat is the value of a byte of a word, from the fraction of 2^23, whose last bit counts as 1: a permutation and a difference in place of a conversion.
func byteToFloat(a *asm.Builder, from lang.DType, word asm.Reg, place int) asm.Reg {
	base := float32(1 << 23)
	bits := math.Float32bits(base)
	if from.IsSigned() { // counted from -128
		word = a.Calc(asm.B32, "xor.b32", word, asm.Int(uint32(0x80808080)))
		base += 128
	}
	const upper = 0x7540 // no byte, but the lowest, of the word
	x := a.Op(asm.B32, "prmt.b32", word, asm.Int(bits), asm.Int(upper|place))
	return a.Op(asm.F32, "sub.f32", a.Op(asm.F32, "mov.b32", x), asm.Float32(base))
}

// makeOdd sets the last bit of x where lost holds: rounding to odd. What was
// cut off stays visible, so that a later rounding to a type with two bits less
// gives what one rounding of the exact value would.
func makeOdd(a *asm.Builder, x, lost asm.Reg) asm.Reg {
	bit := a.Op(asm.B32, "selp.b32", asm.Int(1), asm.Int(0), lost)
	return a.Op(asm.F32, "mov.b32", a.Op(asm.B32, "or.b32", a.Op(asm.B32, "mov.b32", x), bit))
}

// oddF64 rounds to f32, to odd. NaN stays NaN.
func oddF64(a *asm.Builder, x asm.Reg) asm.Reg {
	t := a.Op(asm.F32, "cvt.rz.f32.f64", x)
	back := a.Op(asm.F64, "cvt.f64.f32", t)
	return makeOdd(a, t, a.Op(asm.Pred, "setp.ne.f64", back, x))
}

// floatToInt: the hardware's conversion truncates and saturates at 32 or 64
// bits; NaN gives 0 only from 32 bits to 32 bits.
func floatToInt(a *asm.Builder, from, to lang.DType, x asm.Reg) asm.Reg {
	s := Suffix(to)
	r := a.Op(ClassOf(to), "cvt.rzi"+s+Suffix(from), x)
	if from == lang.F64 || to.Bits() == 64 {
		nan := a.Op(asm.Pred, "setp.nan"+Suffix(from), x, x)
		r = a.Op(ClassOf(to), "selp"+BitsSuffix(to), asm.Int(0), r, nan)
	}
	if to.Bits() < 32 {
		most := 1<<to.Bits() - 1
		if to.IsSigned() {
			most >>= 1
			r = a.Op(asm.B32, "max.s32", r, asm.Int(-most-1))
		}
		r = a.Op(asm.B32, "min"+s, r, asm.Int(most))
	}
	return r
}

func castFloat(a *asm.Builder, from, to lang.DType, x asm.Reg) asm.Reg {
	switch {
	case to == lang.F64:
		return a.Op(asm.F64, "cvt.f64.f32", x)
	case from == lang.F64 && to == lang.F32:
		return a.Op(asm.F32, "cvt.rn.f32.f64", x)
	case from == lang.F64:
		return roundTo(a, to, oddF64(a, x))
	case from.Bits() <= 8 && to.Bits() >= 16: // exact in every wider type
		return x
	}
	return roundTo(a, to, x)
}
