package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file joins, behind a loop, what its threads have carried of reductions (block.Deferral).

// deferred reports a reduction of which each thread carries a part of its own until its loop ends.
func (k *kernel) deferred(op *ir.Op) bool {
	for _, ds := range k.Deferred {
		if slices.ContainsFunc(ds, func(d *block.Deferral) bool { return d.Reduce == op }) {
			return true
		}
	}
	return false
}

// reduceThreads combines what the threads of the block have of a reduction.
func (k *kernel) reduceThreads(op *ir.Op, red reduction, d lang.DType, held [][]asm.Reg) [][]asm.Reg {
	v := op.Args[0]
	l := k.Homes[v]
	k.reduceLanes(op, red, d, l, held)
	return k.reduceWarps(op, red, d, l, l.Slice(ir.Without(v.Type.Axes, op.Over)), held)
}

// joinDeferred combines, behind a loop, what its threads carry of a reduction.
func (k *kernel) joinDeferred(x *block.Deferral, carried []asm.Reg) []asm.Reg {
	k.a.Loc(x.Reduce.At)
	k.a.Comment("join %s", describe(x.Reduce))
	held := make([][]asm.Reg, len(carried))
	for i, r := range carried {
		held[i] = []asm.Reg{r}
	}
	joined := make([]asm.Reg, len(carried))
	for i, r := range k.reduceThreads(x.Reduce, reductions[x.Reduce.Code], x.Reduce.Result().Type.DType, held) {
		joined[i] = r[0]
	}
	return joined
}
