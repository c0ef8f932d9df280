package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// Rows that a warp can hold are not shared by several, and each has two, of which one is loaded while the other is reduced; but for functions that take many instructions.
func TestWarpsHaveTwoShortRows(t *testing.T) {
	for _, c := range []struct {
		kernel      string
		rows, warps int
	}{
		{"softmax", 2, 2},
		{"layernorm", 4, 2},
	} {
		p, err := plan.Choose(kernel(t, c.kernel), on(t, "sm_90a"), sizes(map[string]int64{"M": 8192}), nil)
		require.NoError(t, err)
		require.EqualValues(t, c.rows, p.Extents["i"], "%s: %v", c.kernel, p)
		require.Equal(t, c.warps, p.Warps, c.kernel)
	}
}
