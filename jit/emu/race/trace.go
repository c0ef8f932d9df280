package race

import (
	"sync"
	"sync/atomic"
)

// A Trace is what one launch remembers of who touched an allocation. It belongs to
// the launch: others may run on the same memory at the same time, and what two
// launches do to each other is not looked at.
type Trace struct {
	Of any // the allocation
	// writers, by page, hold the number of the block, plus one, that wrote a byte.
	writers []atomic.Pointer[writerPage]
	stamped []atomic.Pointer[stampPage] // by page, for races within a block
}

const tracePageSize = 4096 // bytes of memory

type writerPage [tracePageSize]uint32

// Traces are those of a launch, by allocation.
type Traces struct{ all sync.Map }

// Find gives the launch's trace of an allocation of size bytes.
func (t *Traces) Find(a any, size int) *Trace {
	if found, ok := t.all.Load(a); ok {
		return found.(*Trace)
	}
	pages := (size + tracePageSize - 1) / tracePageSize
	found, _ := t.all.LoadOrStore(a, &Trace{
		Of:      a,
		writers: make([]atomic.Pointer[writerPage], pages),
		stamped: make([]atomic.Pointer[stampPage], pages),
	})
	return found.(*Trace)
}

// page gives a page of a list, made when it is first asked for.
func page[P any](list []atomic.Pointer[P], i int) *P {
	if p := list[i].Load(); p != nil {
		return p
	}
	list[i].CompareAndSwap(nil, new(P))
	return list[i].Load()
}

// strongWriter marks a writer as one of strong writes.
const strongWriter = 1

// NoteWriter remembers that a block wrote n bytes, and gives another block that
// wrote one of them, or -1. Strong writes of several blocks are none of these: any may win.
func (t *Trace) NoteWriter(block, at, n int, strong bool) int {
	mark := uint32(block+1) << 1
	if strong {
		mark |= strongWriter
	}
	other := -1
	for n > 0 {
		p, from := page(t.writers, at/tracePageSize), at%tracePageSize
		run := min(n, tracePageSize-from)
		for i := from; i < from+run; i++ {
			// Two blocks may come here at once: the swap tells each who was before.
			if was := atomic.SwapUint32(&p[i], mark); was != 0 && was>>1 != mark>>1 && was&mark&strongWriter == 0 {
				other = int(was>>1) - 1
			}
		}
		at, n = at+run, n-run
	}
	return other
}
