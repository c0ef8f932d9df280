package emu

import (
	"fmt"

	"tilec/jit/emu/syntax"
)

// A block is a thread block while it runs.
type block struct {
	launch   *launch
	cluster  *cluster
	rank     int    // in the cluster
	place    [3]int // %ctaid
	id       int    // linear
	warps    []*warp
	shared   sharedMemory
	barriers [barrierCount]barrier
	counts   []siteCount
	steps    uint64 // warp instructions
	stopped  bool   // by a trap or a deadlock

	registers registerPool
	groups    []warpgroup
}

// slice is how many instructions a warp runs before the next has its turn.
const slice = 4096

// newBlock makes a block that a worker uses for one place in the grid after the other.
func newBlock(l *launch, c *cluster, rank int) *block {
	b := &block{launch: l, cluster: c, rank: rank, counts: make([]siteCount, len(l.kernel.code))}
	threads := l.block[0] * l.block[1] * l.block[2]
	for i := range (threads + warpSize - 1) / warpSize {
		w := &warp{
			block: b, index: i, slot: rank*l.warps() + i,
			regs: make([]lanes, l.kernel.rows), init: make([]uint32, l.kernel.rows),
			preds: make([]uint32, len(l.kernel.PredicateNames)), predInit: make([]uint32, len(l.kernel.PredicateNames)),
		}
		b.warps = append(b.warps, w)
		if l.kernel.Local > 0 {
			for lane := range w.local {
				w.local[lane] = make([]byte, 2*l.kernel.Local)
			}
		}
	}
	size := l.kernel.Dynamic + l.dynamic
	if l.dynamic == 0 {
		size = l.kernel.Shared
	}
	b.shared.init(size, len(b.warps), rank*l.warps(), &c.time)
	return b
}

// start puts the block at the beginning of its program.
func (b *block) start(place [3]int) {
	l := b.launch
	b.place = place
	b.id = place[0] + l.grid[0]*(place[1]+l.grid[1]*place[2])
	b.registers.start(l)
	b.groups = append(b.groups[:0], make([]warpgroup, (len(b.warps)+3)/4)...)
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
		w.forgetUndefined()
		w.acquired, w.turn, w.mixed = false, 0, false
		w.clock.Start(b.cluster.time.Tick(), len(b.warps)*len(b.cluster.blocks), &b.cluster.time)
		w.loose, w.dirty, w.gates, w.passed = 0, 0, [warpSize]int{}, 0
		w.matrix.reset()
		for lane := range w.async {
			w.async[lane].reset()
			w.bulk[lane] = bulkQueue{}
			clear(w.local[lane])
		}
		for _, c := range l.kernel.consts {
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
	case c.dynamic && c.variable.Space == syntax.SpaceShared:
		at := c.variable.Address
		if at == syntax.DynamicShared {
			at = uint64(w.block.launch.kernel.Dynamic)
		}
		return w.block.window() + at + c.value
	case c.dynamic:
		return w.block.launch.variables[c.variable] + c.value
	}
	return c.value
}

// turn gives every warp a slice, and tells how many instructions ran and whether any thread lives.
func (b *block) turn() (progress int, alive bool) {
	for _, w := range b.warps {
		if w.live == 0 {
			continue
		}
		alive = true
		n := w.step(slice)
		progress += n
		b.steps += uint64(n)
		if b.stopped {
			break
		}
	}
	return progress, alive
}

// time is that of all launches on one memory: each begins when the one before has ended.
func (b *block) time() uint64 { return b.launch.began + b.steps }

func (b *block) firstAlive() *warp {
	for _, w := range b.warps {
		if w.live != 0 {
			return w
		}
	}
	return b.warps[0]
}

// waits says who in the block waits for what.
func (b *block) waits() []string {
	var waits []string
	for _, w := range b.warps {
		for i := range w.frags {
			f := &w.frags[i]
			if f.mask == 0 {
				continue
			}
			s := fmt.Sprintf("warp %d lanes %s at %s", w.index, laneList(f.mask), b.launch.kernel.code[f.pc].site)
			switch f.wait {
			case forBarrier:
				s += " wait for " + b.barriers[f.barrier].state(f.barrier)
			case forEvent:
				s += " wait for " + f.event.describe()
			}
			if len(b.cluster.blocks) > 1 {
				s = fmt.Sprintf("block %d ", b.rank) + s
			}
			waits = append(waits, s)
		}
	}
	return waits
}
