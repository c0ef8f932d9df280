package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// A loop's last step may have fewer positions than the others. Loads under a predicate for each of its positions would be in
// order there, each waited for before the next is made: ptxas does not move them past what uses the one before. So
// a load of that step reads every position: the last that exists stands for those behind it, which nothing looks at, and they
// are made 0 only where a product takes the load's zeros as they are.

// clamp makes an access read the last position that exists along a loop's axis in place of those behind it, if it may, and gives
// the axes whose positions still need a predicate. Vectors of neighbours along the axis itself would begin where none may.
func (x *addressing) clamp(op *ir.Op, axes []*ir.Axis, vectors *ir.Axis) []*ir.Axis {
	for _, a := range axes {
		if x.tensor.Shared || a.Kind != ir.Loop || a == vectors || !x.k.partial(a) || !x.moves(a) {
			continue
		}
		x.clamped = a
		return ir.Without(axes, []*ir.Axis{a})
	}
	return axes
}

// moves reports an access whose address follows from a's position, and that lies in the tensor wherever that exists: one without
// indices that are looked up or checked.
func (x *addressing) moves(a *ir.Axis) bool {
	found := false
	for _, d := range x.dims {
		if d.Checked || d.Gather {
			return false
		}
		for _, t := range d.Affine.Terms {
			found = found || t.Axis == a
		}
	}
	return found
}

// alongClamped moves an address to register r's position along the clamped axis, or to the last that exists.
func (x *addressing) alongClamped(base asm.Reg, r int) asm.Reg {
	k, a := x.k, x.clamped
	last := k.a.Calc(asm.B32, "sub.s32", k.left(x.l, a), asm.Int(1))
	by := k.a.Calc(asm.B32, "min.s32", last, asm.Int(x.l.RegCoord(r, a)))
	for i, d := range x.dims {
		for _, t := range d.Affine.Terms {
			if t.Axis == a {
				base = x.step(base, i, by, t.Coef)
			}
		}
	}
	return base
}

// zeroed makes 0 what was read at positions of the clamped axis that do not exist, if some product takes them as they are.
func (x *addressing) zeroed(op *ir.Op, r int, got []asm.Reg) {
	if x.clamped == nil || !slices.ContainsFunc(x.k.Uses[op.Result()], needsZeros) {
		return
	}
	exists := x.k.exists(x.l, x.clamped, x.l.RegCoord(r, x.clamped))
	for i, v := range got {
		got[i] = x.k.selected(exists, v, elem.Zero(x.k.a, op.Result().Type.DType))
	}
}

// needsZeros reports a use that may count what does not exist. What is computed element by element does not exist where its
// operands do not; reductions and stores look at what exists.
func needsZeros(u block.Use) bool {
	_, reduces := reductions[u.Op.Code]
	return !u.Op.Code.Row().Elementwise && !reduces && u.Op.Code != lang.OpStore
}
