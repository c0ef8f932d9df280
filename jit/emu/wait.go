package emu

// An event is what a fragment waits for that another thread or an asynchronous operation brings.
type event interface {
	// key is what wake is called with when the event may have come.
	key() any
	describe() string
}

// await lets the active lanes of a fragment stay at their instruction, which will
// execute again when the event may have come.
func (w *warp) await(f *fragment, e event) outcome {
	f.wait, f.event = forEvent, e
	if off := f.mask &^ w.active; off != 0 { // predicated off: they go on
		f.mask = w.active
		w.frags = append(w.frags, fragment{pc: f.pc + 1, mask: off})
	}
	return moved
}

// wake lets the fragments that wait for an event look again.
func (c *cluster) wake(key any) {
	for _, b := range c.blocks {
		for _, w := range b.warps {
			for i := range w.frags {
				if f := &w.frags[i]; f.wait == forEvent && f.event.key() == key {
					f.wait = running
				}
			}
		}
	}
}

// happened notes something that may let a thread go on.
func (c *cluster) happened() { c.events++ }

// patience is how often waits end without success while nothing else happens, before that is a deadlock.
const patience = 256

// expire ends the waits that may end before their event comes, as those of
// mbarriers do; false when there are none, or when that has not helped for long.
func (c *cluster) expire() bool {
	if c.events != c.seenEvents {
		c.seenEvents, c.quiet = c.events, 0
	}
	if c.quiet++; c.quiet > patience {
		return false
	}
	found := false
	for _, b := range c.blocks {
		for _, w := range b.warps {
			for i := range w.frags {
				f := &w.frags[i]
				if f.wait != forEvent {
					continue
				}
				if _, ok := f.event.(mbarrierEvent); ok {
					f.wait, f.expired, found = running, true, true
				}
			}
		}
	}
	return found
}
