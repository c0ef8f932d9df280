package asm

import "math/bits"

// This file is arithmetic on integers. What is known is computed now, and what remains is computed once.

// Add is the sum: in 64 bits where a register has those.
func (a *Builder) Add(x, y Number) Number {
	if m, ok := x.(Int); ok {
		if n, ok := y.(Int); ok {
			return m + n
		}
		x, y = y, x
	}
	if y == Int(0) {
		return x
	}
	r := x.(Reg)
	if s, ok := y.(Reg); ok && s.Class != r.Class {
		r, y = a.Wide(r), a.Wide(s)
	}
	return a.Calc(r.Class, r.Class.Signed("add"), r, y)
}

// Sub is the difference, of 32 bits.
func (a *Builder) Sub(x, y Number) Number {
	m, xKnown := x.(Int)
	n, yKnown := y.(Int)
	switch {
	case xKnown && yKnown:
		return m - n
	case y == Int(0):
		return x
	}
	return a.Calc(B32, "sub.s32", x, y)
}

// Mul is n times a number, in its own bits.
func (a *Builder) Mul(x Number, n int) Number {
	if m, ok := x.(Int); ok {
		return m * Int(n)
	}
	if n == 1 {
		return x
	}
	c := x.(Reg).Class
	return a.Calc(c, c.Signed("mul.lo"), x, Int(n))
}

// Times is the product of two numbers, of 32 bits.
func (a *Builder) Times(x, y Number) Number {
	if n, ok := y.(Int); ok {
		return a.Mul(x, int(n))
	}
	if n, ok := x.(Int); ok {
		return a.Mul(y, int(n))
	}
	return a.Calc(B32, "mul.lo.s32", x, y)
}

// Quotient and Remainder are those of a number from 0 to 2^31 by another that is above 0, of 32 bits. The assembler makes neither
// shifts nor products of divisions, which take some hundred cycles.
func (a *Builder) Quotient(x, n Number) Number {
	d, known := n.(Int)
	if m, ok := x.(Int); ok && known {
		return m / d
	}
	switch {
	case d == 1 && known:
		return x
	case known && isWide(x): // no power of 2
		m, s := wideReciprocal(uint64(d))
		return a.Calc(B64, "shr.u64", a.Calc(B64, "mul.hi.u64", x, Int(m)), Int(s))
	case known && d&(d-1) == 0:
		return a.Calc(B32, "shr.u32", x, Int(bits.TrailingZeros64(uint64(d))))
	case known:
		m, s := reciprocal(uint64(d))
		return a.Calc(B32, "shr.u32", a.Calc(B32, "mul.hi.u32", x, Int(m)), Int(s))
	}
	return a.Calc(B32, "div.u32", a.Register(x), n)
}

// reciprocal gives m and s so that x / d is the upper word of x m, shifted right by s, for every x up to 2^31 and d that is no power of 2: with
// 2^s below d, m is above 2^(32+s)/d by at most 1, and x by so much is at most 2^31, less than 2^(32+s)/d, which is what would reach the next quotient.
func reciprocal(d uint64) (m uint64, s int) {
	s = bits.Len64(d) - 1
	return 1<<(32+s)/d + 1, s
}

// wideReciprocal is the same of numbers x up to 2^63, and words of 64 bits.
func wideReciprocal(d uint64) (m uint64, s int) {
	s = bits.Len64(d) - 1
	m, _ = bits.Div64(1<<s, 0, d)
	return m + 1, s
}

func isWide(x Number) bool {
	r, ok := x.(Reg)
	return ok && r.Class == B64
}

// Remainder is what Quotient leaves.
func (a *Builder) Remainder(x, n Number) Number {
	d, known := n.(Int)
	if m, ok := x.(Int); ok && known {
		return m % d
	}
	switch {
	case known && d&(d-1) == 0:
		return a.Calc(B32, "and.b32", x, d-1)
	case known:
		return a.Sub(x, a.Mul(a.Quotient(x, n), int(d)))
	}
	return a.Calc(B32, "rem.u32", a.Register(x), n)
}

// Wide is a 64-bit form of a signed integer register.
func (a *Builder) Wide(r Reg) Reg {
	if r.Class == B64 {
		return r
	}
	return a.Calc(B64, "cvt.s64.s32", r)
}

// Register puts a number that is known in a register of 32 bits; a register stays as it is.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a *Builder) Register(x Number) Reg {
	if r, ok := x.(Reg); ok {
		return r
	}
	return a.Calc(B32, "mov.b32", x)
}

// Halves are the low and the high word of a register of 64 bits.
func (a *Builder) Halves(x Reg) (lo, hi Reg) {
	lo, hi = a.Reg(B32), a.Reg(B32)
	a.Set(Vector{lo, hi}, "mov.b64", x)
	return lo, hi
}

// Whole is a register of 64 bits, of class c, with the words given.
func (a *Builder) Whole(c Class, lo, hi Reg) Reg { return a.Op(c, "mov.b64", Vector{lo, hi}) }
