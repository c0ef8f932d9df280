package number

import "math"

// A Conversion is a cvt with its modifiers. Its methods take the bits of a value of
// From and give those of To.
type Conversion struct {
	To, From                    Type
	Mode                        Rounding
	ToInteger                   bool // an integer rounding was written
	Rounds                      bool // a floating-point rounding was written
	FTZ, Saturate, ReLU, Finite bool // .ftz, .sat, .relu, .satfinite
}

// IntToInt converts integers.
func (c *Conversion) IntToInt(v uint64) uint64 {
	x := c.From.Read(v)
	if !c.Saturate {
		return uint64(c.To.Read(uint64(x)))
	}
	bigUnsigned := c.From.Kind == KindUnsigned && x < 0 // above 2^63
	if c.To.Kind == KindSigned {
		most := int64(c.To.Mask() >> 1)
		if bigUnsigned {
			return uint64(most)
		}
		return uint64(min(max(x, -most-1), most))
	}
	switch {
	case bigUnsigned:
		return min(uint64(x), c.To.Mask())
	case x < 0:
		return 0
	}
	return min(uint64(x), c.To.Mask())
}

// integral rounds to an integer.
func integral(v float64, mode Rounding) float64 {
	switch mode {
	case TowardZero:
		return math.Trunc(v)
	case Downward:
		return math.Floor(v)
	case Upward:
		return math.Ceil(v)
	}
	return math.RoundToEven(v)
}

// input is the number in a source register.
func (c *Conversion) input(v uint64) float64 {
	if c.FTZ && c.From.Name == "f32" {
		v = Flush(v)
	}
	return c.From.Format.Value(v & c.From.Mask())
}

// FloatToInt converts to an integer; what does not fit becomes the nearest that does.
func (c *Conversion) FloatToInt(v uint64) uint64 {
	x := c.input(v)
	if x != x {
		if c.From.Bits != 64 && c.To.Bits != 64 {
			return 0
		}
		return uint64(c.To.Read(1 << (c.To.Bits - 1)))
	}
	x = integral(x, c.Mode)
	if c.To.Kind == KindSigned {
		limit := math.Ldexp(1, c.To.Bits-1)
		switch {
		case x >= limit:
			return c.To.Mask() >> 1
		case x < -limit:
			return -(uint64(1) << (c.To.Bits - 1))
		}
		return uint64(int64(x))
	}
	switch {
	case x >= math.Ldexp(1, c.To.Bits):
		return c.To.Mask()
	case x <= 0:
		return 0
	}
	return uint64(x)
}

// IntToFloat converts an integer to a float.
func (c *Conversion) IntToFloat(v uint64) uint64 {
	x := c.From.Read(v)
	hi, lo := float64(x>>32), float64(uint32(x))
	if c.From.Kind == KindUnsigned {
		hi = float64(uint64(x) >> 32)
	}
	hi *= 1 << 32
	if c.To.Bits == 64 {
		return math.Float64bits(FMA64(hi, 1, lo, c.Mode))
	}
	return c.output(AddOdd(hi, lo))
}

// output rounds a number to the destination's format.
func (c *Conversion) output(x float64) uint64 {
	if c.Saturate {
		x = clamp01(x)
	}
	if c.ReLU && x < 0 {
		x = 0
	}
	r := c.To.Format.Round(x, c.Mode, c.Finite)
	if c.FTZ && c.To.Name == "f32" {
		r = Flush(r)
	}
	return r
}

// FloatToFloat converts between float formats, or rounds a float to an integral value.
func (c *Conversion) FloatToFloat(v uint64) uint64 {
	x := c.input(v)
	if c.ToInteger {
		x = math.Copysign(integral(x, c.Mode), x)
	}
	return c.output(x)
}
