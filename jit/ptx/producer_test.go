package ptx

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/target"
)

// attentionTo is attention of as many keys as a tensor says, in a launch that begins before the one before it has ended.
func attentionTo(t testing.TB) *ir.Func {
	t.Helper()
	text := strings.NewReplacer(
		"  scalar %0", "  tensor %n : in i32[B] align 4 constant\n  scalar %0",
		"%13 = end i : i32", "%13 = load %n[%1] : i32",
		"body:", "  dependent\nbody:").Replace(exampleText(t, "attention"))
	f, err := ir.Parse("attention", text)
	require.NoError(t, err)
	return f
}

// The producer computes the bounds of a loop itself: what the warps that compute have ahead of the launches before is not at hand there.
func TestProducerComputesItsOwnBounds(t *testing.T) {
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	f := attentionTo(t)
	p := &plan.Plan{Target: "sm_90a", Extents: map[string]int64{"i": 64, "j": 64}, Warps: 4, Stages: 3}
	require.NoError(t, p.Apply(f))
	m, err := Compile(f, p, machine) // it looks at what is read where nothing wrote it
	require.NoError(t, err)
	producer, _, found := strings.Cut(m.Text, "griddepcontrol.launch_dependents")
	require.True(t, found)
	assert.Equal(t, 1, strings.Count(producer, "ld.global.nc.b32"), "the producer loads the bound")
	assert.Equal(t, 2, strings.Count(m.Text, "ld.global.nc.b32"), "and so do those that compute")
}

// What is computed once for all steps of a loop holds behind it, whichever step was the last: with products that overlap, in turns or
// not, and with and without code of its own for steps that a mask leaves whole.
func TestOverlappedLoopsAreWellDefined(t *testing.T) {
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, warps := range []int{4, 8} {
		for overlap := int64(1); overlap <= 3; overlap++ {
			for phases := int64(1); phases <= 2; phases++ {
				f := example(t, "attention")
				p := &plan.Plan{Target: "sm_90a", Extents: map[string]int64{"i": int64(16 * warps), "j": 64}, Warps: warps, Stages: 3, Forms: map[string]int64{"overlap": overlap, "phases": phases}}
				require.NoError(t, p.Apply(f))
				_, err := Compile(f, p, machine)
				assert.NoError(t, err, "warps=%d overlap=%d phases=%d", warps, overlap, phases)
			}
		}
	}
}
