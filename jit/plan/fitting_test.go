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

// productSource is a product of x and w, stored to rows of y as another type: the sizes of its depth and columns, the operands' type, the order of w's dimensions, what y's rows are, the index of
// w and its axes, the result's type.
const productSource = `kernel @product {
  dim M = ?
  dim K = %[1]d
  dim N = %[2]d
  dim P = ?
  tensor %%x : in %[3]s[M, K] align 16
  tensor %%w : in %[3]s[%[4]s] align 16
  tensor %%y : out %[8]s[%[5]s, N] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. %[1]d] by BK
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %%2 = index k : i32{k}
  %%3 = load %%x[%%0, %%2] : %[3]s{i, k}
  %%4 = load %%w[%[6]s] : %[3]s{%[7]s}
  %%5 = dot %%3, %%4 over k : f32{i, j}
  %%6 = cast %%5 : %[8]s{i, j}
  store %%y[%%0, %%1] = %%6
}`

// product is that kernel after its passes; deep has w lie along the depth, and rows names the dimension of y's rows.
func product(t *testing.T, depth, columns int64, d, as string, deep bool, rows string) *ir.Func {
	t.Helper()
	shape, index, axes := "K, N", "%2, %1", "k, j"
	if deep {
		shape, index, axes = "N, K", "%1, %2", "j, k"
	}
	f, err := ir.Parse("product", fmt.Sprintf(productSource, depth, columns, d, shape, rows, index, axes, as))
	require.NoError(t, err)
	require.NoError(t, pass.Run(f, pass.Options{Verify: true}))
	return f
}

// A product's columns may be as many as fill the multiprocessors: of the operand that lies along the depth, unless what it is stored to goes on where it ends. Extents that
// leave multiprocessors without a tile, or with one more than others, are not among them.
func TestExtentsThatFillTheMultiprocessors(t *testing.T) {
	for _, c := range []struct {
		depth, columns int64
		d              string
		deep, goesOn   bool // weights lie along the depth; the result is stored to rows of a longer tensor
		want, wantNot  map[string][]int64
	}{
		{768, 2304, "bf16", false, false, map[string][]int64{"BM": {96, 112, 160}}, map[string][]int64{"BN": {96, 144, 160}, "BM": {144, 152}}},
		{768, 2304, "bf16", true, false, map[string][]int64{"BM": {160}, "BN": {144}}, nil},
		{768, 2304, "bf16", true, true, map[string][]int64{"BN": {144}}, map[string][]int64{"BM": {96, 160}}},
		{768, 3072, "f32", false, false, map[string][]int64{"BM": {208}}, map[string][]int64{"BN": {208}}},
		{768, 768, "f32", false, false, nil, map[string][]int64{"BM": {96}}}, // by 64 columns of weights alone, which one warpgroup takes
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rows := "M"
			if c.goesOn {
				rows = "P"
			}
			f := product(t, c.depth, c.columns, c.d, "f32", c.deep, rows)
			open, err := plan.Open(f, on(t, "sm_90a"), sizes(map[string]int64{"M": 1024, "P": 4096}), nil)
			require.NoError(t, err)
			for name, extents := range c.want {
				assert.Subset(t, open[name], extents)
			}
			for name, extents := range c.wantNot {
				for _, n := range extents {
					assert.NotContains(t, open[name], n)
				}
			}
			open, err = plan.Open(f, on(t, "sm_80"), sizes(map[string]int64{"M": 1024, "P": 4096}), nil)
			require.NoError(t, err)
			assert.NotContains(t, open["BM"], int64(160), "it has no instruction of any number of columns")
		})
	}
}
