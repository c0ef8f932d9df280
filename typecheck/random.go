package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file types random numbers: `rand(seed, i, j)` and its kin are made of the
// operation random_bits, whose counter is the coordinates. A number depends on
// the seed and on where it stands, and on nothing that the planner decides.

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
	if !typed.IsInt(t.DType) {
		b.Errorf(lang.ErrWrongType, x.Span(), "%s is %s; an integer is needed", what, t).castFix(x, typed.Concrete(lang.I32))
		return nil, false
	}
	if t.DType == typed.Concrete(lang.U64) {
		return o.expr, true
	}
	return &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.U64), Axes: t.Axes}, At: x.Span()}, Op: lang.OpCast, Args: []typed.Expr{o.expr}}, true
}
