package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// Rows that a warp can hold are not shared by several: of candidates that are else alike, the one without exchanges between warps is chosen.
func TestShortRowsAreAWarpEach(t *testing.T) {
	p, err := plan.Choose(kernel(t, "softmax"), on(t, "sm_90a"), sizes(map[string]int64{"M": 8192}), nil)
	require.NoError(t, err)
	require.EqualValues(t, 4, p.Extents["i"], "%v", p)
	require.Equal(t, 4, p.Warps)
}
