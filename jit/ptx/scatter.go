package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file stores where several positions may name one element: the last
// position wins. Positions are laid out so that their order is that of lanes, then
// registers, then warps; the warps store one after the other, each register by
// register, and of the lanes that name one element the last.

// scatter emits a store that may collide.
func (k *kernel) scatter(op *ir.Op) {
	a, t, v := k.a, op.Tensor, op.Stored()
	l := k.ScatterLayout(op)
	axes := op.AccessAxes()
	values := k.get(v, l.Slice(v.Type.Axes))
	k.orderWrite(t)
	x := k.addressing(op, l)
	owner := k.owner(l)
	lane := k.a.Calc(asm.B32, "and.b32", k.tid, asm.Int(layout.Lanes-1))
	wins, at := make([]asm.Reg, l.Regs()), make([]asm.Reg, l.Regs())
	for r := range wins {
		p := k.both(k.both(owner, k.mask(l, axes, r)), x.inside(r))
		to := x.at(r)
		at[r] = a.Op(asm.B64, "add.s64", to.base, asm.Int(to.offset))
		key := at[r]
		if p.Valid() { // who stores nothing meets nobody that does
			key = a.Op(asm.B64, "selp.b64", key, asm.Int(0), p)
		}
		same := a.Op(asm.B32, "match.any.sync.b64", key, asm.AllLanes)
		last := a.Op(asm.B32, "sub.s32", asm.Int(layout.Lanes-1), a.Op(asm.B32, "clz.b32", same))
		wins[r] = a.Op(asm.Pred, "setp.eq.s32", last, lane)
		if p.Valid() {
			wins[r] = a.Op(asm.Pred, "and.pred", wins[r], p)
		}
	}
	turns := 1
	for _, d := range l.Warp {
		if d.Axis != nil {
			turns *= d.Size
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
			k.putAt(t.Held(), []asm.Reg{values[l.Project(r, v.Type.Axes)]}, "st.global", p, address{base: at[r], halves: t.Held().Packed()})
			if r+1 < len(wins) {
				a.Do("bar.warp.sync", asm.AllLanes)
			}
		}
	}
	k.barrier() // what comes next may store there too
}
