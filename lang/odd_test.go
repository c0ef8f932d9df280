package lang

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Numbers of 64 bits are rounded once, those too that f32 would round to the middle between two.
func TestFloatBitsRoundOnce(t *testing.T) {
	for _, d := range []DType{BF16, F16, F8E4M3, F8E5M2} {
		for _, exponent := range []int{-3, 0, 2} {
			ulp := math.Ldexp(1, exponent-d.Precision()+1)
			low := math.Ldexp(1, exponent) + ulp // odd in its last bit: a tie goes up
			middle := low + ulp/2
			for _, c := range []struct{ v, want float64 }{
				{middle, low + ulp}, {middle - 1e-12, low}, {middle + 1e-12, low + ulp},
				{middle - ulp, low - ulp}, {middle - ulp + 1e-12, low}, {middle - ulp - 1e-12, low - ulp},
			} {
				require.Equal(t, c.want, d.FloatValue(d.FloatBits(c.v)), "%v in %s", c.v, d)
				require.Equal(t, -c.want, d.FloatValue(d.FloatBits(-c.v)), "%v in %s", -c.v, d)
			}
		}
	}
	require.Equal(t, math.Inf(1), F16.FloatValue(F16.FloatBits(1e300)))
	require.Equal(t, F8E5M2.Largest(), F8E5M2.FloatValue(F8E5M2.FloatBits(1e300)), "finite numbers saturate")
	require.Equal(t, math.Inf(-1), F8E5M2.FloatValue(F8E5M2.FloatBits(math.Inf(-1))))
	require.Equal(t, 0.0, BF16.FloatValue(BF16.FloatBits(1e-300)))
}
