package ptx

import (
	"fmt"

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
	// coming are the next rows, phase whether the mbarriers are in an odd phase for this row.
	coming map[*block.RowCopy]comingRow
	phase  asm.Reg
}

// comingRow is a row that is copied: where in global memory the copy begins, at a multiple of 16 bytes, and how many bytes are left for the last
// of its parts.
type comingRow struct {
	from asm.Reg
	rest asm.Number
	// end is, of rows by words, where the row ends, and last whether it exists and its tensor ends there too: then what it has of a word is no copy's.
	end, last asm.Reg
}

// throughRows emits the way of a block through its rows.
func (k *kernel) throughRows() {
	a := k.a
	first, every := k.firstTile(), k.walk.stride
	thread := a.Op(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	exists := a.Op(asm.Pred, "setp.lt.u32", first, k.walk.tiles)
	asks := k.both(thread, exists)
	a.Comment("the block's first rows")
	for c, row := range k.comingRows(first, exists) {
		for n := range c.Parts {
			k.sendFor(c, asks, row, asm.Int(n*c.Step), asm.Int(n), n < c.Parts-1)
			k.stagger(c, asks, n)
		}
	}
	phase := a.Reg(asm.B32)
	a.Set(phase, "mov.b32", asm.Int(0))
	k.eachTile(first, every, []asm.Reg{phase}, func(tile asm.Reg) {
		k.assumeTouched()
		next := a.Op(asm.B32, "add.s32", tile, every)
		exists := a.Op(asm.Pred, "setp.lt.u32", next, k.walk.tiles)
		asks := k.both(thread, exists)
		k.rows = &rowsAhead{asks: asks, coming: map[*block.RowCopy]comingRow{}, phase: phase}
		for c, row := range k.comingRows(next, exists) {
			k.rows.coming[c] = row
		}
		k.block(k.Func.Body)
		a.Set(phase, "xor.b32", phase, asm.Int(1))
	})
}

// stagger has the thread that sends wait for a part, in the blocks that begin later.
func (k *kernel) stagger(c *block.RowCopy, asks asm.Reg, part int64) {
	if k.Staggered == 0 || part == c.Parts-1 {
		return
	}
	a := k.a
	number := a.Calc(asm.B32, "mov.u32", asm.Block)
	// Blocks that share a multiprocessor are as many behind one another as there are multiprocessors.
	place := a.Calc(asm.B32, "add.s32", number, a.Calc(asm.B32, "div.u32", number, asm.Int(k.Target.SMs)))
	second := a.Calc(asm.Pred, "setp.ne.u32", a.Calc(asm.B32, "and.b32", place, asm.Int(1)), asm.Int(0))
	first := a.Calc(asm.Pred, "setp.lt.u32", number, asm.Int(k.Staggered))
	over := a.Label()
	a.Unless(k.both(k.both(second, first), asks)).Do("bra", over)
	k.waitFor(a.Register(a.Add(k.sharedBase(), asm.Int(k.counters[c]+int(part)*mbarrierBytes))), asm.Int(0))
	a.Place(over)
}

// comingRows goes through the copies of rows with the rows of a tile, which may exist.
func (k *kernel) comingRows(tile, exists asm.Reg) func(yield func(*block.RowCopy, comingRow) bool) {
	return func(yield func(*block.RowCopy, comingRow) bool) {
		k.push(k.a.Here())
		k.place(tile)
		copies := k.rowCopies()
		rows := make([]comingRow, len(copies))
		for i, c := range copies {
			rows[i] = k.comingRow(c)
			rows[i].last = k.both(rows[i].last, exists)
		}
		k.pop()
		for i, c := range copies {
			if !yield(c, rows[i]) {
				return
			}
		}
	}
}

// comingRow is the row of the place where the axes stand.
func (k *kernel) comingRow(c *block.RowCopy) comingRow {
	a, address := k.a, k.rowAddress(c.Load)
	before := int64(0) // bytes of the parts before the last
	if c.Parts > 0 {
		before = (c.Parts - 1) * c.Step * int64(c.Load.Tensor.Held().Size())
	}
	if k.Words == nil {
		return comingRow{from: address, rest: asm.Int(c.Bytes - before)}
	}
	// All words are copied in which the row lies, but for one with which its tensor ends; and before them those in which the lead lies, which of wider
	// elements than the narrowest may be one more.
	x := &addressing{k: k, tensor: c.Load.Tensor, dims: k.Access(c.Load), size: int64(c.Load.Tensor.Held().Size())}
	row := comingRow{from: x.step(address, len(x.dims)-1, k.lead(), -1), end: k.offset(address, c.Bytes)}
	row.last = a.Calc(asm.Pred, "setp.eq.u64", row.end, x.step(k.pointer(x.tensor), 0, k.size(x.tensor.Shape[0]), 1))
	to := a.Calc(asm.B64, "selp.b64", k.wordStart(row.end), k.wordStart(k.offset(row.end, wordBytes-1)), row.last)
	row.rest = a.Calc(asm.B32, "sub.s32", k.lowWord(a.Calc(asm.B64, "sub.s64", to, row.from)), asm.Int(before))
	return row
}

// copyTail has the first threads copy what the row with which its tensor ends has of a last word, and put zeros behind it: the word is read as a
// whole. The first of them sends for the rest then, behind what they have stored.
func (k *kernel) copyTail(c *block.RowCopy, row comingRow) {
	if k.Words == nil {
		return
	}
	a, size := k.a, c.Load.Tensor.Held().Size()
	does := k.both(a.Calc(asm.Pred, "setp.lt.u32", k.tid, asm.Int(wordBytes/size)), row.last)
	at := a.Calc(asm.B64, "mad.wide.s32", k.tid, asm.Int(size), k.wordStart(row.end))
	within := k.lowWord(a.Calc(asm.B64, "sub.s64", at, row.from))
	to := a.Register(a.Add(within, a.Add(k.sharedBase(), asm.Int(k.kept[c.Store.Tensor]))))
	raw := a.Op(asm.B32, "mov.b32", asm.Int(0))
	a.If(k.both(does, a.Calc(asm.Pred, "setp.lt.u64", at, row.end))).Set(raw, fmt.Sprintf("ld.global.u%d", 8*size), asm.At(at))
	a.If(does).Do(fmt.Sprintf("st.shared.u%d", 8*size), asm.At(to), raw)
	a.Do("bar.warp.sync", asm.AllLanes)
}

// sendFor copies a part of a row, the one with a number, which begins at a position behind where the copy begins: a whole one or the last.
func (k *kernel) sendFor(c *block.RowCopy, asks asm.Reg, row comingRow, position, number asm.Number, whole bool) {
	a := k.a
	size := c.Load.Tensor.Held().Size()
	from, bytes := row.from, asm.Number(asm.Int(c.Step*int64(size)))
	if !whole {
		bytes = row.rest
		k.copyTail(c, row)
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
	a.If(asks).Set(asm.Sink, "mbarrier.arrive.expect_tx.shared::cta.b64", asm.At(bar), bytes)
	hint, policy := k.passing(c.Load.Tensor)
	a.If(asks).Do("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"+hint, append([]asm.Operand{asm.At(to), asm.At(from), bytes, asm.At(bar)}, policy...)...)
}

// rowArrives waits, at the beginning of a step of a loop, for the parts of rows that no loop before it has waited for.
func (k *kernel) rowArrives(loop *ir.Op, position asm.Reg) {
	waited := false
	for _, c := range k.RowCopies[loop] {
		if c.Parts == 0 {
			continue
		}
		a := k.a
		bar := a.Register(a.Add(a.Mul(k.partOf(c, k.behindLead(loop, position)), mbarrierBytes), a.Register(a.Add(k.sharedBase(), asm.Int(k.counters[c])))))
		var phase asm.Number = asm.Int(0)
		if k.rows != nil {
			phase = k.rows.phase
		}
		k.waitFor(bar, phase)
		waited = true
	}
	if waited { // each lane for itself; where the step's reductions are deferred, no exchange brings them together again
		k.a.Do("bar.warp.sync", asm.AllLanes)
	}
}

// rowLeaves sends, at the end of a step of a loop, for what takes the place of the parts of rows that no loop behind it needs.
func (k *kernel) rowLeaves(loop *ir.Op, position asm.Reg, full bool) {
	if k.rows == nil {
		return
	}
	met := false
	position = k.behindLead(loop, position)
	for _, c := range k.rowCopies() {
		if c.Last != loop {
			continue
		}
		if !met {
			k.barrier()
			met = true
		}
		k.sendFor(c, k.rows.asks, k.rows.coming[c], position, k.partOf(c, position), full || !k.Ragged(loop.Axis))
	}
}

// behindLead is how far a position of a loop lies behind where the copy of its row begins.
func (k *kernel) behindLead(loop *ir.Op, position asm.Reg) asm.Reg {
	if !k.LoopsByWords(loop.Axis) {
		return position
	}
	return k.a.Op(asm.B32, "add.s32", position, k.lead())
}

// partOf is the number of the part that begins at a position.
func (k *kernel) partOf(c *block.RowCopy, position asm.Reg) asm.Reg {
	return k.a.Register(k.a.Quotient(position, asm.Int(c.Step)))
}
