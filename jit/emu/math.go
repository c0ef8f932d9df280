package emu

import (
	"math"

	"tilec/jit/emu/number"
	"tilec/lang/elementary"
)

// mathOps are roots, reciprocals and the approximate functions.
var mathOps = map[string]operation{
	"rcp":   {classSpecial, reciprocal},
	"sqrt":  {classSpecial, squareRoot},
	"rsqrt": {classSpecial, approximate(func(a float64) float64 { return 1 / math.Sqrt(a) })},
	"sin":   {classSpecial, approximate(elementary.Sin)},
	"cos":   {classSpecial, approximate(elementary.Cos)},
	"lg2":   {classSpecial, approximate(elementary.Log2)},
	"ex2":   {classSpecial, approximate(elementary.Exp2)},
	"tanh":  {classSpecial, approximate(elementary.Tanh)},
}

// approximate is a function, computed in double precision and rounded
// to nearest: the ISA gives an error bound, and the nearest value is within it.
func approximate(f func(float64) float64) func(*decoder) {
	return func(d *decoder) {
		if !d.has("approx") {
			d.fail("need .approx")
		}
		s := d.floatStyle()
		dst, a := d.dst(s.Type), d.src(s.Type)
		d.map3(dst, a, a, a, s.Lanewise(func(a, _, _ uint64) uint64 { return s.Out(f(s.In(a))) }))
	}
}

func reciprocal(d *decoder) {
	if d.has("approx") {
		s := d.floatStyle()
		dst, a := d.dst(s.Type), d.src(s.Type)
		if s.Type.Bits == 64 {
			d.map1(dst, a, number.GrossReciprocal64)
			return
		}
		d.map1(dst, a, func(a uint64) uint64 { return s.Out(number.DivOdd(1, s.In(a))) })
		return
	}
	s := d.floatStyle()
	dst, a := d.dst(s.Type), d.src(s.Type)
	if s.Type.Bits == 64 {
		d.map1(dst, a, func(a uint64) uint64 { return s.Out(number.Div64(1, s.In(a), s.Mode)) })
		return
	}
	d.map1(dst, a, func(a uint64) uint64 { return s.Out(number.DivOdd(1, s.In(a))) })
}

func squareRoot(d *decoder) {
	d.has("approx")
	s := d.floatStyle()
	dst, a := d.dst(s.Type), d.src(s.Type)
	if s.Type.Bits == 64 {
		d.map1(dst, a, func(a uint64) uint64 { return s.Out(number.Sqrt64(s.In(a), s.Mode)) })
		return
	}
	d.map1(dst, a, func(a uint64) uint64 { return s.Out(number.SqrtOdd(s.In(a))) })
}
