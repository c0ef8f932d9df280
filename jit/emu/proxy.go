package emu

import (
	"tilec/jit/emu/race"
	"tilec/jit/emu/syntax"
)

// proxyFence is fence.proxy: for the async proxy, what the warp has seen of
// writes, and its own, is from now on in order for asynchronous accesses too.
func proxyFence(d *decoder) {
	kind := d.must("alias", "async", "async::generic", "tensormap::generic")
	where := d.one("global", "shared::cta", "shared::cluster", "shared")
	sem := d.one("acquire", "release")
	d.one("sync_restrict::shared::cta", "sync_restrict::shared::cluster")
	d.one("cluster", "cta", "gpu", "sys")
	if kind == "tensormap::generic" && sem == "acquire" {
		d.address(syntax.SpaceGeneric)
		d.constInt()
	}
	if kind == "alias" || kind == "tensormap::generic" || where == "global" {
		return
	}
	d.in.run = func(w *warp) {
		w.dirty &^= w.active
		w.clock.Fence(w.slot, &w.block.cluster.time, w.dirty == 0)
	}
}

// asyncRead checks that an asynchronous operation of a lane may read bytes of
// shared memory now: they are written, the writes are known to be over, and
// ordinary ones were fenced.
func (w *warp) asyncRead(s *sharedMemory, lane, at, n int) {
	a := s.bytes()
	var seenTag uint32
	for i := at; i < at+n; i++ {
		if s.filled[i] == 0 && s.pending[i] == 0 {
			w.report(Uninitialised, 1<<lane, "reads shared memory that was never written, at address %#x", i)
			return
		}
		if c := s.pending[i]; c != 0 {
			what := "which a copy that was not waited for writes"
			if c == mbarrierMark {
				what = "which holds an mbarrier"
			}
			w.report(PendingCopy, 1<<lane, "reads shared address %#x, %s", i, what)
			return
		}
		if t := a.tag[i]; t != seenTag && t != 0 {
			if !w.sees(t) {
				w.report(PendingCopy, 1<<lane, "reads shared address %#x, where a copy came whose mbarrier it has not waited for", i)
				return
			}
			seenTag = t
		}
		stretch, thread, ok := s.accesses.Writer(i)
		if !ok || w.clock.Fenced(stretch, thread) {
			continue
		}
		if !w.thread(lane).After(stretch, thread) {
			w.race(lane, race.Conflict{At: i, Does: "reads asynchronously what", Other: thread, Did: "wrote"})
			return
		}
		w.report(MissingFence, 1<<lane, "reads shared address %#x, which %s wrote, with no fence.proxy.async between", i, w.block.cluster.threadName(thread))
		return
	}
}

// asyncWrite checks that an asynchronous operation of a lane may overwrite bytes of shared memory.
func (w *warp) asyncWrite(s *sharedMemory, lane, at, n int) {
	a := s.bytes()
	for i := at; i < at+n; i++ {
		switch {
		case s.pending[i] == mbarrierMark:
			w.report(BarrierMisuse, 1<<lane, "copies to shared address %#x, which holds an mbarrier", i)
			return
		case s.pending[i] != 0:
			w.report(PendingCopy, 1<<lane, "copies to shared address %#x, which another copy that was not waited for writes", i)
			return
		case a.reading[i] != 0:
			w.report(PendingCopy, 1<<lane, "copies to shared address %#x, which an asynchronous operation still reads", i)
			return
		case a.tag[i] != 0 && !w.sees(a.tag[i]):
			w.report(PendingCopy, 1<<lane, "copies to shared address %#x, where a copy came whose mbarrier it has not waited for", i)
			return
		}
		if stretch, thread, ok := s.accesses.Writer(i); ok && w.thread(lane).After(stretch, thread) && !w.clock.Fenced(stretch, thread) {
			w.report(MissingFence, 1<<lane, "copies to shared address %#x, which %s wrote, with no fence.proxy.async between", i, w.block.cluster.threadName(thread))
			return
		}
	}
	dirty := w.dirty
	w.noteWrite(s, lane, at, n, nil)
	w.dirty = dirty
}
