package jit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/lang"
)

// expandedGraph puts the keys and values of H heads of D channels into caches; rest is what is made of the queries.
const expandedGraph = `import "std/nn"

kernel norms<T: float>(x: T[B, S, H, D]) -> y: f32[B, S, H]
    grid b in B, h in H, s in S by BS
{
    axis d in D
    let v = x[b, s, h, d] as f32
    y[b, s, h] = sum(v * v, over d)
}

kernel flip<T: float>(x: T[B, S, H, D]) -> y: T[B, S, H, D]
    grid b in B, h in H, s in S by BS
{
    axis d in D
    y[b, s, h, d] = -x[b, s, h, d]
}

graph g<T: float>(x: T[B, S, K], w: T[K, 3 * H * D], start: i32[B], inout k: T[B, H, P, D], inout v: T[B, H, P, D]) -> %s {
    let a = view(linear(view(x, [B * S, K]), w), [B, S, 3, H, D])
    append(a[.., .., 1], start, k)
    append(a[.., .., 2], start, v)
    y = %s
}
`

// What a prompt's keys and values are is stored where the caches have them, by the launch that computes them: of sequences of so many
// positions that blocks have whole tiles of one. What nothing else reads is stored nowhere else.
func TestPartsOfManyRows(t *testing.T) {
	sweep.OnceEmulated(t)
	const norms, flip, queries = "norms(a[.., .., 0])", "flip(a[.., .., 0])", "a"
	for _, c := range []struct {
		rest          string
		b, s, h, d, k int64
		p             int64
		types         []lang.DType
		launches      int
		machine       string
	}{
		{norms, 2, 64, 2, 32, 48, 130, []lang.DType{lang.BF16, lang.F32}, 2, "sm_80"},
		{norms, 3, 128, 3, 64, 128, 150, []lang.DType{lang.BF16}, 2, "sm_90a"},
		{norms, 1, 192, 3, 16, 64, 300, []lang.DType{lang.F16, lang.F32}, 2, "sm_90a"},
		{flip, 2, 64, 2, 64, 64, 100, []lang.DType{lang.BF16}, 2, "sm_90a"},
		{queries, 2, 64, 4, 32, 64, 100, []lang.DType{lang.BF16}, 1, "sm_90a"},
		{norms, 40, 1, 2, 32, 48, 80, []lang.DType{lang.BF16}, 2, "sm_80"}, // many sequences of one position
		{norms, 1, 50, 2, 32, 48, 130, []lang.DType{lang.BF16}, 3, "sm_80"},
		{norms, 2, 50, 2, 32, 48, 130, []lang.DType{lang.BF16}, 3, "sm_80"}, // a sequence has no whole tiles
	} {
		shape := map[string]string{norms: "y: f32[B, S, H]", flip: "y: T[B, S, H, D]", queries: "y: T[B, S, 3, H, D]"}[c.rest]
		program, problems := jit.Load("expanded.tile", []byte(fmt.Sprintf(expandedGraph, shape, c.rest)), nil)
		require.Empty(t, problems)
		g := program.Graphs[len(program.Graphs)-1]
		dims := map[string]int64{"B": c.b, "S": c.s, "H": c.h, "D": c.d, "K": c.k, "P": c.p}
		for _, d := range c.types {
			t.Run(fmt.Sprintf("%s %s %v", c.machine, d, dims), func(t *testing.T) {
				device := jittest.Device(t)
				if !jittest.OnGPU(t) || jittest.OnEmulator(t) {
					var err error
					device, err = jit.OpenEmulator(c.machine)
					require.NoError(t, err)
				}
				runFused(t, device, g, dims, d, c.launches, true)
			})
			t.Run(fmt.Sprintf("CPU %s %v", d, dims), func(t *testing.T) { runFused(t, jit.OpenCPU(), g, dims, d, 0, true) })
		}
	}
}
