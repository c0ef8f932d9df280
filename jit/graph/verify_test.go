package graph_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/graph"
	"tilec/lang"
)

// Each rule of a bound graph is one that a graph can break, and the verifier says which.
func TestVerifier(t *testing.T) {
	const source = `kernel scale(x: f32[M, N], a: f32) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = x[i, j] * a
}

graph g(x: f32[M, N]) -> y: f32[N, M] {
    y = view(scale(scale(x, 2), 3), [N, M])
}
`
	for _, c := range []struct {
		name, says string
		wrong      func(b *graph.Bound)
	}{
		{"nothing", "", func(*graph.Bound) {}},
		{"a tensor less", "launch 0, scale: 3 operands, and tensors for 2", func(b *graph.Bound) { b.Calls[0].Tensors = b.Calls[0].Tensors[:2] }},
		{"a scalar less", "launch 1, scale: 1 scalars, and 0 are given", func(b *graph.Bound) { b.Calls[1].Scalars = nil }},
		{"another type", "x is of f32, and %0:i32[5, 8] is given", func(b *graph.Bound) { b.Calls[1].Tensors[0].DType = lang.I32 }},
		{"another shape", "x has the shape [M, N], and %0:f32[8, 5] is given", func(b *graph.Bound) {
			b.Calls[1].Tensors[0].Shape, b.Calls[1].Tensors[0].Strides = []int64{8, 5}, []int64{5, 1}
		}},
		{"a dimension more", "x has the shape [M, N], and %0:f32[5, 8, 1] is given", func(b *graph.Bound) {
			b.Calls[1].Tensors[0].Shape, b.Calls[1].Tensors[0].Strides = []int64{5, 8, 1}, []int64{8, 1, 1}
		}},
		{"turned", "x is compiled for another place than that of %0:f32[5, 8] strides [1, 5]", func(b *graph.Bound) { b.Calls[1].Tensors[0].Strides = []int64{1, 5} }},
		{"not aligned", "x is compiled for another place than that of x:f32[5, 8] from 1", func(b *graph.Bound) {
			b.Inputs[0].End += 4
			b.Calls[0].Tensors[0].Offset = 1
		}},
		{"behind the end", "x:f32[5, 8] from 4 leaves its memory of 160 bytes", func(b *graph.Bound) { b.Calls[0].Tensors[0].Offset = 4 }},
		{"no such memory", "there is no memory number 7", func(b *graph.Bound) { b.Calls[1].Tensors[0].Slot.Index = 7 }},
		{"a stride less", "2 sizes, and 1 strides", func(b *graph.Bound) { b.Calls[1].Tensors[0].Strides = []int64{8} }},
		{"the other way round", "launch 0, scale: x: %0:f32[5, 8] is read before it is stored", func(b *graph.Bound) { slices.Reverse(b.Calls) }},
		{"read where it is stored", "launch 1, scale: y and x are of one memory, and one is stored", func(b *graph.Bound) { b.Calls[1].Tensors[2].Slot = b.Calls[1].Tensors[0].Slot }},
		{"an input filled", "operand 0 is filled, and is no output", func(b *graph.Bound) { b.Calls[0].Fills = []int{0} }},
		{"a result that nothing stores", "result 0: %1:f32[8, 5] is not stored", func(b *graph.Bound) { b.Calls = b.Calls[:1] }},
		{"a result too long", "result 0: %1:f32[99, 5] leaves its memory", func(b *graph.Bound) { b.Outputs[0].Shape = []int64{99, 5} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bound, _ := launches(t, "g.tile", source, "g", graph.Options{Dims: map[string]int64{"M": 5, "N": 8}, Separate: true})
			require.NoError(t, bound.Verify())
			c.wrong(bound)
			if c.says == "" {
				assert.NoError(t, bound.Verify())
				return
			}
			assert.ErrorContains(t, bound.Verify(), c.says)
		})
	}
}
