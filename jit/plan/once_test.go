package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

// Of a launch of a graph, the L2 is told of what no launch before writes alone: what one has written, another to come may read.
func TestOnceInGraphs(t *testing.T) {
	const sums = `kernel @sums {
  dim M = ?
  dim N = 1024
  tensor %x : in f32[M, N] align 16 CONSTANT
  tensor %y : out f32[M] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 1024]
  DEPENDENT
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = sum %2 over j : f32{i}
  store %y[%0] = %3
}
`
	for _, c := range []struct {
		constant, dependent string
		rows                int64
		want                []string
	}{
		{"", "", 16384, []string{"x"}},
		{"", "", 1024, nil},    // 4 MB
		{"", "", 1 << 20, nil}, // 4 GB
		{"", "dependent", 16384, nil},
		{"constant", "dependent", 16384, []string{"x"}},
	} {
		f, err := ir.Parse("sums", strings.NewReplacer("CONSTANT", c.constant, "DEPENDENT", c.dependent).Replace(sums))
		require.NoError(t, err)
		p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"M": c.rows}), nil)
		require.NoError(t, err)
		assert.Equal(t, c.want, p.Once, "%+v", c)
	}
}
