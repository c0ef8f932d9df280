package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
)

// This file has rows in shared memory: see the pass `keep`, and block.RowCopy.

// keepRows gives the tensors that are in shared memory their places, which they have as long as the block runs, and each copy of a row
// an mbarrier that counts its bytes.
func (k *kernel) keepRows() {
	for _, t := range k.Func.Tensors {
		if t.Shared {
			k.kept[t] = k.allocate(k.KeptBytes(t), t.Name).at
		}
	}
	if len(k.RowCopies) == 0 {
		return
	}
	a := k.a
	first := a.Op(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	for _, c := range k.rowCopies() {
		parts := max(int(c.Parts), 1)
		k.counters[c] = k.allocate(parts*mbarrierBytes, "mbarriers").at
		k.copied[c.Load], k.emitted[c.Store] = c.Kept, true
		for n := range parts {
			a.If(first).Do("mbarrier.init.shared::cta.b64", asm.At(k.sharedBase()).Plus(k.counters[c]+n*mbarrierBytes), asm.Int(1))
		}
	}
	a.Do("fence.mbarrier_init.release.cluster")
	k.barrier()
}

// rowCopies are the copies of rows, in the order of the loops.
func (k *kernel) rowCopies() []*block.RowCopy {
	var all []*block.RowCopy
	for _, loop := range k.Func.Body.Ops {
		all = append(all, k.RowCopies[loop]...)
	}
	return all
}

// copyRows has a thread send for the rows that a loop loads first: all of them for their first part, then for the next. The steps of the loop wait
// for the parts; for a row that comes as a whole the loop waits. A block that stays has them on their way already.
func (k *kernel) copyRows(loop *ir.Op) {
	a := k.a
	copies := k.RowCopies[loop]
	if len(copies) == 0 || k.Tiles != nil {
		return
	}
	first := a.Calc(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	parts := int64(0)
	rows := make([]comingRow, len(copies))
	for i, c := range copies {
		rows[i], parts = k.comingRow(c), max(parts, c.Parts, 1)
	}
	for n := range parts {
		for i, c := range copies {
			if n < max(c.Parts, 1) {
				a.Comment("copy a row of %s", c.Load.Tensor.Name)
				k.sendFor(c, first, rows[i], asm.Int(n*c.Step), asm.Int(n), n < c.Parts-1)
			}
		}
		for _, c := range copies {
			if n < c.Parts {
				k.stagger(c, first, n)
			}
		}
	}
	for _, c := range copies {
		if c.Parts == 0 {
			k.waitFor(a.Register(a.Add(k.sharedBase(), asm.Int(k.counters[c]))), asm.Int(0))
		}
	}
}

// rowAddress is where the row of an access begins in global memory.
func (k *kernel) rowAddress(op *ir.Op) asm.Reg {
	x := &addressing{k: k, tensor: op.Tensor, dims: k.Access(op), size: int64(op.Tensor.Held().Size())}
	base := k.pointer(op.Tensor)
	for i, d := range x.dims[:len(x.dims)-1] {
		for _, t := range d.Affine.Terms {
			base = x.step(base, i, k.state(t.Axis).start, t.Coef)
		}
		for _, s := range d.Affine.Scalars {
			base = x.step(base, i, k.scalar(s.Value), s.Coef)
		}
		base = x.step(base, i, asm.Int(d.Affine.Offset), 1)
	}
	return base
}
