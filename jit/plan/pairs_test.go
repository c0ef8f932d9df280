package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// Pairs of blocks share what they copy of columns whose rows begin in the middle of lines, where they fill the multiprocessors, and of nothing else: not of whole lines, not for
// the sake of the other operand's rows, not of f32, whose rows come from registers.
func TestPairsShareLinesThatRowsSplit(t *testing.T) {
	for name, c := range map[string]struct {
		rows, depth, columns int64
		d                    string
		deep                 bool // weights lie along the depth
		pins                 map[string]int64
		paired               bool
	}{
		"columns across the depth":      {1024, 1000, 1000, "bf16", false, nil, true},
		"columns along the depth":       {1024, 1000, 1000, "bf16", true, nil, true},
		"whole lines":                   {1024, 1024, 1024, "bf16", false, nil, false},
		"rows alone":                    {1024, 1000, 1024, "bf16", false, nil, false},
		"few blocks":                    {256, 1000, 1000, "bf16", false, nil, false},
		"blocks alone, as is asked for": {1024, 1000, 1000, "bf16", false, map[string]int64{"cluster": 1}, false},
		"blocks that go":                {1024, 1000, 1000, "bf16", false, map[string]int64{"persist": 0}, false},
		"f32":                           {1024, 1000, 1000, "f32", false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := product(t, c.depth, c.columns, c.d, c.d, c.deep, "M")
			p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"M": c.rows}), c.pins)
			require.NoError(t, err)
			assert.Equal(t, c.paired, p.Cluster == 2 && p.Persist == 1, "%s", p)
		})
	}
}
