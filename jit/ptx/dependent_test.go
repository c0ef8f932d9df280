package ptx

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// Threads copy weights ahead of the wait for the launches before in rounds, the last but one of which may be under way, and all are there before the
// product reads them.
func TestWeightsAreCopiedInRounds(t *testing.T) {
	text, err := os.ReadFile("../block/testdata/step.tir")
	require.NoError(t, err)
	f := parse(t, string(text))
	p := plan.Plan{Extents: map[string]int64{"i": 1, "j": 32}, Warps: 8, Stages: 1}
	ahead, behind, found := strings.Cut(compile(t, f, &p, "sm_90a").Text, "griddepcontrol.wait")
	require.True(t, found)
	rounds := strings.Split(ahead, "cp.async.wait_group          1;")
	require.Len(t, rounds, 4)
	for _, r := range rounds {
		require.Equal(t, strings.Count(rounds[0], "cp.async.cg"), strings.Count(r, "cp.async.cg"))
	}
	require.Contains(t, rounds[3], "cp.async.wait_group          0;")
	require.NotContains(t, behind, "cp.async.cg")
	differ(t, f, p, map[string]int64{"M": 1}, 1e-3, 100)
}

// Behind the wait for the launches before, a step of decoding copies its query and, of keys and values, the new rows alone: each thread goes from its
// first that is new, and a step of the loop without new rows is passed over.
func TestNewRowsAloneAreCopiedBehindTheWait(t *testing.T) {
	text, err := os.ReadFile("../block/testdata/parts.tir")
	require.NoError(t, err)
	f := parse(t, string(text))
	p := plan.Plan{Extents: map[string]int64{"j": 64}, Warps: 8, Stages: 4}
	code := compile(t, f, &p, "sm_90a").Text
	ahead, behind, found := strings.Cut(code, "griddepcontrol.wait")
	require.True(t, found)
	behind, _, found = strings.Cut(behind, "cp.async.wait_group")
	require.True(t, found)
	require.Equal(t, 4*2*2, strings.Count(ahead, "cp.async.cg"), "four steps, of keys and values, by two rows a thread")
	require.Equal(t, 1+4*2, strings.Count(behind, "cp.async.cg"), "the query, and a loop for each step's keys and values")
}

// Behind the wait, the other operand is copied by no way of registers, to where weights were that threads have in theirs by then. A small one is loaded, to a
// place of its own; so is a large one copied where threads have not all of the weights yet, or these took less.
func TestOperandsTakeThePlaceOfWeights(t *testing.T) {
	text, err := os.ReadFile("../block/testdata/step.tir")
	require.NoError(t, err)
	for _, c := range []struct {
		rows, columns int64
		warps         int
		copies        int
		shared        int
	}{
		{16, 32, 8, 4, 32 << 10}, // 16 rows of 1 KB, by 256 threads
		{1, 32, 8, 0, 33 << 10},
		{16, 128, 4, 8, 144 << 10}, // 256 registers a thread
		{16, 8, 8, 4, 24 << 10},
	} {
		f := parse(t, string(text))
		p := plan.Plan{Extents: map[string]int64{"i": c.rows, "j": c.columns}, Warps: c.warps, Stages: 1}
		m := compile(t, f, &p, "sm_90a")
		_, behind, found := strings.Cut(m.Text, "griddepcontrol.wait")
		require.True(t, found)
		require.Equal(t, c.copies, strings.Count(behind, "cp.async.cg"))
		require.GreaterOrEqual(t, m.Shared, c.shared)
		require.Less(t, m.Shared, c.shared+10<<10, "sums of parts, and what the kernel stores")
		for _, rows := range []int64{c.rows, max(c.rows-3, 1)} {
			differ(t, f, p, map[string]int64{"M": rows}, 1.0/128, 100) // sums in another order may be rounded to the next bf16
		}
	}
}

// Constants that every block reads are copied through the L1: all blocks would ask one slice of the L2 for them. Rows that a block has by itself are not.
func TestConstantsOfAllBlocksAreCached(t *testing.T) {
	f := parse(t, `kernel @scaled {
  dim M = ?
  dim C = 256
  tensor %x : in bf16[M, C] align 16 constant
  tensor %g : in f32[C] align 16 constant
  tensor %y : out f32[M, C] align 16
  axis i : grid M by BI = 8
  axis c : grid C by BC = 256
  dependent
body:
  %0 = index i : i32{i}
  %1 = index c : i32{c}
  %2 = load %x[%0, %1] : bf16{i, c}
  %3 = cast %2 : f32{i, c}
  %4 = load %g[%1] : f32{c}
  %5 = mul %3, %4 : f32{i, c}
  store %y[%0, %1] = %5
}
`)
	p := plan.Plan{Extents: map[string]int64{"i": 8, "c": 256}, Warps: 4, Stages: 1}
	code := compile(t, f, &p, "sm_90a").Text
	require.Equal(t, 2, strings.Count(code, "cp.async.ca"), "eight gains a thread")
	require.Equal(t, 2, strings.Count(code, "cp.async.cg"), "eight elements of two rows")
	differ(t, f, p, map[string]int64{"M": 37}, 0, 100)
}
