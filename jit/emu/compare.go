package emu

import "tilec/jit/emu/number"

var compareOps = map[string]operation{
	"setp": {classCompare, setPredicate},
	"set":  {classCompare, setValue},
	"selp": {classCompare, selectByPredicate},
	"slct": {classCompare, selectBySign},
}

// A comparison is the common part of setp and set.
type comparison struct {
	a, b    row
	holds   func(a, b uint64) bool
	boolean string // and, or, xor; "" without
}

// comparison takes the operator and the Boolean operator.
func (d *decoder) comparison() (name string, boolean string, ftz bool) {
	name = d.one("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
		"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
	if name == "" {
		d.fail("a comparison is missing")
	}
	return name, d.one("and", "or", "xor"), d.has("ftz")
}

// holds gives the test of a relation on values of a type.
func (d *decoder) holds(name string, t number.Type, ftz bool) func(a, b uint64) bool {
	r := number.Relations[name]
	if t.IsFloat() {
		if name == "lo" || name == "ls" || name == "hi" || name == "hs" {
			d.fail(".%s does not compare floats", name)
		}
	} else if r.Unordered || name == "num" || t.Kind == number.KindBits && name != "eq" && name != "ne" {
		d.fail(".%s does not compare values of type .%s", name, t.Name)
	}
	return r.Test(t, ftz)
}

// lanes gives the lanes in which the comparison holds.
func (c *comparison) lanes(w *warp) uint32 {
	var r uint32
	a, b := &w.regs[c.a], &w.regs[c.b]
	for m := w.active; m != 0; m &= m - 1 {
		i := first(m) & 31
		if c.holds(a[i], b[i]) {
			r |= 1 << i
		}
	}
	return r
}

func combine(boolean string, a, b uint32) uint32 {
	switch boolean {
	case "and":
		return a & b
	case "or":
		return a | b
	case "xor":
		return a ^ b
	}
	return a
}

var comparable = []string{"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f16", "bf16", "f32", "f64"}

func setPredicate(d *decoder) {
	name, boolean, ftz := d.comparison()
	t := d.typ()
	if t.Lanes == 2 && t.IsFloat() {
		setPredicatePair(d, name, boolean, t)
		return
	}
	d.mods = append([]string{t.Name}, d.mods...)
	t = d.typeOf(comparable...)
	first, second, both := d.pair()
	p, q := d.predDestination(first), noPred
	if both {
		q = d.predDestination(second)
	}
	c := comparison{a: d.src(t), b: d.src(t), holds: d.holds(name, t, ftz)}
	var other predSource
	if boolean != "" {
		other = d.pred()
	}
	if boolean != "" {
		d.in.spread = func(w *warp) []uint32 {
			u := w.undefined
			r, bad := c.lanes(w), u.rows[c.a]|u.rows[c.b]
			o, ob := other.get(w), u.pred(other)
			all := []uint32{spreadCombine(boolean, r, bad, o, ob), spreadCombine(boolean, ^r, bad, o, ob)}
			if p == noPred {
				return all[1:]
			}
			return all
		}
	}
	d.in.run = func(w *warp) {
		r := c.lanes(w)
		o := uint32(0)
		if boolean != "" {
			o = other.get(w)
		}
		w.setPred(p, combine(boolean, r, o))
		w.setPred(q, combine(boolean, ^r, o))
	}
}

// setPredicatePair is setp of f16x2 and bf16x2: p for the low halves, q for the high ones.
func setPredicatePair(d *decoder, name, boolean string, t number.Type) {
	first, second, both := d.pair()
	if !both {
		d.fail("need p|q")
	}
	p, q := d.predDestination(first), d.predDestination(second)
	a, b := d.src(t), d.src(t)
	holds := d.holds(name, t.Element(), false)
	low := comparison{a: a, b: b, holds: func(a, b uint64) bool { return holds(a&0xffff, b&0xffff) }}
	high := comparison{a: a, b: b, holds: func(a, b uint64) bool { return holds(a>>16&0xffff, b>>16&0xffff) }}
	var other predSource
	if boolean != "" {
		other = d.pred()
	}
	d.in.run = func(w *warp) {
		l, h, o := low.lanes(w), high.lanes(w), uint32(0)
		if boolean != "" {
			o = other.get(w)
		}
		w.setPred(p, combine(boolean, l, o))
		w.setPred(q, combine(boolean, h, o))
	}
}

func setValue(d *decoder) {
	name, boolean, ftz := d.comparison()
	to := d.typeOf("u32", "s32", "f32")
	t := d.typeOf(comparable...)
	yes := uint64(0xffffffff)
	if to.IsFloat() {
		yes = 0x3f800000
	}
	dst := d.dst(to)
	c := comparison{a: d.src(t), b: d.src(t), holds: d.holds(name, t, ftz)}
	var other predSource
	if boolean != "" {
		other = d.pred()
	}
	d.in.run = func(w *warp) {
		r := c.lanes(w)
		if boolean != "" {
			r = combine(boolean, r, other.get(w))
		}
		out := w.out(dst)
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m)
			out[i] = yes & -uint64(r>>i&1)
		}
	}
}

func selectByPredicate(d *decoder) {
	t := d.typeOf(comparable...)
	dst, a, b := d.dst(t), d.src(t), d.src(t)
	p := d.pred()
	d.in.spread = func(w *warp) []uint32 {
		u, sel := w.undefined, p.get(w)
		return []uint32{u.pred(p) | u.rows[a]&sel | u.rows[b]&^sel}
	}
	d.in.run = func(w *warp) {
		out, x, y, sel := w.out(dst), &w.regs[a], &w.regs[b], p.get(w)
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m) & 31
			if sel>>i&1 == 1 {
				out[i] = x[i]
			} else {
				out[i] = y[i]
			}
		}
	}
}

func selectBySign(d *decoder) {
	ftz := d.has("ftz")
	t := d.typeOf(comparable...)
	by := d.typeOf("s32", "f32")
	dst, a, b, c := d.dst(t), d.src(t), d.src(t), d.src(by)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 {
		if by.IsFloat() {
			if ftz {
				c = number.Flush(c)
			}
			if number.Float32(c) >= 0 {
				return a
			}
			return b
		}
		if int32(c) >= 0 {
			return a
		}
		return b
	})
}
