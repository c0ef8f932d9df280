package ptx

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/target"
	"tilec/lang"
)

// bitsOf runs attention in the emulator, which finds races and deadlocks, and gives the bits of its result.
func bitsOf(t *testing.T, p plan.Plan, sizes map[string]int64) []byte {
	t.Helper()
	f := parse(t, cachedAttention)
	m := compile(t, f, &p, "sm_90a")
	size := func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		return sizes[d.Name]
	}
	r := rand.New(rand.NewSource(1))
	var tensors [][]byte
	for _, x := range f.Tensors {
		n := int64(x.DType.Size())
		for _, d := range x.Shape {
			n *= size(d)
		}
		b := make([]byte, n)
		if x.Mode != lang.Out {
			random(r, x.DType, b, int(sizes["P"]-sizes["S"]+1))
		}
		tensors = append(tensors, b)
	}
	emulate(t, m, tensors, []uint64{scaleBits}, size)
	return tensors[len(tensors)-1]
}

// A loop whose products overlap, by turns or not, computes the bits that it computes step by step: with no step, one, some of each
// phase, and a last one that is partial.
func TestOverlap(t *testing.T) {
	for _, e := range []plan.Plan{
		{Extents: map[string]int64{"i": 64, "j": 64}, Warps: 4, Stages: 2},
		{Extents: map[string]int64{"i": 128, "j": 64}, Warps: 8, Stages: 3},
	} {
		for _, s := range [][2]int64{{1, 1}, {64, 64}, {70, 333}, {130, 130}, {200, 256}} {
			t.Run(fmt.Sprintf("%v by %v warps, %v", e.Extents, e.Warps, s), func(t *testing.T) {
				sizes := map[string]int64{"B": 2, "S": s[0], "P": s[1]}
				e.Forms = map[string]int64{"overlap": 1, "phases": 1}
				want := bitsOf(t, e, sizes)
				for _, forms := range []map[string]int64{{"overlap": 2, "phases": 2}, {"overlap": 3, "phases": 2}, {"overlap": 3, "phases": 1}} {
					e.Forms = forms
					require.Equal(t, want, bitsOf(t, e, sizes), "%v", forms)
				}
			})
		}
	}
}

// The code has the first product of the first step, two products for the loop, whose phases share them, and the last product of the last step once.
func TestOverlapEndsOnce(t *testing.T) {
	f := parse(t, cachedAttention)
	for _, phases := range []int64{1, 2} {
		m := compile(t, f, &plan.Plan{Extents: map[string]int64{"i": 64, "j": 64}, Warps: 4, Stages: 2, Forms: map[string]int64{"overlap": 2, "phases": phases}}, "sm_90a")
		const product = 64 / 16 // instructions
		require.Equal(t, product*(1+2+1), strings.Count(m.Text, "wgmma.mma_async"))
	}
}

// The assembler does not make overlapping products wait for each other, by themselves, where their registers are enough.
func TestOverlapAssembles(t *testing.T) {
	overlapping := 0
	for _, e := range attentionPlans {
		f := parse(t, cachedAttention)
		m := compile(t, f, &e, "sm_90a")
		machine, err := target.Find("sm_90a")
		require.NoError(t, err)
		decided, err := Decide(f, &e, machine)
		require.NoError(t, err)
		if decided.Form("overlap") == 1 {
			continue
		}
		overlapping++
		require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75", e.String())
	}
	require.GreaterOrEqual(t, overlapping, 2)
}
