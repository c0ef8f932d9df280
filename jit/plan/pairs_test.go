package plan_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/plan"
)

// Pairs of blocks share what they copy of columns whose rows begin in the middle of lines, where they fill the multiprocessors, and of nothing else: not of whole lines, not for
// the sake of the other operand's rows, not of f32, whose rows come from registers.
func TestPairsShareLinesThatRowsSplit(t *testing.T) {
	const source = `kernel @product {
  dim M = ?
  dim K = %[1]d
  dim N = %[2]d
  tensor %%x : in %[3]s[M, K] align 16
  tensor %%w : in %[3]s[%[4]s] align 16
  tensor %%y : out %[3]s[M, N] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. %[1]d] by BK
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %%2 = index k : i32{k}
  %%3 = load %%x[%%0, %%2] : %[3]s{i, k}
  %%4 = load %%w[%[5]s] : %[3]s{%[6]s}
  %%5 = dot %%3, %%4 over k : f32{i, j}
  %%6 = cast %%5 : %[3]s{i, j}
  store %%y[%%0, %%1] = %%6
}`
	for name, c := range map[string]struct {
		rows, depth, columns int64
		d                    string
		deep                 bool // weights lie along the depth
		pins                 map[string]int64
		paired               bool
	}{
		"columns across the depth":      {1024, 1000, 1000, "bf16", false, nil, true},
		"columns along the depth":       {1024, 1000, 1000, "bf16", true, nil, true},
		"whole lines":                   {1024, 1024, 1024, "bf16", false, nil, false},
		"rows alone":                    {1024, 1000, 1024, "bf16", false, nil, false},
		"few blocks":                    {256, 1000, 1000, "bf16", false, nil, false},
		"blocks alone, as is asked for": {1024, 1000, 1000, "bf16", false, map[string]int64{"cluster": 1}, false},
		"blocks that go":                {1024, 1000, 1000, "bf16", false, map[string]int64{"persist": 0}, false},
		"f32":                           {1024, 1000, 1000, "f32", false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			shape, index, axes := "K, N", "%2, %1", "k, j"
			if c.deep {
				shape, index, axes = "N, K", "%1, %2", "j, k"
			}
			f, err := ir.Parse("product", fmt.Sprintf(source, c.depth, c.columns, c.d, shape, index, axes))
			require.NoError(t, err)
			require.NoError(t, pass.Run(f, pass.Options{Verify: true}))
			p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"M": c.rows}), c.pins)
			require.NoError(t, err)
			assert.Equal(t, c.paired, p.Cluster == 2 && p.Persist == 1, "%s", p)
		})
	}
}
