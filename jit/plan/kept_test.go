package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// A plan that was kept is the plan, with all that is predicted of it.
func TestPlansAreKept(t *testing.T) {
	for _, name := range []string{"sm_90a", "sm_80", "cpu"} {
		for _, c := range cases() {
			p, err := plan.Choose(kernel(t, c.kernel, c.replace...), on(t, name), sizes(c.sizes), nil)
			require.NoError(t, err, c.name)
			data, err := p.Keep()
			require.NoError(t, err, c.name)
			kept, err := plan.Kept(data)
			require.NoError(t, err, c.name)
			assert.Equal(t, p, kept, "%s on %s", c.name, name)
		}
	}
	_, err := plan.Kept([]byte("{"))
	assert.Error(t, err)
}
