package ptx

import (
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
