package bench_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/bench"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/ptx"
	"tilec/jit/target"
)

// The block programs of all workloads read back from their text, on a machine with wgmma and the TMA and on one without.
func TestBlockProgramsReadBack(t *testing.T) {
	program, err := bench.Program()
	require.NoError(t, err)
	for _, name := range []string{"sm_90a", "sm_80"} {
		machine, err := target.Find(name)
		require.NoError(t, err)
		read := 0
		for i, w := range bench.Workloads() {
			if i%2 != 0 && sweep.OneIn(2) > 1 || i%8 != 0 && name != target.Default {
				continue
			}
			launches, err := w.Launches(program, machine)
			require.NoError(t, err, w.Name)
			for _, l := range launches {
				decided, err := ptx.Decide(l.Func, l.Plan, machine)
				require.NoError(t, err)
				_, err = jittest.ReadBack(decided)
				assert.NoError(t, err, w.Name)
				read++
			}
		}
		assert.Greater(t, read, 20, name)
	}
}
