package emu

import (
	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

var moveOps = map[string]operation{
	"mov": {classMove, move},
}

// move is mov: of a register, constant, special register or address, and packing
// and unpacking of vectors.
func move(d *decoder) {
	t := d.typ()
	if t.Kind == number.KindPred {
		p, a := d.predDst(), d.pred()
		d.in.run = func(w *warp) { w.setPred(p, a.get(w)) }
		return
	}
	if len(d.ops) != 2 {
		d.fail("need 2 operands, have %d", len(d.ops))
	}
	switch to, from := d.ops[0], d.ops[1]; {
	case from.Kind == syntax.OpVector:
		pack(d, t)
		return
	case to.Kind == syntax.OpVector:
		unpack(d, t)
		return
	}
	dst := d.dst(t)
	if o := d.ops[0]; o.Kind == syntax.OpName {
		if s, ok := specials[o.Name]; ok && s.fill == nil {
			d.operand()
			d.in.run = func(w *warp) {
				out, v := w.out(dst), s.read(w)
				for m := w.active; m != 0; m &= m - 1 {
					out[first(m)] = v & dst.mask
				}
			}
			return
		}
	}
	a := d.src(t)
	d.in.run = func(w *warp) {
		out, x := w.out(dst), &w.regs[a]
		if w.active == allLanes {
			*out = *x
			return
		}
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m) & 31
			out[i] = x[i]
		}
	}
}

// elementWidth is the width of each of n values in a type.
func (d *decoder) elementWidth(t number.Type, n int) number.Type {
	if n != 2 && n != 4 || t.Bits%n != 0 || t.Bits/n < 8 {
		d.fail("a value of type .%s cannot have %d parts", t.Name, n)
	}
	return number.Types[map[int]string{8: "b8", 16: "b16", 32: "b32"}[t.Bits/n]]
}

// pack is mov d, {a, b}: the first part is the lowest.
func pack(d *decoder, t number.Type) {
	dst := d.dst(t)
	n := len(d.ops[0].Elements)
	e := d.elementWidth(t, n)
	parts := d.sources(n, e)
	d.in.run = func(w *warp) {
		var packed lanes
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m) & 31
			for k, p := range parts {
				packed[i] |= w.regs[p][i] & e.Mask() << (k * e.Bits)
			}
		}
		w.copyActive(dst, &packed)
	}
}

// copyActive writes the active lanes of a row.
func (w *warp) copyActive(dst dest, from *lanes) {
	out := w.out(dst)
	for m := w.active; m != 0; m &= m - 1 {
		i := first(m) & 31
		out[i] = from[i] & dst.mask
	}
}

// unpack is mov {a, b}, s.
func unpack(d *decoder, t number.Type) {
	n := len(d.ops[0].Elements)
	e := d.elementWidth(t, n)
	parts := d.dests(n, e, false)
	a := d.src(t)
	d.in.run = func(w *warp) {
		from := w.regs[a]
		for k, p := range parts {
			out := w.out(p)
			for m := w.active; m != 0; m &= m - 1 {
				i := first(m) & 31
				out[i] = from[i] >> (k * e.Bits) & e.Mask()
			}
		}
	}
}
