package elementary

import (
	"math"
	"math/big"
	"math/bits"
	"sync"
)

// π/2 in three parts of 53 bits.
const halfPiHigh, halfPiMiddle, halfPiLow = 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110

// largeAngle is from where on a quotient by π/2 has too many digits for three parts of it.
const largeAngle = 0x1p28

// quadrant is how many quarter turns, modulo 4, there are in a finite angle, and
// the rest, from -π/4 to π/4 or a little beyond.
func quadrant(x float64) (q int, r pair) {
	switch a := math.Abs(x); {
	case a <= math.Pi/4:
		return 0, pair{x, 0}
	case a >= largeAngle:
		return largeQuadrant(x)
	}
	turns := math.RoundToEven(float64(x * (2 / math.Pi)))
	// The first difference is exact: a multiple of 2**-53 that is below 1.
	t := math.FMA(-turns, halfPiHigh, x)
	h := float64(turns * halfPiMiddle)
	s := sum(t, -h)
	lost := math.FMA(turns, halfPiMiddle, -h) + float64(turns*halfPiLow)
	return int(turns) & 3, sum(s.hi, s.lo-lost)
}

// largeQuadrant multiplies with 2/π in whole numbers: of its binary digits those that
// count modulo 4, and 190 behind the point (Payne and Hanek, "Radian reduction for
// trigonometric functions", 1983). An angle is at least 2**-62 from any multiple of π/2,
// so that 66 bits are left for the rest.
func largeQuadrant(x float64) (q int, r pair) {
	b := math.Float64bits(x)
	m, exponent := b&(1<<52-1)|1<<52, int(b>>52&0x7ff)-1075
	digits := twoOverPi()
	at, shift := (exponent+62)/64, uint(exponent+62)%64
	var w [3]uint64
	for i := range w {
		w[i] = digits[at+i]<<shift | digits[at+i+1]>>(64-shift)
	}
	// The product modulo 4, with 2 bits before the point.
	high, low := bits.Mul64(w[2], m)
	over, middle := bits.Mul64(w[1], m)
	middle, carry := bits.Add64(middle, high, 0)
	top := w[0]*m + over + carry
	q = int(top >> 62)
	top, middle = top<<2|middle>>62, middle<<2|low>>62
	negative := top>>63 != 0
	if negative { // from 1/2 on it is nearer to the next quarter
		q++
		middle, carry = bits.Sub64(0, middle, 0)
		top, _ = bits.Sub64(0, top, carry)
	}
	zeros := bits.LeadingZeros64(top)
	top, middle = top<<zeros|middle>>(64-zeros), middle<<zeros
	unit := math.Float64frombits(uint64(1023-53-zeros) << 52)
	r = pair{float64(float64(top>>11) * unit), float64(float64(top<<53>>11|middle>>22) * float64(unit*0x1p-53))}
	r = r.mul(pair{halfPiHigh, halfPiMiddle})
	if negative {
		r = pair{-r.hi, -r.lo}
	}
	if x < 0 {
		q, r = -q, pair{-r.hi, -r.lo}
	}
	return q & 3, r
}

// twoOverPi is the binary digits of 2/π behind 64 zeros, as many as the largest float64 needs.
var twoOverPi = sync.OnceValue(func() *[21]uint64 {
	var words [21]uint64
	v := new(big.Float).SetPrec(1300).SetInt64(1)
	v.Quo(v, halfPi())
	v.SetMantExp(v, 64*(len(words)-1))
	whole, _ := v.Int(nil)
	for i := len(words) - 1; i > 0; i-- {
		words[i] = new(big.Int).And(whole, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
		whole.Rsh(whole, 64)
	}
	return &words
})

// halfPi is π/2 to 1300 bits.
var halfPi = sync.OnceValue(func() *big.Float {
	const bits = 1300
	// Machin: π/4 = 4 atan(1/5) - atan(1/239), in fixed point.
	atan := func(n int64) *big.Int {
		term := new(big.Int).Lsh(big.NewInt(1), bits+64)
		term.Quo(term, big.NewInt(n))
		sum, part := new(big.Int).Set(term), new(big.Int)
		for k := int64(3); term.Sign() != 0; k += 2 {
			term.Quo(term, big.NewInt(-n*n))
			sum.Add(sum, part.Quo(term, big.NewInt(k)))
		}
		return sum
	}
	quarter := atan(5)
	quarter.Lsh(quarter, 2).Sub(quarter, atan(239))
	half := new(big.Float).SetPrec(bits).SetInt(quarter)
	return half.SetMantExp(half, 1-(bits+64))
})

// inverseFactorial has 1/n!, with the sign of the series of sine and cosine: + - - + + - - ...
var inverseFactorial = func() (c [19]float64) {
	f := 1.0
	for n := range c {
		if n > 0 {
			f *= float64(n) // exact up to 18!
		}
		c[n] = 1 / f
		if n%4 >= 2 {
			c[n] = -c[n]
		}
	}
	return c
}()

// sine is the sine of a rest. The series up to r**17/17! lacks less than 2**-62 of it.
func sine(r pair) float64 {
	c := &inverseFactorial
	z := float64(r.hi * r.hi)
	w := float64(z * z)
	p := float64(w * (c[11] + float64(z*c[13]) + float64(w*(c[15]+float64(z*c[17])))))
	p = c[3] + float64(z*c[5]) + float64(w*(c[7]+float64(z*c[9])+p))
	return r.hi + (float64(float64(r.hi*z)*p) + float64(r.lo*(1-float64(z*0.5))))
}

// cosine is the cosine of a rest. The series up to r**18/18! lacks less than 2**-67.
func cosine(r pair) float64 {
	c := &inverseFactorial
	z := float64(r.hi * r.hi)
	w := float64(z * z)
	p := float64(w * (c[12] + float64(z*c[14]) + float64(w*(c[16]+float64(z*c[18])))))
	p = c[4] + float64(z*c[6]) + float64(w*(c[8]+float64(z*c[10])+p))
	lost := float64(math.FMA(r.hi, r.hi, -z)*0.5) + float64(r.hi*r.lo)
	s := ordered(1, float64(z*-0.5))
	return s.hi + (s.lo + (float64(w*p) - lost))
}

// straight is below what angle the sine and the tangent are the angle, within 2**-55 of it.
const straight = 0x1p-27

// Sin is the sine, within 0.8 ulp.
func Sin(x float64) float64 {
	switch a := math.Abs(x); {
	case a < straight:
		return x
	case !(a <= math.MaxFloat64):
		return math.NaN()
	}
	q, r := quadrant(x)
	return turned(q, r)
}

// Cos is the cosine, within 0.8 ulp.
func Cos(x float64) float64 {
	if !(math.Abs(x) <= math.MaxFloat64) {
		return math.NaN()
	}
	q, r := quadrant(x)
	return turned(q+1, r)
}

// turned is the sine of a rest and q quarter turns.
func turned(q int, r pair) float64 {
	v := 0.0
	if q&1 == 0 {
		v = sine(r)
	} else {
		v = cosine(r)
	}
	if q&2 != 0 {
		return -v
	}
	return v
}

// Tan is the tangent, within 1.9 ulp: a quotient of a sine and a cosine.
func Tan(x float64) float64 {
	switch a := math.Abs(x); {
	case a < straight:
		return x
	case !(a <= math.MaxFloat64):
		return math.NaN()
	}
	q, r := quadrant(x)
	s, c := sine(r), cosine(r)
	if q&1 != 0 {
		s, c = -c, s
	}
	return s / c
}

// atanCells is how many parts the quotients from 0 to 1 have: near j / atanCells, the angle is that point's and a small one.
const atanCells = 32

// atanTable has the arc tangents of j / atanCells. Neighbours differ by the arc tangent
// of n / (n**2 + j (j - 1)) with n cells, whose series takes few terms.
var atanTable = func() (table [atanCells + 1]pair) {
	for j := 1; j <= atanCells; j++ {
		u := pair{atanCells, 0}.div(pair{float64(atanCells*atanCells + j*(j-1)), 0})
		square := u.mul(u)
		series := pair{}
		for k := 21; k >= 1; k -= 2 { // u is at most 1/32: the next term is below 2**-114
			series = pair{1, 0}.div(pair{float64(k), 0}).plus(series.mul(square).times(-1))
		}
		table[j] = table[j-1].plus(u.mul(series))
	}
	return table
}()

// Atan2 is the angle of the point (x, y), within 1.2 ulp.
func Atan2(y, x float64) float64 {
	switch {
	case x != x || y != y:
		return math.NaN()
	case math.IsInf(x, 0) && math.IsInf(y, 0): // a diagonal
		x, y = math.Copysign(1, x), math.Copysign(1, y)
	}
	n, d := math.Abs(y), math.Abs(x)
	base, turn := pair{}, 1.0 // the angle is base + turn times that whose tangent is n/d
	switch steep := n > d; {
	case steep && x < 0:
		n, d, base = d, n, pair{halfPiHigh, halfPiMiddle}
	case steep:
		n, d, base, turn = d, n, pair{halfPiHigh, halfPiMiddle}, -1
	case math.Signbit(x):
		base, turn = pair{2 * halfPiHigh, 2 * halfPiMiddle}, -1
	}
	if n == 0 || d > math.MaxFloat64 { // along an axis
		return math.Copysign(base.hi, y)
	}
	switch { // far from where d + n overflows, and where the quotient's parts lose digits
	case d > 0x1p1000:
		n, d = float64(n*0x1p-60), float64(d*0x1p-60)
	case d < 0x1p-900:
		n, d = float64(n*0x1p100), float64(d*0x1p100)
	}
	u := n / d
	j := int(float64(u*atanCells) + 0.5)
	if j > 1 { // the angle of c = j / atanCells, and that of (n/d - c) / (1 + c n/d)
		c := float64(float64(j) * (1.0 / atanCells))
		u = math.FMA(-c, d, n) / math.FMA(c, n, d)
	} else {
		j = 0
	}
	// u is below 1/20: what comes behind u**13/13 is below 2**-64 of it.
	z := float64(u * u)
	w := float64(z * z)
	p := float64(w * (-1.0/7 + float64(z*(1.0/9)) + float64(w*(-1.0/11+float64(z*(1.0/13))))))
	p = float64(float64(u*z) * (-1.0/3 + float64(z*(1.0/5)) + p))
	t := ordered(atanTable[j].hi, u)
	s := ordered(base.hi, float64(turn*t.hi))
	return math.Copysign(s.hi+(s.lo+(base.lo+float64(turn*(t.lo+(atanTable[j].lo+p))))), y)
}
