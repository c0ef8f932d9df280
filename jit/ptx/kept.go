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

// copyRows copies the rows that a loop loads first, and waits until they are there. A block that stays has them on their way already.
func (k *kernel) copyRows(loop *ir.Op) {
	a := k.a
	copies := k.RowCopies[loop]
	if len(copies) == 0 || k.Tiles != nil {
		return
	}
	first := a.Calc(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	for _, c := range copies {
		a.Comment("copy a row of %s", c.Load.Tensor.Name)
		bar := a.Register(a.Add(k.sharedBase(), asm.Int(k.counters[c])))
		to := a.Register(a.Add(k.sharedBase(), asm.Int(k.kept[c.Store.Tensor])))
		row := k.comingRow(c)
		k.copyTail(c, first, row)
		a.If(first).Set(asm.Sink, "mbarrier.arrive.expect_tx.shared::cta.b64", asm.At(bar), row.rest)
		a.If(first).Do("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", asm.At(to), asm.At(row.from), row.rest, asm.At(bar))
	}
	for _, c := range copies {
		bar := a.Register(a.Add(k.sharedBase(), asm.Int(k.counters[c])))
		over, again := a.Reg(asm.Pred), a.Label()
		a.Place(again)
		a.Set(over, "mbarrier.try_wait.parity.shared::cta.b64", asm.At(bar), asm.Int(0))
		a.Unless(over).Do("bra", again)
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
