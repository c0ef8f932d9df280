package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit/graph"
)

// Keys and values of a prompt are stored by the launch that computes them where its sequences have whole tiles; of a deterministic launch never, whose sums
// must not depend on how long a prompt is.
func TestPartsOfPrompts(t *testing.T) {
	const source = `import "std/nn"

graph g(x: bf16[B, S, K], w: bf16[3 * H * D, K], start: i32[B], inout k: bf16[B, H, P, D], inout v: bf16[B, H, P, D]) -> y: bf16[B, S, H, D] {
    let a = view(project(view(x, [B * S, K]), w) as bf16, [B, S, 3, H, D])
    append(a[.., .., 1], start, k)
    append(a[.., .., 2], start, v)
    y = attention(a[.., .., 0], k, v, start, 1)
}
`
	for _, c := range []struct {
		b, s          int64
		deterministic bool
		launches      int
	}{
		{1, 128, false, 2}, {3, 64, false, 2}, {2, 1024, false, 2},
		{1, 100, false, 3}, {8, 17, false, 3},
		{1, 1, true, 3}, {1, 11, true, 3}, {1, 64, true, 3}, {64, 1, true, 3},
	} {
		bound, _ := launches(t, "g.tile", source, "g", graph.Options{Deterministic: c.deterministic, Dims: map[string]int64{"B": c.b, "S": c.s, "K": 128, "H": 2, "D": 64, "P": 1024}})
		assert.Len(t, bound.Calls, c.launches, "%+v", c)
	}
}
