package emu

import (
	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

// asyncOps are the copies that run beside the thread: cp.async with its groups.
var asyncOps = map[string]operation{
	"cp": {classAsync, asyncCopy},
}

// An asyncQueue is what a thread has copying: chunks that belong to no group yet,
// and groups, the oldest first.
type asyncQueue struct {
	open   []asyncChunk
	groups [][]asyncChunk
	free   [][]asyncChunk // slices to use again
}

// An asyncChunk is data on its way to shared memory.
type asyncChunk struct {
	at, n int
	data  [16]byte
}

func (q *asyncQueue) reset() {
	q.open = q.open[:0]
	for _, g := range q.groups {
		q.free = append(q.free, g[:0])
	}
	q.groups = q.groups[:0]
}

func (q *asyncQueue) commit() {
	q.groups = append(q.groups, q.open)
	q.open = nil
	if n := len(q.free); n > 0 {
		q.open, q.free = q.free[n-1], q.free[:n-1]
	}
}

func asyncCopy(d *decoder) {
	reduce := d.has("reduce")
	if !d.has("async") {
		d.fail("only cp.async is known")
	}
	switch {
	case d.has("bulk"):
		bulkCopy(d, reduce)
		return
	case reduce:
		d.fail("need .bulk")
	case d.has("mbarrier"):
		copiesArrive(d)
		return
	}
	switch {
	case d.has("commit_group"):
		d.in.run = func(w *warp) {
			for m := w.active; m != 0; m &= m - 1 {
				w.async[first(m)].commit()
			}
		}
		return
	case d.has("wait_all"):
		d.in.run = func(w *warp) {
			for m := w.active; m != 0; m &= m - 1 {
				w.async[first(m)].commit()
			}
			w.finishCopies(0)
		}
		return
	case d.has("wait_group"):
		n := d.constInt()
		d.in.run = func(w *warp) { w.finishCopies(int(n)) }
		return
	}
	cache := d.must("ca", "cg")
	d.must("shared", "shared::cta")
	if !d.has("global") {
		d.fail("need .global")
	}
	if d.has("L2::cache_hint") {
		d.fail("a cache policy: an H200 finds such a copy an illegal instruction, whatever the policy")
	}
	d.one("L2::64B", "L2::128B", "L2::256B")
	dst, src := d.address(syntax.SpaceShared), d.address(syntax.SpaceGlobal)
	size := int(d.constInt())
	if size != 4 && size != 8 && size != 16 || cache == "cg" && size != 16 {
		d.fail("cannot copy %d bytes", size)
	}
	from := row(-1)
	var ignore predSource
	ignores := false
	if d.more() {
		o := d.operand()
		if r, ok := d.st.Scope.Register(o.Name); ok && r.Type.Kind == number.KindPred {
			ignore, ignores = d.predicate(o), true
		} else {
			from = d.source(o, number.Types["b32"], false)
		}
	}
	d.in.run = func(w *warp) {
		skip := uint32(0)
		if ignores {
			skip = ignore.get(w)
		}
		var sizes [warpSize]int // what each lane reads: the rest of what it writes is zeros
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			n := size
			if from >= 0 {
				if n = int(uint32(w.regs[from][lane])); n > size {
					w.report(UndefinedValue, 1<<lane, "copies %d bytes of %d", n, size)
					n = size
				}
			}
			if skip>>lane&1 == 1 {
				n = 0
			}
			sizes[lane] = n
			w.startCopy(lane, dst.in(w, lane), src.in(w, lane), size, n)
		}
		w.traffic(dst, size)
		w.trafficOf(src, &sizes)
	}
}

// startCopy reads n bytes, and will write size bytes of them and zeros.
func (w *warp) startCopy(lane int, dst, src uint64, size, n int) {
	to, ok := w.locate(syntax.SpaceShared, dst, size, size, lane)
	if !ok {
		return
	}
	c := asyncChunk{at: to.at, n: size}
	if n > 0 {
		from, ok := w.locate(syntax.SpaceGlobal, src, n, 1, lane)
		if !ok {
			return
		}
		if src%uint64(size) != 0 {
			w.report(Misaligned, 1<<lane, "a copy of %d bytes from global address %#x, which is no multiple of %d", size, src, size)
		}
		w.read(from, lane)
		copy(c.data[:], from.data)
	}
	// From here to the wait the copy may write at any time.
	w.checkPending(to, lane, "copies to")
	w.noteWrite(to.shared, lane, to.at, size, nil)
	pending := w.block.shared.pending
	for i := to.at; i < to.at+size; i++ {
		if pending[i] < mbarrierMark-1 {
			pending[i]++
		}
	}
	q := &w.async[lane]
	q.open = append(q.open, c)
}

// finishCopies completes the groups of the active lanes but for the newest keep.
func (w *warp) finishCopies(keep int) {
	for m := w.active; m != 0; m &= m - 1 {
		lane := first(m)
		q := &w.async[lane]
		done := len(q.groups) - keep
		if done <= 0 {
			continue
		}
		for _, g := range q.groups[:done] {
			w.landChunks(lane, g)
			q.free = append(q.free, g[:0])
		}
		q.groups = append(q.groups[:0], q.groups[done:]...)
	}
}

// landChunks writes chunks to shared memory.
func (w *warp) landChunks(lane int, chunks []asyncChunk) {
	s := &w.block.shared
	for i := range chunks {
		c := &chunks[i]
		for b := c.at; b < c.at+c.n; b++ {
			s.pending[b]--
		}
		copy(s.data[c.at:c.at+c.n], c.data[:c.n])
		fill(s.filled[c.at : c.at+c.n])
		w.stampWrite(lane, c.at, c.n)
	}
}
