package target_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/target"
)

func TestFind(t *testing.T) {
	for _, name := range target.Names() {
		m, err := target.Find(name)
		require.NoError(t, err)
		assert.Equal(t, name, m.Name)
	}
	_, err := target.Find("sm_70")
	assert.EqualError(t, err, `unknown target "sm_70": known are `+strings.Join(target.Names(), ", "))
	_, err = target.Find(target.Default)
	assert.NoError(t, err)
}

// A row of a GPU says everything that the planner and the backend ask for.
func TestRowsAreWhole(t *testing.T) {
	var all target.Capability
	before := 0
	for _, m := range target.GPUs() {
		for what, n := range map[string]int{"SMs": m.SMs, "SharedPerBlock": m.SharedPerBlock, "RegistersPerSM": m.RegistersPerSM,
			"WarpsPerBlock": m.WarpsPerBlock, "ThreadsPerSM": m.ThreadsPerSM, "BlocksPerSM": m.BlocksPerSM, "L2Size": int(m.L2Size)} {
			assert.Positive(t, n, "%s: %s", m.Name, what)
		}
		for what, x := range map[string]float64{"DRAM": m.DRAM, "L2": m.L2, "Tensor8": m.Tensor8, "Tensor16": m.Tensor16, "Tensor32": m.Tensor32,
			"FMA32": m.FMA32, "Clock": m.Clock, "Launch": m.Launch, "LoadLatency": m.LoadLatency, "StepOverhead": m.StepOverhead,
			"DispatchTime": m.DispatchTime, "BlockOverhead": m.BlockOverhead, "L2BytesPerClock": m.L2BytesPerClock,
			"SharedBytesPerClock": m.SharedBytesPerClock, "Lanes": m.Lanes, "SectorBytes": m.SectorBytes} {
			assert.Positive(t, x, "%s: %s", m.Name, what)
		}
		assert.Equal(t, m.Has(target.MmaF64), m.Tensor64 > 0, "%s: Tensor64", m.Name)
		assert.Equal(t, m.Has(target.Wgmma), m.MmaSync16 > 0 && m.MmaSync32 > 0 && m.OneWarpgroup > 0 && m.Turned8 > 0, "%s: what wgmma's rates are", m.Name)
		assert.Equal(t, m.Has(target.TMA), m.L2Boxes > 0, "%s: L2Boxes", m.Name)
		assert.GreaterOrEqual(t, m.PTX, before, "%s comes before an older one", m.Name)
		before = m.PTX
		for c := target.MmaSync; c.String() != ""; c <<= 1 {
			if m.Has(c) {
				all |= c
			}
		}
	}
	for c := target.MmaSync; c.String() != ""; c <<= 1 {
		assert.NotZero(t, all&c, "no machine has %s", c)
	}
	assert.Equal(t, "mma.sync, cp.async", (target.MmaSync | target.CpAsync).String())
}

// A device gets the code that suits it best of what it can run.
func TestForDevice(t *testing.T) {
	for compute, want := range map[int]string{80: "sm_80", 86: "sm_86", 87: "sm_86", 89: "sm_89", 90: "sm_90a", 100: "sm_80"} {
		m, err := target.ForDevice(compute)
		require.NoError(t, err)
		assert.Equal(t, want, m.Name, compute)
	}
	_, err := target.ForDevice(75)
	assert.EqualError(t, err, "compute capability 7.5, need 8.0 or more")

	find := func(name string) target.Machine {
		m, err := target.Find(name)
		require.NoError(t, err)
		return m
	}
	assert.True(t, find("sm_90a").Runs(find("sm_90a")))
	assert.True(t, find("sm_90a").Runs(find("sm_86")))
	assert.False(t, find("sm_86").Runs(find("sm_90a")))
	assert.False(t, find("sm_86").Runs(find("cpu")))
	assert.Equal(t, "sm_90a", find("sm_90a").MachineCode(90))
	assert.Equal(t, "sm_100", find("sm_80").MachineCode(100))
	assert.Equal(t, "sm_90a", target.ForPTX("sm_90").Name)
	assert.Equal(t, "sm_86", target.ForPTX("sm_86").Name)
	assert.Equal(t, target.Default, target.ForPTX("sm_75").Name)
	first, ok := target.First(target.Clusters | target.Wgmma)
	assert.True(t, ok)
	assert.Equal(t, "9.0", first.ComputeCapability())
}

// Blocks that share a multiprocessor share its memory, of which the system takes some for each.
func TestSharedShare(t *testing.T) {
	m, err := target.Find("sm_90a")
	require.NoError(t, err)
	assert.EqualValues(t, m.SharedPerBlock, m.SharedShare(1))
	assert.EqualValues(t, (m.SharedPerBlock+1024)/2-1024, m.SharedShare(2))
	assert.EqualValues(t, 0, m.SharedShare(1<<20))
}

// Clusters of one and two blocks fill a machine; of larger ones each group of multiprocessors has some left over.
func TestClustersDoNotFillTheMachine(t *testing.T) {
	m, err := target.Find("sm_90a")
	require.NoError(t, err)
	for blocks, sms := range map[int]int{0: 132, 1: 132, 2: 132, 4: 116, 8: 84} {
		assert.Equal(t, sms, m.ClusterSMs(blocks), "%d", blocks)
	}
	old, err := target.Find("sm_80")
	require.NoError(t, err)
	assert.Equal(t, old.SMs, old.ClusterSMs(1))
}
