package block

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of one row, a thread that has few registers of weights while it waits makes do with few in all; of more rows, and with more weights, the assembler decides.
func TestRegistersAreLeftForLaunchesToCome(t *testing.T) {
	source, err := os.ReadFile("testdata/step.tir")
	require.NoError(t, err)
	for _, c := range []struct {
		rows, columns int64
		blocks        int
	}{{1, 32, 4}, {16, 32, 0}, {1, 128, 0}} {
		p := decided(t, string(source), map[string]int64{"i": c.rows, "j": c.columns}, Settings{Warps: 8, Stages: 1}, "sm_90a")
		assert.Equal(t, c.blocks, p.RegistersFor(), "%d rows, %d columns", c.rows, c.columns)
	}
}
