package emu

import (
	"fmt"

	"tilec/jit/emu/number"
	"tilec/jit/emu/race"
	"tilec/jit/emu/syntax"
)

// An mbarrier is an object in shared memory that counts arrivals and bytes of
// asynchronous copies, phase after phase. What is in its 8 bytes is its own affair.
type mbarrier struct {
	id       int // in the cluster
	shared   *sharedMemory
	at       int
	phase    int // the present one; all before are complete
	expected int // arrivals a phase
	pending  int // arrivals that the present phase still needs
	tx       int // bytes announced and not yet copied
	observed int // phases that some wait has found complete

	initStretch uint32
	initThread  int
	// fenced: a fence.mbarrier_init came behind the initialisation. shownIn is the phase of the cluster's barrier, plus one, at which its warp then
	// arrived: whoever has waited for that phase sees the mbarrier, though an arrival that is relaxed shows nothing else.
	fenced  bool
	shownIn int
	clock   race.Clock // what the threads that arrived had seen
	done    race.Clock // of the phases that are complete
}

// mbarrierMark stands in the counts of pending copies where an mbarrier is.
const mbarrierMark = 255

const (
	mbarrierSize  = 8
	mostArrivals  = 1<<20 - 1
	mostTx        = 1<<20 - 1
	stateOneShift = 32 // a state is the phase above the pending count
)

var mbarrierOps = map[string]operation{
	"mbarrier": {classBarrier, mbarrierInstruction},
}

func mbarrierInstruction(d *decoder) {
	switch op := d.must("init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait", "pending_count"); op {
	case "init":
		mbarrierInit(d)
	case "inval":
		mbarrierInvalidate(d)
	case "arrive", "arrive_drop":
		mbarrierArrive(d, op == "arrive_drop")
	case "expect_tx", "complete_tx":
		mbarrierCount(d, op == "expect_tx")
	case "pending_count":
		d.typeOf("b64")
		dst, state := d.dst(number.Types["u32"]), d.src(number.Types["b64"])
		d.map1(dst, state, func(v uint64) uint64 { return v & mostArrivals })
	default:
		mbarrierWait(d)
	}
}

// semantics takes .sem.scope; relaxed operations order nothing.
func (d *decoder) semantics(sem ...string) (relaxed bool) {
	s := d.one(sem...)
	if scope := d.one("cta", "cluster"); (s == "") != (scope == "") {
		d.fail("the order and its scope go together")
	}
	return s == "relaxed"
}

func mbarrierInit(d *decoder) {
	s := d.space("shared", "shared::cta")
	d.typeOf("b64")
	a, count := d.address(s), d.src(number.Types["u32"])
	d.in.run = func(w *warp) {
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			p, ok := w.mbarrierPlace(a.space, a.in(w, lane), lane)
			if !ok {
				continue
			}
			n := int(uint32(w.regs[count][lane]))
			if n < 1 || n > mostArrivals {
				w.report(BarrierMisuse, 1<<lane, "initialises an mbarrier with a count of %d: need 1 to %d", n, mostArrivals)
				n = 1
			}
			all := p.shared.bytes().barriers
			if all[p.at] != nil {
				w.report(BarrierMisuse, 1<<lane, "initialises an mbarrier at shared address %#x, where there is one already", p.at)
			} else {
				w.checkPending(p, lane, "initialises an mbarrier at")
			}
			w.noteWrite(p.shared, lane, p.at, mbarrierSize, nil)
			fill(p.fill)
			c := w.block.cluster
			b := &mbarrier{
				id: len(c.barriers), shared: p.shared, at: p.at, expected: n, pending: n,
				initStretch: w.clock.Stretch, initThread: w.thread(lane).ID(),
			}
			b.clock.Clear(len(w.clock.Seen))
			b.done.Clear(len(w.clock.Seen))
			c.barriers = append(c.barriers, b)
			all[p.at] = b
			p.shared.mark(p.at, mbarrierMark)
			c.happened()
		}
	}
}

// mark sets the counts of pending copies of an mbarrier's bytes.
func (s *sharedMemory) mark(at int, value byte) {
	for i := at; i < at+mbarrierSize; i++ {
		s.pending[i] = value
	}
}

func mbarrierInvalidate(d *decoder) {
	s := d.space("shared", "shared::cta")
	d.typeOf("b64")
	a := d.address(s)
	d.in.run = func(w *warp) {
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			if b := w.mbarrier(a, lane); b != nil {
				delete(b.shared.bytes().barriers, b.at)
				b.shared.mark(b.at, 0)
				w.noteWrite(b.shared, lane, b.at, mbarrierSize, nil)
			}
		}
	}
}

// mbarrierPlace finds the bytes of an mbarrier.
func (w *warp) mbarrierPlace(s syntax.Space, address uint64, lane int) (place, bool) {
	p, ok := w.locate(s, address, mbarrierSize, mbarrierSize, lane)
	if ok && p.space != syntax.SpaceShared {
		w.report(OutOfBounds, 1<<lane, "an mbarrier at %s address %#x: they are in shared memory", p.space, address)
		return p, false
	}
	return p, ok
}

// mbarrier finds the mbarrier that a lane names; nil, with a finding, when there is none.
func (w *warp) mbarrier(a address, lane int) *mbarrier {
	return w.mbarrierAt(a.space, a.in(w, lane), lane)
}

func (w *warp) mbarrierAt(s syntax.Space, address uint64, lane int) *mbarrier {
	p, ok := w.mbarrierPlace(s, address, lane)
	if !ok {
		return nil
	}
	var b *mbarrier
	if p.shared.async != nil {
		b = p.shared.async.barriers[p.at]
	}
	if b == nil {
		w.report(BarrierMisuse, 1<<lane, "there is no initialised mbarrier at shared address %#x", p.at)
		return nil
	}
	if shown := b.shownIn > 0 && w.passed >= b.shownIn; !shown && !w.thread(lane).After(b.initStretch, b.initThread) {
		w.report(SharedRace, 1<<lane, "%s uses the mbarrier at shared address %#x that %s initialised, with no barrier between",
			w.block.cluster.threadName(w.thread(lane).ID()), p.at, w.block.cluster.threadName(b.initThread))
		b.initStretch = 0
	}
	return b
}

// ownBarrier reports an mbarrier of another block where only the own ones are allowed.
func (w *warp) ownBarrier(b *mbarrier, lane int, what string) bool {
	if b.shared == &w.block.shared {
		return true
	}
	w.report(BarrierMisuse, 1<<lane, "%s an mbarrier of another block", what)
	return false
}

func mbarrierArrive(d *decoder, drop bool) {
	expects := d.has("expect_tx")
	noComplete := d.has("noComplete")
	relaxed := d.semantics("release", "relaxed")
	s := d.space("shared", "shared::cta", "shared::cluster")
	d.typeOf("b64")
	sink := d.ops[0].Kind == syntax.OpSink
	state := d.dst(number.Types["b64"])
	if s == syntax.SpaceCluster && !sink {
		d.fail("a .shared::cluster mbarrier gives no state: need _")
	}
	a := d.address(s)
	count := row(-1)
	switch {
	case expects, noComplete, d.more():
		count = d.src(number.Types["u32"])
	}
	d.in.run = func(w *warp) {
		if !relaxed {
			w.releaseLanes()
		}
		out := w.out(state)
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			b := w.mbarrier(a, lane)
			if b == nil || !sink && !w.ownBarrier(b, lane, "takes the state of") {
				continue
			}
			n := 1
			if count >= 0 && !expects {
				if n = int(uint32(w.regs[count][lane])); n < 1 || n > mostArrivals {
					w.report(BarrierMisuse, 1<<lane, "arrives with a count of %d: need 1 to %d", n, mostArrivals)
					continue
				}
			}
			out[lane] = b.state()
			if expects {
				b.expect(w, lane, int(uint32(w.regs[count][lane])))
			}
			if drop {
				if b.expected -= n; b.expected < 0 {
					w.report(BarrierMisuse, 1<<lane, "drops %d arrivals of the %d that the mbarrier expects", n, b.expected+n)
					b.expected = 0
				}
			}
			if !relaxed {
				b.clock.Join(&w.clock)
			}
			phase := b.phase
			b.arrive(w, lane, n)
			if noComplete && b.phase != phase {
				w.report(BarrierMisuse, 1<<lane, "completes the phase of an mbarrier by .noComplete")
			}
		}
	}
}

func mbarrierCount(d *decoder, expects bool) {
	d.semantics("relaxed")
	s := d.space("shared", "shared::cta", "shared::cluster")
	d.typeOf("b64")
	a, count := d.address(s), d.src(number.Types["u32"])
	d.in.run = func(w *warp) {
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			if b := w.mbarrier(a, lane); b != nil {
				if n := int(uint32(w.regs[count][lane])); expects {
					b.expect(w, lane, n)
				} else {
					b.transferred(w, lane, n)
				}
			}
		}
	}
}

func (b *mbarrier) state() uint64 { return uint64(b.phase)<<stateOneShift | uint64(b.pending) }

// arrive counts arrivals in the present phase.
func (b *mbarrier) arrive(w *warp, lane, n int) {
	if b.observed < b.phase {
		w.report(BarrierMisuse, 1<<lane, "arrives at %s before any wait has found phase %d complete", b, b.phase-1)
		b.observed = b.phase
	}
	if n > b.pending {
		w.report(BarrierMisuse, 1<<lane, "arrives %d times at %s: it expects fewer", n, b)
		n = b.pending
	}
	b.pending -= n
	b.settle(w.block.cluster)
}

// expect announces bytes that copies will bring in the present phase.
func (b *mbarrier) expect(w *warp, lane, n int) {
	if b.tx += n; n > mostTx || b.tx > mostTx {
		w.report(BarrierMisuse, 1<<lane, "expects %d bytes more at %s: the transaction count goes to %d", n, b, mostTx)
	}
	b.settle(w.block.cluster)
}

// transferred counts bytes that copies have brought.
func (b *mbarrier) transferred(w *warp, lane, n int) {
	if b.tx -= n; b.tx < -mostTx {
		w.report(BarrierMisuse, 1<<lane, "completes %d bytes at %s: the transaction count goes down to -%d", n, b, mostTx)
	}
	b.settle(w.block.cluster)
}

// settle ends the present phase when all has come.
func (b *mbarrier) settle(c *cluster) {
	c.happened()
	if b.pending != 0 || b.tx != 0 {
		return
	}
	b.phase++
	b.pending = b.expected
	b.done.Join(&b.clock)
	c.wake(b)
}

// String is the state of the barrier, for findings.
func (b *mbarrier) String() string {
	return fmt.Sprintf("the mbarrier at shared address %#x (phase %d, %d of %d arrivals pending, transaction count %d)",
		b.at, b.phase, b.pending, b.expected, b.tx)
}

type mbarrierEvent struct {
	barrier *mbarrier
	phase   int // that is to complete
}

func (e mbarrierEvent) key() any { return e.barrier }
func (e mbarrierEvent) describe() string {
	return fmt.Sprintf("phase %d (parity %d) of %s", e.phase, e.phase&1, e.barrier)
}

// mbarrierWait decodes test_wait and try_wait. A wait without success holds the
// lanes until the phase completes or nothing else can run; with a seed, now and
// then it gives false at once.
func mbarrierWait(d *decoder) {
	parity := d.has("parity")
	relaxed := d.semantics("acquire", "relaxed")
	s := d.space("shared", "shared::cta")
	d.typeOf("b64")
	p := d.predDst()
	a := d.address(s)
	var which row
	if parity {
		which = d.src(number.Types["u32"])
	} else {
		which = d.src(number.Types["b64"])
	}
	if d.more() {
		d.src(number.Types["u32"])
	}
	in := d.in
	in.control = func(w *warp, f *fragment) outcome {
		if w.active == 0 {
			return advance
		}
		w.execute(in, func(*warp) {})
		var complete uint32
		var late *mbarrier
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			b := w.mbarrier(a, lane)
			if b == nil || !w.ownBarrier(b, lane, "waits at") {
				complete |= 1 << lane
				continue
			}
			v := w.regs[which][lane]
			done := false
			if parity {
				if v &= 0xffffffff; v > 1 {
					w.report(UndefinedValue, 1<<lane, "waits for parity %d: need 0 or 1", v)
				}
				done = uint64(b.phase&1) != v&1
			} else {
				phase := int(v >> stateOneShift)
				if phase != b.phase && phase != b.phase-1 {
					w.report(BarrierMisuse, 1<<lane, "waits for phase %d of %s: need the present or the last one", phase, b)
				}
				done = phase < b.phase
			}
			if !done {
				late = b
				continue
			}
			complete |= 1 << lane
			b.observed = b.phase
			if !relaxed {
				w.clock.Join(&b.done)
			}
			w.clock.Complete(b.id, uint32(b.phase))
		}
		c := w.block.cluster
		impatient := f.expired || c.random != nil && c.random.IntN(8) == 0
		if late != nil && !impatient {
			return w.await(f, mbarrierEvent{late, late.phase})
		}
		f.expired = false
		w.setPred(p, complete)
		return advance
	}
}

// copiesArrive is cp.async.mbarrier.arrive: an arrival when the thread's copies so far are done.
func copiesArrive(d *decoder) {
	if !d.has("arrive") {
		d.fail("need .arrive")
	}
	noinc := d.has("noinc")
	s := d.space("shared", "shared::cta")
	d.typeOf("b64")
	a := d.address(s)
	d.in.run = func(w *warp) {
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			b := w.mbarrier(a, lane)
			if b == nil || !w.ownBarrier(b, lane, "arrives by copies at") {
				continue
			}
			if !noinc {
				if b.pending++; b.pending > mostArrivals {
					w.report(BarrierMisuse, 1<<lane, "raises the pending count of %s above %d", b, mostArrivals)
				}
			}
			chunks := w.async[lane].take()
			w.begin(&operationInFlight{lane: lane, write: func() {
				w.landChunks(lane, chunks)
				w.release()
				b.clock.Join(&w.clock)
				b.arrive(w, lane, 1)
			}})
		}
	}
}

// take gives the chunks on their way; their groups stay, empty.
func (q *asyncQueue) take() []asyncChunk {
	var all []asyncChunk
	for i, g := range q.groups {
		all = append(all, g...)
		q.groups[i] = g[:0]
	}
	all = append(all, q.open...)
	q.open = q.open[:0]
	return all
}
