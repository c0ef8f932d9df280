package jit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// Rows divided by a number of each have the bits of as many divisions, whatever the numbers are: in GPU code one reciprocal serves a
// row, and what that cannot do is found and divided.
func TestRowsAreDivided(t *testing.T) {
	const rows, columns = 256, 200
	values := []float64{0, math.Copysign(0, -1), 0x1p-149, 0x1p-130, 0x1p-127, 0x1p-126, 0x1.fffffep-100, 0x1p-92, 1, 3, 0x1.fffffep0, 0x1p23,
		0x1p24, 0x1p25, 0x1p100, 0x1p127, 0x1.fffffep127, math.Inf(1), math.NaN()}
	r := rand.New(rand.NewPCG(1, 2))
	number := func(i int) float64 {
		switch {
		case i%5 < 3: // about 1: what has no special case
			return r.NormFloat64()
		case i%5 == 3:
			return values[r.IntN(len(values))] * float64(1-2*r.IntN(2))
		}
		return float64(math.Float32frombits(r.Uint32()))
	}
	x, d := make([]float64, rows*columns), make([]float64, rows)
	for i := range x {
		x[i] = number(i / columns) // rows of usual numbers, so that the fast way is tried too
	}
	for i := range d {
		d[i] = number(i / 5)
	}
	source := "kernel f(x: f32[M, N], d: f32[M]) -> y: f32[M, N]\n    grid i in M by BM\n{\n    axis j in N\n    y[i, j] = x[i, j] / d[i]\n}\n"
	device := testCompiler(t).Device
	for _, n := range []int64{columns, columns / 2} {
		module, err := NewCompiler(device, nil).Load("f.tile", []byte(source))
		require.NoError(t, err)
		m := int64(rows * columns / n)
		divisors := make([]float64, m)
		for i := range divisors {
			divisors[i] = d[i%rows]
		}
		out, err := module.Call("f", Args{"x": Converted(lang.F32, x, m, n), "d": Converted(lang.F32, divisors, m)})
		require.NoError(t, err)
		for i, got := range out["y"].Floats() {
			a, b := float32(x[i]), float32(divisors[int64(i)/n])
			if want := a / b; math.Float32bits(want) != math.Float32bits(float32(got)) && (want == want || got == got) {
				t.Fatalf("%v / %v is %v, required %v", a, b, got, want)
			}
		}
	}
}
