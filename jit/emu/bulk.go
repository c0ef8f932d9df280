package emu

import (
	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

// A bulkQueue is a thread's bulk copies that end by groups.
type bulkQueue struct {
	open   []*operationInFlight
	groups [][]*operationInFlight
}

// bulkCopy decodes cp.async.bulk and cp.reduce.async.bulk.
func bulkCopy(d *decoder, reduce bool) {
	switch {
	case d.has("commit_group"):
		d.in.run = func(w *warp) {
			for m := w.active; m != 0; m &= m - 1 {
				q := &w.bulk[first(m)]
				q.groups = append(q.groups, q.open)
				q.open = nil
			}
		}
	case d.has("wait_group"):
		read, n := d.has("read"), int(d.constInt())
		d.in.run = func(w *warp) { w.waitBulk(n, read) }
	case d.has("prefetch"):
		bulkPrefetch(d)
	case d.has("tensor"):
		tensorCopy(d, reduce)
	default:
		linearCopy(d, reduce)
	}
}

// waitBulk completes the groups of the active lanes but for the newest keep; with
// read, only as far as their sources may change.
func (w *warp) waitBulk(keep int, read bool) {
	for m := w.active; m != 0; m &= m - 1 {
		lane := first(m)
		q := &w.bulk[lane]
		done := len(q.groups) - keep
		for i := range max(done, 0) {
			for _, o := range q.groups[i] {
				if o.take(); !read {
					o.end()
				}
				if o.awaited { // an earlier wait has said so; what was written since is no business of this copy
					continue
				}
				o.awaited = true
				for _, s := range o.source { // from here on others may be told that it was read
					w.noteRead(s.shared, lane, s.at, s.n)
				}
			}
		}
		if done > 0 && !read {
			q.groups = q.groups[done:]
		}
	}
}

// finish reports copies from the shared memory of a block that is gone.
func (q *bulkQueue) finish() {
	for _, g := range append(q.groups, q.open) {
		for _, o := range g {
			if o.awaited {
				continue
			}
			o.as(func() {
				o.w.report(PendingCopy, 1<<o.lane, "the block exits without waiting until a copy from its shared memory has read it: need cp.async.bulk.wait_group")
			})
		}
	}
}

func bulkPrefetch(d *decoder) {
	d.must("L2")
	if d.has("tensor") {
		dims := d.dimensions()
		d.has("L2")
		d.must("global")
		d.has("tile")
		hint := d.has("L2::cache_hint")
		m := d.tensorOperand(dims)
		if hint {
			d.src(number.Types["b64"])
		}
		d.in.run = func(w *warp) {
			for l := w.active; l != 0; l &= l - 1 {
				m.find(w, first(l), false)
			}
		}
		return
	}
	d.must("global")
	hint := d.has("L2::cache_hint")
	a, size := d.address(syntax.SpaceGlobal), d.src(number.Types["u32"])
	if hint {
		d.src(number.Types["b64"])
	}
	d.in.run = func(w *warp) {
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			w.bulkPlace(a.space, a.in(w, lane), int(uint32(w.regs[size][lane])), bulkUnit, lane)
		}
	}
}

// bulkUnit is what sizes and addresses of bulk copies are multiples of.
const bulkUnit = 16

// bulkPlace finds the bytes of a bulk copy.
func (w *warp) bulkPlace(s syntax.Space, address uint64, n, align, lane int) (place, bool) {
	if n%bulkUnit != 0 || n == 0 || n < 0 {
		w.report(Misaligned, 1<<lane, "a bulk copy of %d bytes: need a multiple of %d", n, bulkUnit)
		return place{}, false
	}
	return w.locate(s, address, n, align, lane)
}

// A signal is the mbarrier operand of a copy to shared memory, with the mask of a multicast.
type signal struct {
	barrier   address
	mask      row
	multicast bool
}

// A landing is a place in a block's shared memory and the mbarrier that the copy there reports to.
type landing struct {
	place   place
	barrier *mbarrier
}

// landings finds where a copy of n bytes comes down: once, or in each block of the mask.
func (w *warp) landings(dst address, n, align, lane int, s signal) []landing {
	var all []landing
	to := dst.in(w, lane)
	one := func(to, bar uint64) {
		p, ok := w.bulkPlace(dst.space, to, n, align, lane)
		if !ok {
			return
		}
		if p.space != syntax.SpaceShared {
			w.report(OutOfBounds, 1<<lane, "copies to %s address %#x, which is not in shared memory", p.space, to)
			return
		}
		b := w.mbarrierAt(dst.space, bar, lane)
		if b == nil {
			return
		}
		if b.shared != p.shared {
			w.report(BarrierMisuse, 1<<lane, "copies to the shared memory of one block and reports to an mbarrier of another")
			return
		}
		all = append(all, landing{p, b})
	}
	if !s.multicast {
		one(to, s.barrier.in(w, lane))
		return all
	}
	mask := w.regs[s.mask][lane] & 0xffff
	blocks := w.block.cluster.blocks
	if mask == 0 || mask>>len(blocks) != 0 {
		w.report(OutOfBounds, 1<<lane, "a multicast to the blocks %#x of a cluster of %d", mask, len(blocks))
	}
	for rank := range blocks {
		if mask>>rank&1 == 1 {
			base := blocks[rank].window()
			one(base|to&(blockWindow-1), base|s.barrier.in(w, lane)&(blockWindow-1))
		}
	}
	return all
}

// deliver starts a copy of data to shared memory: data gives the bytes for an
// address when it comes down, given what is there.
func (w *warp) deliver(lane int, to []landing, source []span, read func(), data func(at int, have []byte) []byte) {
	o := &operationInFlight{lane: lane, source: source, read: read}
	for _, l := range to {
		w.asyncWrite(l.place.shared, lane, l.place.at, len(l.place.data))
		o.target = append(o.target, span{l.place.shared, l.place.at, len(l.place.data)})
	}
	c := w.block.cluster
	o.write = func() {
		for _, l := range to {
			c.land(l.place.shared, l.place.at, data(l.place.at, l.place.data), l.barrier)
			l.barrier.transferred(w, lane, len(l.place.data))
		}
	}
	w.begin(o)
}

// signal takes what follows the size of a copy to shared memory.
func (d *decoder) signal(s syntax.Space, multicast bool) signal {
	sig := signal{barrier: d.address(s), multicast: multicast}
	if multicast {
		sig.mask = d.wideSrc(number.Types["b16"])
	}
	return sig
}

// linearCopy is a bulk copy of contiguous bytes.
func linearCopy(d *decoder, reduce bool) {
	to := d.must("shared::cluster", "shared::cta", "global")
	from := d.must("global", "shared::cta")
	multicast := d.has("multicast::cluster")
	hint := d.has("L2::cache_hint")
	if to == from || to == "shared::cta" && from != "global" {
		d.fail("cannot copy from .%s to .%s", from, to)
	}
	var combine reduction
	if reduce {
		combine = d.reduction(to)
	}
	u32 := number.Types["u32"]
	if to == "global" {
		d.must("bulk_group")
		dst, src, size := d.address(syntax.SpaceGlobal), d.address(syntax.SpaceShared), d.src(u32)
		if hint {
			d.src(number.Types["b64"])
		}
		d.in.run = func(w *warp) {
			for m := w.active; m != 0; m &= m - 1 {
				lane := first(m)
				n := int(uint32(w.regs[size][lane]))
				p, ok := w.bulkPlace(syntax.SpaceGlobal, dst.in(w, lane), n, bulkUnit, lane)
				q, ok2 := w.bulkPlace(syntax.SpaceShared, src.in(w, lane), n, bulkUnit, lane)
				if ok && ok2 {
					w.bulkTraffic(n, []place{p})
					w.give(lane, q, func(box []byte) { w.toGlobal(lane, p, box, combine) })
				}
			}
		}
		return
	}
	d.must("mbarrier::complete_tx::bytes")
	dst, src, size := d.address(spaces[to]), d.address(spaces[from]), d.src(u32)
	sig := d.signal(spaces[to], multicast)
	if hint {
		d.src(number.Types["b64"])
	}
	d.in.run = func(w *warp) {
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			n := int(uint32(w.regs[size][lane]))
			p, ok := w.bulkPlace(spaces[from], src.in(w, lane), n, bulkUnit, lane)
			if !ok {
				continue
			}
			landings := w.landings(dst, n, bulkUnit, lane, sig)
			w.bulkTraffic(n*len(landings), []place{p})
			var data []byte
			read := func() { data = append(data, p.data...) }
			var source []span
			if p.space == syntax.SpaceShared {
				w.asyncRead(p.shared, lane, p.at, n)
				source = []span{{p.shared, p.at, n}}
				for _, l := range landings {
					if l.place.shared == p.shared {
						w.report(OutOfBounds, 1<<lane, "copies from shared memory to that of its own block: need another block of the cluster")
					}
				}
			} else {
				w.read(p, lane)
			}
			w.deliver(lane, landings, source, read, func(_ int, have []byte) []byte {
				if combine.f == nil {
					return data
				}
				return combine.all(syntax.SpaceShared, have, data)
			})
		}
	}
}

// give starts a copy from shared memory that ends by its group; put takes the bytes.
func (w *warp) give(lane int, from place, put func(box []byte)) {
	w.asyncRead(from.shared, lane, from.at, len(from.data))
	var data []byte
	o := &operationInFlight{
		lane: lane, source: []span{{from.shared, from.at, len(from.data)}},
		read:  func() { data = append(data, from.data...) },
		write: func() { put(data) },
	}
	w.begin(o)
	w.bulk[lane].open = append(w.bulk[lane].open, o)
}

// toGlobal writes bytes to global memory, or combines them with what is there.
func (w *warp) toGlobal(lane int, p place, data []byte, combine reduction) {
	if combine.f == nil {
		w.written(p, lane, data)
		copy(p.data, data)
		return
	}
	all := &w.block.launch.memory.atomics
	all.Lock()
	defer all.Unlock()
	if !allFilled(p.fill) {
		w.reportUnfilled(p, lane)
		fill(p.fill)
	}
	copy(p.data, combine.all(syntax.SpaceGlobal, p.data, data))
}

// A reduction combines what is there with what comes, element by element.
type reduction struct {
	size int
	f    func(s syntax.Space, old, b uint64) uint64
}

func (r reduction) all(s syntax.Space, have, data []byte) []byte {
	out := make([]byte, len(data))
	for i := 0; i+r.size <= len(data); i += r.size {
		setWord(out[i:i+r.size], r.f(s, word(have[i:i+r.size]), word(data[i:i+r.size])))
	}
	return out
}

// reductionTypes are the types that each operation takes, in global and in shared memory.
var reductionTypes = map[string]map[string][]string{
	"global": {
		"add": {"u32", "s32", "u64", "f32", "f64", "f16", "bf16"},
		"min": {"u32", "s32", "u64", "s64", "f16", "bf16"}, "max": {"u32", "s32", "u64", "s64", "f16", "bf16"},
		"inc": {"u32"}, "dec": {"u32"}, "and": {"b32", "b64"}, "or": {"b32", "b64"}, "xor": {"b32", "b64"},
	},
	"shared::cluster": {
		"add": {"u32", "s32", "u64"}, "min": {"u32", "s32"}, "max": {"u32", "s32"},
		"inc": {"u32"}, "dec": {"u32"}, "and": {"b32"}, "or": {"b32"}, "xor": {"b32"},
	},
}

func (d *decoder) reduction(to string) reduction {
	op := d.must("add", "min", "max", "inc", "dec", "and", "or", "xor")
	noftz := d.has("noftz")
	t := d.typeOf(reductionTypes[to][op]...)
	if noftz != (op == "add" && t.IsFloat() && t.Bits == 16) {
		d.fail(".noftz goes with .add of f16 and bf16, and must be with it")
	}
	return reduction{t.Bytes(), atomicFunction(op, t)}
}
