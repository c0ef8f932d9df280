package rules

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file makes random numbers of words: of tiles and of whole tensors alike.

// MaxCoordinates is how many words Philox's counter has.
const MaxCoordinates = 4

// RandomMaker makes typed expressions at one place.
type RandomMaker struct{ At lang.Span }

// Op applies an operation, over the axes of all operands.
func (m RandomMaker) Op(op lang.Op, args ...typed.Expr) typed.Expr {
	types := make([]typed.Type, len(args))
	for i, a := range args {
		types[i] = a.Types()[0]
	}
	t := typed.Type{DType: types[len(types)-1].DType, Axes: typed.UnionAxes(types...)}
	return &typed.Apply{Typed: typed.Typed{Type: t, At: m.At}, Op: op, Args: args}
}

// Cast converts to an element type.
func (m RandomMaker) Cast(x typed.Expr, d lang.DType) typed.Expr {
	t := x.Types()[0]
	return &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(d), Axes: t.Axes}, At: m.At}, Op: lang.OpCast, Args: []typed.Expr{x}}
}

func (m RandomMaker) int(d lang.DType, n int64) typed.Expr {
	return &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(d)}, At: m.At}, Int: n, Float: float64(n)}
}

func (m RandomMaker) float(v float64) typed.Expr {
	return &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.F32)}, At: m.At}, Float: v}
}

// Counter is two coordinates, each modulo 2^32; a missing one is 0.
func (m RandomMaker) Counter(x, y typed.Expr) typed.Expr {
	if x == nil {
		return m.int(lang.U64, 0)
	}
	lo := m.Op(lang.OpAnd, x, m.int(lang.U64, 1<<32-1))
	if y == nil {
		return lo
	}
	return m.Op(lang.OpOr, lo, m.Op(lang.OpShl, y, m.int(lang.U64, 32)))
}

// Uniform is the upper 24 bits of a word as a fraction: 0 to 1 - 2^-24, all exact.
func (m RandomMaker) Uniform(word typed.Expr) typed.Expr {
	top := m.Op(lang.OpShr, word, m.int(lang.U32, 8))
	return m.Op(lang.OpMul, m.Cast(top, lang.F32), m.float(0x1p-24))
}

// Normal is the Box-Muller transform of two words: the magnitude by the low one
// (from 2^-33 up to 1, so that its logarithm is finite), the angle by the high one.
func (m RandomMaker) Normal(bits typed.Expr) typed.Expr {
	low := m.Cast(m.Cast(bits, lang.U32), lang.F32)
	high := m.Cast(m.Op(lang.OpShr, bits, m.int(lang.U64, 32)), lang.U32)
	u := m.Op(lang.OpFma, low, m.float(0x1p-32), m.float(0x1p-33))
	radius := m.Op(lang.OpSqrt, m.Op(lang.OpMul, m.float(-2), m.Op(lang.OpLog, u)))
	return m.Op(lang.OpMul, radius, m.Op(lang.OpCos, m.Op(lang.OpMul, m.Uniform(high), m.float(6.283185307179586))))
}

// To converts f32 numbers to the element type d.
func (m RandomMaker) To(x typed.Expr, d typed.DType) typed.Expr {
	t := x.Types()[0]
	if t.DType == d {
		return x
	}
	return &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: t.Axes}, At: m.At}, Op: lang.OpCast, Args: []typed.Expr{x}}
}
