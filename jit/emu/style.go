package emu

import "math"

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

// setSign is abs, and with negate neg. The ISA leaves the NaN open: it keeps its payload.
func (s *floatStyle) setSign(a uint64, negate bool) uint64 {
	f := s.t.format
	if s.ftz && a&f.infinity() == 0 {
		a &= f.signBit()
	}
	if negate {
		return a ^ f.signBit()
	}
	return a &^ f.signBit()
}

// minMax is a minimum or maximum: nan says that a NaN among the operands wins, abs
// that magnitudes are compared, xorSign that the result has the product's sign.
type minMax struct{ min, nan, xorSign, abs bool }

// pick is the smaller or larger of two numbers.
func (s *floatStyle) pick(m minMax, a, b uint64) uint64 {
	f := s.t.format
	signBit := f.signBit()
	flip := (a ^ b) & signBit
	if s.ftz {
		a, b = f.round(s.in(a), nearestEven, false), f.round(s.in(b), nearestEven, false)
	}
	if m.abs {
		a, b = a&^signBit, b&^signBit
	}
	x, y := f.value(a), f.value(b)
	var r uint64
	switch {
	case x != x && y != y, m.nan && (x != x || y != y):
		return f.nan
	case x != x:
		r = b
	case y != y:
		r = a
	case x == y: // -0 counts as below +0
		if r = a; math.Signbit(x) != m.min {
			r = b
		}
	case (x < y) == m.min:
		r = a
	default:
		r = b
	}
	if m.xorSign {
		r = r&^signBit | flip
	}
	return r
}
