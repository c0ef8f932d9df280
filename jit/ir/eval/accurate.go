package eval

import (
	"math"
	"math/big"
	"sync"
)

// This file has f64 functions that are within two units in the last place where
// those of package math are not: math.Log is wrong below the normal numbers (its
// assembly on amd64), math.Log2 loses half of its digits near 1, math.Atan2
// gives the wrong half-turn when y/x underflows, the trigonometric functions lose
// digits at large arguments, and math.Tan at small ones. The CPU backend uses them too.

// scaleUp brings every positive number to the normal range; its logarithm is whole.
const scaleUp, scaleUpLog2 = 0x1p54, 54

const leastNormal = 0x1p-1022

// Log is the natural logarithm.
func Log(x float64) float64 {
	if x > 0 && x < leastNormal {
		return math.Log(x*scaleUp) - scaleUpLog2*math.Ln2
	}
	return math.Log(x)
}

// log2eLow is what log2(e) has beyond math.Log2E as f64.
const log2eLow = 0x1.777d0ffda0d24p-56

// Log2 is the logarithm to base 2; of a power of two it is exact.
func Log2(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log2(x)
	}
	f, e := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, e = 2*f, e-1
	}
	// log(f) is accurate relative to itself, also near 1, and so is its product with log2(e) in two parts.
	l := math.Log(f)
	return float64(e) + math.FMA(l, float64(math.Log2E), float64(l*log2eLow))
}

// Atan2 is the angle of the point (x, y).
func Atan2(y, x float64) float64 {
	if a := math.Abs(y / x); x < 0 && y != 0 && a < leastNormal {
		return math.Copysign(math.Pi, y)
	}
	return math.Atan2(y, x)
}

// largeAngle is from where package math's reduction of angles is not accurate enough.
const largeAngle = 1 << 29

// Sin is the sine.
func Sin(x float64) float64 {
	q, r, ok := quadrant(x)
	if !ok {
		return math.Sin(x)
	}
	return [4]func(float64) float64{math.Sin, math.Cos, negSin, negCos}[q](r)
}

// Cos is the cosine.
func Cos(x float64) float64 {
	q, r, ok := quadrant(x)
	if !ok {
		return math.Cos(x)
	}
	return [4]func(float64) float64{math.Cos, negSin, negCos, math.Sin}[q](r)
}

// Tan is the tangent.
func Tan(x float64) float64 {
	q, r, ok := quadrant(x)
	switch {
	case ok && q%2 == 1:
		return -1 / Tan(r)
	case ok:
		return Tan(r)
	case math.Abs(x) <= 1e-7: // math.Tan takes these for x itself, up to 15 units off
		return math.FMA(x*x*x, 1.0/3, x)
	}
	return math.Tan(x)
}

func negSin(x float64) float64 { return -math.Sin(x) }
func negCos(x float64) float64 { return -math.Cos(x) }

// quadrant reduces a large angle: x is q quarter turns, modulo 4, and r, with r
// from -π/4 to π/4. It is not ok for angles that need no help.
func quadrant(x float64) (q int, r float64, ok bool) {
	if !(math.Abs(x) >= largeAngle) || math.IsInf(x, 0) {
		return 0, 0, false
	}
	half := halfPi()
	v := new(big.Float).SetPrec(half.Prec()).SetFloat64(x)
	turns := new(big.Float).SetPrec(half.Prec()).Quo(v, half)
	turns.Add(turns, big.NewFloat(math.Copysign(0.5, x))) // Int truncates: this rounds
	n, _ := turns.Int(nil)
	v.Sub(v, new(big.Float).SetPrec(half.Prec()).Mul(new(big.Float).SetInt(n), half))
	r, _ = v.Float64()
	return int(new(big.Int).And(n, big.NewInt(3)).Int64()), r, true
}

// halfPi is π/2 with the digits of the largest f64 and as many again behind the point.
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
