package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

const columnSums = `kernel @columns {
  dim M = 64
  dim N = 64
  tensor %x : in f32[M, N] align 16
  tensor %y : out f32[N] align 16
  axis j : grid N by BJ = ?
  axis i : whole M[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = sum %2 over i : f32{j}
  store %y[%1] = %3
}
`

// Warps that add up what they have of several neighbours write and read these as vectors, each warp's in a row: element by element, with
// the parts of one together, threads beside one another would meet in the same banks.
func TestWarpsAddUpVectorsInRows(t *testing.T) {
	f, err := ir.Parse("columns", columnSums)
	require.NoError(t, err)
	m := compile(t, f, &plan.Plan{Extents: map[string]int64{"j": 64}, Warps: 8, Stages: 1}, "sm_90a")
	assert.Contains(t, m.Text, "st.shared.v4.f32")
	assert.NotContains(t, m.Text, "st.shared.f32")
	assert.Contains(t, m.Text, "+256]", "the part of the next warp is a row away")
}

// A row of few elements is reduced by every warp for itself, and warps do not meet for it; of a longer one each has a part.
func TestShortRowsAreReducedByEveryWarp(t *testing.T) {
	for n, meets := range map[int64]bool{1: false, 5: false, 64: false, 65: true, 256: true} {
		text := fmt.Sprintf(`kernel @norm {
  dim M = ?
  dim N = %d
  tensor %%x : in f32[M, N]
  tensor %%y : out f32[M, N]
  axis i : grid scalar M
  axis j : whole N[0 .. %[1]d]
body:
  %%0 = start i : i32
  %%1 = index j : i32{j}
  %%2 = load %%x[%%0, %%1] : f32{j}
  %%3 = reduce_max %%2 over j : f32
  %%4 = sub %%2, %%3 : f32{j}
  store %%y[%%0, %%1] = %%4
}
`, n)
		p := plan.Plan{Extents: map[string]int64{"i": 1}, Warps: 4, Stages: 1}
		differ(t, parse(t, text), p, map[string]int64{"M": 3}, 0, 1)
		assert.Equal(t, meets, strings.Contains(compile(t, parse(t, text), &p, "sm_90a").Text, "bar.sync"), "%d elements", n)
	}
}
