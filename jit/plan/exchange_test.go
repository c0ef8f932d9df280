package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// Rows that a warp can hold are not shared by several, and each has two: one is loaded while the other is reduced.
func TestWarpsHaveTwoShortRows(t *testing.T) {
	p, err := plan.Choose(kernel(t, "softmax"), on(t, "sm_90a"), sizes(map[string]int64{"M": 8192}), nil)
	require.NoError(t, err)
	require.EqualValues(t, 4, p.Extents["i"], "%v", p)
	require.Equal(t, 2, p.Warps)
}
