package ptx

import "tilec/lang"

// extend makes the upper bits of a register follow from the lower ones of a
// type narrower than 32 bits: copies of the sign, or zeros.
func extend(a *asm, d lang.DType, r reg) reg {
	switch d {
	case lang.I8:
		return a.op(b32, "cvt.s32.s8", r)
	case lang.I16:
		return a.op(b32, "cvt.s32.s16", r)
	case lang.U8, lang.U16:
		return a.op(b32, "and.b32", r, 1<<d.Bits()-1)
	}
	return r
}

// wrapped is one instruction whose result wraps to the type's width.
func wrapped(name string) emitter {
	return func(e elem) reg {
		return extend(e.asm, e.d, e.op(classOf(e.d), name+suffix(e.d), e.operands()...))
	}
}

// intNeg is the complement plus one. Not neg, nor 0 - x, nor x * -1: ptxas 13.0
// makes one instruction of two minima (or maxima) and loses the negation of an
// operand there: min(0, min(x, -x)) becomes min(0, x, x).
func intNeg(e elem) reg {
	n := e.op(classOf(e.d), "not"+bitsSuffix(e.d), e.args[0])
	return extend(e.asm, e.d, e.emit("add", n, 1))
}

func bitwise(name string) emitter {
	return func(e elem) reg {
		r := e.op(classOf(e.d), name+bitsSuffix(e.d), e.operands()...)
		if name == "not" {
			return extend(e.asm, e.d, r)
		}
		return r
	}
}

// is compares with a constant.
func (e elem) is(cond string, x reg, n int) reg {
	return e.op(pred, "setp."+cond+suffix(e.d), x, n)
}

// pick is x where p holds, else y; either may be a constant.
func (e elem) pick(p reg, x, y any) reg {
	return e.op(classOf(e.d), "selp"+bitsSuffix(e.d), x, y, p)
}

// divisor is the second operand with those values replaced by 1 for which the
// hardware's division is not defined: 0, and -1 (the least number has no positive).
func (e elem) divisor() (safe, isZero, isMinusOne reg) {
	b := e.args[1]
	isZero = e.is("eq", b, 0)
	safe = e.pick(isZero, 1, b)
	if e.d.IsSigned() {
		isMinusOne = e.is("eq", b, -1)
		safe = e.pick(isMinusOne, 1, safe)
	}
	return safe, isZero, isMinusOne
}

// quotient truncates toward zero; x / 0 = 0.
func (e elem) quotient() reg {
	safe, isZero, isMinusOne := e.divisor()
	q := e.emit("div", e.args[0], safe)
	if isMinusOne.valid() {
		q = e.pick(isMinusOne, e.emit("neg", e.args[0]), q)
	}
	return e.pick(isZero, 0, q)
}

func intDiv(e elem) reg { return extend(e.asm, e.d, e.quotient()) }

// intFloorDiv is one less than the truncated quotient where there is a
// remainder and the signs of the operands differ.
func intFloorDiv(e elem) reg {
	q := e.quotient()
	if e.d.IsSigned() {
		a, b := e.args[0], e.args[1]
		rest := e.emit("sub", a, e.emit("mul.lo", q, b))
		differ := e.is("lt", e.op(classOf(e.d), "xor"+bitsSuffix(e.d), a, b), 0)
		down := e.op(pred, "and.pred", e.is("ne", rest, 0), differ)
		down = e.op(pred, "and.pred", down, e.is("ne", b, 0))
		q = e.emit("sub", q, e.pick(down, 1, 0))
	}
	return extend(e.asm, e.d, q)
}

// intMod: the remainder by -1 is that by 1, 0; x % 0 = x.
func intMod(e elem) reg {
	safe, isZero, _ := e.divisor()
	return e.pick(isZero, e.args[0], e.emit("rem", e.args[0], safe))
}

func intAbs(e elem) reg {
	if !e.d.IsSigned() {
		return e.args[0]
	}
	// Not abs: that of the least number is not defined.
	n := e.emit("neg", e.args[0])
	return extend(e.asm, e.d, e.pick(e.is("lt", e.args[0], 0), n, e.args[0]))
}

func intSign(e elem) reg {
	if !e.d.IsSigned() {
		return e.emit("min", e.args[0], 1)
	}
	return e.emit("max", e.emit("min", e.args[0], 1), -1)
}

// amount is the shift count as the 32 bits that shifts take; counts past 32 bits, and so negative ones,
// are past every width. Shifts by 32 (64) or more give 0, or the sign.
func (e elem) amount() reg {
	if e.d.Bits() < 64 {
		return e.args[1]
	}
	return e.op(b32, "cvt.u32.u64", e.op(b64, "min.u64", e.args[1], 64))
}

func shiftLeft(e elem) reg {
	return extend(e.asm, e.d, e.op(classOf(e.d), "shl"+bitsSuffix(e.d), e.args[0], e.amount()))
}

func shiftRight(e elem) reg { return e.emit("shr", e.args[0], e.amount()) }

// ownBits is the operand with nothing above its width.
func (e elem) ownBits() reg {
	if e.d.Bits() < 32 && e.d.IsSigned() {
		return e.op(b32, "and.b32", e.args[0], 1<<e.d.Bits()-1)
	}
	return e.args[0]
}

// counted is a count in the operand type.
func (e elem) counted(n reg) reg {
	if e.d.Bits() == 64 {
		return e.op(b64, "cvt.u64.u32", n)
	}
	return n
}

func popcount(e elem) reg {
	return e.counted(e.op(b32, "popc"+bitsSuffix(e.d), e.ownBits()))
}

func clz(e elem) reg {
	n := e.op(b32, "clz"+bitsSuffix(e.d), e.ownBits())
	if w := e.d.Bits(); w < 32 {
		n = e.op(b32, "sub.s32", n, 32-w)
	}
	return e.counted(n)
}
