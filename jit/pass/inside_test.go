package pass

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

// resized takes the elements of a row from places of another row that is shorter or longer.
const resized = `kernel @k {
  dim W = %d
  dim Q = %d
  tensor %%x : in f32[W]
  tensor %%y : out f32[Q]
  axis v : grid Q by B = ?
body:
  %%0 = index v : i32{v}
  %%1 = cast %%0 : f32{v}
  %%2 = const 0.5 : f32
  %%3 = add %%1, %%2 : f32{v}
  %%4 = const %g : f32
  %%5 = mul %%3, %%4 : f32{v}
  %%6 = sub %%5, %%2 : f32{v}
  %%7 = const 0 : f32
  %%8 = max %%6, %%7 : f32{v}
  %%9 = floor %%8 : f32{v}
  %%10 = cast %%9 : i32{v}
  %%11 = const 1 : i32
  %%12 = add %%10, %%11 : i32{v}
  %%13 = const %d : i32
  %%14 = min %%12, %%13 : i32{v}
  %%15 = const 3 : f32
  %%16 = load %%x[?%%10] else %%15 : f32{v}
  %%17 = load %%x[?%%14] else %%15 : f32{v}
  %%18 = add %%16, %%17 : f32{v}
  store %%y[%%0] = %%18
}
`

// An index that is computed by way of floats is checked unless it is inside for every position, however products and sums are rounded.
func TestIndicesThatAreAlwaysInside(t *testing.T) {
	dropped := 0
	for _, w := range []int64{1, 2, 7, 112, 1000, 1 << 20} {
		for _, q := range []int64{1, w - 1, w, w + 1, 2 * w, 3*w + 1} {
			for _, step := range []float64{0, 1.0 / 3, 0.5, 1, 1.0000001, 2, -1, float64(w) / float64(max(q, 1))} {
				if q < 1 {
					continue
				}
				step = float64(float32(step))
				f, err := ir.Parse("k", fmt.Sprintf(resized, w, q, step, w-1))
				require.NoError(t, err)
				require.NoError(t, Run(f, Options{Verify: true}))
				checks := strings.Count(f.String(), "[?")
				inside := true
				for _, v := range []int64{0, q / 2, q - 1} {
					at := (float32(v) + 0.5) * float32(step)
					for _, row := range []float64{float64(at - 0.5), (float64(float32(v)+0.5))*step - 0.5} { // rounded once, or not at all
						inside = inside && int64(math.Floor(max(row, 0))) < w
					}
				}
				if !inside {
					assert.Positive(t, checks, "%d to %d by %g", w, q, step)
				}
				if checks == 0 {
					dropped++
				}
			}
		}
	}
	assert.Greater(t, dropped, 50)
	f, err := ir.Parse("k", fmt.Sprintf(resized, 112, 224, 0.5, 111))
	require.NoError(t, err)
	require.NoError(t, Run(f, Options{Verify: true}))
	assert.NotContains(t, f.String(), "else", "twice the size")
}

// A check that may fail stays, and so does what it gives.
func TestChecksThatStay(t *testing.T) {
	f, err := ir.Parse("k", fmt.Sprintf(resized, 112, 224, 0.6, 111))
	require.NoError(t, err)
	require.NoError(t, Run(f, Options{Verify: true}))
	assert.Equal(t, 1, strings.Count(f.String(), "else"), "%s: the neighbour's place has a bound of its own", f)
}
