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
	if !ok || x.mode != typedValue || !b.sameWidth(b, x.typ().DType, to, n.Place) {
		return bad(e.Place)
	}
	from := x.typ().DType
	cast := func(x operand, op lang.Op, d typed.DType) operand {
		return typedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: x.typ().Axes}, At: e.Place}, Op: op, Args: []typed.Expr{x.expr}})
	}
	switch {
	case from == to:
		return x
	case typed.IsInt(from) && typed.IsInt(to):
		return cast(x, lang.OpCast, to)
	case typed.IsFloat(from) && typed.IsFloat(to): // by way of the bits
		x = cast(x, lang.OpBitcast, typed.Concrete(unsignedOf[from.Of.Bits()]))
	}
	return cast(x, lang.OpBitcast, to)
}

// unsignedOf is the unsigned integers by width.
var unsignedOf = map[int]lang.DType{8: lang.U8, 16: lang.U16, 32: lang.U32, 64: lang.U64}
