package emu

// The race check keeps a vector clock a warp. Every access to shared memory is
// stamped with the number of the warp's present stretch between synchronisations;
// an access happens before another when the other's warp has, through barriers,
// seen that stretch end. Lanes of one warp are ordered by barriers too, not by
// their running in step: that the ISA does not promise.

// A clock says which stretches of each warp are known to have ended.
type clock struct {
	stretch uint32   // the present one of the warp itself
	seen    []uint32 // by warp of the cluster: stretches up to this number have ended
	fenced  []uint32 // and their writes were fenced for the async proxy
	phases  []uint32 // by mbarrier of the cluster: phases known to be complete
}

func (c *clock) start(stretch uint32, warps int, floor uint32) {
	c.stretch = stretch
	c.clear(warps)
	for i := range c.seen {
		c.seen[i], c.fenced[i] = floor, floor
	}
}

func (c *clock) clear(warps int) {
	if len(c.seen) != warps {
		c.seen, c.fenced = make([]uint32, warps), make([]uint32, warps)
	}
	clear(c.seen)
	clear(c.fenced)
	c.phases = c.phases[:0]
}

// join makes c know what o knows.
func (c *clock) join(o *clock) {
	for i, s := range o.seen {
		c.seen[i] = max(c.seen[i], s)
		c.fenced[i] = max(c.fenced[i], o.fenced[i])
	}
	for i, p := range o.phases {
		c.complete(i, p)
	}
}

// release ends the warp's present stretch; whoever joins its clock from now on is after it.
func (w *warp) release() {
	w.clock.stretch = w.block.cluster.time.tick()
	w.clock.seen[w.slot] = w.clock.stretch - 1
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

// sharedMemory is the shared memory of a block, with what the checks must know of every byte.
type sharedMemory struct {
	data   []byte
	filled []byte // 1 where written
	// pending counts the asynchronous copies on their way to a byte.
	pending []byte
	// writer is the last write to a byte: stretch<<16 | atomicMark | thread.
	writer []uint64
	// readers are the last reads of a byte, one a warp: stretch<<6 | many<<5 | lane.
	readers []uint32
	// latest is the newest stretch in which the byte was touched.
	latest []uint32
	warps  int
	first  int // of these warps, in the cluster
	time   *timeline
	// remote are the last reads from other blocks of the cluster: stretch<<16 | thread.
	remote map[int]uint64
	async  *asyncBytes // nil until something asynchronous happens
}

// A timeline numbers the stretches of a cluster.
type timeline struct {
	now   uint32 // stretches so far
	floor uint32 // stretches up to this one have ended for all warps
}

// tick begins a stretch.
func (t *timeline) tick() uint32 {
	t.now++
	return t.now
}

// maxStretch leaves room for the lane in readers.
const maxStretch = 1 << 25

func (s *sharedMemory) init(size, warps, first int, time *timeline) {
	*s = sharedMemory{
		first: first, time: time,
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
	s.remote = nil
	s.async = nil
}

// forget loses the stamps of accesses.
func (s *sharedMemory) forget() {
	clear(s.writer)
	clear(s.readers)
	clear(s.latest)
}

// settle finds the stretches that are over for all warps.
func (t *timeline) settle(c *cluster) {
	floor := t.now
	for _, b := range c.blocks {
		for _, w := range b.warps {
			if w.live == 0 {
				continue
			}
			for _, seen := range w.clock.seen {
				floor = min(floor, seen)
			}
		}
	}
	t.floor = max(t.floor, floor)
}

// before tells whether an earlier access of a stretch by a thread is ordered before the lane's present one.
func (w *warp) before(stretch uint32, thread, lane int) bool {
	return stretch <= w.clock.seen[thread/warpSize] || thread == w.thread(lane)
}

// thread numbers a lane in the cluster.
func (w *warp) thread(lane int) int { return w.slot*warpSize + lane }

// noteRead checks a read of n bytes by a lane against earlier writes and remembers it.
func (w *warp) noteRead(s *sharedMemory, lane, at, n int) {
	own := w.slot - s.first
	mark := w.clock.stretch<<6 | uint32(lane)
	for i := at; i < at+n; i++ {
		if s.latest[i] > s.time.floor {
			if wr := s.writer[i]; !w.before(uint32(wr>>16), writerThread(wr), lane) {
				w.race(lane, i, "reads what", writerThread(wr), "wrote")
				s.writer[i] = 0
			}
		}
		s.latest[i] = max(s.latest[i], w.clock.stretch)
		if own < 0 || own >= s.warps {
			if s.remote == nil {
				s.remote = map[int]uint64{}
			}
			s.remote[i] = uint64(w.clock.stretch)<<16 | uint64(w.thread(lane))
			continue
		}
		r := &s.readers[i*s.warps+own]
		if *r>>6 == w.clock.stretch && *r&31 != uint32(lane) {
			*r |= 1 << 5
		} else {
			*r = mark
		}
	}
}

// noteWrite checks a write of n bytes by a lane against earlier accesses and
// remembers it. A write of what is there already does not conflict with a write.
func (w *warp) noteWrite(s *sharedMemory, lane, at, n int, value []byte) {
	thread := w.thread(lane)
	w.dirty |= 1 << lane
	for i := at; i < at+n; i++ {
		if s.latest[i] > s.time.floor {
			if wr := s.writer[i]; !w.before(uint32(wr>>16), writerThread(wr), lane) && (value == nil || s.data[i] != value[i-at]) {
				w.race(lane, i, "writes what", writerThread(wr), "wrote")
			}
			w.checkReaders(s, lane, i, "writes what")
		}
		if s.remote != nil {
			if r := s.remote[i]; r != 0 && !w.before(uint32(r>>16), int(r&0xffff), lane) {
				w.race(lane, i, "writes what", int(r&0xffff), "read")
				delete(s.remote, i)
			}
		}
		s.latest[i] = max(s.latest[i], w.clock.stretch)
		s.writer[i] = uint64(w.clock.stretch)<<16 | uint64(thread)
	}
}

// checkReaders checks a write of a byte against earlier reads.
func (w *warp) checkReaders(s *sharedMemory, lane, i int, does string) {
	for v := range s.warps {
		r := s.readers[i*s.warps+v]
		if r>>6 <= w.clock.seen[s.first+v] {
			continue
		}
		if by := (s.first+v)*warpSize + int(r&31); by != w.thread(lane) || r&(1<<5) != 0 {
			w.race(lane, i, does, by, "read")
			s.readers[i*s.warps+v] = 0
		}
	}
}

// atomicMark marks the stamp of a write that was atomic.
const atomicMark = 1 << 15

func writerThread(stamp uint64) int { return int(stamp & (atomicMark - 1)) }

// noteAtomic checks an atomic or strong access against earlier plain ones and
// remembers it where it writes: those of its kind do not race with it.
func (w *warp) noteAtomic(s *sharedMemory, lane, at, n int, writes bool) {
	does := "reads what"
	if writes {
		does = "updates what"
		w.dirty |= 1 << lane
	}
	for i := at; i < at+n; i++ {
		if s.latest[i] > s.time.floor {
			if wr := s.writer[i]; wr&atomicMark == 0 && !w.before(uint32(wr>>16), writerThread(wr), lane) {
				w.race(lane, i, does, writerThread(wr), "wrote")
				s.writer[i] = 0
			}
			if writes {
				w.checkReaders(s, lane, i, does)
			}
		}
		// A plain write of the thread's own in this stretch stays the one to race with.
		if own := uint64(w.clock.stretch)<<16 | uint64(w.thread(lane)); writes && s.writer[i] != own {
			s.latest[i] = max(s.latest[i], w.clock.stretch)
			s.writer[i] = uint64(w.clock.stretch)<<16 | atomicMark | uint64(w.thread(lane))
		}
	}
}

func (w *warp) race(lane, at int, does string, other int, did string) {
	w.report(SharedRace, 1<<lane, "%s %s %s %s at shared address %#x, with no barrier between", w.block.cluster.threadName(w.thread(lane)), does, w.block.cluster.threadName(other), did, at)
}

// stampWrite remembers a write that was checked when it began and ends now.
func (w *warp) stampWrite(lane, at, n int) {
	s := &w.block.shared
	w.dirty |= 1 << lane
	stamp := uint64(w.clock.stretch)<<16 | uint64(w.thread(lane))
	for i := at; i < at+n; i++ {
		s.latest[i] = max(s.latest[i], w.clock.stretch)
		s.writer[i] = stamp
	}
}
