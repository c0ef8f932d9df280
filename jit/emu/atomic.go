package emu

import (
	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

var atomicOps = map[string]operation{
	"atom": {classAtomic, atomicUpdate},
	"red":  {classAtomic, atomicUpdate},
}

// atomicUpdate is atom and red. Operations on one memory happen one after the other.
func atomicUpdate(d *decoder) {
	if d.has("async") {
		asyncReduce(d)
		return
	}
	returns := d.st.Name == "atom"
	switch d.one("relaxed", "acquire", "release", "acq_rel") {
	case "acquire", "release", "acq_rel":
		d.synchronises()
	}
	d.one("cta", "cluster", "gpu", "sys")
	s := d.space("global", "shared", "shared::cta", "shared::cluster")
	op := d.must("add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas")
	noftz := d.has("noftz")
	hint := d.has("L2::cache_hint")
	n := d.vectorSize()
	t := d.typeOf("b16", "b32", "b64", "u32", "u64", "s32", "s64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
	if t.IsFloat() && op != "add" && !(n > 1 && (op == "min" || op == "max")) {
		d.fail(".%s does not go with type .%s", op, t.Name)
	}
	if t.Kind == number.KindBits && (op == "add" || op == "min" || op == "max" || op == "inc" || op == "dec") {
		d.fail(".%s does not go with type .%s", op, t.Name)
	}
	if noftz != (t.IsFloat() && t.Bits/t.Lanes == 16) {
		d.fail(".noftz goes with f16 and bf16, and must be with them")
	}
	var dsts []dest
	if returns {
		dsts = d.dests(n, t, true)
	}
	a := d.address(s)
	b := d.sources(n, t)
	var c row
	if op == "cas" {
		c = d.src(t)
	}
	if hint {
		d.src(number.Types["b64"])
	}
	size := t.Bytes()
	result := atomicFunction(op, t)
	d.in.run = func(w *warp) {
		w.traffic(a, size*n)
		all := &w.block.launch.memory.atomics
		all.Lock()
		defer all.Unlock()
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			p, ok := w.locate(a.space, a.in(w, lane), size*n, size*n, lane)
			if !ok {
				continue
			}
			touched := p
			if !returns && n == 1 {
				touched = p.touchedBy(op, w.regs[b[0]][lane])
			}
			if touched.fill != nil && !allFilled(touched.fill) {
				w.reportUnfilled(touched, lane)
			}
			w.atomicTouch(touched, lane)
			for k := range n {
				at := p.data[k*size : k*size+size]
				old := word(at)
				var r uint64
				if op == "cas" {
					if r = old; old == w.regs[b[k]][lane]&t.Mask() {
						r = w.regs[c][lane]
					}
				} else {
					r = result(p.space, old, w.regs[b[k]][lane])
				}
				setChanged(at, old, r)
				if returns {
					w.regs[dsts[k].row][lane] = old & dsts[k].mask
				}
			}
		}
		for _, dst := range dsts {
			w.init[dst.row] |= w.active
		}
	}
}

// setChanged writes the bytes of a word that are others than they were as it was read: a block that shares the word may have written its own since, without an atomic.
func setChanged(at []byte, old, value uint64) {
	for i := range at {
		if b := byte(value >> (8 * i)); b != byte(old>>(8*i)) {
			at[i] = b
		}
	}
}

// touchedBy is the part of a place that an atomic needs to be there: of one that changes bits, all from the first byte to the last that
// the operand does not leave as it is.
func (p place) touchedBy(op string, operand uint64) place {
	leaves := map[string]byte{"and": 0xff, "or": 0, "xor": 0}
	same, bits := leaves[op]
	if !bits {
		return p
	}
	from, to := 0, len(p.data)
	for from < to && byte(operand>>(8*from)) == same {
		from++
	}
	for from < to && byte(operand>>(8*(to-1))) == same {
		to--
	}
	if from == to { // nothing at all: as any other
		return p
	}
	p.at += from
	p.data = p.data[from:to]
	if p.fill != nil {
		p.fill = p.fill[from:to]
	}
	return p
}

// atomicTouch notes an atomic access: atomics do not race with each other, but
// with plain accesses of shared memory.
func (w *warp) atomicTouch(p place, lane int) {
	fill(p.fill)
	if p.space == syntax.SpaceShared {
		w.checkPending(p, lane, "updates")
		w.loose |= 1 << lane
		w.noteAtomic(p.shared, lane, p.at, len(p.data), true)
	}
}

// atomicFunction gives what an operation makes of the old value and the operand.
func atomicFunction(op string, t number.Type) func(s syntax.Space, old, b uint64) uint64 {
	if !t.IsFloat() {
		f := combiners[op]
		return func(_ syntax.Space, old, b uint64) uint64 { return f(t, old, b) }
	}
	style := number.Style{Type: t}
	flushed := number.Style{Type: t, FTZ: true} // f32 in global memory
	one := func(s *number.Style, a, b uint64) uint64 {
		x, y := s.In(a), s.In(b)
		switch op {
		case "min":
			return s.Out(min(x, y))
		case "max":
			return s.Out(max(x, y))
		}
		if s.Type.Bits == 64 {
			return s.Out(x + y)
		}
		return s.Out(number.AddOdd(x, y))
	}
	return func(sp syntax.Space, old, b uint64) uint64 {
		s := &style
		if t.Name == "f32" && sp == syntax.SpaceGlobal {
			s = &flushed
		}
		return s.Lanewise(func(a, b, _ uint64) uint64 { return one(s, a, b) })(old, b, 0)
	}
}
