package block

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/target"
)

// Of one row, a thread that has few registers of weights while it waits makes do with few in all; of more rows, and with more weights, the assembler decides.
func TestRegistersAreLeftForLaunchesToCome(t *testing.T) {
	source, err := os.ReadFile("testdata/step.tir")
	require.NoError(t, err)
	m, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, c := range []struct {
		rows, columns int64
		blocks        int
	}{{1, 32, 4}, {16, 32, 0}, {1, 128, 0}} {
		f, err := ir.Parse("step", string(source))
		require.NoError(t, err)
		for _, a := range f.Axes {
			switch a.Name {
			case "i":
				a.Extent = c.rows
			case "j":
				a.Extent = c.columns
			default:
				a.Extent = a.Len
			}
		}
		p, err := Decide(f, Settings{Warps: 8, Stages: 1}, m)
		require.NoError(t, err)
		assert.Equal(t, c.blocks, p.RegistersFor(), "%d rows, %d columns", c.rows, c.columns)
	}
}
