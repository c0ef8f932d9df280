package pass

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// normed adds up a row along one axis, and multiplies it along another.
const normed = `kernel @k {
  dim M = ?
  dim K = 64
  dim N = ?
  tensor %x : in f32[M, K]
  tensor %w : in f32[N, K]
  tensor %y : out f32[M, N]
  axis i : grid scalar M
  axis j : grid N by BN = ?
  axis d : whole K[0 .. 64]
  axis k : whole K[0 .. 64] by BK
body:
  %0 = start i : i32
  %1 = index d : i32{d}
  %2 = load %x[%0, %1] : f32{d}
  %3 = mean %2 over d : f32
  %4 = index k : i32{k}
  %5 = load %x[%0, %4] : f32{k}
  %6 = sub %5, %3 : f32{k}
  %7 = index j : i32{j}
  %8 = load %w[%7, %4] : f32{j, k}
  %9 = dot %6, %8 over k : f32{j}
  store %y[%0, %7] = %9
}
`

// Two axes over one row are one where nothing has both, and the row is loaded once then.
func TestAxesOfOneRow(t *testing.T) {
	run := func(text string) string {
		f := parse(t, text)
		_, err := cse.Run(f, &Options{})
		require.NoError(t, err)
		require.NoError(t, verify(f))
		return f.String()
	}
	one := run(normed)
	assert.Equal(t, 1, strings.Count(one, "load %x"), "%s", one)
	assert.Contains(t, one, "axis k : whole K[0 .. 64] by BK")
	assert.NotContains(t, one, "axis d")
	for name, change := range map[string][2]string{
		"a value has both":           {"%6 = sub %5, %3 : f32{k}", "%10 = add %2, %5 : f32{d, k}\n  %11 = sum %10 over d : f32{k}\n  %6 = sub %11, %3 : f32{k}"},
		"the plan is told of both":   {"axis d : whole K[0 .. 64]", "axis d : whole K[0 .. 64] by BD"},
		"one has other positions":    {"axis d : whole K[0 .. 64]", "axis d : whole K[0 .. 32]"},
		"they are of two tensors":    {"load %x[%0, %4]", "load %w[%0, %4]"},
		"one may lie outside":        {"%5 = load %x[%0, %4]", "%12 = const 0 : f32\n  %5 = load %x[?%0, %4] else %12"},
		"another row is loaded":      {"%5 = load %x[%0, %4]", "%12 = const 3 : i32\n  %5 = load %x[%12, %4]"},
		"what is read is written to": {"tensor %x : in f32", "tensor %x : inout f32"},
	} {
		two := run(strings.Replace(normed, change[0], change[1], 1))
		assert.Contains(t, two, "axis d", name)
	}
}
