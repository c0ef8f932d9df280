package cpu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// Integers become floats of 16 bits by one rounding, those too that f32 has not.
func TestIntegersToNarrowFloats(t *testing.T) {
	var signed []int32
	var unsigned []uint32
	for shift := range 32 {
		for _, by := range []int64{-129, -65, -1, 0, 1, 65, 129, 1<<15 + 1} {
			n := int64(1)<<shift + by
			signed = append(signed, int32(n), int32(-n))
			unsigned = append(unsigned, uint32(n), uint32(-n))
		}
	}
	for _, d := range []lang.DType{lang.BF16, lang.F16} {
		once := func(x float64) float64 { // rounded to the type's precision
			part, exponent := math.Frexp(x)
			x = math.Ldexp(math.RoundToEven(math.Ldexp(part, d.Precision())), exponent-d.Precision())
			if math.Abs(x) > d.Largest() {
				return math.Inf(int(x))
			}
			return x
		}
		out := make([]float32, len(signed))
		cast(lang.I32, d)(ptrOf(out), ptrOf(signed), nil, nil, len(signed))
		for i, n := range signed {
			require.Equal(t, once(float64(n)), float64(out[i]), "i32 %d to %s", n, d)
		}
		cast(lang.U32, d)(ptrOf(out), ptrOf(unsigned), nil, nil, len(unsigned))
		for i, n := range unsigned {
			require.Equal(t, once(float64(n)), float64(out[i]), "u32 %d to %s", n, d)
		}
	}
}
