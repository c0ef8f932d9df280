package emu

// The race check keeps a vector clock a warp. Every access to shared memory is
// stamped with the number of the warp's present stretch between synchronisations;
// an access happens before another when the other's warp has, through barriers,
// seen that stretch end. Lanes of one warp are ordered by barriers too, not by
// their running in step: that the ISA does not promise.

// A clock says which stretches of each warp are known to have ended.
type clock struct {
	stretch uint32   // the present one of the warp itself
	seen    []uint32 // by warp: stretches up to this number have ended
}

func (c *clock) start(stretch uint32, warps int, floor uint32) {
	c.stretch = stretch
	if len(c.seen) != warps {
		c.seen = make([]uint32, warps)
	}
	for i := range c.seen {
		c.seen[i] = floor
	}
}

func (c *clock) clear(warps int) {
	if len(c.seen) != warps {
		c.seen = make([]uint32, warps)
	}
	clear(c.seen)
}

// join makes c know what o knows.
func (c *clock) join(o *clock) {
	for i, s := range o.seen {
		c.seen[i] = max(c.seen[i], s)
	}
}

// release ends the warp's present stretch; whoever joins its clock from now on is after it.
func (w *warp) release() {
	w.clock.stretch = w.block.shared.tick()
	w.clock.seen[w.index] = w.clock.stretch - 1
}

// sharedMemory is the shared memory of a block, with what the checks must know of every byte.
type sharedMemory struct {
	data   []byte
	filled []byte // 1 where written
	// pending counts the asynchronous copies on their way to a byte.
	pending []byte
	// writer is the last write to a byte: stretch<<16 | thread.
	writer []uint64
	// readers are the last reads of a byte, one a warp: stretch<<6 | many<<5 | lane.
	readers []uint32
	// latest is the newest stretch in which the byte was touched.
	latest []uint32
	warps  int
	now    uint32 // stretches so far
	floor  uint32 // stretches up to this one have ended for all warps
}

// maxStretch leaves room for the lane in readers.
const maxStretch = 1 << 25

func (s *sharedMemory) init(size, warps int) {
	*s = sharedMemory{
		data: make([]byte, size), filled: make([]byte, size), pending: make([]byte, size),
		writer: make([]uint64, size), readers: make([]uint32, size*warps), latest: make([]uint32, size), warps: warps,
	}
}

// start forgets a block's contents.
func (s *sharedMemory) start() {
	clear(s.filled)
	clear(s.pending)
	for i := range s.data {
		s.data[i] = junk
	}
	if s.now > maxStretch/2 {
		s.now = 0
		clear(s.writer)
		clear(s.readers)
		clear(s.latest)
	}
	s.floor = s.now // stretches of earlier blocks have ended
}

// tick begins a stretch.
func (s *sharedMemory) tick() uint32 {
	s.now++
	return s.now
}

// settle finds the stretches that are over for all warps.
func (s *sharedMemory) settle(b *block) {
	floor := s.now
	for _, w := range b.warps {
		if w.live == 0 {
			continue
		}
		for _, seen := range w.clock.seen {
			floor = min(floor, seen)
		}
	}
	s.floor = max(s.floor, floor)
}

// before tells whether an earlier access of a stretch by a thread is ordered before the lane's present one.
func (w *warp) before(stretch uint32, thread, lane int) bool {
	return stretch <= w.clock.seen[thread/warpSize] || thread == w.index*warpSize+lane
}

// noteRead checks a read of n bytes by a lane against earlier writes and remembers it.
func (w *warp) noteRead(lane, at, n int) {
	s := &w.block.shared
	mark := w.clock.stretch<<6 | uint32(lane)
	for i := at; i < at+n; i++ {
		if s.latest[i] > s.floor {
			if wr := s.writer[i]; !w.before(uint32(wr>>16), int(wr&0xffff), lane) {
				w.race(lane, i, "reads what", int(wr&0xffff), "wrote")
				s.writer[i] = 0
			}
		}
		s.latest[i] = max(s.latest[i], w.clock.stretch)
		r := &s.readers[i*s.warps+w.index]
		if *r>>6 == w.clock.stretch && *r&31 != uint32(lane) {
			*r |= 1 << 5
		} else {
			*r = mark
		}
	}
}

// noteWrite checks a write of n bytes by a lane against earlier accesses and
// remembers it. A write of what is there already does not conflict with a write.
func (w *warp) noteWrite(lane, at, n int, value []byte) {
	s := &w.block.shared
	thread := w.index*warpSize + lane
	for i := at; i < at+n; i++ {
		if s.latest[i] > s.floor {
			if wr := s.writer[i]; !w.before(uint32(wr>>16), int(wr&0xffff), lane) && (value == nil || s.data[i] != value[i-at]) {
				w.race(lane, i, "writes what", int(wr&0xffff), "wrote")
			}
			for v := range s.warps {
				r := s.readers[i*s.warps+v]
				stretch := r >> 6
				if stretch <= w.clock.seen[v] {
					continue
				}
				if by := v*warpSize + int(r&31); by != thread || r&(1<<5) != 0 {
					w.race(lane, i, "writes what", by, "read")
					s.readers[i*s.warps+v] = 0
				}
			}
		}
		s.latest[i] = max(s.latest[i], w.clock.stretch)
		s.writer[i] = uint64(w.clock.stretch)<<16 | uint64(thread)
	}
}

func (w *warp) race(lane, at int, does string, other int, did string) {
	w.report(SharedRace, 1<<lane, "thread %d %s thread %d %s at shared address %#x, with no barrier between", w.index*warpSize+lane, does, other, did, at)
}

// stampWrite remembers a write that was checked when it began and ends now.
func (w *warp) stampWrite(lane, at, n int) {
	s := &w.block.shared
	stamp := uint64(w.clock.stretch)<<16 | uint64(w.index*warpSize+lane)
	for i := at; i < at+n; i++ {
		s.latest[i] = max(s.latest[i], w.clock.stretch)
		s.writer[i] = stamp
	}
}
