package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

// Blocks that stay give what blocks of one tile give, however many blocks there are and tiles for each.
func TestBlocksGoThroughTiles(t *testing.T) {
	for _, c := range []struct {
		transposed    bool
		tile          [3]int64
		warps, stages int
		persist       int
		sizes         [3]int64
	}{
		{false, [3]int64{64, 64, 64}, 4, 3, 1, [3]int64{150, 136, 200}},
		{false, [3]int64{128, 128, 64}, 8, 3, 1, [3]int64{150, 264, 136}},
		{true, [3]int64{128, 64, 32}, 8, 4, 1, [3]int64{300, 72, 136}},
		{false, [3]int64{64, 64, 64}, 4, 3, 2, [3]int64{150, 136, 200}},
		{true, [3]int64{128, 192, 64}, 4, 4, 2, [3]int64{300, 200, 136}},
		{false, [3]int64{128, 192, 64}, 4, 4, 2, [3]int64{128, 384, 320}},
		{true, [3]int64{64, 128, 64}, 4, 3, 2, [3]int64{70, 72, 16}},
	} {
		for most := range 3 {
			t.Run(fmt.Sprint(c, " ", most+1), func(t *testing.T) {
				p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: c.stages, Persist: c.persist}
				f := aligned(Wgmma(parse(t, productText("bf16", "f32", "", c.transposed))))
				sizes := map[string]int64{"M": c.sizes[0], "N": c.sizes[1], "K": c.sizes[2]}
				differWith(t, f, p, sizes, 1e-4, 100, func(m *Module) {
					require.Positive(t, m.Most)
					m.Most = most + 1
				})
				if most > 0 {
					return
				}
				m := compile(t, f, &p, "sm_90a")
				require.Equal(t, c.persist > 1, strings.Contains(m.Text, "bar.arrive"))
				report := requireAssembles(t, m.Text, "sm_90a")
				require.NotContains(t, report, "C75")
				require.NotContains(t, report, "ignored", "of setmaxnreg")
			})
		}
	}
}

// The results of products go to shared memory by matrices, and from there by boxes, whether blocks stay or not.
func TestResultsByMatrices(t *testing.T) {
	for _, c := range []struct {
		tile                   [3]int64
		warps, stages, persist int
	}{
		{[3]int64{64, 64, 64}, 4, 3, 0},
		{[3]int64{128, 128, 64}, 4, 3, 0},
		{[3]int64{128, 128, 32}, 8, 3, 0},
		{[3]int64{128, 128, 32}, 8, 3, 1},
		{[3]int64{64, 256, 32}, 4, 3, 1},
		{[3]int64{128, 128, 64}, 4, 4, 2},
		{[3]int64{128, 192, 64}, 4, 4, 2},
		{[3]int64{128, 192, 64}, 4, 5, 2}, // in three parts
		{[3]int64{128, 256, 64}, 8, 4, 1}, // in two
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: c.stages, Persist: c.persist}
			f := shorter(example(t, "linear_gelu"), "K", 200)
			f = shorter(f, "N", 328)
			differWith(t, f, p, map[string]int64{"M": 300}, 1.0/64, 100, func(m *Module) {
				require.Contains(t, m.Text, "stmatrix")
				require.Equal(t, c.persist > 0, m.Most > 0)
				m.Most = min(m.Most, 2)
			})
			m := compile(t, f, &p, "sm_90a")
			report := requireAssembles(t, m.Text, "sm_90a")
			require.NotContains(t, report, "C75")
		})
	}
}

// shorter is the kernel with another size of a dimension.
func shorter(f *ir.Func, dim string, size int64) *ir.Func {
	for _, d := range f.Dims {
		if d.Name == dim {
			d.Value = size
		}
	}
	return f
}
