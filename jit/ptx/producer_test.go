package ptx

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/block"
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
	producer, _, found := strings.Cut(m.Text, "\n    ret;\n")
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

// A producer copies the weights of its first steps before the launches before have ended, in blocks that go and in those that stay, and gives what
// a launch gives that waits first; where shared memory is needed before the loop it waits.
func TestWeightsAreCopiedEarly(t *testing.T) {
	for _, c := range []struct {
		persist, warps int
		sizes          [3]int64
	}{{0, 4, [3]int64{150, 136, 200}}, {0, 8, [3]int64{150, 136, 64}}, {1, 8, [3]int64{300, 264, 264}}, {2, 4, [3]int64{520, 264, 136}}} {
		p := plan.Plan{Extents: map[string]int64{"i": 128, "j": 128, "k": 64}, Warps: c.warps, Stages: 3, Persist: c.persist, Wgmma: block.WgmmaAlways}
		sizes := map[string]int64{"M": c.sizes[0], "N": c.sizes[1], "K": c.sizes[2]}
		f := aligned(parse(t, productText("bf16", "f32", "", false)))
		f.Dependent, f.Tensors[1].Constant = true, true
		differWith(t, f, p, sizes, 1e-4, 100, func(m *Module) {
			if c.persist > 0 {
				m.Most = 2
			}
			producer, _, _ := strings.Cut(m.Text, "griddepcontrol.wait")
			require.Contains(t, producer, "copy %10", "%v", c)
			require.NotContains(t, producer, "copy %9", "%v", c)
			require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
		})
	}
}

// Boxes begin at multiples of 16 bytes: a loop that begins elsewhere along the rows of an operand copies by its threads.
func TestLoopsThatBeginBetweenWordsHaveNoBoxes(t *testing.T) {
	for begin, boxes := range map[string]bool{"0": true, "8": true, "1": false, "12": false} {
		f := aligned(parse(t, strings.Replace(productText("bf16", "f32", "", true), "%2 = const 0", "%2 = const "+begin, 1)))
		p := plan.Plan{Extents: map[string]int64{"i": 64, "j": 64, "k": 16}, Warps: 4, Stages: 3, Wgmma: block.WgmmaAlways}
		require.Equal(t, boxes, strings.Contains(compile(t, f, &p, "sm_90a").Text, "cp.async.bulk.tensor.2d.shared"), begin)
		differ(t, f, p, map[string]int64{"M": 70, "N": 72, "K": 136}, 1e-4, 100)
	}
}
