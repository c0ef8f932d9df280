package emu

import "strings"

// An operationInFlight is something that an instruction has begun and that ends
// later: as late as it can, or at a random moment.
type operationInFlight struct {
	w    *warp
	in   *inst
	lane int
	// read takes the source, and write gives the result; read may be nil.
	read, write func()
	// source and target are bytes of shared memory that must be left alone until then.
	source, target []span
	ended          bool
	awaited        bool // by its thread, as far as the source goes
}

// A span is bytes of shared memory.
type span struct {
	shared *sharedMemory
	at, n  int
}

// asyncBytes is what the checks know of bytes that asynchronous operations touch.
type asyncBytes struct {
	reading  []uint8  // operations that still read a byte
	tag      []uint32 // of the last asynchronous write, while no ordinary one has followed
	barriers map[int]*mbarrier
}

// A tag says how the end of an asynchronous write is seen: by the phase of an mbarrier.
type tag struct{ barrier, phase int }

// bytes is the asynchronous half of shared memory, made when it is first needed.
func (s *sharedMemory) bytes() *asyncBytes {
	if s.async == nil {
		s.async = &asyncBytes{reading: make([]uint8, len(s.data)), tag: make([]uint32, len(s.data)), barriers: map[int]*mbarrier{}}
	}
	return s.async
}

// bulkTraffic counts a bulk operation for the figures of cost. The rows of a box are
// requests of their own in global memory.
func (w *warp) bulkTraffic(bytes int, rows []place) {
	if !w.block.launch.options.Profile {
		return
	}
	c := &w.block.counts[w.in.site.index]
	c.shared.requests++
	c.shared.bytes += uint64(bytes)
	c.shared.units += uint64((bytes + bankWidth*banks - 1) / (bankWidth * banks))
	c.shared.ideal += uint64((bytes + bankWidth*banks - 1) / (bankWidth * banks))
	for _, p := range rows {
		if p.alloc == nil {
			continue
		}
		from, to := p.alloc.base+uint64(p.at), p.alloc.base+uint64(p.at+len(p.data))
		c.global.requests++
		c.global.bytes += to - from
		c.global.units += (to+sectorSize-1)/sectorSize - from/sectorSize
		c.global.ideal += (to - from + sectorSize - 1) / sectorSize
	}
}

// toGlobal tells whether an asynchronous copy goes from shared to global memory.
func toGlobal(opcode string) bool { return strings.Contains(opcode, ".global.shared::cta") }

// begin starts an operation of the current instruction.
func (w *warp) begin(o *operationInFlight) {
	o.w, o.in = w, w.in
	for _, s := range o.source {
		reading := s.shared.bytes().reading[s.at : s.at+s.n]
		for i := range reading {
			reading[i]++
		}
	}
	for _, s := range o.target {
		pending := s.shared.pending[s.at : s.at+s.n]
		for i, n := range pending {
			if n < mbarrierMark-1 {
				pending[i]++
			}
		}
	}
	c := w.block.cluster
	c.operations = append(c.operations, o)
	c.happened()
}

// as lets a function run as the instruction that began the operation.
func (o *operationInFlight) as(f func()) {
	w := o.w
	in, active := w.in, w.active
	w.in, w.active = o.in, 1<<o.lane
	f()
	w.in, w.active = in, active
}

// take reads the source; from then on it may change.
func (o *operationInFlight) take() {
	if o.read == nil {
		return
	}
	o.as(o.read)
	o.read = nil
	for _, s := range o.source {
		reading := s.shared.bytes().reading[s.at : s.at+s.n]
		for i := range reading {
			reading[i]--
		}
	}
}

// end completes the operation.
func (o *operationInFlight) end() {
	if o.ended {
		return
	}
	o.ended = true
	o.take()
	for _, s := range o.target {
		pending := s.shared.pending[s.at : s.at+s.n]
		for i, n := range pending {
			if n != 0 && n != mbarrierMark {
				pending[i]--
			}
		}
	}
	o.as(o.write)
}

// endOperation completes one of the operations in flight: the oldest, or a random one; false without any.
func (c *cluster) endOperation() bool {
	live := c.operations[:0]
	for _, o := range c.operations {
		if !o.ended {
			live = append(live, o)
		}
	}
	c.operations = live
	if len(live) == 0 {
		return false
	}
	i := 0
	if c.random != nil {
		i = c.random.IntN(len(live))
	}
	live[i].end()
	c.happened()
	return true
}

// finish reports what is still in flight when all threads have exited, and completes it.
func (c *cluster) finish() {
	for _, o := range c.operations {
		if o.ended {
			continue
		}
		if len(o.target) > 0 {
			o.as(func() {
				o.w.report(PendingCopy, 1<<o.lane, "the block exits before a copy to its shared memory is complete")
			})
		}
		o.end()
	}
	for _, b := range c.blocks {
		b.finishGroups()
		for _, w := range b.warps {
			for lane := range w.bulk {
				w.bulk[lane].finish()
			}
		}
	}
}

// land writes the result of an asynchronous operation to shared memory: what
// ordinary reads see once they have waited for the phase of the mbarrier.
func (c *cluster) land(s *sharedMemory, at int, data []byte, b *mbarrier) {
	a := s.bytes()
	c.tags = append(c.tags, tag{b.id, b.phase})
	id := uint32(len(c.tags))
	copy(s.data[at:], data)
	fill(s.filled[at : at+len(data)])
	for i := at; i < at+len(data); i++ {
		a.tag[i] = id
	}
	s.accesses.ForgetWriter(at, len(data))
}

// sees tells whether a warp has waited for an asynchronous write.
func (w *warp) sees(t uint32) bool {
	g := w.block.cluster.tags[t-1]
	return w.clock.Completed(g.barrier, g.phase)
}

// checkAsync checks an ordinary access against asynchronous operations.
func (w *warp) checkAsync(p place, lane int, does string) {
	a := p.shared.async
	to := p.at + len(p.data)
	writes := does != "reads"
	for i := p.at; i < to; i++ {
		if writes && a.reading[i] != 0 {
			w.report(PendingCopy, 1<<lane, "%s shared address %#x, which an asynchronous operation still reads", does, i)
			break
		}
	}
	for i := p.at; i < to; i++ {
		if t := a.tag[i]; t != 0 {
			if !w.sees(t) {
				w.report(PendingCopy, 1<<lane, "%s shared address %#x, where a copy came whose mbarrier it has not waited for", does, i)
				a.tag[i] = 0
				return
			}
			if writes {
				a.tag[i] = 0
			}
		}
	}
}
