package plan_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

// A loop whose bounds tell that it has no more than 256 positions may have one step, and then room for one: a part of attention does, and several blocks
// share a multiprocessor. A loop of any length has steps as others do.
func TestLoopsOfFewPositionsHaveOneStep(t *testing.T) {
	text, err := os.ReadFile("../block/testdata/parts.tir")
	require.NoError(t, err)
	f, err := ir.Parse("parts", string(text))
	require.NoError(t, err)
	p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"H": 12, "P": 1024}), nil)
	require.NoError(t, err)
	assert.Equal(t, int64(256), p.Extents["j"], "%v", p)
	assert.GreaterOrEqual(t, p.Estimate.Residency, int64(3), "32 KB of keys and as many of values, once")

	open, err := plan.Open(f, on(t, "sm_90a"), nil, nil)
	require.NoError(t, err)
	assert.Contains(t, open["BN"], int64(256))
	attention := kernel(t, "attention")
	open, err = plan.Open(attention, on(t, "sm_90a"), sizes(map[string]int64{"S": 1024, "P": 1024}), nil)
	require.NoError(t, err)
	assert.NotContains(t, open["BN"], int64(256))
}
