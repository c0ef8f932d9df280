package ptx

import (
	"fmt"
	"testing"

	"tilec/jit/jittest/sweep"
	"tilec/jit/plan"
)

// The blocks with the longest loops begin first, and every block is there once: with all the other axes' blocks at a time, with
// some of them, and where the last ones that go together are fewer.
func TestLongestFirst(t *testing.T) {
	for i, together := range []int64{2, 3, 100} {
		if i%sweep.OneIn(2) == 1 {
			continue
		}
		for _, rows := range []int64{64, 128} {
			t.Run(fmt.Sprint(together, " of ", rows), func(t *testing.T) {
				p := plan.Plan{Extents: map[string]int64{"i": rows, "j": 64}, Warps: 4, Stages: 2, Forms: map[string]int64{"longest": together}}
				differ(t, parse(t, cachedAttention), p, map[string]int64{"B": 2, "S": 200, "P": 200}, 1.0/64, 1, scaleBits)
				differ(t, example(t, "attention"), p, map[string]int64{"B": 1, "S": 200}, 1.0/64, 1, scaleBits)
			})
		}
	}
}
