package emu

import "math"

// A rounding is a direction in which an exact value becomes a representable one.
type rounding uint8

const (
	nearestEven rounding = iota // .rn
	towardZero                  // .rz
	downward                    // .rm
	upward                      // .rp
	nearestAway                 // .rna
)

var roundings = map[string]rounding{
	"rn": nearestEven, "rz": towardZero, "rm": downward, "rp": upward, "rna": nearestAway,
	"rni": nearestEven, "rzi": towardZero, "rmi": downward, "rpi": upward,
}

// A format is a binary floating-point format.
type format struct {
	exp, man int
	// low is the number of unused bits below the mantissa (tf32 is held in 32 bits).
	low int
	// finite formats have no infinities and the one NaN of all ones (e4m3).
	finite bool
	nan    uint64 // the canonical NaN
}

var (
	f64  = format{exp: 11, man: 52, nan: 0x7ff8000000000000}
	f32  = format{exp: 8, man: 23, nan: 0x7fffffff}
	tf32 = format{exp: 8, man: 10, low: 13, nan: 0x7fffffff}
	bf16 = format{exp: 8, man: 7, nan: 0x7fff}
	f16  = format{exp: 5, man: 10, nan: 0x7fff}
	e5m2 = format{exp: 5, man: 2, nan: 0x7f}
	e4m3 = format{exp: 4, man: 3, finite: true, nan: 0x7f}
)

func (f *format) bias() int { return 1<<(f.exp-1) - 1 }

func (f *format) signBit() uint64 { return 1 << (f.exp + f.man) }

// infinity is the code of +infinity, or of the NaN where there is none.
func (f *format) infinity() uint64 {
	if f.finite {
		return 1<<(f.exp+f.man) - 1
	}
	return (1<<f.exp - 1) << f.man
}

// value is the number that bits stand for; every format is a subset of float64.
func (f *format) value(bits uint64) float64 {
	switch f {
	case &f64:
		return math.Float64frombits(bits)
	case &f32:
		return float64(math.Float32frombits(uint32(bits)))
	case &bf16:
		return float64(math.Float32frombits(uint32(bits) << 16))
	case &tf32: // the low bits are ignored
		return float64(math.Float32frombits(uint32(bits) &^ 0x1fff))
	}
	sign := bits >> (f.exp + f.man) & 1 << 63
	bits &= 1<<(f.exp+f.man) - 1
	exp, man := bits>>f.man, bits&(1<<f.man-1)
	switch {
	case f.finite && bits == f.infinity(), !f.finite && bits > f.infinity():
		return math.NaN()
	case !f.finite && bits == f.infinity():
		return math.Float64frombits(sign | 0x7ff<<52)
	case exp == 0:
		v := math.Ldexp(float64(man), 1-f.bias()-f.man)
		return math.Float64frombits(sign | math.Float64bits(v))
	}
	return math.Float64frombits(sign | (exp+1023-uint64(f.bias()))<<52 | man<<(52-f.man))
}

// has tells whether a number has a property that testp asks for.
func (f *format) has(property string, bits uint64) bool {
	v := f.value(bits)
	isSubnormal := v != 0 && bits&f.infinity() == 0
	switch property {
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

// round gives the bits of t rounded to the format. With saturate, what is too
// large becomes the largest finite value.
func (f *format) round(t float64, mode rounding, saturate bool) uint64 {
	if f == &f64 {
		if t != t {
			return f64.nan
		}
		return math.Float64bits(t)
	}
	b := math.Float64bits(t)
	negative := b>>63 == 1
	sign := b >> 63 << (f.exp + f.man)
	largest := f.infinity() - 1
	if t != t {
		return f.nan
	}
	var r uint64
	if math.IsInf(t, 0) {
		r = f.infinity()
		if saturate {
			r = largest
		}
		return (sign | r) << f.low
	}
	exp, man := int(b>>52&0x7ff)-1023, b&(1<<52-1)|1<<52
	if exp == -1023 { // a subnormal float64: far below every other format
		exp, man = -1022, man&^(1<<52)
	}
	e := max(exp, 1-f.bias())
	shift := min(52-f.man+e-exp, 54)
	q, rest, half := man>>shift, man&(1<<shift-1), uint64(1)<<(shift-1)
	switch mode {
	case nearestEven:
		if rest > half || rest == half && q&1 == 1 {
			q++
		}
	case nearestAway:
		if rest >= half {
			q++
		}
	case downward:
		if rest != 0 && negative {
			q++
		}
	case upward:
		if rest != 0 && !negative {
			q++
		}
	}
	// q has the implicit bit unless the result is subnormal; a carry moves to the next exponent.
	r = uint64(e+f.bias()-1)<<f.man + q
	if r > largest {
		away := mode == nearestEven || mode == nearestAway || mode == downward && negative || mode == upward && !negative
		r = largest
		if away && !saturate {
			r = f.infinity()
		}
	}
	return (sign | r) << f.low
}

// Results that float64 cannot hold are rounded to odd in it: of the two neighbours
// of the exact value, the one with an odd mantissa. Rounding that again to a format
// with at least two bits fewer is as rounding the exact value once, in each mode.

// toOdd makes s, the rounded value of s+e, odd; e has the sign of the error.
func toOdd(s, e float64) float64 {
	b := math.Float64bits(s)
	if e == 0 || b&1 == 1 || s != s || math.IsInf(s, 0) {
		return s
	}
	if (e > 0) == (s > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

// addOdd is a+b rounded to odd, for magnitudes below 2^1000.
func addOdd(a, b float64) float64 {
	s := a + b
	if s == 0 || s != s {
		return s
	}
	t := s - a
	return toOdd(s, (a-(s-t))+(b-t))
}

// fmaOdd is a*b+c rounded to odd, where a*b is exact: for f32 and narrower.
func fmaOdd(a, b, c float64) float64 { return addOdd(a*b, c) }

// divOdd is a/b rounded to odd, for f32 and narrower.
func divOdd(a, b float64) float64 {
	q := a / b
	if q == 0 || q != q || math.IsInf(q, 0) || math.IsInf(b, 0) {
		return q
	}
	r := math.FMA(-q, b, a)
	if b < 0 {
		r = -r
	}
	return toOdd(q, r)
}

// sqrtOdd is the square root rounded to odd, for f32 and narrower.
func sqrtOdd(a float64) float64 {
	q := math.Sqrt(a)
	if q == 0 || q != q || math.IsInf(q, 0) {
		return q
	}
	return toOdd(q, math.FMA(-q, q, a))
}
