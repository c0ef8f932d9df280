package jit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/typed"
)

// lowerIn compiles a kernel of a source for sm_90a, in bf16.
func lowerIn(t *testing.T, source, kernel string, options jit.Options) *compile.Lowered {
	t.Helper()
	program, problems := jit.Load("nn.tile", []byte(source), nil)
	require.Empty(t, problems)
	i := slices.IndexFunc(program.Kernels, func(k *typed.Kernel) bool { return k.Name == kernel })
	require.GreaterOrEqual(t, i, 0, kernel)
	options.Types = map[string]lang.DType{"T": lang.BF16}
	s, err := jit.Specialise(program.Kernels[i], options)
	require.NoError(t, err)
	to, err := target.Find("sm_90a")
	require.NoError(t, err)
	l, err := compile.Lower(s, to, nil)
	require.NoError(t, err)
	return l
}

// Where blocks would go through the same positions anyway, as those do that project what a head attends for to outputs of their own, the planner has
// them share these among themselves when they are many: no block is launched for it, and each stores.
func TestBlocksOfTheGridShareLoops(t *testing.T) {
	sweep.Once(t)
	source, err := stdlib.FS.ReadFile("nn.tile")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		positions     int64
		pins          map[string]int64
		deterministic bool
		split, blocks int64 // over how many blocks, and how many are launched
	}{
		"a long cache":         {1024, nil, false, 4, 12 * 4},
		"a short one":          {256, nil, false, 0, 12 * 3},
		"a deterministic one":  {1024, nil, true, 0, 12},
		"blocks for each":      {1024, map[string]int64{"BM": 256, "split": 2}, false, 2, 12 * 3 * 2},
		"blocks of the grid":   {256, map[string]int64{"BM": 128, "split": 2}, false, 2, 12 * 6},
		"outputs of one block": {256, map[string]int64{"BM": 1024, "split": 8}, false, 8, 12 * 8},
	} {
		t.Run(name, func(t *testing.T) {
			dims := map[string]int64{"B": 1, "H": 12, "D": 64, "N": 768, "P": c.positions}
			l := lowerIn(t, string(source), "attention_projected", jit.Options{Dims: dims, Pins: c.pins, Deterministic: c.deterministic})
			assert.EqualValues(t, c.split, l.Split(), "%s", l.Plan)
			assert.Equal(t, c.blocks, l.Code.PTX.Blocks(func(d *ir.Dim) int64 { return dims[d.Name] }), "%s", l.Plan)
			ptx, err := l.PTX()
			require.NoError(t, err)
			assert.Equal(t, c.split > 0, strings.Contains(ptx, "st.async."), "what blocks join is little, and sent")
			assert.NotContains(t, ptx, "barrier.cluster.arrive.release", "which is a fence of the whole GPU")
		})
	}
}

// The planner spreads the steps of a long prompt's attention where few heads leave multiprocessors idle, and nowhere else: not where the
// grid has blocks enough, not where a launch alone says how long the loop is, not where bits would tell where a row lies. Pins do anywhere.
func TestPlannerSharesLoopsOfAttention(t *testing.T) {
	sweep.Once(t)
	source, err := stdlib.FS.ReadFile("nn.tile")
	require.NoError(t, err)
	const attention = "kernel attention<"
	require.Contains(t, string(source), attention)
	long := map[string]int64{"B": 1, "S": 4096, "H": 1, "D": 64, "P": 4096}
	for name, c := range map[string]struct {
		attr          string
		dims, pins    map[string]int64
		deterministic bool
		split         bool
	}{
		"a long prompt":           {"", long, nil, false, true},
		"a deterministic one":     {"", long, nil, true, false},
		"one for one block":       {"", long, map[string]int64{"split": 1}, false, false},
		"many heads":              {"", map[string]int64{"B": 8, "S": 1024, "H": 12, "D": 64, "P": 1024}, nil, false, false},
		"a step of decoding":      {"", map[string]int64{"B": 1, "S": 1, "H": 12, "D": 64, "P": 8192}, nil, false, false},
		"a step by two":           {"", map[string]int64{"B": 1, "S": 1, "H": 12, "D": 64, "P": 8192}, map[string]int64{"split": 2}, false, true},
		"a short one, as it says": {"@split(j, 4)\n", map[string]int64{"B": 1, "S": 64, "H": 1, "D": 64, "P": 64}, nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := lowerIn(t, strings.Replace(string(source), attention, c.attr+attention, 1), "attention", jit.Options{Dims: c.dims, Pins: c.pins, Deterministic: c.deterministic})
			assert.Equal(t, c.split, l.Split() > 1, "%s", l.Plan)
			ptx, err := l.PTX()
			require.NoError(t, err)
			assert.Equal(t, c.split, strings.Contains(ptx, "ld.shared::cluster.") || strings.Contains(ptx, "st.async."))
		})
	}
}
