package interp

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/ir"
)

// This file copies rows to shared memory (block.RowCopy): before the loop that loads them first or, of blocks that stay, as the block is done with
// the row before. A part that is sent for is on its way, and may not be read, until it is waited for.

// rowPart is a part of the rows that a block copies.
type rowPart struct {
	copy   *block.RowCopy
	number int64
}

// onItsWay is how often a part was sent for, and what brings it, nil where that was done.
type onItsWay struct {
	sent  int
	bring func()
}

// rowOf is where the row of an access begins among the elements of its tensor, for the tile at which the warp stands.
func (w *warp) rowOf(op *ir.Op) int64 {
	from := w.block.tensor(op.Tensor)
	at := make([]int64, len(from.shape))
	dims := w.p().Access(op)
	for i, d := range dims[:len(dims)-1] {
		for _, t := range d.Affine.Terms {
			at[i] += t.Coef * w.axis(t.Axis).start
		}
		for _, s := range d.Affine.Scalars {
			at[i] += s.Coef * w.scalar(s.Value).Int
		}
		at[i] += d.Affine.Offset
	}
	first, inside := from.place(at)
	if !inside {
		failf("a row of %s at %v, of shape %v, is gone through", from.Name, at, from.shape)
	}
	return first
}

// copyRows sends for the rows that a loop loads first; for one that comes as a whole it waits. A block that stays has sent for them before.
func (w *warp) copyRows(loop *ir.Op) {
	if w.p().Tiles != nil {
		return
	}
	for _, c := range w.p().RowCopies[loop] {
		w.meet("copy a row of "+c.Load.Tensor.Name, nil)
		for n := int64(0); n < c.Parts && w.n == 0; n++ {
			w.send(c, n)
		}
		if c.Parts == 0 && w.n == 0 {
			w.bring(c, w.rowOf(c.Load), w.lead(), 0, c.Bytes/int64(c.Load.Tensor.Held().Size()))
		}
		w.meet("have the row of "+c.Load.Tensor.Name, nil)
	}
}

// bring puts elements of a row, which begins at first, into shared memory, behind the row's lead.
func (w *warp) bring(c *block.RowCopy, first, lead, from, to int64) {
	t, kept := w.block.tensor(c.Load.Tensor), w.block.kept[c.Store.Tensor]
	size := int64(t.Held().Size())
	for n := from; n < to; n++ {
		kept.room.put(int((n+lead)*size), t.DType.WholeBytes(), t.get(first+n))
	}
}

// throughRows is what a warp does of a block that goes through rows.
func (w *warp) throughRows(stride int64) {
	b := w.block
	w.keepTensors()
	if b.number < b.tiles() && w.n == 0 {
		w.place(b.number)
		for _, cs := range w.p().RowCopies {
			for _, c := range cs {
				for n := range c.Parts {
					w.send(c, n)
				}
			}
		}
	}
	w.meet("have sent for the first rows", nil)
	for tile := b.number; tile < b.tiles(); tile += stride {
		w.rows++
		w.place(tile)
		w.next = func(each func()) {
			if tile+stride < b.tiles() {
				w.place(tile + stride)
				each()
				w.place(tile)
			}
		}
		w.region(func() { w.body(w.p().Func.Body) })
	}
	w.next = nil
}

// send sends for a part of the row of the tile at which the warp stands.
func (w *warp) send(c *block.RowCopy, number int64) {
	t := w.block.tensor(c.Load.Tensor)
	size := int64(t.Held().Size())
	lead := w.lead()
	from := max(number*c.Step-lead, 0)
	to := min((number+1)*c.Step-lead, c.Bytes/size)
	part := w.block.part(rowPart{c, number})
	if part.bring != nil {
		failf("part %d of a row of %s is sent for, and the one before has not been waited for", number, t.Name)
	}
	w.block.kept[c.Store.Tensor].room.take(int((from+lead)*size), int((to-from)*size), fmt.Sprintf("part %d of a row of %s", number, t.Name))
	first := w.rowOf(c.Load)
	part.sent, part.bring = part.sent+1, func() { w.bring(c, first, lead, from, to) }
}

// part is a part of a block's rows.
func (b *blockState) part(p rowPart) *onItsWay {
	x := b.sent[p]
	if x == nil {
		x = &onItsWay{}
		b.sent[p] = x
	}
	return x
}

// rowArrives waits for the parts of rows that a step of a loop is the first to read.
func (w *warp) rowArrives(loop *ir.Op, at int64) {
	rows := max(w.rows, 1) // a block that does not stay has one
	for _, c := range w.p().RowCopies[loop] {
		if c.Parts == 0 {
			continue
		}
		number := (at + w.lead()) / c.Step
		part := w.block.part(rowPart{c, number})
		w.sched().wait(fmt.Sprintf("part %d of a row of %s", number, c.Load.Tensor.Name), func() bool { return part.sent >= rows })
		if part.bring != nil { // the first warp that comes; to the others the part is there
			part.bring()
			part.bring = nil
		}
	}
}

// rowLeaves sends for the next row's parts in the place of those that a step of a loop was the last to read.
func (w *warp) rowLeaves(loop *ir.Op, at int64) {
	if w.next == nil {
		return
	}
	for _, cs := range w.p().RowCopies {
		for _, c := range cs {
			if c.Last != loop {
				continue
			}
			w.meet("are done with a part of a row of "+c.Load.Tensor.Name, nil)
			if number := (at + w.lead()) / c.Step; w.n == 0 {
				w.next(func() { w.send(c, number) })
			}
		}
	}
}
