package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/graph"
	"tilec/jit/target"
	"tilec/lang"
)

// What is written with linear_f32, add_bias and elementwise operations is planned as what is fused by hand, and has its code.
func TestFusedAsByHand(t *testing.T) {
	const byHand = `import "std/math"
import "std/nn"

graph bias<T: float>(x: T[M, K], w: T[K, N], b: T[N], r: T[M, N]) -> y: T[M, N] { y = linear_bias(x, w, b) }
graph gelu_of<T: float>(x: T[M, K], w: T[K, N], b: T[N], r: T[M, N]) -> y: T[M, N] { y = linear_gelu(x, w, b) }
graph residual<T: float>(x: T[M, K], w: T[K, N], b: T[N], r: T[M, N]) -> y: T[M, N] { y = linear_residual(x, w, b, r) }
`
	const plain = `import "std/math"
import "std/nn"

graph bias<T: float>(x: T[M, K], w: T[K, N], b: T[N], r: T[M, N]) -> y: T[M, N] { y = add_bias(linear_f32(x, w), b) as T }
graph gelu_of<T: float>(x: T[M, K], w: T[K, N], b: T[N], r: T[M, N]) -> y: T[M, N] { y = gelu(add_bias(linear_f32(x, w), b)) as T }
graph residual<T: float>(x: T[M, K], w: T[K, N], b: T[N], r: T[M, N]) -> y: T[M, N] { y = add_bias(r as f32 + linear_f32(x, w), b) as T }
`
	for _, name := range []string{"bias", "gelu_of", "residual"} {
		for _, machine := range []string{"cpu", "sm_80", "sm_90a"} {
			for _, rows := range []int64{1, 8, 128, 1024} {
				t.Run(fmt.Sprintf("%s %s %d", name, machine, rows), func(t *testing.T) {
					m, err := target.Find(machine)
					require.NoError(t, err)
					lowered := func(source string) *compile.Lowered {
						bound, _ := launchesFor(t, machine, "g.tile", source, name, graph.Options{
							Dims: map[string]int64{"M": rows, "K": 768, "N": 768}, Types: map[string]lang.DType{"T": lang.BF16}})
						require.Len(t, bound.Calls, 1)
						l, err := compile.Lower(bound.Calls[0].Spec, m, nil)
						require.NoError(t, err)
						return l
					}
					a, b := lowered(byHand), lowered(plain)
					assert.Equal(t, a.Plan.String(), b.Plan.String())
					if m.IsGPU() {
						x, err := a.PTX()
						require.NoError(t, err)
						y, err := b.PTX()
						require.NoError(t, err)
						assert.Equal(t, codeOf(x), codeOf(y))
					}
				})
			}
		}
	}
}

// codeOf counts the instructions of PTX text.
func codeOf(ptx string) map[string]int {
	counts := map[string]int{}
	for _, line := range strings.Split(ptx, "\n") {
		f := strings.Fields(line)
		if len(f) > 1 && f[0][0] == '@' {
			f = f[1:]
		}
		if len(f) > 0 && strings.HasSuffix(line, ";") {
			counts[f[0]]++
		}
	}
	return counts
}
