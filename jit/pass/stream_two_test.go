package pass

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// Sums of one tile over each of two axes that are both cut need loops in opposite orders.
func TestStreamTwoSumsOfOneTile(t *testing.T) {
	f := parse(t, `kernel @k {
  dim M = 100
  dim N = 90
  tensor %x : in f32[M, N]
  tensor %r : out f32[M]
  tensor %c : out f32[N]
  axis i : whole M[0 .. 100]
  axis j : whole N[0 .. 90] split 2
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] latency 3 cache evict_first : f32{i, j}
  %3 = sum %2 over j : f32{i}
  store %r[%0] = %3 cache no_allocate
  %4 = sum %2 over i : f32{j}
  store %c[%1] = %4
}
`)
	require.NoError(t, Run(f, Options{Verify: true, Chunks: map[string]int64{"i": 16, "j": 32}}))
	depth := map[string]int{}
	splits := 0
	var walk func(b *ir.Block, around []string)
	walk = func(b *ir.Block, around []string) {
		for _, op := range b.Ops {
			switch {
			case op.Code == lang.OpLoad: // hints go where their access goes
				assert.Equal(t, " latency 3 cache evict_first", op.Hint.String())
			case op.Code == lang.OpStore:
				assert.Len(t, around, 1)
				depth[op.Tensor.Name]++
				assert.Equal(t, map[string]string{"r": "M", "c": "N"}[op.Tensor.Name], around[0])
			}
			inside := around
			if op.Code == lang.OpFor {
				inside = append(append([]string(nil), around...), op.Axis.Dim.Name)
				if op.Axis.Dim.Name == "N" {
					assert.EqualValues(t, 2, op.Axis.Split)
					splits++
				} else {
					assert.Zero(t, op.Axis.Split)
				}
			}
			for _, inner := range op.Blocks {
				walk(inner, inside)
			}
		}
	}
	walk(f.Body, nil)
	assert.Equal(t, map[string]int{"r": 1, "c": 1}, depth)
	assert.Equal(t, 2, splits)
	again, err := ir.Parse("again", f.String())
	require.NoError(t, err)
	assert.Equal(t, f.String(), again.String())
}
