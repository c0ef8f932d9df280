package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file adds to one counter and gives what it held, as whoever appends to a list asks for a place: all lanes of a warp name the same element, which the memory changes once
// after the other. So a warp adds up what its lanes add, one of them asks for all, and each takes its part of what was there: as if they had asked in the order of lanes.

// counts reports an addition to one element, the same for all elements of the tile that exist, of which the old numbers are asked.
func counts(op *ir.Op) bool {
	if d := op.Tensor.DType; op.Code != lang.OpAtomicAdd || !op.Old || op.Order != "" || !d.IsInt() || d.Bits() != 32 {
		return false
	}
	for i, v := range op.Indices() {
		if d := op.Tensor.Shape[i]; !v.Type.IsScalar() && !(d.Known() && d.Value == 1) {
			return false
		}
	}
	return true
}

// addsForWarp emits such an addition; at gives of each of a thread's elements whether it is added, what is, and where.
func (u *atomicUpdate) addsForWarp(n int, at func(r int) (exists, x asm.Reg, to address)) []asm.Reg {
	a := u.a
	var total, any, where asm.Reg
	before := make([]asm.Reg, n) // what the thread adds before an element
	exist := make([]asm.Reg, n)
	for r := range n {
		p, x, to := at(r)
		address := u.offset(to.base, to.offset)
		if p.Valid() {
			x = a.Op(asm.B32, "selp.b32", x, asm.Int(0), p)
		} else {
			p = a.Calc(asm.Pred, "setp.eq.s32", asm.Int(0), asm.Int(0))
		}
		exist[r] = p
		if r == 0 {
			total, any, where, before[r] = x, p, address, a.Calc(asm.B32, "mov.b32", asm.Int(0))
			continue
		}
		before[r] = total
		total = a.Op(asm.B32, "add.s32", total, x)
		where = a.Op(asm.B64, "selp.b64", where, address, any)
		any = a.Op(asm.Pred, "or.pred", any, p)
	}
	lane := a.Calc(asm.B32, "and.b32", u.tid, asm.Int(layout.Lanes-1))
	sum := total // of the lanes up to this one
	for by := 1; by < layout.Lanes; by *= 2 {
		y := u.exchange(sum, "up", asm.Int(by), 0)
		up := a.Calc(asm.Pred, "setp.ge.u32", lane, asm.Int(by))
		sum = a.Op(asm.B32, "add.s32", sum, a.Op(asm.B32, "selp.b32", y, asm.Int(0), up))
	}
	asking := a.Op(asm.B32, "vote.sync.ballot.b32", any, asm.AllLanes)
	asks := a.Op(asm.B32, "sub.s32", asm.Int(layout.Lanes-1), a.Op(asm.B32, "clz.b32", asking)) // the last that adds; below 0 where none does
	all := u.exchange(sum, "idx", asm.Int(layout.Lanes-1), 31)
	u.p, u.to, u.x = a.Op(asm.Pred, "setp.eq.u32", lane, asks), address{base: where}, all
	old := u.exchange(u.emit(), "idx", a.Op(asm.B32, "and.b32", asks, asm.Int(layout.Lanes-1)), 31)
	lanes := a.Op(asm.B32, "sub.s32", sum, total) // what lanes before this one add
	old = a.Op(asm.B32, "add.s32", old, lanes)
	out := make([]asm.Reg, n)
	for r := range out {
		out[r] = a.Op(asm.B32, "selp.b32", a.Op(asm.B32, "add.s32", old, before[r]), asm.Int(0), exist[r])
	}
	return out
}
