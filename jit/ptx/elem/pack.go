package elem

import (
	"fmt"
	"math"

	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/target"
	"tilec/lang"
)

// literal is a constant rounded to its type. An infinity stays one where the type has it: a program's own
// was rounded when the IR was built, so that what is left stands for no element in a reduction.
func literal(d lang.DType, f float32) float32 {
	if d.HasInfinity() && math.IsInf(float64(f), 0) {
		return f
	}
	return d.Round(f)
}

// Constant gives a register with a constant of type d, rounded or wrapped to it.
func Constant(a *asm.Builder, d lang.DType, c ir.Const) asm.Reg {
	switch {
	case d == lang.Bool:
		v := 0
		if c.Int != 0 {
			v = 1
		}
		return a.Op(asm.Pred, "mov.pred", asm.Int(v))
	case d == lang.F64:
		return a.Op(asm.F64, "mov.f64", asm.Float64(c.Float))
	case d.IsFloat():
		return a.Op(asm.F32, "mov.f32", asm.Float32(literal(d, float32(c.Float))))
	case d.Bits() == 64:
		return a.Op(asm.B64, "mov.b64", asm.Bits64(c.Int))
	}
	return a.Op(asm.B32, "mov.b32", asm.Int(wrapTo(d, c.Int)))
}

// EntryConstant is a constant that the entry section computes, once for all who ask for it.
func EntryConstant(a *asm.Builder, d lang.DType, c ir.Const) asm.Reg {
	key := fmt.Sprint("const ", d, c.Int, math.Float64bits(c.Float))
	return a.Once(key, func() asm.Reg {
		r := Constant(a, d, c)
		if d.IsInt() && d.Bits() <= 32 {
			n := int64(wrapTo(d, c.Int))
			if d == lang.U32 {
				n = int64(uint32(n))
			}
			a.Within(r, n, n)
		}
		return r
	})
}

// Zero is the register of 0 (false) of a type.
func Zero(a *asm.Builder, d lang.DType) asm.Reg { return EntryConstant(a, d, ir.Const{}) }

// wrapTo is the value of an integer type up to 32 bits that has v's low bits, as an s32.
func wrapTo(d lang.DType, v int64) int32 {
	up := 64 - d.Bits()
	if d.IsSigned() {
		return int32(v << up >> up)
	}
	return int32(uint64(v) << up >> up)
}

// Unpack gives n elements of a type from its memory form: each raw register holds
// 32 bits of it (64 for 64-bit types), low bits first.
func Unpack(a *asm.Builder, d lang.DType, raw asm.Reg, n int) []asm.Reg {
	switch {
	case d == lang.Bool:
		bytes := Unpack(a, lang.U8, raw, n)
		for i, x := range bytes {
			bytes[i] = a.Op(asm.Pred, "setp.ne.u32", x, asm.Int(0))
		}
		return bytes
	case d == lang.F4E2M1:
		return unpack4(a, raw, n)
	case d.Bits() == 8:
		all := unpack8(a, d, raw)
		return append([]asm.Reg(nil), all[:n]...)
	case d.Bits() == 16:
		lo, hi := unpack16(a, d, raw)
		return []asm.Reg{lo, hi}[:n]
	}
	return []asm.Reg{raw}
}

// Pack is the memory form of up to 32 bits of elements; missing ones are 0.
func Pack(a *asm.Builder, d lang.DType, xs []asm.Reg) asm.Reg {
	switch {
	case d == lang.Bool:
		bytes := make([]asm.Reg, len(xs))
		for i, p := range xs {
			bytes[i] = a.Op(asm.B32, "selp.u32", asm.Int(1), asm.Int(0), p)
		}
		return Pack(a, lang.U8, bytes)
	case d == lang.F4E2M1:
		return pack4(a, xs)
	case d.Bits() == 8:
		var four [4]asm.Reg
		for i := range four {
			four[i] = Zero(a, d)
			if i < len(xs) {
				four[i] = xs[i]
			}
		}
		return pack8(a, d, four)
	case d.Bits() == 16:
		hi := Zero(a, d)
		if len(xs) > 1 {
			hi = xs[1]
		}
		return pack16(a, d, xs[0], hi)
	}
	return xs[0]
}

// PackFull packs the elements of a type of 8 or 16 bits that fill a register, or two values that it rounds to a type of 16.
func PackFull(a *asm.Builder, d lang.DType, xs []asm.Reg) asm.Reg {
	if len(xs) == 4 {
		return pack8(a, d, [4]asm.Reg(xs))
	}
	return pack16(a, d, xs[0], xs[1])
}

// unpack4 takes apart the first n of eight elements of f4e2m1, the first in the low bits. Its magnitudes, of 3 bits, choose
// the bytes of f8e5m2, which has them all.
func unpack4(a *asm.Builder, w asm.Reg, n int) []asm.Reg {
	var out []asm.Reg
	for len(out) < n {
		if len(out) == 4 {
			w = a.Op(asm.B32, "shr.u32", w, asm.Int(16))
		}
		magnitude := a.Op(asm.B32, "prmt.b32", asm.Int(0x3e3c3800), asm.Int(0x46444240), a.Op(asm.B32, "and.b32", w, asm.Int(0x7777)))
		sign := a.Op(asm.B32, "and.b32", a.Op(asm.B32, "shr.u32", w, asm.Int(3)), asm.Int(0x1111))
		sign = a.Op(asm.B32, "prmt.b32", asm.Int(0x8000), asm.Int(0), sign)
		four := unpack8(a, lang.F8E5M2, a.Op(asm.B32, "or.b32", magnitude, sign))
		out = append(out, four[:min(4, n-len(out))]...)
	}
	return out
}

// pack4 is the inverse of unpack4; elements that are missing are 0. The values are numbers of the type already.
func pack4(a *asm.Builder, xs []asm.Reg) asm.Reg {
	w := encode(a, lang.F4E2M1, xs[0])
	for i, x := range xs[1:] {
		w = a.Op(asm.B32, "or.b32", w, a.Op(asm.B32, "shl.b32", encode(a, lang.F4E2M1, x), asm.Int(4*(i+1))))
	}
	return w
}

// unpack16 takes apart two elements of a 16-bit type, the first in the low half.
func unpack16(a *asm.Builder, d lang.DType, w asm.Reg) (lo, hi asm.Reg) {
	switch d {
	case lang.BF16:
		lo = a.Op(asm.F32, "mov.b32", a.Op(asm.B32, "shl.b32", w, asm.Int(16)))
		hi = a.Op(asm.F32, "mov.b32", a.Op(asm.B32, "and.b32", w, asm.Int(uint32(0xffff0000))))
		a.Known(w, packBF16, hi, lo)
		return lo, hi
	case lang.F16:
		l, h := a.Reg(asm.B16), a.Reg(asm.B16)
		a.Set(asm.Vector{l, h}, "mov.b32", w)
		lo, hi = a.Op(asm.F32, "cvt.f32.f16", l), a.Op(asm.F32, "cvt.f32.f16", h)
		a.Known(w, packF16, hi, lo)
		return lo, hi
	case lang.I16:
		lo, hi = a.Op(asm.B32, "cvt.s32.s16", w), a.Op(asm.B32, "shr.s32", w, asm.Int(16))
	default:
		lo, hi = a.Op(asm.B32, "and.b32", w, asm.Int(0xffff)), a.Op(asm.B32, "shr.u32", w, asm.Int(16))
	}
	a.Known(w, packInts, lo, hi, lowerHalves)
	return lo, hi
}

// The instructions that put two values together, floats rounded. What a word was taken apart to is not put together again.
const (
	packBF16 = "cvt.rn.bf16x2.f32"
	packF16  = "cvt.rn.f16x2.f32"
	packInts = "prmt.b32"

	lowerHalves = asm.Int(0x5410)
)

// pack16 is the inverse of unpack16. Floats are rounded to the type, so that
// f32 values need not have been.
func pack16(a *asm.Builder, d lang.DType, lo, hi asm.Reg) asm.Reg {
	switch d {
	case lang.BF16:
		return a.Found(asm.B32, packBF16, hi, lo)
	case lang.F16:
		return a.Found(asm.B32, packF16, hi, lo)
	}
	return a.Found(asm.B32, packInts, lo, hi, lowerHalves)
}

// unpack8 takes apart four elements of an 8-bit type, the first in the low byte.
func unpack8(a *asm.Builder, d lang.DType, w asm.Reg) [4]asm.Reg {
	var out [4]asm.Reg
	if d == lang.F8E4M3 && a.Target.Has(target.ConvertPairsE4M3) { // pairs are exact in f16
		lo, hi := a.Reg(asm.B16), a.Reg(asm.B16)
		a.Set(asm.Vector{lo, hi}, "mov.b32", w)
		out[0], out[1] = unpack16(a, lang.F16, a.Op(asm.B32, "cvt.rn.f16x2.e4m3x2", lo))
		out[2], out[3] = unpack16(a, lang.F16, a.Op(asm.B32, "cvt.rn.f16x2.e4m3x2", hi))
		return out
	}
	for i := range out {
		out[i] = decode(a, d, w, i)
		if d.IsInt() {
			a.IsByte(out[i], w, i)
		}
	}
	return out
}

// Widen makes f16 of four floats of 8 bits in a register, the lower two and the upper two, each pair in a register, on machines with ConvertPairsE4M3.
func Widen(a *asm.Builder, d lang.DType, w asm.Reg) (low, high asm.Reg) {
	if d == lang.F8E5M2 { // the upper bytes of f16
		return a.Op(asm.B32, "prmt.b32", w, asm.Int(0), asm.Int(0x1404)), a.Op(asm.B32, "prmt.b32", w, asm.Int(0), asm.Int(0x3424))
	}
	lo, hi := a.Reg(asm.B16), a.Reg(asm.B16)
	a.Set(asm.Vector{lo, hi}, "mov.b32", w)
	return a.Op(asm.B32, "cvt.rn.f16x2.e4m3x2", lo), a.Op(asm.B32, "cvt.rn.f16x2.e4m3x2", hi)
}

// pack8 is the inverse of unpack8. The values are numbers of the type already.
func pack8(a *asm.Builder, d lang.DType, x [4]asm.Reg) asm.Reg {
	if d == lang.F8E5M2 { // the upper bytes of f16
		return a.Op(asm.B32, "prmt.b32", pack16(a, lang.F16, x[0], x[1]), pack16(a, lang.F16, x[2], x[3]), asm.Int(0x7531))
	}
	if d == lang.F8E4M3 && a.Target.Has(target.ConvertPairsE4M3) {
		lo := a.Op(asm.B16, "cvt.rn.satfinite.e4m3x2.f32", x[1], x[0])
		hi := a.Op(asm.B16, "cvt.rn.satfinite.e4m3x2.f32", x[3], x[2])
		return a.Op(asm.B32, "mov.b32", asm.Vector{lo, hi})
	}
	var b [4]asm.Reg
	for i, v := range x {
		b[i] = encode(a, d, v)
	}
	lo := a.Op(asm.B32, "prmt.b32", b[0], b[1], asm.Int(0x0040))
	hi := a.Op(asm.B32, "prmt.b32", b[2], b[3], asm.Int(0x0040))
	return a.Op(asm.B32, "prmt.b32", lo, hi, asm.Int(0x5410))
}

// decode gives element i, counted from the low end, of a register of elements
// of a type of 8 or 16 bits.
func decode(a *asm.Builder, d lang.DType, w asm.Reg, i int) asm.Reg {
	if d.Bits() == 16 {
		// What is not used is dead code, which the assembler drops.
		lo, hi := unpack16(a, d, w)
		return [2]asm.Reg{lo, hi}[i]
	}
	switch d {
	case lang.I8:
		const sign = 8 // of a byte, in place of the byte
		return a.Op(asm.B32, "prmt.b32", w, asm.Int(0), asm.Int(i|(sign|i)<<4|(sign|i)<<8|(sign|i)<<12))
	case lang.F8E5M2: // the upper byte of an f16
		h := a.Op(asm.B32, "prmt.b32", w, asm.Int(0), asm.Int(0x0004|i<<4))
		return a.Op(asm.F32, "cvt.f32.f16", a.Op(asm.B16, "cvt.u16.u32", h))
	}
	v := w
	if i > 0 {
		v = a.Op(asm.B32, "shr.u32", w, asm.Int(8*i))
	}
	if i < 3 {
		v = a.Op(asm.B32, "and.b32", v, asm.Int(0xff))
	}
	switch d {
	case lang.Bool:
		return a.Op(asm.Pred, "setp.ne.b32", v, asm.Int(0))
	case lang.F8E4M3:
		return e4m3Value(a, v)
	}
	return v
}

// e4m3Value is the value of the 8 bits of an f8e4m3. As f32 with the same
// exponent field the number is 2^(127-7) times too small.
func e4m3Value(a *asm.Builder, v asm.Reg) asm.Reg {
	m := flt{a, single}
	mag := a.Op(asm.B32, "and.b32", v, asm.Int(0x7f))
	bits := a.Op(asm.B32, "shl.b32", mag, asm.Int(20))
	x := m.mul(a.Op(asm.F32, "mov.b32", bits), num(0x1p120))
	x = m.sel(a.Op(asm.Pred, "setp.eq.b32", mag, asm.Int(0x7f)), num(math.NaN()), x)
	return m.copySign(x, a.Op(asm.F32, "mov.b32", a.Op(asm.B32, "shl.b32", v, asm.Int(24))))
}

// encode is the inverse of decode for one element: its bits are the low ones of the
// result; for integers those above are not 0.
func encode(a *asm.Builder, d lang.DType, x asm.Reg) asm.Reg {
	switch d {
	case lang.Bool:
		return a.Op(asm.B32, "selp.b32", asm.Int(1), asm.Int(0), x)
	case lang.F16:
		return a.Op(asm.B32, "cvt.u32.u16", a.Op(asm.B16, "cvt.rn.f16.f32", x))
	case lang.BF16:
		return a.Op(asm.B32, "shr.u32", a.Op(asm.B32, "mov.b32", x), asm.Int(16))
	case lang.F8E5M2:
		h := a.Op(asm.B32, "cvt.u32.u16", a.Op(asm.B16, "cvt.rn.f16.f32", x))
		return a.Op(asm.B32, "shr.u32", h, asm.Int(8))
	case lang.F4E2M1:
		return rebiased(a, x, d, 0x1p-126)
	case lang.F8E4M3: // NaN has all bits
		return rebiased(a, x, d, 0x1p-120)
	}
	return x
}

// rebiased is the bits of a number of a narrow type: multiplied so that its exponent has f32's bias, f32 has them as
// its upper ones, subnormals included.
func rebiased(a *asm.Builder, x asm.Reg, d lang.DType, by float64) asm.Reg {
	m := flt{a, single}
	bits := d.Bits()
	small := a.Op(asm.B32, "mov.b32", m.mul(m.abs(x), num(by)))
	mag := a.Op(asm.B32, "and.b32", a.Op(asm.B32, "shr.u32", small, asm.Int(24-d.Precision())), asm.Int(1<<(bits-1)-1))
	sign := a.Op(asm.B32, "and.b32", a.Op(asm.B32, "shr.u32", a.Op(asm.B32, "mov.b32", x), asm.Int(32-bits)), asm.Int(1<<(bits-1)))
	return a.Op(asm.B32, "or.b32", mag, sign)
}
