package elementary

import (
	"math"
	"math/big"
	"sync"
)

// erfCell is how far apart the points are around which Erf has its Taylor series, and erfEnd from where on it is 1.
const erfCell, erfEnd = 1.0 / 8, 6

// erfSeries is the error function around one point: its value there, as a pair, and the rest of its Taylor series.
type erfSeries struct {
	at   pair
	rest [13]float64 // the coefficients of h, h**2, ...
}

// erfTable has the series around 0, erfCell, 2 erfCell, ...
var erfTable = sync.OnceValue(func() *[erfEnd/erfCell + 1]erfSeries {
	const bits = 300
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }
	factor := new(big.Float).SetPrec(bits).Quo(number(2), new(big.Float).SetPrec(bits).Sqrt(new(big.Float).SetPrec(bits).Mul(halfPi(), number(2))))
	slope, _ := factor.Float64()
	var table [erfEnd/erfCell + 1]erfSeries
	for i := range table {
		c := float64(float64(i) * erfCell)
		// erf(c) is 2/sqrt(π) (c - c**3/3 + c**5/(2! 5) - ...); the bits outlast the cancellation of e**36.
		total, power, part := number(0), number(c), number(0)
		for n := 0.0; n < 300; n++ {
			total.Add(total, part.Quo(power, number(float64(2*n)+1)))
			power.Mul(power, number(-c*c))
			power.Quo(power, number(n+1))
		}
		total.Mul(total, factor)
		t := &table[i]
		t.at.hi, _ = total.Float64()
		t.at.lo, _ = total.Sub(total, number(t.at.hi)).Float64()
		// The derivatives are those of 2/sqrt(π) e**(-c**2): a and b are Hermite polynomials by factorials.
		g := float64(slope * Exp(-c*c))
		a, b := 1.0, 0.0
		for n := range t.rest {
			t.rest[n] = float64(g*a) / float64(n+1)
			a, b = -(float64(2*c*a)+(b+b))/float64(n+1), a
		}
	}
	return &table
})

// Erf is the error function.
func Erf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x:
		return x
	case a >= erfEnd:
		return math.Copysign(1, x)
	case a < 0x1p-500: // h*h vanishes
		return float64(x * (2 / math.SqrtPi))
	}
	i := int(float64(a/erfCell) + 0.5)
	t := &erfTable()[i]
	h := a - float64(float64(i)*erfCell)
	p := 0.0
	for n := len(t.rest) - 1; n >= 1; n-- {
		p = float64(p*h) + t.rest[n]
	}
	first := float64(t.rest[0] * h)
	s := sum(t.at.hi, first)
	return math.Copysign(s.hi+(s.lo+(t.at.lo+(math.FMA(t.rest[0], h, -first)+float64(float64(p*h)*h)))), x)
}
