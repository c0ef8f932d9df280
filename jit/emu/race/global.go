package race

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

// stamp is that of an access to no bytes.
func (t Thread) stamp(block int) globalStamp {
	own := uint64(block)%(1<<20-1) + 1
	return globalStamp(own<<stampBlock | uint64(t.ID())<<stampThread | uint64(t.Clock.Stretch))
}

func (s globalStamp) thread() int { return int(s >> stampThread & (1<<14 - 1)) }
func (s globalStamp) many() bool  { return s>>stampMany&1 == 1 }

// sameThread tells whether two stamps differ in their bytes alone.
func (s globalStamp) sameThread(o globalStamp) bool {
	return s&^(15<<stampBytes|1<<stampMany) == o&^(15<<stampBytes|1<<stampMany)
}

// unordered tells whether an earlier access of the same bytes by the same block is
// not ordered before the thread's present one.
func (t *Thread) unordered(old, now globalStamp) bool {
	return old>>stampBlock == now>>stampBlock && old&now>>stampBytes&15 != 0 &&
		uint32(old&(1<<stampThread-1)) > t.Clock.Seen[old.thread()/warpSize]
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

// Read checks a read of n bytes against the writes of the block's other threads.
func (t *Trace) Read(by Thread, block, at, n int, found func(Conflict)) {
	stamp := by.stamp(block)
	eachWord(at, n, func(word int, bytes uint64) {
		s := &page(t.stamped, word/pageWords)[word%pageWords]
		now := stamp | globalStamp(bytes)<<stampBytes
		if old := globalStamp(s.wrote.Load()); by.unordered(old, now) && old.thread() != now.thread() {
			found(Conflict{Does: "reads what", Other: old.thread(), Did: "wrote"})
			s.wrote.Store(0)
		}
		if old := globalStamp(s.read.Load()); old.sameThread(now) {
			now |= old & (15<<stampBytes | 1<<stampMany)
		} else if by.unordered(old, now) {
			now |= old&(15<<stampBytes) | 1<<stampMany
		}
		s.read.Store(uint64(now))
	})
}

// Write checks a write of n bytes against the accesses of the block's other threads. A
// write of the same as is there already does not conflict with a write.
func (t *Trace) Write(by Thread, block, at, n int, same bool, found func(Conflict)) {
	stamp := by.stamp(block)
	eachWord(at, n, func(word int, bytes uint64) {
		s := &page(t.stamped, word/pageWords)[word%pageWords]
		now := stamp | globalStamp(bytes)<<stampBytes
		old := globalStamp(s.wrote.Load())
		if by.unordered(old, now) && old.thread() != now.thread() && !same {
			found(Conflict{Does: "writes what", Other: old.thread(), Did: "wrote"})
		}
		if read := globalStamp(s.read.Load()); by.unordered(read, now) && (read.many() || read.thread() != now.thread()) {
			found(Conflict{Does: "writes what", Other: read.thread(), Did: "read"})
			s.read.Store(0)
		}
		if old.sameThread(now) {
			now |= old & (15 << stampBytes)
		}
		s.wrote.Store(uint64(now))
	})
}
