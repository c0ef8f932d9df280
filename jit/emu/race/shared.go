package race

// Shared are the accesses to the shared memory of a block.
type Shared struct {
	// writer is the last write to a byte: stretch<<16 | atomicMark | thread.
	writer []uint64
	// readers are the last reads of a byte, one a warp: stretch<<6 | many<<5 | lane.
	readers []uint32
	// latest is the newest stretch in which the byte was touched.
	latest []uint32
	warps  int
	first  int // of these warps, in the cluster
	time   *Timeline
	// remote are the last reads from other blocks of the cluster: stretch<<16 | thread.
	remote map[int]uint64
}

// NewShared makes room for the accesses to size bytes by a block's warps, of which first
// is the number of the first in the cluster.
func NewShared(size, warps, first int, time *Timeline) Shared {
	return Shared{
		first: first, time: time,
		writer: make([]uint64, size), readers: make([]uint32, size*warps), latest: make([]uint32, size), warps: warps,
	}
}

// Start begins with another block. Stamps of the one before are of stretches that have ended.
func (s *Shared) Start() { s.remote = nil }

// Forget loses the stamps of accesses.
func (s *Shared) Forget() {
	clear(s.writer)
	clear(s.readers)
	clear(s.latest)
}

// Read checks a read of n bytes against earlier writes and remembers it.
func (s *Shared) Read(by Thread, at, n int, found func(Conflict)) {
	own, stretch, floor := by.Warp-s.first, by.Clock.Stretch, s.time.floor
	mark := stretch<<6 | uint32(by.Lane)
	latest, writer := s.latest[at:at+n], s.writer[at:at+n]
	for i := range latest {
		if latest[i] > floor {
			if wr := writer[i]; !by.After(uint32(wr>>16), writerThread(wr)) {
				found(Conflict{at + i, "reads what", writerThread(wr), "wrote"})
				writer[i] = 0
			}
		}
		latest[i] = max(latest[i], stretch)
		if own < 0 || own >= s.warps {
			if s.remote == nil {
				s.remote = map[int]uint64{}
			}
			s.remote[at+i] = uint64(stretch)<<16 | uint64(by.ID())
			continue
		}
		r := &s.readers[(at+i)*s.warps+own]
		if *r>>6 == stretch && *r&31 != uint32(by.Lane) {
			*r |= 1 << 5
		} else {
			*r = mark
		}
	}
}

// Write checks a write over the old bytes against earlier accesses and remembers it. A
// write of what is there already does not conflict with a write; value is nil where
// what is written is not known.
func (s *Shared) Write(by Thread, at int, old, value []byte, found func(Conflict)) {
	stretch := by.Clock.Stretch
	stamp := uint64(stretch)<<16 | uint64(by.ID())
	for i := at; i < at+len(old); i++ {
		if s.latest[i] > s.time.floor {
			if wr := s.writer[i]; !by.After(uint32(wr>>16), writerThread(wr)) && (value == nil || old[i-at] != value[i-at]) {
				found(Conflict{i, "writes what", writerThread(wr), "wrote"})
			}
			s.checkReaders(by, i, "writes what", found)
		}
		if s.remote != nil {
			if r := s.remote[i]; r != 0 && !by.After(uint32(r>>16), int(r&0xffff)) {
				found(Conflict{i, "writes what", int(r & 0xffff), "read"})
				delete(s.remote, i)
			}
		}
		s.latest[i] = max(s.latest[i], stretch)
		s.writer[i] = stamp
	}
}

// checkReaders checks a write of a byte against earlier reads.
func (s *Shared) checkReaders(by Thread, i int, does string, found func(Conflict)) {
	for v := range s.warps {
		r := s.readers[i*s.warps+v]
		if r>>6 <= by.Clock.Seen[s.first+v] {
			continue
		}
		if reader := (s.first+v)*warpSize + int(r&31); reader != by.ID() || r&(1<<5) != 0 {
			found(Conflict{i, does, reader, "read"})
			s.readers[i*s.warps+v] = 0
		}
	}
}

// atomicMark marks the stamp of a write that was atomic.
const atomicMark = 1 << 15

func writerThread(stamp uint64) int { return int(stamp & (atomicMark - 1)) }

// Atomic checks an atomic or strong access against earlier plain ones and
// remembers it where it writes: those of its kind do not race with it.
func (s *Shared) Atomic(by Thread, at, n int, writes bool, found func(Conflict)) {
	does := "reads what"
	if writes {
		does = "updates what"
	}
	stretch := by.Clock.Stretch
	own := uint64(stretch)<<16 | uint64(by.ID())
	for i := at; i < at+n; i++ {
		if s.latest[i] > s.time.floor {
			if wr := s.writer[i]; wr&atomicMark == 0 && !by.After(uint32(wr>>16), writerThread(wr)) {
				found(Conflict{i, does, writerThread(wr), "wrote"})
				s.writer[i] = 0
			}
			if writes {
				s.checkReaders(by, i, does, found)
			}
		}
		// A plain write of the thread's own in this stretch stays the one to race with.
		if writes && s.writer[i] != own {
			s.latest[i] = max(s.latest[i], stretch)
			s.writer[i] = own | atomicMark
		}
	}
}

// StampWrite remembers a write that was checked when it began and ends now.
func (s *Shared) StampWrite(by Thread, at, n int) {
	stamp := uint64(by.Clock.Stretch)<<16 | uint64(by.ID())
	for i := at; i < at+n; i++ {
		s.latest[i] = max(s.latest[i], by.Clock.Stretch)
		s.writer[i] = stamp
	}
}

// Writer gives the last write to a byte, of which thread in which stretch; ok is false without one.
func (s *Shared) Writer(at int) (stretch uint32, thread int, ok bool) {
	wr := s.writer[at]
	return uint32(wr >> 16), writerThread(wr), wr != 0
}

// ForgetWriter loses the last writes to n bytes.
func (s *Shared) ForgetWriter(at, n int) { clear(s.writer[at : at+n]) }
