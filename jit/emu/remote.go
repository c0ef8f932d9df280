package emu

import (
	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

// asyncStore is st.async: a store to another block's shared memory that reports to an mbarrier there.
func asyncStore(d *decoder) {
	d.one("weak")
	d.has("cluster")
	s := d.space("shared::cluster")
	d.must("mbarrier::complete_tx::bytes")
	n := d.vectorSize()
	t := d.typeOf("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64")
	a, srcs := d.address(s), d.sources(n, t)
	remoteUpdate(d, a, srcs, d.address(s), reduction{size: t.Bytes()})
}

// asyncReduce is red.async.
func asyncReduce(d *decoder) {
	d.one("relaxed")
	d.one("cluster")
	s := d.space("shared::cluster")
	d.must("mbarrier::complete_tx::bytes")
	r := d.reduction("shared::cluster")
	t := number.Types[map[int]string{4: "b32", 8: "b64"}[r.size]]
	a, srcs := d.address(s), d.sources(1, t)
	remoteUpdate(d, a, srcs, d.address(s), r)
}

// remoteUpdate makes the instruction that stores values in, or combines them with, shared memory of another block.
func remoteUpdate(d *decoder, a address, srcs []row, barrier address, combine reduction) {
	size := combine.size
	d.in.run = func(w *warp) {
		if len(w.block.cluster.blocks) == 1 {
			w.report(UndefinedValue, w.active, "needs a cluster of more than one block")
		}
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			p, ok := w.locate(a.space, a.in(w, lane), size*len(srcs), size*len(srcs), lane)
			if !ok {
				continue
			}
			b := w.mbarrier(barrier, lane)
			if b == nil {
				continue
			}
			if b.shared != p.shared {
				w.report(BarrierMisuse, 1<<lane, "stores to the shared memory of one block and reports to an mbarrier of another")
				continue
			}
			value := make([]byte, size*len(srcs))
			for i, src := range srcs {
				setWord(value[i*size:i*size+size], w.regs[src][lane])
			}
			if combine.f != nil {
				w.updateLater(lane, p, b, value, combine)
				continue
			}
			w.deliver(lane, []landing{{p, b}}, nil, nil, func(int, []byte) []byte { return value })
		}
	}
}

// updateLater combines a value with shared memory. Several updates of one place
// may be in flight, for they are atomic.
func (w *warp) updateLater(lane int, p place, b *mbarrier, value []byte, combine reduction) {
	if !allFilled(p.fill) {
		w.reportUnfilled(p, lane)
	}
	c := w.block.cluster
	w.begin(&operationInFlight{lane: lane, target: []span{{p.shared, p.at, len(p.data)}}, write: func() {
		c.land(p.shared, p.at, combine.all(syntax.SpaceShared, p.data, value), b)
		b.transferred(w, lane, len(value))
	}})
}
