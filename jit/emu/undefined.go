package emu

import "tilec/jit/emu/syntax"

// Reading shared or local memory that nobody wrote is no fault by itself: lanes
// whose elements do not exist load what lies there, compute with it and drop it, and
// to fill it first would be work for nothing. So what such a load gives is followed,
// lane by lane, from register to register and through shared memory, as valgrind's
// memcheck does, and a finding is what depends on it: an address, a branch, a
// predicated instruction, a store to global memory, an atomic, a copy. Rules that a
// mask needs are exact (selp, and, setp with a Boolean operator, the rows and columns
// of a matrix product); any other instruction with an undefined operand has an
// undefined result. Global memory that nobody wrote stays a finding at once: it is
// an output that nobody computed.

// An origin is where a value came from that is undefined.
type origin struct {
	site  *site
	space syntax.Space
	at    int
}

// undefinedValues are the lanes of a warp's registers and predicates whose values
// are undefined, with the first origin of each.
type undefinedValues struct {
	rows, preds           []uint32
	rowOrigin, predOrigin []origin
}

// undefine marks a register's value in a lane.
func (w *warp) undefine(r row, lane int, from origin) {
	u := w.undefined
	if u == nil {
		if u = w.spare; u == nil {
			k := w.block.launch.kernel
			u = &undefinedValues{make([]uint32, k.rows), make([]uint32, len(k.PredicateNames)), make([]origin, k.rows), make([]origin, len(k.PredicateNames))}
		}
		w.undefined = u
	}
	u.rows[r] |= 1 << lane
	u.rowOrigin[r] = from
}

// forgetUndefined starts anew.
func (w *warp) forgetUndefined() {
	if u := w.undefined; u != nil {
		clear(u.rows)
		clear(u.preds)
		w.spare, w.undefined = u, nil
	}
}

func (u *undefinedValues) pred(p predSource) uint32 {
	if p.row == noPred {
		return 0
	}
	return u.preds[p.row]
}

// reportUse is the finding of a use in some lanes.
func (w *warp) reportUse(mask uint32, what string, from origin) {
	w.report(Uninitialised, mask, "%s comes from %s memory that was never written, address %#x, read at %s", what, from.space, from.at, from.site)
}

// use reports the undefined lanes of a register on which something depends; from then on they count as defined.
func (w *warp) use(r row) {
	u := w.undefined
	if bad := u.rows[r] & w.active; bad != 0 {
		w.reportUse(bad, "register "+w.block.launch.kernel.registerName(r), u.rowOrigin[r])
		u.rows[r] &^= bad
	}
}

func (w *warp) usePred(p predRow) {
	u := w.undefined
	if bad := u.preds[p] & w.active; bad != 0 {
		w.reportUse(bad, "predicate "+w.block.launch.kernel.predName(p), u.predOrigin[p])
		u.preds[p] &^= bad
	}
}

// follow executes an instruction where there are undefined values.
func (w *warp) follow(in *inst, run func(*warp)) {
	u := w.undefined
	for _, r := range in.uses {
		w.use(r)
	}
	if !in.follows {
		for _, r := range in.srcs {
			w.use(r)
		}
		for _, p := range in.preds {
			w.usePred(p)
		}
	}
	var bad uint32
	var from origin
	for _, r := range in.srcs {
		if b := u.rows[r] & w.active; b != 0 {
			bad, from = bad|b, u.rowOrigin[r]
		}
	}
	for _, p := range in.preds {
		if b := u.preds[p] & w.active; b != 0 {
			bad, from = bad|b, u.predOrigin[p]
		}
	}
	// The operands may be the destinations too.
	var spread []uint32
	if bad != 0 && in.spread != nil {
		spread = in.spread(w)
	}
	for _, d := range in.dsts {
		u.rows[d] &^= w.active
	}
	for _, p := range in.predDsts {
		u.preds[p] &^= w.active
	}
	active := w.active
	run(w)
	if bad == 0 {
		return
	}
	of := func(i int) uint32 {
		if in.spread == nil {
			return bad
		}
		return spread[i] & active
	}
	for i, d := range in.dsts {
		if b := of(i); b != 0 {
			u.rows[d] |= b
			u.rowOrigin[d] = from
		}
	}
	for i, p := range in.predDsts {
		if b := of(len(in.dsts) + i); b != 0 {
			u.preds[p] |= b
			u.predOrigin[p] = from
		}
	}
}

// execute runs what an instruction does.
func (w *warp) execute(in *inst, run func(*warp)) {
	w.checkWritten(in)
	if w.undefined == nil {
		run(w)
	} else {
		w.follow(in, run)
	}
}

// readInto is read by an instruction that puts the n-th element of some bytes into
// the n-th of some registers.
func (w *warp) readInto(p place, lane, size int, dsts []dest) {
	if p.fill == nil || allFilled(p.fill) || p.alloc != nil {
		w.read(p, lane)
		return
	}
	for i, d := range dsts {
		if !allFilled(p.fill[i*size : i*size+size]) {
			w.undefine(d.row, lane, origin{w.in.site, p.space, p.at + i*size})
		}
	}
	fill := p.fill
	p.fill = nil
	w.read(p, lane)
	p.fill = fill
}

// storeUndefined makes memory hold the undefined values that a lane stored.
func (w *warp) storeUndefined(p place, lane, size int, srcs []row) {
	u := w.undefined
	for i, r := range srcs {
		if u.rows[r]>>lane&1 == 0 {
			continue
		}
		if p.alloc != nil || p.fill == nil {
			w.reportUse(1<<lane, "the stored value of register "+w.block.launch.kernel.registerName(r), u.rowOrigin[r])
			continue
		}
		clear(p.fill[i*size : i*size+size])
	}
}

// spreadAnd gives the undefined lanes of a conjunction of operands with undefined
// lanes ua and ub, that are not zero in the lanes a and b.
func spreadAnd(a, ua, b, ub uint32) uint32 { return ua&(b|ub) | ub&(a|ua) }

// spreadCombine is spreadAnd for each Boolean operator.
func spreadCombine(boolean string, a, ua, b, ub uint32) uint32 {
	switch boolean {
	case "and":
		return spreadAnd(a, ua, b, ub)
	case "or":
		return spreadAnd(^a, ua, ^b, ub)
	}
	return ua | ub
}

// nonzero are the lanes in which a register is not zero.
func (w *warp) nonzero(r row) uint32 {
	var m uint32
	for i, v := range w.regs[r] {
		if v != 0 {
			m |= 1 << i
		}
	}
	return m
}
