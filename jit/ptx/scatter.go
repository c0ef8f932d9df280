package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
)

// This file stores where several positions may name one element: the last
// position wins. Positions are laid out so that their order is that of lanes, then
// registers, then warps; the warps store one after the other, each register by
// register, and of the lanes that name one element the last.

// inOrder is a layout in which later elements are in later lanes, then
// registers, then warps. Axes come fastest first.
func inOrder(axes []*ir.Axis, extents []int, warps int) layout {
	var l layout
	sides := make([]side, len(axes))
	for i, a := range axes {
		sides[i] = side{a, 1, extents[i]}
	}
	rest := lanes
	for i := range sides {
		if n := min(rest, powerAbove(sides[i].left)); n > 1 {
			l.lane = append(l.lane, sides[i].take(n))
			rest /= n
		}
	}
	if rest > 1 {
		l.lane = append(l.lane, digit{size: rest})
	}
	slowest := -1
	for i := range sides {
		if sides[i].left > 1 {
			slowest = i
		}
	}
	split := 1
	if slowest >= 0 {
		split = min(powerBelow(warps), powerAbove(sides[slowest].left))
	}
	for i := range sides {
		n := sides[i].left
		if i == slowest {
			n = (n + split - 1) / split
		}
		if n > 1 {
			l.reg = append(l.reg, sides[i].take(n))
		}
		if i == slowest && split > 1 {
			l.warp = append(l.warp, sides[i].take(split))
		}
	}
	if warps > split || len(l.warp) == 0 {
		l.warp = append(l.warp, digit{size: warps / split})
	}
	return l
}

// scatterLayout is the layout in which a store that may collide takes its value.
func (k *kernel) scatterLayout(op *ir.Op) layout {
	axes := reversed(k.f.InOrder(op.AccessAxes()))
	return inOrder(axes, extents(axes), k.warps)
}

// scatter emits a store that may collide.
func (k *kernel) scatter(op *ir.Op) {
	a, t, v := k.a, op.Tensor, op.Stored()
	l := k.scatterLayout(op)
	axes := op.AccessAxes()
	values := k.get(v, l.slice(v.Type.Axes))
	k.orderWrite(t)
	x := k.addressing(op, l)
	owner := k.owner(l)
	lane := k.a.Calc(asm.B32, "and.b32", k.tid, asm.Int(lanes-1))
	wins, at := make([]asm.Reg, l.regs()), make([]asm.Reg, l.regs())
	for r := range wins {
		p := k.both(k.both(owner, k.mask(l, axes, r)), x.inside(r))
		to := x.at(r)
		at[r] = a.Op(asm.B64, "add.s64", to.base, asm.Int(to.offset))
		key := at[r]
		if p.Valid() { // who stores nothing meets nobody that does
			key = a.Op(asm.B64, "selp.b64", key, asm.Int(0), p)
		}
		same := a.Op(asm.B32, "match.any.sync.b64", key, asm.AllLanes)
		last := a.Op(asm.B32, "sub.s32", asm.Int(lanes-1), a.Op(asm.B32, "clz.b32", same))
		wins[r] = a.Op(asm.Pred, "setp.eq.s32", last, lane)
		if p.Valid() {
			wins[r] = a.Op(asm.Pred, "and.pred", wins[r], p)
		}
	}
	turns := 1
	for _, d := range l.warp {
		if d.axis != nil {
			turns *= d.size
		}
	}
	warp := k.a.Calc(asm.B32, "shr.u32", k.tid, asm.Int(5))
	for w := range turns {
		if w > 0 {
			k.barrier()
		}
		for r := range wins {
			p := wins[r]
			if turns > 1 {
				p = a.Op(asm.Pred, "and.pred", p, k.a.Calc(asm.Pred, "setp.eq.u32", warp, asm.Int(w)))
			}
			k.putAt(t.Held(), []asm.Reg{values[l.project(r, v.Type.Axes)]}, "st.global", p, address{base: at[r], halves: t.Held().Packed()})
			if r+1 < len(wins) {
				a.Do("bar.warp.sync", asm.AllLanes)
			}
		}
	}
	k.barrier() // what comes next may store there too
}
