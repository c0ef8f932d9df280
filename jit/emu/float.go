package emu

import (
	"math"

	"tilec/jit/emu/number"
)

// floatOps are the float instructions whose names integers do not share.
var floatOps = map[string]operation{
	"fma":      {classFloat, floatArithmetic},
	"copysign": {classFloat, copySign},
	"testp":    {classFloat, testProperty},
}

func (d *decoder) floatStyle() number.Style {
	s := number.Style{FTZ: d.has("ftz"), Saturate: d.has("sat"), ReLU: d.has("relu")}
	s.Mode, _ = d.rounding("rn", "rz", "rm", "rp")
	d.has("noftz")
	s.Type = d.typeOf("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
	if s.FTZ && s.Type.Format != &number.F32 && s.Type.Format != &number.F16 && !(s.Type.Format == &number.BF16 && d.st.Name == "ex2") {
		d.fail(".ftz cannot be with type .%s", s.Type.Name)
	}
	return s
}

// floatArithmetic is add, sub, mul, fma, mad, div, min, max, abs and neg of float types.
func floatArithmetic(d *decoder) {
	name := d.st.Name
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
	op := number.FloatOps[name]
	dst, a, b := d.dst(s.Type), d.src(s.Type), d.src(s.Type)
	c := a
	if op.Operands == 3 {
		c = d.src(s.Type)
	}
	plain := s.Type.Name == "f32" && s.Mode == number.NearestEven && !s.FTZ && !s.Saturate
	switch {
	case approx == "approx":
		d.map2(dst, a, b, func(a, b uint64) uint64 { return s.Out(number.DivideApprox(s.In(a), s.In(b))) })
	case plain && op.Operands == 2:
		d.map2(dst, a, b, number.FastFloatOps[name])
	case plain:
		d.map3(dst, a, b, c, number.FMA32)
	case s.Type.Bits == 64:
		d.map3(dst, a, b, c, func(a, b, c uint64) uint64 {
			return s.Out(op.Wide(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c), s.Mode))
		})
	default:
		d.map3(dst, a, b, c, s.Lanewise(func(a, b, c uint64) uint64 { return s.Out(op.Narrow(s.In(a), s.In(b), s.In(c), s.Mode)) }))
	}
}

// copySign is copysign d, a, b: the sign of a with the magnitude of b.
func copySign(d *decoder) {
	t := d.typeOf("f32", "f64")
	dst, a, b := d.dst(t), d.src(t), d.src(t)
	signBit := uint64(1) << (t.Bits - 1)
	d.map2(dst, a, b, func(a, b uint64) uint64 { return a&signBit | b&^signBit })
}

func floatMinMax(d *decoder) {
	m := number.MinMax{Min: d.st.Name == "min", NaN: d.has("NaN"), XorSign: d.has("xorsign"), Abs: d.has("abs")}
	s := d.floatStyle()
	if m.XorSign && !m.Abs {
		d.fail(".xorsign needs .abs")
	}
	pick := func(a, b uint64) uint64 { return s.Pick(m, a, b) }
	dst, a, b := d.dst(s.Type), d.src(s.Type), d.src(s.Type)
	if d.more() {
		c := d.src(s.Type)
		d.map3(dst, a, b, c, s.Lanewise(func(a, b, c uint64) uint64 { return pick(pick(a, b), c) }))
		return
	}
	d.map3(dst, a, b, a, s.Lanewise(func(a, b, _ uint64) uint64 { return pick(a, b) }))
}

// floatSign is abs and neg.
func floatSign(d *decoder) {
	s := d.floatStyle()
	neg := d.st.Name == "neg"
	dst, a := d.dst(s.Type), d.src(s.Type)
	d.map3(dst, a, a, a, s.Lanewise(func(a, _, _ uint64) uint64 { return s.SetSign(a, neg) }))
}

// testProperty is testp.
func testProperty(d *decoder) {
	op := d.must("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	t := d.typeOf("f32", "f64")
	p, a := d.predDst(), d.src(t)
	f := t.Format
	d.in.run = func(w *warp) {
		var r uint32
		for m := w.active; m != 0; m &= m - 1 {
			if i := first(m); f.Is(op, w.regs[a][i]) {
				r |= 1 << i
			}
		}
		w.setPred(p, r)
	}
}
