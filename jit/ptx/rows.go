package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
)

// This file emits the way of a block that stays through rows that are copied to shared memory (block.RowCopy). Each part of a row has an
// mbarrier that counts its bytes. The loop that needs a row first waits for each part in its turn; the loop that needs it last sends, as all
// threads are done with a part, for that of the next row.

// rowsAhead is what a block knows of its next row while it goes through one.
type rowsAhead struct {
	// asks is the predicate of the thread that sends for the next row, where there is one.
	asks asm.Reg
	// from is where the next row begins in memory, phase whether the mbarriers are in an odd phase for this row.
	from  map[*block.RowCopy]asm.Reg
	phase asm.Reg
}

// throughRows emits the way of a block through its rows.
func (k *kernel) throughRows() {
	a := k.a
	first, every := k.firstTile(), k.walk.stride
	thread := a.Op(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	asks := k.both(thread, a.Op(asm.Pred, "setp.lt.u32", first, k.walk.tiles))
	a.Comment("the block's first rows")
	for c, from := range k.rowsFrom(first) {
		for n := range c.Parts {
			k.sendFor(c, asks, from, asm.Int(n*c.Step), asm.Int(n), n < c.Parts-1)
		}
	}
	phase := a.Reg(asm.B32)
	a.Set(phase, "mov.b32", asm.Int(0))
	k.eachTile(first, every, []asm.Reg{phase}, func(tile asm.Reg) {
		k.assumeTouched()
		next := a.Op(asm.B32, "add.s32", tile, every)
		asks := k.both(thread, a.Op(asm.Pred, "setp.lt.u32", next, k.walk.tiles))
		k.rows = &rowsAhead{asks: asks, from: map[*block.RowCopy]asm.Reg{}, phase: phase}
		for c, from := range k.rowsFrom(next) {
			k.rows.from[c] = from
		}
		k.block(k.Func.Body)
		a.Set(phase, "xor.b32", phase, asm.Int(1))
	})
}

// rowsFrom goes through the copies of rows with where the row of a tile begins.
func (k *kernel) rowsFrom(tile asm.Reg) func(yield func(*block.RowCopy, asm.Reg) bool) {
	return func(yield func(*block.RowCopy, asm.Reg) bool) {
		k.push(k.a.Here())
		k.place(tile)
		copies := k.rowCopies()
		from := make([]asm.Reg, len(copies))
		for i, c := range copies {
			from[i] = k.rowAddress(c)
		}
		k.pop()
		for i, c := range copies {
			if !yield(c, from[i]) {
				return
			}
		}
	}
}

// sendFor copies a part of a row, the one with a number, which begins at a position: a whole one or the last.
func (k *kernel) sendFor(c *block.RowCopy, asks, from asm.Reg, position, number asm.Number, whole bool) {
	a := k.a
	size := c.Load.Tensor.Held().Size()
	bytes := c.Step * int64(size)
	if !whole {
		bytes = c.Bytes - (c.Parts-1)*bytes
	}
	bar := a.Register(a.Add(a.Mul(number, mbarrierBytes), a.Register(a.Add(k.sharedBase(), asm.Int(k.counters[c])))))
	to := a.Register(a.Add(a.Mul(position, size), a.Register(a.Add(k.sharedBase(), asm.Int(k.kept[c.Store.Tensor])))))
	if n, known := position.(asm.Int); known {
		if n > 0 {
			from = a.Op(asm.B64, "add.s64", from, n*asm.Int(size))
		}
	} else {
		from = a.Op(asm.B64, "mad.wide.s32", position, asm.Int(size), from)
	}
	a.If(asks).Set(asm.Sink, "mbarrier.arrive.expect_tx.shared::cta.b64", asm.At(bar), asm.Int(bytes))
	a.If(asks).Do("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", asm.At(to), asm.At(from), asm.Int(bytes), asm.At(bar))
}

// rowArrives waits, at the beginning of a step of a loop, for the parts of rows that no loop before it has waited for.
func (k *kernel) rowArrives(loop *ir.Op, position asm.Reg) {
	if k.rows == nil {
		return
	}
	for _, c := range k.RowCopies[loop] {
		a := k.a
		bar := a.Register(a.Add(a.Mul(k.partOf(c, position), mbarrierBytes), a.Register(a.Add(k.sharedBase(), asm.Int(k.counters[c])))))
		k.waitFor(bar, k.rows.phase)
	}
}

// rowLeaves sends, at the end of a step of a loop, for what takes the place of the parts of rows that no loop behind it needs.
func (k *kernel) rowLeaves(loop *ir.Op, position asm.Reg, full bool) {
	if k.rows == nil {
		return
	}
	met := false
	for _, c := range k.rowCopies() {
		if c.Last != loop {
			continue
		}
		if !met {
			k.barrier()
			met = true
		}
		k.sendFor(c, k.rows.asks, k.rows.from[c], position, k.partOf(c, position), full || !k.Ragged(loop.Axis))
	}
}

// partOf is the number of the part that begins at a position.
func (k *kernel) partOf(c *block.RowCopy, position asm.Reg) asm.Reg {
	return k.a.Register(k.a.Quotient(position, asm.Int(c.Step)))
}
