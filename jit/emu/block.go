package emu

import (
	"fmt"
	"strings"
)

// A block is a thread block while it runs.
type block struct {
	launch   *launch
	place    [3]int // %ctaid
	id       int    // linear
	warps    []*warp
	shared   sharedMemory
	barriers [barrierCount]barrier
	counts   []siteCount
	steps    uint64 // warp instructions
	stopped  bool   // by a trap or a deadlock
}

// slice is how many instructions a warp runs before the next has its turn.
const slice = 4096

// newBlock makes a block that a worker uses for one place in the grid after the other.
func newBlock(l *launch) *block {
	b := &block{launch: l, counts: make([]siteCount, len(l.entry.code))}
	threads := l.block[0] * l.block[1] * l.block[2]
	for i := range (threads + warpSize - 1) / warpSize {
		w := &warp{
			block: b, index: i,
			regs: make([]lanes, l.entry.rows), init: make([]uint32, l.entry.rows),
			preds: make([]uint32, l.entry.preds), predInit: make([]uint32, l.entry.preds),
		}
		b.warps = append(b.warps, w)
		if l.entry.Local > 0 {
			for lane := range w.local {
				w.local[lane] = make([]byte, 2*l.entry.Local)
			}
		}
	}
	b.shared.init(l.entry.dynamic+l.dynamic, len(b.warps))
	if l.dynamic == 0 {
		b.shared.init(l.entry.Shared, len(b.warps))
	}
	return b
}

// start puts the block at the beginning of its program.
func (b *block) start(id int) {
	l := b.launch
	b.id = id
	b.place = [3]int{id % l.grid[0], id / l.grid[0] % l.grid[1], id / (l.grid[0] * l.grid[1])}
	b.stopped = false
	b.shared.start()
	b.barriers = [barrierCount]barrier{}
	threads := l.block[0] * l.block[1] * l.block[2]
	for i, w := range b.warps {
		w.live = allLanes
		if rest := threads - i*warpSize; rest < warpSize {
			w.live = 1<<rest - 1
		}
		w.frags = append(w.frags[:0], fragment{mask: w.live})
		clear(w.init)
		clear(w.predInit)
		w.acquired = false
		w.clock.start(b.shared.tick(), len(b.warps), b.shared.floor)
		for lane := range w.async {
			w.async[lane].reset()
			clear(w.local[lane])
		}
		for _, c := range l.entry.consts {
			w.init[c.row] = allLanes
			for lane := range warpSize {
				w.regs[c.row][lane] = c.at(w, lane)
			}
		}
	}
}

// at is the value of a constant row in a lane of a warp.
func (c *constRow) at(w *warp, lane int) uint64 {
	switch {
	case c.special.fill != nil:
		return c.special.fill(w, lane)
	case c.dynamic && c.variable.space == spaceShared:
		return uint64(w.block.launch.entry.dynamic) + c.value
	case c.dynamic:
		return w.block.launch.variables[c.variable] + c.value
	}
	return c.value
}

// run executes the block to its end.
func (b *block) run() {
	for !b.stopped {
		progress, alive := 0, false
		for _, w := range b.warps {
			if w.live == 0 {
				continue
			}
			alive = true
			n := w.step(slice)
			progress += n
			b.steps += uint64(n)
			if b.stopped {
				return
			}
		}
		if !alive {
			return
		}
		if progress == 0 {
			b.deadlock()
			return
		}
		if b.launch.spend(progress) {
			w := b.firstAlive()
			w.report(Runaway, w.live, "the launch has executed more than %d warp instructions and not ended", b.launch.options.MaxSteps)
			b.stopped = true
		}
	}
}

func (b *block) firstAlive() *warp {
	for _, w := range b.warps {
		if w.live != 0 {
			return w
		}
	}
	return b.warps[0]
}

// deadlock reports who waits for what.
func (b *block) deadlock() {
	var waits []string
	for _, w := range b.warps {
		for _, f := range w.frags {
			if f.mask == 0 {
				continue
			}
			at := b.launch.entry.code[f.pc].site
			s := fmt.Sprintf("warp %d lanes %s at %s", w.index, laneList(f.mask), at)
			if f.wait == forBarrier {
				s += " wait for " + b.barriers[f.barrier].state(f.barrier)
			}
			waits = append(waits, s)
		}
	}
	const most = 8
	if n := len(waits); n > most {
		waits = append(waits[:most], fmt.Sprintf("and %d more", n-most))
	}
	w := b.firstAlive()
	w.in = &b.launch.entry.code[w.frags[0].pc]
	w.report(Deadlock, w.live, "no thread of the block can run: %s", strings.Join(waits, "; "))
	b.stopped = true
}
