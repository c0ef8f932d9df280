package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
)

// now is the time in nanoseconds, of a kernel that is timed; no register of others.
func (k *kernel) now() asm.Reg {
	if !k.Func.Timed {
		return asm.Reg{}
	}
	r := k.a.Reg(asm.B64)
	k.a.Set(r, "mov.u64", asm.GlobalTimer)
	return r
}

// leaveTimes notes when the block began, went on and ended: package ir describes the memory.
func (k *kernel) leaveTimes() {
	if !k.Func.Timed {
		return
	}
	a := k.a
	if !k.released.Valid() {
		k.released = k.began
	}
	ended := k.now()
	slot := a.Op(asm.B32, "and.b32", a.Op(asm.B32, "mov.u32", asm.Block), asm.Int(ir.TimesSlots-1))
	to := a.Op(asm.B64, "cvta.to.global.u64", k.argument(ir.Param{Kind: ir.ParamTimes}))
	to = a.Op(asm.B64, "mad.wide.u32", slot, asm.Int(ir.TimesSlotBytes), to)
	first := a.Op(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	for _, t := range []struct {
		way string
		at  int
		is  asm.Reg
	}{
		{"min", ir.TimesBegan, k.began}, {"min", ir.TimesFirstReleased, k.released},
		{"max", ir.TimesLastReleased, k.released}, {"max", ir.TimesEnded, ended}, {"max", ir.TimesLastBegan, k.began},
	} {
		a.If(first).Do("red.global."+t.way+".u64", asm.At(to).Plus(t.at), t.is)
	}
}
