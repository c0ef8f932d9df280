package build

import (
	"fmt"
	"math"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file has grids over a part of a dimension. `grid i in N[lo .. hi] by B`
// is a grid over a dimension of its own, of hi - lo elements, whose positions
// are moved by lo: what one would write by hand. So no pass and no backend knows
// of it, and its accesses are the shifted ones that they all know.

// gridRange makes the dimension that a grid axis over a part of its own walks, and notes where it begins.
func (b *builder) gridRange(a *typed.Axis, name string) *ir.Dim {
	limit := int64(math.MaxInt32)
	if b.wide(a.Dim) {
		limit = math.MaxInt64
	}
	number := func(what string, p spec.GridRange, exprs ...typed.Expr) *ir.Dim {
		d := &ir.Dim{Name: name + what, Value: -1, Divisor: 1, Wide: b.wide(a.Dim)}
		_, known := b.known(a.Dim)
		for _, x := range exprs {
			known = known && b.fixedScalar(x)
		}
		switch {
		case p.Begin && b.fixedScalar(a.From): // where it is beyond the dimension, there are no blocks
			d.Value = min(max(b.spec.Integer(a.From), 0), limit)
		case known:
			n, err := p.Size(b.spec, nil)
			if err != nil {
				panic(err)
			}
			d.Value = n
		default:
			b.launch.Ranges[d.Name] = p
		}
		b.f.Dims = append(b.f.Dims, d)
		return d
	}
	b.begins[a] = number(".begin", spec.GridRange{Axis: a, Begin: true}, a.From)
	return number(".count", spec.GridRange{Axis: a}, a.From, a.To)
}

// rangesInMemory are the ranges that a grid axis goes through, one for each position of another.
func (b *builder) rangesInMemory(a *typed.Axis) *ir.Ranges {
	if b.wide(a.Dim) || b.wide(a.Of.Dim) {
		panic(&lang.Diagnostic{Code: lang.ErrPosition, At: a.At, Message: fmt.Sprintf(
			"axis %s of %s goes through ranges that are read from memory as i32, and dimension %s has more than %d elements", a.Name, b.f.Name, a.Dim, ir.NarrowSize)})
	}
	end := func(x typed.Expr) *ir.Element {
		l, ok := x.(*typed.Load)
		if !ok { // the beginning or the end of the dimension
			return nil
		}
		_, plus, _ := typed.FurtherOn(l.Indices[0])
		return &ir.Element{Tensor: b.tensors[l.Param], Plus: plus}
	}
	r := &ir.Ranges{Of: b.axes[a.Of], Lo: end(a.From), Hi: end(a.To)}
	for _, p := range b.spec.Kernel.Outputs {
		if t := b.tensors[p]; p.Outside == a && !t.DType.Packed() { // launches fill packed ones
			r.Outside = append(r.Outside, t)
		}
	}
	return r
}

// fixedScalar reports a scalar that the specialisation decides.
func (b *builder) fixedScalar(x typed.Expr) bool {
	return typed.All(x, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.SizeExpr:
			_, ok := b.known(n.Size)
			return ok
		case *typed.Const, *typed.ConstRef, *typed.Apply, *typed.If, *typed.Body:
			return true
		}
		return false
	})
}

// moved is a position along an axis, or a tile of them, in the axis's dimension.
func (b *builder) moved(v *ir.Value, a *typed.Axis) *ir.Value {
	begin := b.begins[a]
	if begin == nil || begin.Known() && begin.Value == 0 {
		return v
	}
	switch v.Def.Code {
	case lang.OpIndex, lang.OpStart, lang.OpEnd:
		return b.Op(lang.OpAdd, v, b.sizeOf(begin))
	}
	return v
}

// positionsAlong is the tile of the positions of an axis of the IR, and of a scalar one its position.
func (b *builder) positionsAlong(x *ir.Axis) *ir.Value {
	code := lang.OpIndex
	if x.Scalar {
		code = lang.OpStart
	}
	v := b.Emit(&ir.Op{Code: code, Axis: x})[0]
	for a, y := range b.axes {
		if x == y {
			return b.moved(v, a)
		}
	}
	return v
}

// ofGridRange reports positions that a grid axis over a part of its dimension gives: those inside the dimension, whatever its size.
func ofGridRange(x typed.Expr) bool {
	a, ok := x.(*typed.Apply)
	return ok && a.Axis != nil && a.Axis.From != nil && (a.Op == lang.OpIndex || a.Op == lang.OpStart)
}
