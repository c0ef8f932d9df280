package emu

import "encoding/binary"

// Reads of registers and memory that were never written, where those are findings at
// once; undefined.go follows the values where they are not.

// checkWritten reports registers that an instruction reads and that were never written.
func (w *warp) checkWritten(in *inst) {
	if in.touches != nil {
		w.touch(in)
	}
	for _, r := range in.srcs {
		if bad := w.active &^ w.init[r]; bad != 0 {
			w.report(Uninitialised, bad, "reads register %s, which was never written", w.block.launch.kernel.registerName(r))
			w.init[r] |= bad
		}
	}
	for _, p := range in.preds {
		if bad := w.active &^ w.predInit[p]; bad != 0 {
			w.unwrittenPred(in, p, bad)
		}
	}
}

func (w *warp) unwrittenPred(in *inst, p predRow, bad uint32) {
	w.in = in
	w.report(Uninitialised, bad, "reads predicate %s, which was never written", w.block.launch.kernel.predName(p))
	w.predInit[p] |= bad
}

func (w *warp) reportUnfilled(p place, lane int) {
	at := "address"
	where := p.at
	for i, f := range p.fill {
		if f == 0 {
			where += i
			break
		}
	}
	if p.alloc != nil {
		at = "byte"
		w.report(Uninitialised, 1<<lane, "reads %s memory that was never written: %s %d of %s", p.space, at, where, w.block.launch.memory.describe(p.alloc.base))
		return
	}
	w.report(Uninitialised, 1<<lane, "reads %s memory that was never written, at %s %#x", p.space, at, where)
}

func allFilled(f []byte) bool {
	const ones = 0x0101010101010101
	switch len(f) {
	case 2:
		return binary.LittleEndian.Uint16(f) == ones&0xffff
	case 4:
		return binary.LittleEndian.Uint32(f) == ones&0xffffffff
	case 8:
		return binary.LittleEndian.Uint64(f) == ones
	case 16:
		return binary.LittleEndian.Uint64(f) == ones && binary.LittleEndian.Uint64(f[8:]) == ones
	}
	for _, b := range f {
		if b == 0 {
			return false
		}
	}
	return true
}
