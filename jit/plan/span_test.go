package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/target"
)

// Where a program uses the bounds of spans, the plan's extents divide them, also where two axes have one extent.
func TestExtentsDivideSpans(t *testing.T) {
	f, err := ir.Parse("span", `kernel @k {
  dim N = 1000000
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis i : grid N by B = ?
  axis k : loop N by B = ?
body:
  %0 = index i : i32{i}
  %1 = end i span 96 : i32
  %2 = const 0 : i32
  %3 = const 0 : f32
  %4 = for k from %2 to %1 with (%5 = %3) pos %6 : (f32) {
    %7 = index k : i32{k}
    %8 = load %x[%7] : f32{k}
    %9 = sum %8 over k : f32
    %10 = add %5, %9 : f32
    yield %10
  }
  store %y[%0] = %4
}
`)
	require.NoError(t, err)
	for _, name := range []string{"cpu", "sm_80", "sm_90a"} {
		target, err := target.Find(name)
		require.NoError(t, err)
		p, err := plan.Choose(f, target, nil, nil)
		require.NoError(t, err)
		assert.Zero(t, 96%p.Extents["i"], "%s: %v", name, p)
		assert.Equal(t, p.Extents["i"], p.Extents["k"], name)

		_, err = plan.Choose(f, target, nil, map[string]int64{"B": 64})
		var pin *plan.PinError
		require.ErrorAs(t, err, &pin)
		assert.Equal(t, int64(96), pin.Fits)

		open, err := plan.Open(f, target, nil, nil)
		require.NoError(t, err)
		require.NotEmpty(t, open["B"])
		for _, n := range open["B"] {
			assert.Zero(t, 96%n)
		}
	}
}
