package jit_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// What a graph writes to a cache behind the start it finds is read right by the launch behind it, which copies the rest of the cache before that is
// written: one new position and several, at the cache's begin, inside of steps of the loop and across them.
func TestNewRowsOfACacheAreRead(t *testing.T) {
	const source = `import "std/nn"

graph step(q: bf16[B, S, H, D], x: bf16[B, S, H, D], start: i32[B], inout k: bf16[B, H, P, D], inout v: bf16[B, H, P, D]) -> y: bf16[B, S, H, D] {
    append(x, start, k)
    append(x, start, v)
    y = attention(q, k, v, start, 0.03)
}
`
	const batch, heads, room = 2, 2, 300
	for _, c := range []struct {
		positions, first, second int
		width                    int64
	}{{1, 0, 127, 64}, {1, 128, 255, 64}, {5, 0, 126, 64}, {40, 100, 250, 64}, {1, 0, 33, 1024}, {3, 30, 31, 1024}, {1, 17, 255, 24}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			run := func(d jit.Device) []float64 {
				module, err := jit.NewCompiler(d, nil).Load("step.tile", []byte(source))
				require.NoError(t, err)
				n := int64(c.positions)
				args := jit.Args{"start": jittest.Ints([]int32{int32(c.first), int32(c.second)}, batch)}
				for name, rows := range map[string]int64{"q": n, "x": n} {
					args[name] = jittest.Normal(lang.BF16, name, batch, rows, heads, c.width)
				}
				for _, name := range []string{"k", "v"} {
					args[name] = jittest.Normal(lang.BF16, name, batch, heads, room, c.width)
				}
				out, err := module.Call("step", args)
				require.NoError(t, err)
				return out["y"].Floats()
			}
			got, want := run(jittest.Device(t)), run(jit.OpenCPU())
			for i := range want { // results of at most a few, whose weights of 8 bits and sums are rounded in another order
				require.False(t, math.IsNaN(got[i]))
				assert.InDelta(t, want[i], got[i], 0.03*math.Max(1, math.Abs(want[i])))
			}
		})
	}
}
