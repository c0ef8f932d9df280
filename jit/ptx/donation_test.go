package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/block"
	"tilec/jit/plan"
)

// A producer of one warp and one of four, which gives registers away, bring the same operands.
func TestProducersOfOneWarpAndOfFour(t *testing.T) {
	for _, c := range []struct {
		tile     [3]int64
		warps    int
		producer int
		threads  int
	}{
		{[3]int64{128, 64, 64}, 8, 1, 288},
		{[3]int64{128, 64, 64}, 8, 4, 384},
		{[3]int64{128, 64, 64}, 8, 0, 384},
		{[3]int64{128, 256, 64}, 8, 4, 384},
		{[3]int64{64, 64, 64}, 4, 4, 160}, // 255 registers are there for all: nobody needs more
		{[3]int64{64, 64, 64}, 4, 0, 160},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: 3, Producer: c.producer, Wgmma: block.WgmmaAlways}
			f := aligned(parse(t, productText("bf16", "f32", "", true)))
			differ(t, f, p, map[string]int64{"M": 70, "N": 72, "K": 136}, 1e-4, 100)
			m := compile(t, f, &p, "sm_90a")
			require.Equal(t, c.threads, m.Threads)
			require.Equal(t, c.threads == 384, strings.Contains(m.Text, "setmaxnreg"))
			report := requireAssembles(t, m.Text, "sm_90a")
			require.NotContains(t, report, "C75")
			require.NotContains(t, report, "ignored", "of setmaxnreg")
		})
	}
}
