package number

import "math"

// A Rounding is a direction in which an exact value becomes a representable one.
type Rounding uint8

// The rounding modes of PTX, by the modifiers of float results.
const (
	NearestEven Rounding = iota // .rn
	TowardZero                  // .rz
	Downward                    // .rm
	Upward                      // .rp
	NearestAway                 // .rna
)

// Roundings are the modes by their modifiers: of float results, and of those to integral values.
var Roundings = map[string]Rounding{
	"rn": NearestEven, "rz": TowardZero, "rm": Downward, "rp": Upward, "rna": NearestAway,
	"rni": NearestEven, "rzi": TowardZero, "rmi": Downward, "rpi": Upward,
}

// A Format is a binary floating-point format.
type Format struct {
	Exponent, Mantissa int // bits of each; the mantissa without the implicit one
	// low is the number of unused bits below the mantissa (tf32 is held in 32 bits).
	low int
	// finite formats have no infinities and the one NaN of all ones (e4m3).
	finite bool
	NaN    uint64 // the canonical NaN
}

// The formats of PTX.
var (
	F64  = Format{Exponent: 11, Mantissa: 52, NaN: 0x7ff8000000000000}
	F32  = Format{Exponent: 8, Mantissa: 23, NaN: 0x7fffffff}
	TF32 = Format{Exponent: 8, Mantissa: 10, low: 13, NaN: 0x7fffffff}
	BF16 = Format{Exponent: 8, Mantissa: 7, NaN: 0x7fff}
	F16  = Format{Exponent: 5, Mantissa: 10, NaN: 0x7fff}
	E5M2 = Format{Exponent: 5, Mantissa: 2, NaN: 0x7f}
	E4M3 = Format{Exponent: 4, Mantissa: 3, finite: true, NaN: 0x7f}
)

func (f *Format) bias() int { return 1<<(f.Exponent-1) - 1 }

func (f *Format) signBit() uint64 { return 1 << (f.Exponent + f.Mantissa) }

// infinity is the code of +infinity, or of the NaN where there is none.
func (f *Format) infinity() uint64 {
	if f.finite {
		return 1<<(f.Exponent+f.Mantissa) - 1
	}
	return (1<<f.Exponent - 1) << f.Mantissa
}

// Value is the number that bits stand for; every format is a subset of float64.
func (f *Format) Value(bits uint64) float64 {
	switch f {
	case &F64:
		return math.Float64frombits(bits)
	case &F32:
		return float64(math.Float32frombits(uint32(bits)))
	case &BF16:
		return float64(math.Float32frombits(uint32(bits) << 16))
	case &TF32: // the low bits are ignored
		return float64(math.Float32frombits(uint32(bits) &^ 0x1fff))
	}
	sign := bits >> (f.Exponent + f.Mantissa) & 1 << 63
	bits &= 1<<(f.Exponent+f.Mantissa) - 1
	exp, man := bits>>f.Mantissa, bits&(1<<f.Mantissa-1)
	switch {
	case f.finite && bits == f.infinity(), !f.finite && bits > f.infinity():
		return math.NaN()
	case !f.finite && bits == f.infinity():
		return math.Float64frombits(sign | 0x7ff<<52)
	case exp == 0:
		v := math.Ldexp(float64(man), 1-f.bias()-f.Mantissa)
		return math.Float64frombits(sign | math.Float64bits(v))
	}
	return math.Float64frombits(sign | (exp+1023-uint64(f.bias()))<<52 | man<<(52-f.Mantissa))
}

// Is tells whether a number has a property that testp asks for.
func (f *Format) Is(property string, bits uint64) bool {
	v := f.Value(bits)
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

// Round gives the bits of t rounded to the format. With saturate, what is too
// large becomes the largest finite value.
func (f *Format) Round(t float64, mode Rounding, saturate bool) uint64 {
	if f == &F64 {
		if t != t {
			return F64.NaN
		}
		return math.Float64bits(t)
	}
	b := math.Float64bits(t)
	negative := b>>63 == 1
	sign := b >> 63 << (f.Exponent + f.Mantissa)
	largest := f.infinity() - 1
	if t != t {
		return f.NaN
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
	shift := min(52-f.Mantissa+e-exp, 54)
	q, rest, half := man>>shift, man&(1<<shift-1), uint64(1)<<(shift-1)
	switch mode {
	case NearestEven:
		if rest > half || rest == half && q&1 == 1 {
			q++
		}
	case NearestAway:
		if rest >= half {
			q++
		}
	case Downward:
		if rest != 0 && negative {
			q++
		}
	case Upward:
		if rest != 0 && !negative {
			q++
		}
	}
	// q has the implicit bit unless the result is subnormal; a carry moves to the next exponent.
	r = uint64(e+f.bias()-1)<<f.Mantissa + q
	if r > largest {
		away := mode == NearestEven || mode == NearestAway || mode == Downward && negative || mode == Upward && !negative
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

// AddOdd is a+b rounded to odd, for magnitudes below 2^1000.
func AddOdd(a, b float64) float64 {
	s := a + b
	if s == 0 || s != s {
		return s
	}
	t := s - a
	return toOdd(s, (a-(s-t))+(b-t))
}

// fmaOdd is a*b+c rounded to odd, where a*b is exact: for f32 and narrower.
func fmaOdd(a, b, c float64) float64 { return AddOdd(a*b, c) }

// DivOdd is a/b rounded to odd, for f32 and narrower.
func DivOdd(a, b float64) float64 {
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

// SqrtOdd is the square root rounded to odd, for f32 and narrower.
func SqrtOdd(a float64) float64 {
	q := math.Sqrt(a)
	if q == 0 || q != q || math.IsInf(q, 0) {
		return q
	}
	return toOdd(q, math.FMA(-q, q, a))
}
