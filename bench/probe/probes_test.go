package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/bench"
	"tilec/jit/target"
)

// Times that a machine of the table's figures would take give these figures back; those of a machine twice as slow give half of each rate.
func TestFiguresFollowFromTimes(t *testing.T) {
	m, err := target.Find("sm_90a")
	require.NoError(t, err)
	flops := 2 * float64(side) * float64(side) * float64(side)
	start := m.Launch + m.BlockOverhead + m.LoadLatency
	times := map[string]float64{
		empty: start, copied: start + moved(inMemory)/m.DRAM, again: start + moved(inL2)/m.L2,
		bf16: flops / m.Tensor16, f32: flops / m.Tensor32, bytes: flops / m.Tensor8,
		bf16ByMma: flops / m.Tensor16 / m.MmaSync16, f32ByMma: flops / m.Tensor32 / m.MmaSync32, oneWarpgroup: flops / m.Tensor16 / m.OneWarpgroup,
	}
	for _, f := range figures {
		value, ok := f.measured(times, m)
		require.True(t, ok, f.name)
		assert.InEpsilon(t, *f.of(&m), value, 1e-9, f.name)
	}
	times[bf16] *= 2
	value, ok := figures[3].measured(times, m)
	assert.True(t, ok)
	assert.InEpsilon(t, m.Tensor16/2, value, 1e-9)
	delete(times, bf16)
	_, ok = figures[3].measured(times, m)
	assert.False(t, ok, "what did not run measures nothing")
}

// Every probe names a kernel that there is, with a plan for a GPU, and runs.
func TestProbes(t *testing.T) {
	judge, err := bench.NewJudge()
	require.NoError(t, err)
	defer judge.Close()
	program, err := bench.Program()
	require.NoError(t, err)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, k := range kernels() {
		_, err := k.Launches(program, machine)
		assert.NoError(t, err, k.Name)
	}
	var out strings.Builder
	require.NoError(t, run(&out, "cpu", time.Millisecond, 64))
	assert.Contains(t, out.String(), "figure        in the row of cpu  measured")
	assert.Regexp(t, `Tensor16 +0 +[0-9.e+]+ +a product of 8192 cubed, bf16`, out.String())
	assert.Error(t, run(&out, "cpu", 0, 0))
}
