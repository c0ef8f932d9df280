package kernel

import (
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types views: `let w = bitcast(x, u8)` is the memory of the input x
// as elements of another type. Elements of another width lie closer or wider
// apart along the last dimension, which is as much longer or shorter.

// view is `bitcast(x, u8)` of a tensor: another tensor over its memory.
func (b *bodyChecker) view(x *typed.Param, to typed.DType, e *lang.CallExpr, at lang.Span) rules.Operand {
	if x.Mode != lang.In {
		b.Errorf(lang.ErrBitcast, e.Place, "%s is stored to, and only an input can be looked at as another type: that no two blocks meet is told by the elements of one tensor", x.Name).
			LabelAt(x.At, "%s: %s", x.Name, typed.ShapeText(x.DType, x.Shape)).
			Help("bitcast its elements, or the whole tensor in a graph")
		return rules.Bad(e.Place)
	}
	v := &typed.Param{Name: e.Place.Text(), DType: to, IsTensor: true, Shape: x.Shape, Of: x, At: e.Place}
	if x.Of != nil {
		v.Of = x.Of
	}
	if x.DType != to {
		if !b.HaveBits(b, x.DType, to, at) {
			return rules.Bad(e.Place)
		}
		shape, ok := b.viewShape(x, to, e.Place)
		if !ok {
			return rules.Bad(e.Place)
		}
		v.Shape = shape
	}
	return rules.Operand{Mode: rules.TensorOperand, At: e.Place, Param: v}
}

// viewShape is the shape of a tensor's memory as elements of another type.
func (b *bodyChecker) viewShape(x *typed.Param, to typed.DType, at lang.Span) ([]size.Size, bool) {
	from, width := x.DType.Of.Bits(), to.Of.Bits()
	if from == width {
		return x.Shape, true
	}
	n := len(x.Shape)
	if n == 0 {
		b.Errorf(lang.ErrBitcast, at, "%s has no dimension that could be longer or shorter: %s has %d bits, %s has %d", x.Name, x.DType, from, to, width).
			LabelAt(x.At, "%s: %s", x.Name, typed.ShapeText(x.DType, x.Shape)).Help("give it a dimension of 1")
		return nil, false
	}
	shape := append([]size.Size{}, x.Shape...)
	last := &shape[n-1]
	if width < from {
		*last = last.Scale(int64(from / width))
		return shape, true
	}
	by := size.Const(int64(width / from))
	if rest := last.Mod(by); !b.Prover.NonNegative(rest.Neg()) {
		r := b.Errorf(lang.ErrBitcast, at, "the last dimension of %s is not proven to hold whole elements of %s: %s is to be a multiple of %s", x.Name, to, last, by).
			LabelAt(x.At, "%s: %s", x.Name, typed.ShapeText(x.DType, x.Shape))
		if _, isConst := last.Const(); !isConst {
			r.Help("add `assume(%s == 0)` to the beginning of the kernel, which every launch then has to meet", rest)
		}
		return nil, false
	}
	*last = last.FloorDiv(by)
	return shape, true
}

// bindView gives a view its name.
func (b *bodyChecker) bindView(name lang.Ident, view *typed.Param) {
	named := *view
	named.Name, named.At = name.Name, name.Place
	b.Declare(b.scope, &rules.Entity{Kind: rules.EntTensor, Name: name.Name, At: name.Place, Param: &named}, true)
}
