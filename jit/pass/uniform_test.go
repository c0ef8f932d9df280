package pass

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

// partsOfAxes multiplies by what lies at the quotient of a block's columns, and of a step's positions: the extents of both, what they are divided by, and where the loop begins.
const partsOfAxes = `kernel @k {
  dim M = ?
  dim N = 96
  dim K = 64
  tensor %%x : in f32[M, K]
  tensor %%w : in f32[K, N]
  tensor %%s : in f32[N]
  tensor %%t : in f32[N]
  tensor %%y : out f32[M, N]
  axis i : grid M by BM = 4
  axis j : grid N by BN = %d
  axis k : loop K by %d
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %%2 = const %d : i32
  %%3 = div %%1, %%2 : i32{j}
  %%4 = const %d : i32
  %%5 = const 64 : i32
  %%6 = const 0 : f32
  %%7 = full %%6 : f32{i, j}
  %%8 = load %%s[%%3] : f32{j}
  %%9 = for k from %%4 to %%5 with (%%10 = %%7) pos %%11 : (f32{i, j}) {
    %%12 = index k : i32{k}
    %%13 = div %%12, %%2 : i32{k}
    %%14 = load %%x[%%0, %%12] : f32{i, k}
    %%15 = load %%w[%%12, %%1] : f32{k, j}
    %%16 = load %%t[%%13] : f32{k}
    %%17 = mul %%14, %%16 : f32{i, k}
    %%18 = mma %%17, %%15, %%10 over k precision ieee : f32{i, j}
    yield %%18
  }
  %%19 = mul %%9, %%8 : f32{i, j}
  store %%y[%%0, %%1] = %%19
}
`

// What lies at a quotient is loaded once where it is one number of all positions of a block or a step, and only there.
func TestPartsOfBlocks(t *testing.T) {
	for _, c := range []struct{ columns, step, divisor, from, once int }{
		{8, 8, 16, 0, 2},
		{16, 16, 16, 0, 2},
		{16, 8, 8, 0, 1}, // of a block in two parts, each element loads its own
		{8, 16, 8, 16, 1},
		{12, 12, 16, 0, 0},
		{32, 8, 16, 4, 0}, // steps begin between two parts
		{8, 8, 16, 8, 2},
	} {
		name := fmt.Sprint(c)
		f := parse(t, fmt.Sprintf(partsOfAxes, c.columns, c.step, c.divisor, c.from))
		require.NoError(t, ir.Verify(f), name)
		before := execute(t, f, map[string]int64{"M": 7}, data{seed: 1})
		_, err := uniform.Run(f, &Options{})
		require.NoError(t, err)
		require.NoError(t, ir.Verify(f), name)
		assert.Equal(t, before, execute(t, f, map[string]int64{"M": 7}, data{seed: 1}), name)
		assert.Equal(t, c.once, strings.Count(f.String(), " = start "), "%s: %s", name, f)
	}
}
