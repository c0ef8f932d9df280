package build

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// take builds elements of a tile at positions: those that may lie outside are
// moved to one that is inside, and the value after `else` stands in their place.
func (b *builder) take(x *typed.Take) *ir.Value {
	b.hold(x.Claims)
	tile := b.value(x.X)
	axes := b.mapAxes(x.Axes)
	positions := make([]*ir.Value, len(axes))
	var inside *ir.Value
	empty := false
	for i, e := range x.Positions {
		p, a := b.exact(e), axes[i]
		b.At = x.At
		if a.Counts() == lang.I64 {
			p = b.Cast(p, lang.I64)
		}
		empty = empty || a.Len == 0
		if x.Checked[i] {
			lo, hi := b.Const(p.Type.DType, ir.Const{Int: a.Lo}), b.Const(p.Type.DType, ir.Const{Int: a.Lo + a.Len - 1})
			in := b.Op(lang.OpLogicAnd, b.Op(lang.OpGe, p, lo), b.Op(lang.OpLe, p, hi))
			if inside != nil {
				in = b.Op(lang.OpLogicAnd, inside, in)
			}
			inside = in
			p = b.Op(lang.OpMin, b.Op(lang.OpMax, p, lo), hi)
		} else if a.Len == 0 && !nowhere(p) {
			b.launch.Needs(x.At, x.Axes[i].Len.Symbols()) // proven for sizes from 1 on
		}
		positions[i] = b.Cast(p, a.Counts())
	}
	var v *ir.Value
	if empty {
		types := make([]ir.Type, len(positions))
		for i, p := range positions {
			types[i] = p.Type
		}
		v = b.constant(tile.Type.DType, 0, 0)
		if over := ir.TakeAxes(tile.Type, axes, types); len(over) > 0 {
			v = b.Emit(&ir.Op{Code: lang.OpFull, Args: one(v), Axes: over})[0]
		}
	} else {
		v = b.Take(tile, axes, positions)
	}
	if x.Else == nil {
		return v
	}
	other := b.value(x.Else)
	b.At = x.At
	return b.Op(lang.OpWhere, inside, v, other)
}

// hold checks what a shape operation rests on against the sizes at hand.
func (b *builder) hold(claims []typed.Claim) {
	for _, c := range claims {
		left, okLeft := b.known(c.Left)
		right, okRight := b.known(c.Right)
		if !okLeft || !okRight {
			panic(fmt.Sprintf("%s or %s is not known to the specialisation", c.Left, c.Right))
		}
		if c.Broken(left, right) {
			panic(&lang.Diagnostic{Code: lang.ErrShapeOp, At: c.At, Message: fmt.Sprintf(c.Text, left, right)})
		}
	}
}

// Takes reports a kernel that takes from tiles.
func Takes(f *ir.Func) (found bool) {
	f.Walk(func(op *ir.Op) bool {
		found = found || op.Code == lang.OpTake
		return !found
	})
	return found
}
