package elem

import (
	"fmt"
	"math/bits"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// extend makes the upper bits of a register follow from the lower ones of a
// type narrower than 32 bits: copies of the sign, or zeros.
func extend(a *asm.Builder, d lang.DType, r asm.Reg) asm.Reg {
	switch d {
	case lang.I8:
		return a.Op(asm.B32, "cvt.s32.s8", r)
	case lang.I16:
		return a.Op(asm.B32, "cvt.s32.s16", r)
	case lang.U8, lang.U16:
		return a.Op(asm.B32, "and.b32", r, asm.Int(1<<d.Bits()-1))
	}
	return r
}

// wrapped is one instruction whose result wraps to the type's width.
func wrapped(name string) emitter {
	return func(e elem) asm.Reg {
		return extend(e.Builder, e.d, e.Op(ClassOf(e.d), name+Suffix(e.d), e.operands()...))
	}
}

// intNeg is the complement plus one. Not neg, nor 0 - x, nor x * -1: ptxas 13.0
// makes one instruction of two minima (or maxima) and loses the negation of an
// operand there: min(0, min(x, -x)) becomes min(0, x, x).
func intNeg(e elem) asm.Reg {
	n := e.Op(ClassOf(e.d), "not"+BitsSuffix(e.d), e.args[0])
	return extend(e.Builder, e.d, e.emit("add", n, asm.Int(1)))
}

func bitwise(name string) emitter {
	return func(e elem) asm.Reg {
		r := e.Op(ClassOf(e.d), name+BitsSuffix(e.d), e.operands()...)
		if name == "not" {
			return extend(e.Builder, e.d, r)
		}
		return r
	}
}

// is compares with a constant.
func (e elem) is(cond string, x asm.Reg, n int) asm.Reg {
	return e.Op(asm.Pred, "setp."+cond+Suffix(e.d), x, asm.Int(n))
}

// pick is x where p holds, else y; either may be a constant.
func (e elem) pick(p asm.Reg, x, y asm.Operand) asm.Reg {
	return e.Op(ClassOf(e.d), "selp"+BitsSuffix(e.d), x, y, p)
}

// divisor is the second operand with those values replaced by 1 for which the
// hardware's division is not defined: 0, and -1 (the least number has no positive).
func (e elem) divisor() (safe, isZero, isMinusOne asm.Reg) {
	b := e.args[1]
	isZero = e.is("eq", b, 0)
	safe = e.pick(isZero, asm.Int(1), b)
	if e.d.IsSigned() {
		isMinusOne = e.is("eq", b, -1)
		safe = e.pick(isMinusOne, asm.Int(1), safe)
	}
	return safe, isZero, isMinusOne
}

// quotient truncates toward zero; x / 0 = 0.
func (e elem) quotient() asm.Reg {
	safe, isZero, isMinusOne := e.divisor()
	q := e.emit("div", e.args[0], safe)
	if isMinusOne.Valid() {
		q = e.pick(isMinusOne, e.emit("neg", e.args[0]), q)
	}
	return e.pick(isZero, asm.Int(0), q)
}

// DivideBy is the quotient of an i32 or an i64 by a number above 1 that is known, its floor, or the remainder: a shift where the number is a power of
// two, else of the magnitude, which a product divides.
func DivideBy(a *asm.Builder, code lang.Op, x asm.Reg, n int64) asm.Reg {
	class, width := x.Class, 32
	if class == asm.B64 {
		width = 64
	}
	op := func(name string, x, y asm.Operand) asm.Reg {
		return a.Op(class, fmt.Sprint(name, width), x, y)
	}
	log := bits.TrailingZeros64(uint64(n))
	shifts := n == 1<<log
	if shifts && code == lang.OpFloorDiv {
		return op("shr.s", x, asm.Int(log))
	}
	sign := op("shr.s", x, asm.Int(width-1))
	if shifts {
		up := op("add.s", x, op("shr.u", sign, asm.Int(width-log))) // a quotient is rounded toward zero
		if code == lang.OpMod {
			return op("sub.s", x, op("and.b", up, asm.Int(-n)))
		}
		return op("shr.s", up, asm.Int(log))
	}
	turned := op("xor.b", x, sign) // of a negative number what is one below its magnitude
	if code == lang.OpFloorDiv {
		return op("xor.b", a.Register(a.Quotient(turned, asm.Int(n))), sign)
	}
	q := a.Register(a.Quotient(op("sub.s", turned, sign), asm.Int(n)))
	q = op("sub.s", op("xor.b", q, sign), sign)
	if code == lang.OpMod {
		return op("sub.s", x, op("mul.lo.s", q, asm.Int(n)))
	}
	return q
}

func intDiv(e elem) asm.Reg { return extend(e.Builder, e.d, e.quotient()) }

// intFloorDiv is one less than the truncated quotient where there is a
// remainder and the signs of the operands differ.
func intFloorDiv(e elem) asm.Reg {
	q := e.quotient()
	if e.d.IsSigned() {
		a, b := e.args[0], e.args[1]
		rest := e.emit("sub", a, e.emit("mul.lo", q, b))
		differ := e.is("lt", e.Op(ClassOf(e.d), "xor"+BitsSuffix(e.d), a, b), 0)
		down := e.Op(asm.Pred, "and.pred", e.is("ne", rest, 0), differ)
		down = e.Op(asm.Pred, "and.pred", down, e.is("ne", b, 0))
		q = e.emit("sub", q, e.pick(down, asm.Int(1), asm.Int(0)))
	}
	return extend(e.Builder, e.d, q)
}

// intMod: the remainder by -1 is that by 1, 0; x % 0 = x.
func intMod(e elem) asm.Reg {
	safe, isZero, _ := e.divisor()
	return e.pick(isZero, e.args[0], e.emit("rem", e.args[0], safe))
}

func intAbs(e elem) asm.Reg {
	if !e.d.IsSigned() {
		return e.args[0]
	}
	// Not abs: that of the least number is not defined.
	n := e.emit("neg", e.args[0])
	return extend(e.Builder, e.d, e.pick(e.is("lt", e.args[0], 0), n, e.args[0]))
}

func intSign(e elem) asm.Reg {
	if !e.d.IsSigned() {
		return e.emit("min", e.args[0], asm.Int(1))
	}
	return e.emit("max", e.emit("min", e.args[0], asm.Int(1)), asm.Int(-1))
}

// amount is the shift count as the 32 bits that shifts take; counts past 32 bits, and so negative ones,
// are past every width. Shifts by 32 (64) or more give 0, or the sign.
func (e elem) amount() asm.Reg {
	if e.d.Bits() < 64 {
		return e.args[1]
	}
	return e.Op(asm.B32, "cvt.u32.u64", e.Op(asm.B64, "min.u64", e.args[1], asm.Int(64)))
}

func shiftLeft(e elem) asm.Reg {
	return extend(e.Builder, e.d, e.Op(ClassOf(e.d), "shl"+BitsSuffix(e.d), e.args[0], e.amount()))
}

func shiftRight(e elem) asm.Reg { return e.emit("shr", e.args[0], e.amount()) }

// ownBits is the operand with nothing above its width.
func (e elem) ownBits() asm.Reg {
	if e.d.Bits() < 32 && e.d.IsSigned() {
		return e.Op(asm.B32, "and.b32", e.args[0], asm.Int(1<<e.d.Bits()-1))
	}
	return e.args[0]
}

// counted is a count in the operand type.
func (e elem) counted(n asm.Reg) asm.Reg {
	if e.d.Bits() == 64 {
		return e.Op(asm.B64, "cvt.u64.u32", n)
	}
	return n
}

func popcount(e elem) asm.Reg {
	return e.counted(e.Op(asm.B32, "popc"+BitsSuffix(e.d), e.ownBits()))
}

func clz(e elem) asm.Reg {
	n := e.Op(asm.B32, "clz"+BitsSuffix(e.d), e.ownBits())
	if w := e.d.Bits(); w < 32 {
		n = e.Op(asm.B32, "sub.s32", n, asm.Int(32-w))
	}
	return e.counted(n)
}
