package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// bitcast is `bitcast(x, i32)`: the value with the same bits in another type of
// the same width, or of a tensor its memory as elements of another type (view.go).
func (b *bodyChecker) bitcast(e *lang.CallExpr) operand {
	if !b.wantArgs(e, 2, 2, "bitcast(x, i32)") {
		return bad(e.Place)
	}
	x := b.expr(e.Args[0].Value)
	if x.mode != tensorOperand {
		x = b.settle(b.single(x, "argument"))
	}
	n, ok := e.Args[1].Value.(*lang.NameExpr)
	if !ok {
		b.Errorf(lang.ErrUnknownType, e.Args[1].Value.Span(), "the second argument is the element type, as in `i32`")
		return bad(e.Place)
	}
	to, ok := b.dtypeNamed(b.scope, n.Name, n.Place)
	if ok && x.mode == tensorOperand {
		return b.view(x.param, to, e, n.Place)
	}
	if !ok || x.mode != typedValue || !b.sameWidth(b.Errorf, x.typ().DType, to, n.Place) {
		return bad(e.Place)
	}
	from := x.typ().DType
	cast := func(x operand, op lang.Op, d typed.DType) operand {
		return typedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: x.typ().Axes}, At: e.Place}, Op: op, Args: []typed.Expr{x.expr}})
	}
	switch {
	case from == to:
		return x
	case isInt(from) && isInt(to):
		return cast(x, lang.OpCast, to)
	case typed.IsFloat(from) && typed.IsFloat(to): // by way of the bits
		x = cast(x, lang.OpBitcast, typed.Concrete(unsignedOf[from.Of.Bits()]))
	}
	return cast(x, lang.OpBitcast, to)
}

// unsignedOf is the unsigned integers by width.
var unsignedOf = map[int]lang.DType{8: lang.U8, 16: lang.U16, 32: lang.U32, 64: lang.U64}

// sameWidth checks that values of one type can be looked at as another.
func (c *checker) sameWidth(errorf func(lang.Code, lang.Span, string, ...any) report, from, to typed.DType, at lang.Span) bool {
	if from != to && !c.haveBits(errorf, from, to, at) {
		return false
	}
	if from.Of.Bits() != to.Of.Bits() {
		errorf(lang.ErrBitcast, at, "a bitcast keeps the width: %s has %d bits, %s has %d", from, from.Of.Bits(), to, to.Of.Bits()).
			help("convert the value with `as %s`", to)
		return false
	}
	return true
}

// haveBits checks that the bits of both types are known.
func (c *checker) haveBits(errorf func(lang.Code, lang.Span, string, ...any) report, from, to typed.DType, at lang.Span) bool {
	switch {
	case from.Param != nil || to.Param != nil:
		p := from
		if p.Param == nil {
			p = to
		}
		errorf(lang.ErrBitcast, at, "a bitcast looks at bits, and how many %s has is not known", c.describeDType(p))
	case from.Of == lang.Bool || to.Of == lang.Bool:
		errorf(lang.ErrBitcast, at, "bool has no bits to look at").help("convert with `as`, or compare with 0")
	default:
		return true
	}
	return false
}

// bitcast is `bitcast(x, i32)` of a tensor: the same memory as elements of
// another type of the same width, without a copy.
func (g *graphChecker) bitcast(e *lang.CallExpr) operand {
	if len(e.Args) != 2 {
		g.Errorf(lang.ErrArgCount, e.Place, "bitcast has %s", plural(len(e.Args), "argument")).help("write `bitcast(x, i32)`")
		return bad(e.Place)
	}
	x := g.settled(g.expr(e.Args[0].Value))
	n, ok := e.Args[1].Value.(*lang.NameExpr)
	if !ok {
		g.Errorf(lang.ErrUnknownType, e.Args[1].Value.Span(), "the second argument is the element type, as in `i32`")
		return bad(e.Place)
	}
	to, ok := g.dtypeNamed(g.scope, n.Name, n.Place)
	if !ok || x.mode == invalid {
		return bad(e.Place)
	}
	if x.mode != typedValue || x.graph.GType().Kind != typed.GTensor {
		g.Errorf(lang.ErrWrongType, e.Args[0].Value.Span(), "bitcast in a graph is of a tensor, not of %s", g.describe(x))
		return bad(e.Place)
	}
	t := x.graph.GType()
	if !g.sameWidth(g.Errorf, t.DType, to, n.Place) {
		return bad(e.Place)
	}
	return graphOperand(&typed.GView{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: to, Shape: t.Shape}, At: e.Place}, X: x.graph})
}
