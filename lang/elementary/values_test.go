package elementary

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The right values are those of a libm that is within an ulp.
func TestAccurateFunctions(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"log of the least", Log(5e-324), -744.4400719213812},
		{"log2 near 1", Log2(1.0213558207495907), 0.03048556102614698},
		{"log2 of the least", Log2(5e-324), -1074},
		{"log2 of a power", Log2(0x1p-1000), -1000},
		{"log2 of 3", Log2(3), 1.584962500721156},
		{"sin of 1e30", Sin(1e30), 0.009331468931175825},
		{"cos of -2.25e300", Cos(-2.2529758496320264e+300), 0.04102416658299208},
		{"tan of 1e30", Tan(1e30), -0.009331875232662407},
		{"tan of a small angle", Tan(7.804423787514705e-08), 7.804423787514721e-08},
		{"tan of none", Tan(5e-324), 5e-324},
		{"sin of 2^120", Sin(0x1p120), 0.377820109360752},
		{"pow of the least", Pow(5e-324, -0.001), 2.1052623094188774},
		{"pow of a whole number", Pow(-0.001, -90), 9.999999999999982e+269},
		{"pow of a large exponent", Pow(1e300, 0.3), 9.999999999999924e+89},
		{"pow below the normal numbers", Pow(2, -1070), 0x1p-1070},
		{"pow, odd", Pow(-3, 3), -27},
		{"pow, even", Pow(-1.1, 700), 9.43799212767295e+28},
		{"atan2 that underflows", Atan2(-5e-324, -2.5), -math.Pi},
		{"atan2 of -0", Atan2(math.Copysign(0, -1), -1), -math.Pi},
	} {
		assert.InEpsilon(t, c.want, c.got, 4.5e-16, c.name)
	}
	assert.True(t, math.IsNaN(Sin(math.Inf(1))))
	assert.True(t, math.IsNaN(Log2(-1)))
	assert.True(t, math.IsInf(Log2(0), -1))
}
