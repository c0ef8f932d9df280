package number

import "math"

// Flush gives zero of the same sign for the bits of a subnormal f32.
func Flush(v uint64) uint64 {
	if v&0x7f800000 == 0 {
		return v & 0x80000000
	}
	return v
}

// Bits32 are the bits of f, with NaN canonical.
func Bits32(f float32) uint64 {
	if f != f {
		return F32.NaN
	}
	return uint64(math.Float32bits(f))
}

// Float32 is the number that the bits of an f32 stand for.
func Float32(v uint64) float32 { return math.Float32frombits(uint32(v)) }

// A Style is what the modifiers of a float instruction change.
type Style struct {
	Type Type     // of the operands and the result
	Mode Rounding // of the result
	// FTZ takes subnormal operands and results as zero, Saturate clamps the result to
	// [0, 1], and ReLU to what is not negative.
	FTZ, Saturate, ReLU bool
}

// In gives the number that bits of the style's element stand for.
func (s *Style) In(v uint64) float64 {
	f := s.Type.Format
	if s.FTZ && v&(f.infinity()<<f.low) == 0 {
		v &= 1 << (f.Exponent + f.Mantissa)
	}
	return f.Value(v)
}

// Out rounds a result, which is exact or rounded to odd, to the element's format.
func (s *Style) Out(v float64) uint64 {
	if s.Saturate {
		v = clamp01(v)
	}
	if s.ReLU && v < 0 {
		v = 0
	}
	f := s.Type.Format
	r := f.Round(v, s.Mode, false)
	if s.FTZ && r&f.infinity() == 0 {
		r &= 1 << (f.Exponent + f.Mantissa)
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

// Lanewise makes a function of the elements one of the packed values.
func (s *Style) Lanewise(f func(a, b, c uint64) uint64) func(a, b, c uint64) uint64 {
	if s.Type.Lanes == 1 {
		return f
	}
	return func(a, b, c uint64) uint64 {
		return f(a&0xffff, b&0xffff, c&0xffff)&0xffff | f(a>>16&0xffff, b>>16&0xffff, c>>16&0xffff)&0xffff<<16
	}
}

// SetSign is abs, and with negate neg. The ISA leaves the NaN open: it keeps its payload.
func (s *Style) SetSign(a uint64, negate bool) uint64 {
	f := s.Type.Format
	if s.FTZ && a&f.infinity() == 0 {
		a &= f.signBit()
	}
	if negate {
		return a ^ f.signBit()
	}
	return a &^ f.signBit()
}

// A MinMax is a minimum, or a maximum: NaN says that a NaN among the operands wins, Abs
// that magnitudes are compared, XorSign that the result has the product's sign.
type MinMax struct{ Min, NaN, XorSign, Abs bool }

// Pick is the smaller or larger of two numbers.
func (s *Style) Pick(m MinMax, a, b uint64) uint64 {
	f := s.Type.Format
	signBit := f.signBit()
	flip := (a ^ b) & signBit
	if s.FTZ {
		a, b = f.Round(s.In(a), NearestEven, false), f.Round(s.In(b), NearestEven, false)
	}
	if m.Abs {
		a, b = a&^signBit, b&^signBit
	}
	x, y := f.Value(a), f.Value(b)
	var r uint64
	switch {
	case x != x && y != y, m.NaN && (x != x || y != y):
		return f.NaN
	case x != x:
		r = b
	case y != y:
		r = a
	case x == y: // -0 counts as below +0
		if r = a; math.Signbit(x) != m.Min {
			r = b
		}
	case (x < y) == m.Min:
		r = a
	default:
		r = b
	}
	if m.XorSign {
		r = r&^signBit | flip
	}
	return r
}
