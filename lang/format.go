package lang

import "math"

// specials is what the codes of a float format stand for that are no finite numbers.
type specials uint8

const (
	// ieee: the codes with the largest exponent field are infinities and NaN.
	ieee specials = iota
	// oneNaN: the code of all ones is NaN, and there is no infinity (OCP FP8 "fn").
	oneNaN
	// allFinite: every code is a number (OCP MX FP4).
	allFinite
)

// format is how a float type keeps a sign, an exponent and a mantissa, from the highest bit to the lowest. All that is
// known of a float type follows from it.
type format struct {
	// exponent and mantissa are the widths of the fields; the mantissa's leading one is not written.
	exponent, mantissa int
	specials           specials
	// saturates: the results of operations that are beyond the largest number become it. An infinity that the format
	// has is then no result of arithmetic.
	saturates bool

	// bias is what the exponent field is more than the exponent, nan the code of NaN (without a NaN, what
	// conversions make of one), largest the greatest finite number and top its code.
	bias     int
	nan, top uint64
	largest  float64
}

func newFormat(exponent, mantissa int, s specials, saturates bool) *format {
	f := &format{exponent: exponent, mantissa: mantissa, specials: s, saturates: saturates, bias: 1<<(exponent-1) - 1}
	ones := uint64(1)<<(exponent+mantissa) - 1
	infinity := ones &^ (1<<mantissa - 1)
	switch s {
	case ieee:
		f.nan, f.top = infinity|1<<(mantissa-1), infinity-1
	case oneNaN:
		f.nan, f.top = ones, ones-1
	case allFinite: // the hardware's conversions make the largest number of a NaN
		f.nan, f.top = ones, ones
	}
	man := f.top&(1<<mantissa-1) | 1<<mantissa
	f.largest = math.Ldexp(float64(man), int(f.top>>mantissa)-f.bias-mantissa)
	return f
}

// The formats of the float types.
var (
	e2m1     = newFormat(2, 1, allFinite, true)
	e4m3     = newFormat(4, 3, oneNaN, true)
	e5m2     = newFormat(5, 2, ieee, true)
	half     = newFormat(5, 10, ieee, false)
	bfloat   = newFormat(8, 7, ieee, false)
	binary32 = newFormat(8, 23, ieee, false)
	binary64 = newFormat(11, 52, ieee, false)
)

// encode rounds f to a format narrower than f32, to nearest, ties to even, and gives its code. Finite numbers beyond the
// largest become it where the format saturates, and infinite where it does not.
func (t *format) encode(f float32) uint32 {
	b := math.Float32bits(f)
	sign := b >> 31 << (t.exponent + t.mantissa)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000 && t.specials == allFinite: // whose sign, which backends differ in, would show in the number
		return uint32(t.nan)
	case b > 0x7f800000:
		return sign | uint32(t.nan)
	case t.saturates && math.Abs(float64(f)) > t.largest && (b < 0x7f800000 || t.specials != ieee):
		return sign | uint32(t.top)
	}
	infinity := (uint32(1)<<t.exponent - 1) << t.mantissa
	if b == 0x7f800000 {
		return sign | infinity
	}
	exp := int(b>>23) - 127 + t.bias
	man := b&0x7fffff | 0x800000
	shift := 23 - t.mantissa
	if exp <= 0 { // subnormal in the format
		if exp < -t.mantissa-1 {
			return sign
		}
		shift += 1 - exp
		exp = 0
	} else {
		man &= 0x7fffff
	}
	middle := uint32(1) << (shift - 1)
	r := man >> shift
	if rest := man & (1<<shift - 1); rest > middle || rest == middle && r&1 == 1 {
		r++
	}
	r += uint32(exp) << t.mantissa // a carry out of the mantissa moves to the next exponent
	if t.specials == ieee {
		r = min(r, infinity)
	}
	return sign | r
}

// decode is the number that a code of a format narrower than f32 stands for.
func (t *format) decode(v uint32) float32 {
	sign := float32(1)
	if v>>(t.exponent+t.mantissa)&1 == 1 {
		sign = -1
	}
	exp, man := int(v>>t.mantissa&(1<<t.exponent-1)), v&(1<<t.mantissa-1)
	switch {
	case t.specials == oneNaN && v&uint32(t.nan) == uint32(t.nan), t.specials == ieee && exp == 1<<t.exponent-1 && man != 0:
		return float32(math.NaN())
	case t.specials == ieee && exp == 1<<t.exponent-1:
		return sign * float32(math.Inf(1))
	case exp == 0:
		return sign * float32(math.Ldexp(float64(man), 1-t.bias-t.mantissa))
	}
	return sign * float32(math.Ldexp(float64(man|1<<t.mantissa), exp-t.bias-t.mantissa))
}
