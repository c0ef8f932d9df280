package jit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// Constants are asked for before the launches before have ended, unless which of them are meant is what these compute.
func TestConstantsAtPlacesThatAreComputed(t *testing.T) {
	const source = `kernel places(x: f32[M, K], w: f32[K, N]) -> at: i32[M]
    grid i in M by 16
{
    axis j in N
    let scores = for k in K by 16 with acc = zeros(f32, i, j) { mma(x[i, k], w[k, j], acc) }
    at[i] = argmax(scores, over j)
}

kernel rows(at: i32[M], table: f32[8, N]) -> y: f32[M, N]
    grid i in M, j in N by 64
{
    let n = clamp(at[i], 0, 7)
    y[i, j] = table[n, j] * 2
}

graph g(x: f32[M, K], w: f32[K, 8], table: f32[8, N]) -> y: f32[M, N] { y = rows(places(x, w), table) }
`
	run := func(d jit.Device) []float64 {
		module, err := jit.NewCompiler(d, nil).Load("g.tile", []byte(source))
		require.NoError(t, err)
		out, err := module.Call("g", jit.Args{
			"@precision": "ieee", "x": jittest.Normal(lang.F32, "x", 5, 32), "w": jittest.Normal(lang.F32, "w", 32, 8), "table": jittest.Normal(lang.F32, "table", 8, 200)})
		require.NoError(t, err)
		return out["y"].Floats()
	}
	assert.Equal(t, run(jit.OpenCPU()), run(jittest.Device(t)))
}
