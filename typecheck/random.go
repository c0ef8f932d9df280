package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file types random numbers: `rand(seed, i, j)` and its kin are made of the
// operation random_bits, whose counter is the coordinates. A number depends on
// the seed and on where it stands, and on nothing that the planner decides.

// maxCoordinates is how many words Philox's counter has.
const maxCoordinates = 4

// random types random_bits, rand and randn.
func (b *bodyChecker) random(e *lang.CallExpr) operand {
	name := e.Fn.Span().Text()
	if e.Over != nil {
		b.Errorf(lang.ErrArgName, e.Over[0].Place, "%s takes no `over`", name).help("the axes stand behind the seed: `%s(seed, %s)`", name, e.Over[0].Name)
		return bad(e.Place)
	}
	if !b.wantArgs(e, 2, maxCoordinates+1, name+"(seed, i, j)`, with one to four coordinates; several can be one: `index(i) * 4 + n") {
		return bad(e.Place)
	}
	key, ok := b.randomWord(e.Args[0].Value, "the seed")
	words := make([]typed.Expr, maxCoordinates)
	b.inIndex++
	for i, a := range e.Args[1:] {
		x, wordOK := b.randomWord(a.Value, "a coordinate")
		// The last coordinate, along which memory runs, is the first word.
		words[len(e.Args)-2-i], ok = x, ok && wordOK
	}
	b.inIndex--
	if !ok {
		return bad(e.Place)
	}
	m := randomMaker{at: e.Place}
	bits := m.op(lang.OpRandomBits, key, m.counter(words[0], words[1]), m.counter(words[2], words[3]))
	switch name {
	case "rand":
		return typedOperand(m.uniform(m.cast(bits, lang.U32)))
	case "randn":
		l := &typed.Local{Name: "bits", Type: bits.Types()[0], At: e.Place}
		let := &typed.Let{Locals: []*typed.Local{l}, Value: bits, At: e.Place}
		return inline([]typed.Stmt{let}, operand{}, []typed.Expr{m.normal(&typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: e.Place}, Local: l})}, e.Place)
	}
	return typedOperand(bits)
}

// randomWord types the seed or a coordinate: an integer, as u64.
func (b *bodyChecker) randomWord(x lang.Expr, what string) (typed.Expr, bool) {
	o := b.value(x)
	if o.mode == untypedInt {
		o = b.convert(o, typed.Concrete(lang.I64))
	}
	o = b.settle(o)
	if o.mode != typedValue {
		return nil, false
	}
	t := o.typ()
	if !isInt(t.DType) {
		b.Errorf(lang.ErrWrongType, x.Span(), "%s is %s; an integer is needed", what, t).castFix(x, typed.Concrete(lang.I32))
		return nil, false
	}
	if t.DType == typed.Concrete(lang.U64) {
		return o.expr, true
	}
	return &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.U64), Axes: t.Axes}, At: x.Span()}, Op: lang.OpCast, Args: []typed.Expr{o.expr}}, true
}

// randomMaker makes typed expressions at one place.
type randomMaker struct{ at lang.Span }

func (m randomMaker) op(op lang.Op, args ...typed.Expr) typed.Expr {
	types := make([]typed.Type, len(args))
	for i, a := range args {
		types[i] = a.Types()[0]
	}
	t := typed.Type{DType: types[len(types)-1].DType, Axes: unionAxes(types...)}
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
