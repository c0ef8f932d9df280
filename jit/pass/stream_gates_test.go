package pass

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// Products of the same rows share a loop where what they are added to stands behind the first of them and waits for none, as the biases of gates do.
func TestStreamGatesOfOneLoop(t *testing.T) {
	const head = `kernel @k {
  dim M = 100
  dim N = 32
  dim K = 300
  tensor %x : in f32[M, K]
  tensor %w : in f32[N, K]
  tensor %v : in f32[N, K]
  tensor %b : inout f32[M, N]
  tensor %c : in f32[M, N]
  tensor %y : out f32[M, N]
  axis i : whole M[0 .. 100]
  axis j : whole N[0 .. 32]
  axis k : whole K[0 .. 300]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %c[%0, %1] : f32{i, j}
  %4 = load %x[%0, %2] : f32{i, k}
  %5 = load %w[%1, %2] : f32{j, k}
  %6 = mma %4, %5, %3 over k : f32{i, j}
  %7 = sigmoid %6 : f32{i, j}
`
	for _, c := range []struct {
		name, behind string
		loops        int
	}{
		{"what is loaded, and computed of it", `  %8 = load %c[%0, %1] : f32{i, j}
  %9 = mul %8, %8 : f32{i, j}
`, 1},
		{"what waits for the first", "  %9 = mul %7, %7 : f32{i, j}\n", 2},
		{"what the kernel may have stored", "  store %b[%0, %1] = %7\n  %9 = load %b[%0, %1] : f32{i, j}\n", 2},
	} {
		f := parse(t, head+c.behind+`  %10 = load %v[%1, %2] : f32{j, k}
  %11 = mma %4, %10, %9 over k : f32{i, j}
  %12 = mul %7, %11 : f32{i, j}
  store %y[%0, %1] = %12
}
`)
		require.NoError(t, Run(f, Options{Verify: true, Chunks: map[string]int64{"k": 32}}), c.name)
		loops := 0
		f.Walk(func(op *ir.Op) bool {
			if op.Code == lang.OpFor {
				loops++
			}
			return true
		})
		assert.Equal(t, c.loops, loops, "%s: %s", c.name, f)
	}
}
