package emu

import (
	"math"
	"math/bits"

	"tilec/jit/emu/race"
)

const (
	warpSize = 32
	allLanes = math.MaxUint32
)

// lanes are the values of one register in a warp.
type lanes [warpSize]uint64

// A warp is 32 threads that execute together where they can.
type warp struct {
	block *block
	index int // in the block
	slot  int // in the cluster
	regs  []lanes
	// init says in which lanes a row has been written.
	init     []uint32
	preds    []uint32
	predInit []uint32

	live   uint32 // lanes that have not exited
	waited uint32 // lanes that waited for the launches before
	active uint32 // lanes that execute the current instruction
	in     *inst  // the current instruction
	frags  []fragment
	turn   int  // picks since the warp was last undivided
	mixed  bool // lanes have passed each other, see fairShare

	// undefined are the undefined values, nil without any; spare is room for them.
	undefined, spare *undefinedValues

	local     [warpSize][]byte // local memory of each thread, contents then initialised map
	clock     race.Clock
	loose     uint32 // lanes that touched shared memory in the present stretch
	dirty     uint32 // lanes with writes to shared memory that no proxy fence has followed
	bulk      [warpSize]bulkQueue
	matrix    matrixQueue
	gates     [warpSize]int // phases of the cluster's barrier arrived at, plus one; 0 when waited for
	passed    int           // the last of these that the warp has waited for
	async     [warpSize]asyncQueue
	near      *allocation // where the last global access was
	traced    *race.Trace // of the last global access that was noted
	acquired  bool        // has synchronised with other blocks
	addresses [warpSize]uint64
}

// A waiting says what keeps a fragment from running.
type waiting uint8

const (
	running    waiting = iota
	forLanes           // for other lanes of the warp, to execute an instruction together
	forBarrier         // for other warps, at a barrier
	forced             // has waited for lanes that will not come: goes on without them
	forEvent           // for something that the fragment's event tells
)

// A fragment is the lanes of a warp that have one program counter.
type fragment struct {
	pc      int
	mask    uint32
	wait    waiting
	barrier int // number, of forBarrier
	event   event
	expired bool // the event did not come in time
}

// An outcome is what a control instruction does to its fragment.
type outcome uint8

const (
	advance outcome = iota // to the next instruction
	moved                  // the fragments have changed
)

// out gives the row of a destination and notes that the active lanes are written.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (w *warp) out(d dest) *lanes {
	w.init[d.row] |= w.active
	return &w.regs[d.row]
}

// setPred writes a predicate in the active lanes.
func (w *warp) setPred(p predRow, value uint32) {
	if p != noPred {
		w.preds[p] = w.preds[p]&^w.active | value&w.active
		w.predInit[p] |= w.active
	}
}

// first is the lowest lane of a mask.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func first(mask uint32) int { return bits.TrailingZeros32(mask) }

// fairShare is how many turns the lowest fragment has, while the warp is divided,
// before the others have one: lanes that spin until another lane of the warp acts
// must not spin for ever. Whoever has such a turn passes the place where the lanes
// would have met, so that it must be rare: where they meet later, they may be in
// different rounds of one loop.
const fairShare = 4096

// pick gives the fragment to run next, nil when none can.
func (w *warp) pick() *fragment {
	if len(w.frags) == 1 {
		w.turn = 0
		if f := &w.frags[0]; f.wait == running || f.wait == forced {
			return f
		} else if f.wait == forLanes { // the lanes waited for have exited
			f.wait = running
			return f
		}
		return nil
	}
	w.join()
	var best, waiting *fragment
	w.turn++
	highest := w.turn%fairShare == 0
	w.mixed = w.mixed || highest
	blocked := false // a fragment may still come when its event does
	for i := range w.frags {
		f := &w.frags[i]
		switch f.wait {
		case running, forced:
			if best == nil || (f.pc < best.pc) != highest {
				best = f
			}
		case forLanes:
			if waiting == nil || f.pc < waiting.pc {
				waiting = f
			}
		case forEvent:
			blocked = true
		}
	}
	if best == nil && waiting != nil && !blocked {
		waiting.wait = forced
		return waiting
	}
	return best
}

// join merges the fragments that have met.
func (w *warp) join() {
	kept := w.frags[:0]
next:
	for _, f := range w.frags {
		if f.mask == 0 {
			continue
		}
		for i := range kept {
			if k := &kept[i]; k.pc == f.pc && k.wait != forBarrier && f.wait != forBarrier {
				k.mask |= f.mask
				k.wait = running
				continue next
			}
		}
		kept = append(kept, f)
	}
	w.frags = kept
}

// step runs up to budget instructions, fewer when nothing in the warp can run, and gives how many.
func (w *warp) step(budget int) int {
	code, counts := w.block.launch.kernel.code, w.block.counts
	ran := 0
	for ran < budget {
		f := w.pick()
		if f == nil {
			break
		}
		limit := math.MaxInt // where another fragment may be met
		for i := range w.frags {
			if pc := w.frags[i].pc; pc > f.pc {
				limit = min(limit, pc)
			}
		}
		for ran < budget {
			in := &code[f.pc]
			ran++
			active := f.mask
			if in.guard >= 0 {
				if bad := active &^ w.predInit[in.guard]; bad != 0 {
					w.unwrittenPred(in, in.guard, bad)
				}
				if u := w.undefined; u != nil && u.preds[in.guard]&active != 0 {
					w.active, w.in = active, in
					w.usePred(in.guard)
				}
				p := w.preds[in.guard]
				if in.not {
					p = ^p
				}
				active &= p
			}
			w.active, w.in = active, in
			c := &counts[in.site.index]
			c.warps++
			c.threads += uint64(bits.OnesCount32(active))
			if in.run != nil {
				if active != 0 {
					w.checkWritten(in)
					if w.undefined == nil {
						in.run(w)
					} else {
						w.follow(in, in.run)
					}
				}
				f.pc++
			} else if in.control(w, f) == advance {
				f.pc++
			} else {
				break
			}
			if f.pc >= limit || f.wait == forced {
				f.wait = running
				break
			}
		}
	}
	return ran
}

// together tells whether a warp-wide instruction can execute now: with all lanes
// of need that live. Where some may still come, the fragment waits for them; where
// they cannot, that is a finding and the instruction executes without them.
func (w *warp) together(f *fragment, need uint32) bool {
	missing := need & w.live &^ w.active
	if missing == 0 {
		return true
	}
	if off := missing & f.mask; off != 0 {
		w.report(Divergence, off, "lanes are predicated off at an instruction that they must execute together with lanes %s", laneList(w.active))
		return true
	}
	if f.wait != forced {
		f.wait = forLanes
		return false
	}
	w.report(Divergence, w.active, "executes without lanes %s, which must execute it too and are at %s", laneList(missing), w.whereabouts(missing))
	return true
}

// collective makes an instruction that the lanes of a mask execute together. The
// mask is that of each active lane; all must name the same lanes.
func (d *decoder) collective(mask row, run func(w *warp, members uint32)) {
	in := d.in
	in.uses = append(in.uses, mask)
	d.in.control = func(w *warp, f *fragment) outcome {
		if w.active == 0 {
			return advance
		}
		members := uint32(w.regs[mask][first(w.active)])
		for m := w.active; m != 0; m &= m - 1 {
			if uint32(w.regs[mask][first(m)]) != members {
				w.report(Divergence, m, "lanes name different masks of lanes, %#x and %#x", members, uint32(w.regs[mask][first(m)]))
				break
			}
		}
		if outside := w.active &^ members; outside != 0 {
			w.report(Divergence, outside, "lanes execute that are not in the mask of lanes %#x", members)
		}
		if !w.together(f, members) {
			return moved
		}
		w.execute(in, func(w *warp) { run(w, members&w.active) })
		return advance
	}
}

// aligned makes an instruction that all threads of the warp execute together.
func (d *decoder) aligned(run func(w *warp)) {
	in := d.in
	d.in.control = func(w *warp, f *fragment) outcome {
		if w.active == 0 {
			return advance
		}
		if !w.together(f, w.live) {
			return moved
		}
		w.execute(in, run)
		return advance
	}
}

// map1 makes the instruction d = f(a), lane by lane; map2 and map3 are for more operands.
func (d *decoder) map1(dst dest, a row, f func(a uint64) uint64) {
	d.in.run = func(w *warp) {
		out, x := w.out(dst), &w.regs[a]
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m) & 31
			out[i] = f(x[i]) & dst.mask
		}
	}
}

func (d *decoder) map2(dst dest, a, b row, f func(a, b uint64) uint64) {
	d.in.run = func(w *warp) {
		out, x, y := w.out(dst), &w.regs[a], &w.regs[b]
		if w.active == allLanes {
			for i := range out {
				out[i] = f(x[i], y[i]) & dst.mask
			}
			return
		}
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m) & 31
			out[i] = f(x[i], y[i]) & dst.mask
		}
	}
}

func (d *decoder) map3(dst dest, a, b, c row, f func(a, b, c uint64) uint64) {
	d.in.run = func(w *warp) {
		out, x, y, z := w.out(dst), &w.regs[a], &w.regs[b], &w.regs[c]
		if w.active == allLanes {
			for i := range out {
				out[i] = f(x[i], y[i], z[i]) & dst.mask
			}
			return
		}
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m) & 31
			out[i] = f(x[i], y[i], z[i]) & dst.mask
		}
	}
}
