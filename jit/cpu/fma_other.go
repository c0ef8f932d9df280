//go:build !arm64

package cpu

import "math"

// fma32 is a*b + c, rounded once. The product is exact in float64. Its sum with
// c is rounded to float64 and then to float32, which is one rounding too many
// only where the first gives a number halfway between two of float32: the low
// bits of such a number are zero.
func fma32(a, b, c float32) float32 {
	s := float64(float64(a)*float64(b)) + float64(c)
	if math.Float64bits(s)<<36 != 0 {
		return float32(s)
	}
	return float32(fmaOdd(a, b, c))
}
