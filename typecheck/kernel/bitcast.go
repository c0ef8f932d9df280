package kernel

import (
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// bitcast is `bitcast(x, i32)`: the value with the same bits in another type of
// the same width, or of a tensor its memory as elements of another type (view.go).
func (b *bodyChecker) bitcast(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 2, 2, "bitcast(x, i32)") {
		return rules.Bad(e.Place)
	}
	x := b.expr(e.Args[0].Value)
	if x.Mode != rules.TensorOperand {
		x = b.Settle(b.single(x, "argument"))
	}
	n, ok := e.Args[1].Value.(*lang.NameExpr)
	if !ok {
		b.Errorf(lang.ErrUnknownType, e.Args[1].Value.Span(), "the second argument is the element type, as in `i32`")
		return rules.Bad(e.Place)
	}
	to, ok := b.DTypeNamed(b.scope, n.Name, n.Place)
	if ok && x.Mode == rules.TensorOperand {
		return b.view(x.Param, to, e, n.Place)
	}
	if !ok || x.Mode != rules.TypedValue || !b.SameWidth(b, x.Type().DType, to, n.Place) {
		return rules.Bad(e.Place)
	}
	from := x.Type().DType
	cast := func(x rules.Operand, op lang.Op, d typed.DType) rules.Operand {
		return rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: x.Type().Axes}, At: e.Place}, Op: op, Args: []typed.Expr{x.Expr}})
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
