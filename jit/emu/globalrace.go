package emu

import "sync/atomic"

// Threads of one block race in global memory as they do in shared memory: when one
// writes what another touches, with no barrier between. For every word that was
// written in a launch, or read by a block that may write it, the last write and the
// last read are kept. Reads that promise that nobody writes (.nc) are not.

// wordBytes is the unit that has stamps; a stamp says which of its bytes count.
const wordBytes = 4

type stampPage [tracePageSize / wordBytes]struct{ wrote, read atomic.Uint64 }

// A globalStamp is, from the lowest bit on: the stretch (25 bits), the thread in the
// cluster (14), whether more threads than that one read (1), which bytes (4), and
// the block (20, 0 for none).
type globalStamp uint64

const (
	stampThread = 25
	stampMany   = 39
	stampBytes  = 40
	stampBlock  = 44
)

func (w *warp) stamp(lane int, bytes uint64) globalStamp {
	block := uint64(w.block.id)%(1<<20-1) + 1
	return globalStamp(block<<stampBlock | bytes<<stampBytes | uint64(w.thread(lane))<<stampThread | uint64(w.clock.stretch))
}

func (s globalStamp) thread() int { return int(s >> stampThread & (1<<14 - 1)) }
func (s globalStamp) many() bool  { return s>>stampMany&1 == 1 }

// sameThread tells whether two stamps differ in their bytes alone.
func (s globalStamp) sameThread(o globalStamp) bool {
	return s&^(15<<stampBytes|1<<stampMany) == o&^(15<<stampBytes|1<<stampMany)
}

// unordered tells whether an earlier access of the same bytes by the same block is
// not ordered before the warp's present one.
func (w *warp) unordered(old, now globalStamp) bool {
	return old>>stampBlock == now>>stampBlock && old&now>>stampBytes&15 != 0 &&
		uint32(old&(1<<stampThread-1)) > w.clock.seen[old.thread()/warpSize]
}

// eachWord visits the words that n bytes at an offset touch, with the bytes of each as bits.
func eachWord(at, n int, visit func(word int, bytes uint64)) {
	for end := at + n; at < end; {
		word := at / wordBytes
		next := min((word+1)*wordBytes, end)
		visit(word, (1<<(next-at)-1)<<(at%wordBytes))
		at = next
	}
}

const pageWords = tracePageSize / wordBytes

// noteGlobalRead checks a read against the writes of the block's other threads.
func (w *warp) noteGlobalRead(p place, lane int) {
	if w.acquired {
		return
	}
	stamps := w.trace(p.alloc).stamped
	eachWord(p.at, len(p.data), func(word int, bytes uint64) {
		s := &page(stamps, word/pageWords)[word%pageWords]
		now := w.stamp(lane, bytes)
		if old := globalStamp(s.wrote.Load()); w.unordered(old, now) && old.thread() != now.thread() {
			w.globalRace(p, lane, "reads what", old, "wrote")
			s.wrote.Store(0)
		}
		if old := globalStamp(s.read.Load()); old.sameThread(now) {
			now |= old & (15<<stampBytes | 1<<stampMany)
		} else if w.unordered(old, now) {
			now |= old&(15<<stampBytes) | 1<<stampMany
		}
		s.read.Store(uint64(now))
	})
}

// noteGlobalWrite checks a write against the accesses of the block's other threads.
// A write of what is there already does not conflict with a write.
func (w *warp) noteGlobalWrite(p place, lane int, value []byte) {
	if w.acquired {
		return
	}
	same := value != nil && string(value) == string(p.data)
	stamps := w.trace(p.alloc).stamped
	eachWord(p.at, len(p.data), func(word int, bytes uint64) {
		s := &page(stamps, word/pageWords)[word%pageWords]
		now := w.stamp(lane, bytes)
		old := globalStamp(s.wrote.Load())
		if w.unordered(old, now) && old.thread() != now.thread() && !same {
			w.globalRace(p, lane, "writes what", old, "wrote")
		}
		if read := globalStamp(s.read.Load()); w.unordered(read, now) && (read.many() || read.thread() != now.thread()) {
			w.globalRace(p, lane, "writes what", read, "read")
			s.read.Store(0)
		}
		if old.sameThread(now) {
			now |= old & (15 << stampBytes)
		}
		s.wrote.Store(uint64(now))
	})
}

func (w *warp) globalRace(p place, lane int, does string, old globalStamp, did string) {
	c := w.block.cluster
	w.report(GlobalRace, 1<<lane, "%s %s %s %s at %s, with no barrier between", c.threadName(w.thread(lane)), does, c.threadName(old.thread()), did,
		w.block.launch.memory.describe(p.alloc.base+uint64(p.at)))
}
