package elementary

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Where the logarithm of the power overflows, too, the power is infinite or 0.
func TestPowFarOut(t *testing.T) {
	for _, c := range []struct{ x, y, want float64 }{
		{5e-324, math.MaxFloat64, 0},
		{5e-324, -math.MaxFloat64, math.Inf(1)},
		{math.MaxFloat64, math.MaxFloat64, math.Inf(1)},
		{math.MaxFloat64, -math.MaxFloat64, 0},
		{-2, math.MaxFloat64, math.Inf(1)},
		{-2, 1025, math.Inf(-1)},
		{2, -1074, 5e-324},
		{2, -1077, 0},
		{2, 1023, 0x1p1023},
		{2, 1024, math.Inf(1)},
		{math.MaxFloat64, 1, math.MaxFloat64},
		{-math.MaxFloat64, 1, -math.MaxFloat64},
	} {
		assert.Equal(t, c.want, Pow(c.x, c.y), "%v ** %v", c.x, c.y)
	}
}

// Just below what f64 cannot hold, the power is finite.
func TestPowJustFits(t *testing.T) {
	assert.InEpsilon(t, math.MaxFloat64*(1-0x1p-52), Pow(math.Nextafter(0x1p512, 0), 2), 0x1p-51)
	assert.InEpsilon(t, 0x1p1023*(2-2*math.Ln2*0x1p-43), Pow(2, math.Nextafter(1024, 0)), 0x1p-48)
	assert.Equal(t, math.Inf(1), Pow(math.Nextafter(0x1p512, math.Inf(1)), 2))
}
