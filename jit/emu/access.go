package emu

import (
	"encoding/binary"

	"tilec/jit/emu/syntax"
)

// A place is memory that a thread has checked that it may touch.
type place struct {
	space syntax.Space
	data  []byte // from the address on, as long as the access
	fill  []byte
	at    int // in shared memory, or in the allocation
	alloc *allocation
	// strong accesses synchronise, and race with no strong ones and no atomics;
	// constant are those to what nobody writes.
	strong, constant bool
	// shared is the memory of the block that the place is in.
	shared *sharedMemory
}

// resolve turns a generic address into one of a space.
func resolve(s syntax.Space, address uint64) (syntax.Space, uint64) {
	if s != syntax.SpaceGeneric {
		return s, address
	}
	switch {
	case address-sharedWindow < windowSize:
		return syntax.SpaceCluster, address - sharedWindow
	case address-localWindow < windowSize:
		return syntax.SpaceLocal, address - localWindow
	case address-paramWindow < windowSize:
		return syntax.SpaceParam, address - paramWindow
	}
	return syntax.SpaceGlobal, address
}

// locate checks an access of n bytes by a lane and finds its memory; false, with
// a finding, when there is none.
func (w *warp) locate(s syntax.Space, address uint64, n, align, lane int) (p place, ok bool) {
	s, address = resolve(s, address)
	p.space = s
	if address&uint64(align-1) != 0 {
		w.report(Misaligned, 1<<lane, "an access of %d bytes at %s address %#x, which is no multiple of %d", n, s, address, align)
		return p, false
	}
	if s == syntax.SpaceGlobal || s == syntax.SpaceConst {
		a := w.near
		if a == nil || address-a.base > uint64(len(a.data)-n) || len(a.data) < n {
			a = w.block.launch.memory.find(address)
			if a == nil || address-a.base+uint64(n) > uint64(len(a.data)) {
				w.report(OutOfBounds, 1<<lane, "an access of %d bytes at address %#x: %s", n, address, w.block.launch.memory.describe(address))
				return p, false
			}
			w.near = a
		}
		if w.block.launch.options.Unfinished != nil {
			w.checkFinished(address, n, lane)
		}
		p.at = int(address - a.base)
		p.alloc = a
		p.data, p.fill = a.data[p.at:p.at+n:p.at+n], a.filled[p.at:p.at+n:p.at+n]
		return p, true
	}
	var data, filled []byte
	switch s {
	case syntax.SpaceShared, syntax.SpaceCluster:
		owner := w.owner(s, address, n, lane)
		if owner == nil {
			return p, false
		}
		address &= blockWindow - 1
		p.shared, p.space = &owner.shared, syntax.SpaceShared
		data, filled = p.shared.data, p.shared.filled
	case syntax.SpaceLocal:
		size := w.block.launch.kernel.Local
		if size > 0 {
			data, filled = w.local[lane][:size], w.local[lane][size:]
		}
	case syntax.SpaceParam:
		data = w.block.launch.params
	}
	if address > uint64(len(data)) || uint64(len(data))-address < uint64(n) {
		w.report(OutOfBounds, 1<<lane, "an access of %d bytes at %s address %#x, where there are %d bytes", n, s, address, len(data))
		return p, false
	}
	p.at = int(address)
	p.data = data[p.at : p.at+n : p.at+n]
	if filled != nil {
		p.fill = filled[p.at : p.at+n : p.at+n]
	}
	return p, true
}

// read checks that a lane may read a place now.
func (w *warp) read(p place, lane int) {
	if p.alloc != nil && !p.constant {
		w.noteGlobalRead(p, lane)
	}
	if p.fill != nil && !allFilled(p.fill) {
		w.reportUnfilled(p, lane)
	}
	if p.space == syntax.SpaceShared {
		w.checkPending(p, lane, "reads")
		w.loose |= 1 << lane
		if p.strong {
			w.noteAtomic(p.shared, lane, p.at, len(p.data), false)
			return
		}
		w.noteRead(p.shared, lane, p.at, len(p.data))
	}
}

// written checks and notes a write that a lane is about to make; value is what it will write.
func (w *warp) written(p place, lane int, value []byte) {
	switch p.space {
	case syntax.SpaceShared:
		w.checkPending(p, lane, "writes")
		w.loose |= 1 << lane
		if p.strong {
			w.noteAtomic(p.shared, lane, p.at, len(p.data), true)
			break
		}
		w.noteWrite(p.shared, lane, p.at, len(p.data), value)
	case syntax.SpaceGlobal:
		if !p.strong {
			w.noteGlobalWrite(p, lane, value)
		}
		if other := w.trace(p.alloc).NoteWriter(w.block.id, p.at, len(p.data), p.strong); other >= 0 && !w.acquired {
			w.report(BlockRace, 1<<lane, "blocks %d and %d both write %s", min(other, w.block.id), max(other, w.block.id), w.block.launch.memory.describe(p.alloc.base+uint64(p.at)))
		}
	case syntax.SpaceConst, syntax.SpaceParam:
		w.report(OutOfBounds, 1<<lane, "writes %s memory", p.space)
		return
	}
	fill(p.fill)
}

// checkPending reports a touch of bytes that an asynchronous copy may still write.
func (w *warp) checkPending(p place, lane int, does string) {
	if p.shared.async != nil {
		w.checkAsync(p, lane, does)
	}
	pending := p.shared.pending[p.at : p.at+len(p.data)]
	for _, n := range pending {
		if n == mbarrierMark {
			w.report(BarrierMisuse, 1<<lane, "%s shared address %#x, which holds an mbarrier", does, p.at)
			return
		}
		if n != 0 {
			w.report(PendingCopy, 1<<lane, "%s shared address %#x, which a copy that was not waited for writes", does, p.at)
			return
		}
	}
}

// word reads a little-endian value of 1, 2, 4 or 8 bytes.
func word(p []byte) uint64 {
	switch len(p) {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case 4:
		return uint64(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint64(p)
}

func setWord(p []byte, v uint64) {
	switch len(p) {
	case 1:
		p[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(p, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(p, uint32(v))
	default:
		binary.LittleEndian.PutUint64(p, v)
	}
}
