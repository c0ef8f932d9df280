package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file makes random numbers of words: of tiles and of whole tensors alike.

// maxCoordinates is how many words Philox's counter has.
const maxCoordinates = 4

// randomMaker makes typed expressions at one place.
type randomMaker struct{ at lang.Span }

func (m randomMaker) op(op lang.Op, args ...typed.Expr) typed.Expr {
	types := make([]typed.Type, len(args))
	for i, a := range args {
		types[i] = a.Types()[0]
	}
	t := typed.Type{DType: types[len(types)-1].DType, Axes: typed.UnionAxes(types...)}
	return &typed.Apply{Typed: typed.Typed{Type: t, At: m.at}, Op: op, Args: args}
}

func (m randomMaker) cast(x typed.Expr, d lang.DType) typed.Expr {
	t := x.Types()[0]
	return &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(d), Axes: t.Axes}, At: m.at}, Op: lang.OpCast, Args: []typed.Expr{x}}
}

func (m randomMaker) int(d lang.DType, n int64) typed.Expr {
	return &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(d)}, At: m.at}, Int: n, Float: float64(n)}
}

func (m randomMaker) float(v float64) typed.Expr {
	return &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.F32)}, At: m.at}, Float: v}
}

// counter is two coordinates, each modulo 2^32; a missing one is 0.
func (m randomMaker) counter(x, y typed.Expr) typed.Expr {
	if x == nil {
		return m.int(lang.U64, 0)
	}
	lo := m.op(lang.OpAnd, x, m.int(lang.U64, 1<<32-1))
	if y == nil {
		return lo
	}
	return m.op(lang.OpOr, lo, m.op(lang.OpShl, y, m.int(lang.U64, 32)))
}

// uniform is the upper 24 bits of a word as a fraction: 0 to 1 - 2^-24, all exact.
func (m randomMaker) uniform(word typed.Expr) typed.Expr {
	top := m.op(lang.OpShr, word, m.int(lang.U32, 8))
	return m.op(lang.OpMul, m.cast(top, lang.F32), m.float(0x1p-24))
}

// normal is the Box-Muller transform of two words: the magnitude by the low one
// (from 2^-33 up to 1, so that its logarithm is finite), the angle by the high one.
func (m randomMaker) normal(bits typed.Expr) typed.Expr {
	low := m.cast(m.cast(bits, lang.U32), lang.F32)
	high := m.cast(m.op(lang.OpShr, bits, m.int(lang.U64, 32)), lang.U32)
	u := m.op(lang.OpFma, low, m.float(0x1p-32), m.float(0x1p-33))
	radius := m.op(lang.OpSqrt, m.op(lang.OpMul, m.float(-2), m.op(lang.OpLog, u)))
	return m.op(lang.OpMul, radius, m.op(lang.OpCos, m.op(lang.OpMul, m.uniform(high), m.float(6.283185307179586))))
}

// to converts f32 numbers to the element type d.
func (m randomMaker) to(x typed.Expr, d typed.DType) typed.Expr {
	t := x.Types()[0]
	if t.DType == d {
		return x
	}
	return &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: t.Axes}, At: m.at}, Op: lang.OpCast, Args: []typed.Expr{x}}
}
