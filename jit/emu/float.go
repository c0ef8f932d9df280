package emu

import "math"

// floatOps are the float instructions whose names integers do not share.
var floatOps = map[string]operation{
	"fma":      {classFloat, floatArithmetic},
	"copysign": {classFloat, copySign},
	"testp":    {classFloat, testProperty},
}

// flush gives zero of the same sign for the bits of a subnormal f32.
func flush(v uint64) uint64 {
	if v&0x7f800000 == 0 {
		return v & 0x80000000
	}
	return v
}

// bits32 are the bits of f, with NaN canonical.
func bits32(f float32) uint64 {
	if f != f {
		return f32.nan
	}
	return uint64(math.Float32bits(f))
}

func float(v uint64) float32 { return math.Float32frombits(uint32(v)) }

// A floatStyle is what modifiers change in a float instruction.
type floatStyle struct {
	t              dtype
	mode           rounding
	ftz, sat, relu bool
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

// in gives the number that bits of the style's element stand for.
func (s *floatStyle) in(v uint64) float64 {
	f := s.t.format
	if s.ftz && v&(f.infinity()<<f.low) == 0 {
		v &= 1 << (f.exp + f.man)
	}
	return f.value(v)
}

// out rounds a result, which is exact or rounded to odd, to the element's format.
func (s *floatStyle) out(v float64) uint64 {
	if s.sat {
		v = clamp01(v)
	}
	if s.relu && v < 0 {
		v = 0
	}
	f := s.t.format
	r := f.round(v, s.mode, false)
	if s.ftz && r&f.infinity() == 0 {
		r &= 1 << (f.exp + f.man)
	}
	return r
}

// clamp01 is .sat: to [0, 1], with NaN to +0.
func clamp01(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	return min(v, 1)
}

// lanewise makes a function of the elements one of the packed values.
func (s *floatStyle) lanewise(f func(a, b, c uint64) uint64) func(a, b, c uint64) uint64 {
	if s.t.lanes == 1 {
		return f
	}
	return func(a, b, c uint64) uint64 {
		return f(a&0xffff, b&0xffff, c&0xffff)&0xffff | f(a>>16&0xffff, b>>16&0xffff, c>>16&0xffff)&0xffff<<16
	}
}

// exactOps are the arithmetic instructions: on numbers of f32 and narrower, with
// results exact or rounded to odd, and on f64, rounded.
var exactOps = map[string]struct {
	operands int
	narrow   func(a, b, c float64, mode rounding) float64
	wide     func(a, b, c float64, mode rounding) float64
}{
	"add": {2, func(a, b, _ float64, m rounding) float64 { return sum(a, b, m) }, func(a, b, _ float64, m rounding) float64 { return fma64(a, 1, b, m) }},
	"sub": {2, func(a, b, _ float64, m rounding) float64 { return sum(a, -b, m) }, func(a, b, _ float64, m rounding) float64 { return fma64(a, 1, -b, m) }},
	"mul": {2, func(a, b, _ float64, _ rounding) float64 { return a * b }, func(a, b, _ float64, m rounding) float64 { return fma64(a, b, math.Copysign(0, sign(a)*sign(b)), m) }},
	"fma": {3, func(a, b, c float64, m rounding) float64 { return sum(a*b, c, m) }, fma64},
	"mad": {3, func(a, b, c float64, m rounding) float64 { return sum(a*b, c, m) }, fma64},
	"div": {2, func(a, b, _ float64, _ rounding) float64 { return divOdd(a, b) }, func(a, b, _ float64, m rounding) float64 { return div64(a, b, m) }},
}

// sum is addOdd, but for the zero of a sum that is rounded down: it is -0 unless both are +0.
func sum(a, b float64, mode rounding) float64 {
	s := addOdd(a, b)
	if s == 0 && mode == downward && (math.Signbit(a) || math.Signbit(b)) {
		return math.Copysign(0, -1)
	}
	return s
}

func sign(v float64) float64 { return math.Copysign(1, v) }

// fastOps are the usual case: f32, to nearest, without modifiers.
var fastOps = map[string]func(a, b uint64) uint64{
	"add": func(a, b uint64) uint64 { return bits32(float(a) + float(b)) },
	"sub": func(a, b uint64) uint64 { return bits32(float(a) - float(b)) },
	"mul": func(a, b uint64) uint64 { return bits32(float(a) * float(b)) },
	"div": func(a, b uint64) uint64 { return bits32(float(a) / float(b)) },
}

// fma32 is a*b+c rounded once to nearest.
func fma32(a, b, c uint64) uint64 {
	return bits32(float32(fmaOdd(float64(float(a)), float64(float(b)), float64(float(c)))))
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

// divideApprox is a * (1/b): for |b| above 2^126 the reciprocal is flushed.
func divideApprox(a, b float64) float64 {
	if m := math.Abs(b); m > 0x1p126 && !math.IsInf(b, 0) {
		if math.IsInf(a, 0) {
			return math.NaN()
		}
		return math.Copysign(0, sign(a)*sign(b))
	}
	return divOdd(a, b)
}

func floatMinMax(d *decoder) {
	isMin := d.st.name == "min"
	nan, xorsign, abs := d.has("NaN"), d.has("xorsign"), d.has("abs")
	s := d.floatStyle()
	f := s.t.format
	if xorsign && !abs {
		d.fail(".xorsign needs .abs")
	}
	signBit := uint64(1) << (f.exp + f.man)
	pick := func(a, b uint64) uint64 {
		flip := (a ^ b) & signBit
		if s.ftz {
			a, b = f.round(s.in(a), nearestEven, false), f.round(s.in(b), nearestEven, false)
		}
		if abs {
			a, b = a&^signBit, b&^signBit
		}
		x, y := f.value(a), f.value(b)
		var r uint64
		switch {
		case x != x && y != y, nan && (x != x || y != y):
			return f.nan
		case x != x:
			r = b
		case y != y:
			r = a
		case x == y: // -0 counts as below +0
			if r = a; math.Signbit(x) != isMin {
				r = b
			}
		case (x < y) == isMin:
			r = a
		default:
			r = b
		}
		if xorsign {
			r = r&^signBit | flip
		}
		return r
	}
	dst, a, b := d.dst(s.t), d.src(s.t), d.src(s.t)
	if d.more() {
		c := d.src(s.t)
		d.map3(dst, a, b, c, s.lanewise(func(a, b, c uint64) uint64 { return pick(pick(a, b), c) }))
		return
	}
	d.map3(dst, a, b, a, s.lanewise(func(a, b, _ uint64) uint64 { return pick(a, b) }))
}

// floatSign is abs and neg. The ISA leaves the NaN open: it keeps its payload.
func floatSign(d *decoder) {
	s := d.floatStyle()
	neg := d.st.name == "neg"
	dst, a := d.dst(s.t), d.src(s.t)
	f := s.t.format
	signBit := uint64(1) << (f.exp + f.man)
	one := func(a, _, _ uint64) uint64 {
		if s.ftz && a&f.infinity() == 0 {
			a &= signBit
		}
		if neg {
			return a ^ signBit
		}
		return a &^ signBit
	}
	d.map3(dst, a, a, a, s.lanewise(one))
}

// copySign is copysign d, a, b: the sign of a with the magnitude of b.
func copySign(d *decoder) {
	t := d.typeOf("f32", "f64")
	dst, a, b := d.dst(t), d.src(t), d.src(t)
	signBit := uint64(1) << (t.bits - 1)
	d.map2(dst, a, b, func(a, b uint64) uint64 { return a&signBit | b&^signBit })
}

// testProperty is testp.
func testProperty(d *decoder) {
	op := d.must("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	t := d.typeOf("f32", "f64")
	p, a := d.predDst(), d.src(t)
	f := t.format
	test := func(bits uint64) bool {
		v := f.value(bits)
		isSubnormal := v != 0 && bits&f.infinity() == 0
		switch op {
		case "finite":
			return !math.IsInf(v, 0) && v == v
		case "infinite":
			return math.IsInf(v, 0)
		case "number":
			return v == v
		case "notanumber":
			return v != v
		case "subnormal":
			return isSubnormal
		}
		return v == v && !math.IsInf(v, 0) && !isSubnormal
	}
	d.in.run = func(w *warp) {
		var r uint32
		for m := w.active; m != 0; m &= m - 1 {
			if i := first(m); test(w.regs[a][i]) {
				r |= 1 << i
			}
		}
		w.setPred(p, r)
	}
}
