package emu

import (
	"fmt"
	"math/bits"

	"tilec/jit/emu/number"
	"tilec/jit/emu/race"
)

const barrierCount = 16 // of a block

// A barrier is one of the numbered barriers of a block. Arrivals count in warps.
type barrier struct {
	expected int // warps named by the instructions that have arrived; 0 for all of the block
	arrived  int
	waiting  []*warp
	reduces  bool // by barrier.red
	first    *site
	clock    race.Clock // what the warps that have arrived have seen

	count   int // of true predicates
	votes   int // predicates in all
	results []func(count, votes int)
}

func (b *barrier) state(number int) string {
	need := "all warps"
	if b.expected > 0 {
		need = fmt.Sprintf("%d warps", b.expected)
	}
	return fmt.Sprintf("barrier %d, where %d have arrived of %s", number, b.arrived, need)
}

var barrierOps = map[string]operation{
	"bar":     {classBarrier, func(d *decoder) { barrierInstruction(d, true) }},
	"barrier": {classBarrier, func(d *decoder) { barrierInstruction(d, d.has("aligned")) }},
}

// barrierInstruction decodes bar and barrier: .sync, .arrive and .red.
func barrierInstruction(d *decoder, aligned bool) {
	if d.has("cluster") {
		clusterBarrier(d, aligned)
		return
	}
	if d.has("warp") {
		warpBarrier(d)
		return
	}
	d.has("cta")
	u32 := number.Types["u32"]
	mode := d.must("sync", "arrive", "red")
	var result func(w *warp, count, votes int)
	var vote predSource
	if mode == "red" {
		switch op := d.must("popc", "and", "or"); op {
		case "popc":
			d.typeOf("u32")
			dst := d.dst(u32)
			result = func(w *warp, count, _ int) {
				out := w.out(dst)
				for m := w.active; m != 0; m &= m - 1 {
					out[first(m)] = uint64(count)
				}
			}
		default:
			d.typeOf("pred")
			p := d.predDst()
			result = func(w *warp, count, votes int) {
				var v uint32
				if op == "and" && count == votes || op == "or" && count > 0 {
					v = allLanes
				}
				w.setPred(p, v)
			}
		}
	}
	which := d.src(u32)
	count := row(-1)
	if mode == "red" && len(d.ops) == 2 || mode != "red" && d.more() {
		count = d.src(u32)
	}
	if mode == "red" {
		vote = d.pred()
	} else if mode == "arrive" && count < 0 {
		d.fail("a count of threads is missing")
	}
	in := d.in
	in.control = func(w *warp, f *fragment) outcome {
		if w.active == 0 {
			return advance
		}
		if aligned && !w.together(f, w.live) {
			return moved
		}
		w.execute(in, func(*warp) {})
		lane := first(w.active)
		n := int(uint32(w.regs[which][lane]))
		if n >= barrierCount {
			w.report(BarrierMisuse, w.active, "barrier %d: the barriers are 0 to %d", n, barrierCount-1)
			return advance
		}
		threads := 0
		if count >= 0 {
			threads = int(uint32(w.regs[count][lane]))
			if threads%warpSize != 0 || threads == 0 || threads > len(w.block.warps)*warpSize {
				w.report(BarrierMisuse, w.active, "a count of %d threads: need a multiple of %d, at most the %d of the block", threads, warpSize, len(w.block.warps)*warpSize)
				threads = min(number.AlignUp(max(threads, 1), warpSize), len(w.block.warps)*warpSize)
			}
		}
		bar := &w.block.barriers[n]
		var votes uint32
		if result != nil {
			votes = vote.get(w) & w.active
		}
		if mode == "arrive" {
			bar.arrive(w, threads/warpSize, false)
			f.pc++
			bar.finish(w.block, n)
			return moved
		}
		// The fragment stays here until the barrier completes; the warp has
		// arrived when all of its threads have.
		f.wait, f.barrier = forBarrier, n
		here := uint32(0)
		for i := range w.frags {
			if g := &w.frags[i]; g.wait == forBarrier && g.barrier == n {
				here |= g.mask
			}
		}
		if off := f.mask &^ w.active; off != 0 { // predicated off: they go on
			f.mask = w.active
			here &^= off
			w.frags = append(w.frags, fragment{pc: f.pc + 1, mask: off})
		}
		if result != nil {
			bar.count += bits.OnesCount32(votes)
			bar.votes += bits.OnesCount32(w.active)
			mask := w.active
			bar.results = append(bar.results, func(count, votes int) {
				w.active = mask
				result(w, count, votes)
			})
		}
		if here|^w.live == allLanes || aligned {
			bar.waiting = append(bar.waiting, w)
			bar.arrive(w, threads/warpSize, mode == "red")
			bar.finish(w.block, n)
		}
		return moved
	}
}

// arrive counts a warp in.
func (b *barrier) arrive(w *warp, expected int, reduces bool) {
	if b.arrived == 0 {
		b.expected, b.reduces, b.first = expected, reduces, w.in.site
		b.clock.Clear(len(w.clock.Seen))
	} else {
		if b.expected != expected {
			w.report(BarrierMisuse, w.active, "a count of %d threads, but %s arrived with %d (0 is all)", expected*warpSize, b.first, b.expected*warpSize)
		}
		if b.reduces != reduces {
			w.report(BarrierMisuse, w.active, "mixes with %s at one barrier", b.first)
		}
	}
	b.arrived++
	w.release()
	b.clock.Join(&w.clock)
}

// finish completes the barrier when all have arrived.
func (b *barrier) finish(blk *block, number int) {
	expected := b.expected
	if expected == 0 {
		for _, w := range blk.warps {
			if w.live != 0 {
				expected++
			}
		}
	}
	if b.arrived == 0 || b.arrived < expected {
		return
	}
	for _, r := range b.results {
		r(b.count, b.votes)
	}
	for _, w := range b.waiting {
		w.clock.Join(&b.clock)
		for i := range w.frags {
			if f := &w.frags[i]; f.wait == forBarrier && f.barrier == number {
				f.wait = running
				f.pc++
			}
		}
	}
	blk.cluster.settle()
	*b = barrier{waiting: b.waiting[:0], results: b.results[:0], clock: b.clock}
}

// warpBarrier decodes bar.warp.sync.
func warpBarrier(d *decoder) {
	d.must("sync")
	mask := d.src(number.Types["b32"])
	d.collective(mask, func(w *warp, members uint32) {
		// Ordering among all lanes is what the race check knows.
		if members == w.live {
			w.release()
			w.block.cluster.settle()
		}
	})
}
