package emu

import "math"

// A conversion is the modifiers of a cvt.
type conversion struct {
	to, from               dtype
	mode                   rounding
	toInteger              bool // an integer rounding was written
	rounds                 bool // a floating-point rounding was written
	ftz, sat, relu, finite bool
}

// intToInt converts integers.
func (c *conversion) intToInt(v uint64) uint64 {
	x := c.from.read(v)
	if !c.sat {
		return uint64(c.to.read(uint64(x)))
	}
	bigUnsigned := c.from.kind == kindUnsigned && x < 0 // above 2^63
	if c.to.kind == kindSigned {
		most := int64(c.to.mask() >> 1)
		if bigUnsigned {
			return uint64(most)
		}
		return uint64(min(max(x, -most-1), most))
	}
	switch {
	case bigUnsigned:
		return min(uint64(x), c.to.mask())
	case x < 0:
		return 0
	}
	return min(uint64(x), c.to.mask())
}

// integral rounds to an integer.
func integral(v float64, mode rounding) float64 {
	switch mode {
	case towardZero:
		return math.Trunc(v)
	case downward:
		return math.Floor(v)
	case upward:
		return math.Ceil(v)
	}
	return math.RoundToEven(v)
}

// input is the number in a source register.
func (c *conversion) input(v uint64) float64 {
	if c.ftz && c.from.name == "f32" {
		v = flush(v)
	}
	return c.from.format.value(v & c.from.mask())
}

// floatToInt converts to an integer; what does not fit becomes the nearest that does.
func (c *conversion) floatToInt(v uint64) uint64 {
	x := c.input(v)
	if x != x {
		if c.from.bits != 64 && c.to.bits != 64 {
			return 0
		}
		return uint64(c.to.read(1 << (c.to.bits - 1)))
	}
	x = integral(x, c.mode)
	if c.to.kind == kindSigned {
		limit := math.Ldexp(1, c.to.bits-1)
		switch {
		case x >= limit:
			return c.to.mask() >> 1
		case x < -limit:
			return -(uint64(1) << (c.to.bits - 1))
		}
		return uint64(int64(x))
	}
	switch {
	case x >= math.Ldexp(1, c.to.bits):
		return c.to.mask()
	case x <= 0:
		return 0
	}
	return uint64(x)
}

// intToFloat converts an integer to a float.
func (c *conversion) intToFloat(v uint64) uint64 {
	x := c.from.read(v)
	hi, lo := float64(x>>32), float64(uint32(x))
	if c.from.kind == kindUnsigned {
		hi = float64(uint64(x) >> 32)
	}
	hi *= 1 << 32
	if c.to.bits == 64 {
		return math.Float64bits(fma64(hi, 1, lo, c.mode))
	}
	return c.output(addOdd(hi, lo))
}

// output rounds a number to the destination's format.
func (c *conversion) output(x float64) uint64 {
	if c.sat {
		x = clamp01(x)
	}
	if c.relu && x < 0 {
		x = 0
	}
	r := c.to.format.round(x, c.mode, c.finite)
	if c.ftz && c.to.name == "f32" {
		r = flush(r)
	}
	return r
}

// floatToFloat converts between float formats, or rounds a float to an integral value.
func (c *conversion) floatToFloat(v uint64) uint64 {
	x := c.input(v)
	if c.toInteger {
		x = math.Copysign(integral(x, c.mode), x)
	}
	return c.output(x)
}
