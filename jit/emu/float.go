package emu

import "math"

// floatOps are the float instructions whose names integers do not share.
var floatOps = map[string]operation{
	"fma":      {classFloat, floatArithmetic},
	"copysign": {classFloat, copySign},
	"testp":    {classFloat, testProperty},
}

func (d *decoder) floatStyle() floatStyle {
	s := floatStyle{ftz: d.has("ftz"), sat: d.has("sat"), relu: d.has("relu")}
	s.mode, _ = d.rounding("rn", "rz", "rm", "rp")
	d.has("noftz")
	s.t = d.typeOf("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
	if s.ftz && s.t.format != &f32 && s.t.format != &f16 && !(s.t.format == &bf16 && d.st.name == "ex2") {
		d.fail(".ftz cannot be with type .%s", s.t.name)
	}
	return s
}

// floatArithmetic is add, sub, mul, fma, mad, div, min, max, abs and neg of float types.
func floatArithmetic(d *decoder) {
	name := d.st.name
	switch name {
	case "min", "max":
		floatMinMax(d)
		return
	case "abs", "neg":
		floatSign(d)
		return
	}
	approx := ""
	if name == "div" {
		approx = d.one("approx", "full")
	}
	s := d.floatStyle()
	op := exactOps[name]
	dst, a, b := d.dst(s.t), d.src(s.t), d.src(s.t)
	c := a
	if op.operands == 3 {
		c = d.src(s.t)
	}
	plain := s.t.name == "f32" && s.mode == nearestEven && !s.ftz && !s.sat
	switch {
	case approx == "approx":
		d.map2(dst, a, b, func(a, b uint64) uint64 { return s.out(divideApprox(s.in(a), s.in(b))) })
	case plain && op.operands == 2:
		d.map2(dst, a, b, fastOps[name])
	case plain:
		d.map3(dst, a, b, c, fma32)
	case s.t.bits == 64:
		d.map3(dst, a, b, c, func(a, b, c uint64) uint64 {
			return s.out(op.wide(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c), s.mode))
		})
	default:
		d.map3(dst, a, b, c, s.lanewise(func(a, b, c uint64) uint64 { return s.out(op.narrow(s.in(a), s.in(b), s.in(c), s.mode)) }))
	}
}

// copySign is copysign d, a, b: the sign of a with the magnitude of b.
func copySign(d *decoder) {
	t := d.typeOf("f32", "f64")
	dst, a, b := d.dst(t), d.src(t), d.src(t)
	signBit := uint64(1) << (t.bits - 1)
	d.map2(dst, a, b, func(a, b uint64) uint64 { return a&signBit | b&^signBit })
}

func floatMinMax(d *decoder) {
	m := minMax{min: d.st.name == "min", nan: d.has("NaN"), xorSign: d.has("xorsign"), abs: d.has("abs")}
	s := d.floatStyle()
	if m.xorSign && !m.abs {
		d.fail(".xorsign needs .abs")
	}
	pick := func(a, b uint64) uint64 { return s.pick(m, a, b) }
	dst, a, b := d.dst(s.t), d.src(s.t), d.src(s.t)
	if d.more() {
		c := d.src(s.t)
		d.map3(dst, a, b, c, s.lanewise(func(a, b, c uint64) uint64 { return pick(pick(a, b), c) }))
		return
	}
	d.map3(dst, a, b, a, s.lanewise(func(a, b, _ uint64) uint64 { return pick(a, b) }))
}

// floatSign is abs and neg.
func floatSign(d *decoder) {
	s := d.floatStyle()
	neg := d.st.name == "neg"
	dst, a := d.dst(s.t), d.src(s.t)
	d.map3(dst, a, a, a, s.lanewise(func(a, _, _ uint64) uint64 { return s.setSign(a, neg) }))
}

// testProperty is testp.
func testProperty(d *decoder) {
	op := d.must("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	t := d.typeOf("f32", "f64")
	p, a := d.predDst(), d.src(t)
	f := t.format
	d.in.run = func(w *warp) {
		var r uint32
		for m := w.active; m != 0; m &= m - 1 {
			if i := first(m); f.has(op, w.regs[a][i]) {
				r |= 1 << i
			}
		}
		w.setPred(p, r)
	}
}
