package kernel

import (
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// This file types random numbers: `rand(seed, i, j)` and its kin are made of the
// operation random_bits, whose counter is the coordinates. A number depends on
// the seed and on where it stands, and on nothing that the planner decides.

// random types random_bits, rand and randn.
func (b *bodyChecker) random(e *lang.CallExpr) rules.Operand {
	name := e.Fn.Span().Text()
	if e.Over != nil {
		b.Errorf(lang.ErrArgName, e.Over[0].Place, "%s takes no `over`", name).Help("the axes stand behind the seed: `%s(seed, %s)`", name, e.Over[0].Name)
		return rules.Bad(e.Place)
	}
	if !b.wantArgs(e, 2, rules.MaxCoordinates+1, name+"(seed, i, j)`, with one to four coordinates; several can be one: `index(i) * 4 + n") {
		return rules.Bad(e.Place)
	}
	key, ok := b.randomWord(e.Args[0].Value, "the seed")
	words := make([]typed.Expr, rules.MaxCoordinates)
	b.inIndex++
	for i, a := range e.Args[1:] {
		x, wordOK := b.randomWord(a.Value, "a coordinate")
		// The last coordinate, along which memory runs, is the first word.
		words[len(e.Args)-2-i], ok = x, ok && wordOK
	}
	b.inIndex--
	if !ok {
		return rules.Bad(e.Place)
	}
	m := rules.RandomMaker{At: e.Place}
	bits := m.Op(lang.OpRandomBits, key, m.Counter(words[0], words[1]), m.Counter(words[2], words[3]))
	switch name {
	case "rand":
		return rules.TypedOperand(m.Uniform(m.Cast(bits, lang.U32)))
	case "randn":
		l := &typed.Local{Name: "bits", Type: bits.Types()[0], At: e.Place}
		let := &typed.Let{Locals: []*typed.Local{l}, Value: bits, At: e.Place}
		return inline([]typed.Stmt{let}, rules.Operand{}, []typed.Expr{m.Normal(&typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: e.Place}, Local: l})}, e.Place)
	}
	return rules.TypedOperand(bits)
}

// randomWord types the seed or a coordinate: an integer, as u64.
func (b *bodyChecker) randomWord(x lang.Expr, what string) (typed.Expr, bool) {
	o := b.value(x)
	if o.Mode == rules.UntypedInt {
		o = b.Convert(o, typed.Concrete(lang.I64))
	}
	o = b.Settle(o)
	if o.Mode != rules.TypedValue {
		return nil, false
	}
	t := o.Type()
	if !typed.IsInt(t.DType) {
		b.Errorf(lang.ErrWrongType, x.Span(), "%s is %s; an integer is needed", what, t).CastFix(x, typed.Concrete(lang.I32))
		return nil, false
	}
	if t.DType == typed.Concrete(lang.U64) {
		return o.Expr, true
	}
	return &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.U64), Axes: t.Axes}, At: x.Span()}, Op: lang.OpCast, Args: []typed.Expr{o.Expr}}, true
}
