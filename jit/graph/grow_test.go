package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit/graph"
	"tilec/jit/ir"
)

// A cache grows where all launches write it behind one start, which none writes but behind those that read the cache.
func TestGrow(t *testing.T) {
	const head = `import "std/nn"

kernel put(x: bf16[B, H, D], at: i32, inout cache: bf16[B, H, P, D])
    grid b in B, h in H
{
    axis d in D
    cache[b, h, at, d] = x[b, h, d]
}

kernel move(inout start: i32[B])
    grid b in B
{
    start[b] = start[b] + 1
}

graph g(q: bf16[B, 1, H, D], row: bf16[B, H, D], start: i32[B], last: i32[B], at: i32, inout k: bf16[L, B, H, P, D], inout v: bf16[L, B, H, P, D], inout other: i32[B]) -> y: bf16[B, 1, H, D] {
`
	both := map[string]string{"k": "grows 2 by 0", "v": "grows 2 by 0", "start": "starts"}
	for _, c := range []struct {
		name, body string
		want       map[string]string
	}{
		{"a layer", "append(q, start, k[0])\nappend(q, start, v[0])\ny = attention(q, k[0], v[0], start, 1)\n", both},
		{"another layer", "append(q, start, k[0])\nappend(q, start, v[0])\ny = attention(q, k[1], v[1], start, 1)\n", both},
		{"nothing written of one", "append(q, start, k[0])\ny = attention(q, k[0], v[0], start, 1)\n", map[string]string{"k": "grows 2 by 0", "start": "starts"}},
		{"written before the start too", "append(q, start, k[0])\nput(row, at, k[0])\ny = attention(q, k[0], v[0], start, 1)\n", map[string]string{}},
		{"two starts", "append(q, start, k[0])\nappend(q, last, k[0])\ny = attention(q, k[0], v[0], start, 1)\n", map[string]string{}},
		{"read from another start", "append(q, last, k[0])\ny = attention(q, k[0], v[0], start, 1)\n", map[string]string{}},
		{"a start that is written", "append(q, other, k[0])\nmove(other)\ny = attention(q, k[0], v[0], other, 1)\n", map[string]string{}},
		{"a start that is written later", "append(q, other, k[0])\nappend(q, other, v[0])\ny = attention(q, k[0], v[0], other, 1)\nmove(other)\n", both},
		{"a start that is written in between", "append(q, other, k[0])\nmove(other)\nappend(q, other, k[0])\ny = attention(q, k[0], v[0], other, 1)\n", map[string]string{}},
		{"read before it is written", "y = attention(q, k[0], v[0], start, 1)\nappend(q, start, k[0])\n", map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bound, _ := launches(t, "g.tile", head+c.body+"}\n", "g", graph.Options{Separate: true, Dims: map[string]int64{"L": 2, "B": 2, "H": 2, "P": 48, "D": 16}})
			got := map[string]string{}
			for _, call := range bound.Calls {
				if call.Spec.Kernel.Name != "attention" {
					continue
				}
				for _, o := range call.Spec.Operands() {
					if o.Layout != nil && o.Layout.Grows != (*ir.Grows)(nil) {
						got[o.Name] = o.Layout.Grows.String()
					}
					if o.Layout != nil && o.Layout.Starts {
						got[o.Name] = "starts"
					}
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}
