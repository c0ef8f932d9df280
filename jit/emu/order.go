package emu

import "tilec/jit/emu/race"

// What warps tell the race check, and the findings that it makes.

// sharedMemory is the shared memory of a block, with what the checks must know of every byte.
type sharedMemory struct {
	data   []byte
	filled []byte // 1 where written
	// pending counts the asynchronous copies on their way to a byte.
	pending  []byte
	accesses race.Shared
	async    *asyncBytes // nil until something asynchronous happens
}

func (s *sharedMemory) init(size, warps, first int, time *race.Timeline) {
	*s = sharedMemory{
		data: make([]byte, size), filled: make([]byte, size), pending: make([]byte, size),
		accesses: race.NewShared(size, warps, first, time),
	}
}

// start forgets a block's contents.
func (s *sharedMemory) start() {
	clear(s.filled)
	clear(s.pending)
	for i := range s.data {
		s.data[i] = junk
	}
	s.accesses.Start()
	s.async = nil
}

// release ends the warp's present stretch; whoever joins its clock from now on is after it.
func (w *warp) release() {
	w.clock.Release(w.slot, &w.block.cluster.time)
	w.loose = 0
}

// releaseLanes is release by the active lanes alone. As long as other lanes have
// accesses that they did not release, the stretch goes on: whoever is told by
// some lanes of a warp knows nothing of what the others did.
func (w *warp) releaseLanes() {
	if w.loose &^= w.active; w.loose == 0 {
		w.release()
	}
}

// settle finds the stretches that are over for all warps.
func (c *cluster) settle() {
	floor := c.time.Now()
	for _, b := range c.blocks {
		for _, w := range b.warps {
			if w.live == 0 {
				continue
			}
			for _, seen := range w.clock.Seen {
				floor = min(floor, seen)
			}
		}
	}
	c.time.Settle(floor)
}

// thread is a lane of the warp.
func (w *warp) thread(lane int) race.Thread {
	return race.Thread{Clock: &w.clock, Warp: w.slot, Lane: lane}
}

func (w *warp) noteRead(s *sharedMemory, lane, at, n int) {
	s.accesses.Read(w.thread(lane), at, n, func(c race.Conflict) { w.race(lane, c) })
}

// noteWrite notes a write of n bytes; value is nil where it is not known.
func (w *warp) noteWrite(s *sharedMemory, lane, at, n int, value []byte) {
	w.dirty |= 1 << lane
	s.accesses.Write(w.thread(lane), at, s.data[at:at+n], value, func(c race.Conflict) { w.race(lane, c) })
}

// noteAtomic notes an atomic or strong access.
func (w *warp) noteAtomic(s *sharedMemory, lane, at, n int, writes bool) {
	if writes {
		w.dirty |= 1 << lane
	}
	s.accesses.Atomic(w.thread(lane), at, n, writes, func(c race.Conflict) { w.race(lane, c) })
}

// stampWrite notes a write that was checked when it began and ends now.
func (w *warp) stampWrite(lane, at, n int) {
	w.dirty |= 1 << lane
	w.block.shared.accesses.StampWrite(w.thread(lane), at, n)
}

func (w *warp) race(lane int, c race.Conflict) {
	name := w.block.cluster.threadName
	w.report(SharedRace, 1<<lane, "%s %s %s %s at shared address %#x, with no barrier between", name(w.thread(lane).ID()), c.Does, name(c.Other), c.Did, c.At)
}

// trace gives the trace of an allocation, which is mostly that of the warp's access before.
func (w *warp) trace(a *allocation) *race.Trace {
	if w.traced == nil || w.traced.Of != any(a) {
		w.traced = w.block.launch.traces.Find(a, len(a.data))
	}
	return w.traced
}

// noteGlobalRead notes a read of global memory. A warp that has synchronised with other
// blocks is left out: what that orders is not followed.
func (w *warp) noteGlobalRead(p place, lane int) {
	if w.acquired {
		return
	}
	w.trace(p.alloc).Read(w.thread(lane), w.block.id, p.at, len(p.data), func(c race.Conflict) { w.globalRace(p, lane, c) })
}

// noteGlobalWrite notes a write of global memory; value is nil where it is not known.
func (w *warp) noteGlobalWrite(p place, lane int, value []byte) {
	if w.acquired {
		return
	}
	same := value != nil && string(value) == string(p.data)
	w.trace(p.alloc).Write(w.thread(lane), w.block.id, p.at, len(p.data), same, func(c race.Conflict) { w.globalRace(p, lane, c) })
}

func (w *warp) globalRace(p place, lane int, c race.Conflict) {
	name := w.block.cluster.threadName
	w.report(GlobalRace, 1<<lane, "%s %s %s %s at %s, with no barrier between", name(w.thread(lane).ID()), c.Does, name(c.Other), c.Did,
		w.block.launch.memory.describe(p.alloc.base+uint64(p.at)))
}
