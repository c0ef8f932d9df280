package gpt_test

import (
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/config"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// turned multiplies by one tensor of a checkpoint, as it lies and turned round, and by one that gets scales.
const turned = `
import "std/nn"

struct W<T: float, Q: any> {
    plain: T[K, N] @name("w")
    round: T[N, K] @name("w") @transposed
    small: Q[N, K] @name("w") @transposed
    scale: f32[N] @scale(small)
}

graph products<T: float, Q: any>(x: T[M, K], w: W<T, Q>) -> (a: f32[M, N], b: f32[M, N], c: f32[M, N]) {
    a = linear_f32(x, w.plain)
    b = project(x, w.round)
    c = scale_columns(project(x, w.small), w.scale)
}
`

// A matrix that is turned round gives the products that it gives as it lies: here of numbers whose products and sums are exact.
func TestTransposedWeights(t *testing.T) {
	const m, k, n = 3, 80, 48 // neither is a multiple of what is turned round at once
	values, x := make([]float32, k*n), make([]float32, m*k)
	for i := range values {
		values[i] = float32(i*7%13 - 6)
	}
	for i := range x {
		x[i] = float32(i*5%9 - 4)
	}
	want := make([]float32, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				want[i*n+j] += x[i*k+l] * values[l*n+j]
			}
		}
	}
	cfg, err := config.Of(map[string]any{})
	require.NoError(t, err)
	ckpt := llamaOf(t, cfg, []safetensors.Tensor{{Name: "w", DType: lang.F32, Shape: []int{k, n}, Data: jit.Bytes(values)}})
	program, problems := jit.Load("turned.tile", []byte(turned), nil)
	require.Empty(t, problems)
	f, err := jit.FindFunction(program, "products")
	require.NoError(t, err)
	device := jittest.Device(t)
	dims := map[string]int64{"K": k, "N": n}
	for _, d := range []lang.DType{lang.F32, lang.BF16, lang.F16} {
		for _, q := range []lang.DType{lang.F32, lang.BF16, lang.I8} {
			if !q.IsFloat() || q == d {
				filled, err := gpt.Fill(f.Graph, ckpt, device, map[string]lang.DType{"T": d, "Q": q}, dims)
				require.NoError(t, err)
				defer filled.Close()
				args := jit.Args{"x": jit.Converted(d, x, m, k), "@precision": "ieee"}
				maps.Copy(args, filled.Args)
				out, err := f.On(jit.NewCompiler(device, nil)).Call(args)
				require.NoError(t, err, "%s, %s", d, q)
				for name, y := range out {
					for i, v := range want {
						got, bound := y.DType.ElementAt(y.Data, int64(i)), 0.0
						if name == "c" && q == lang.I8 { // each weight is off by half a step of 6/127 at most, and their sums by as much of all x
							for l := range k {
								bound += math.Abs(float64(x[i/n*k+l])) * (6.0/127/2 + 1e-6)
							}
						}
						require.LessOrEqual(t, math.Abs(got-float64(v)), bound, "%s of %s and %s at %d: %v, want %v", name, d, q, i, got, v)
					}
				}
			}
		}
	}
}

// What is said of a matrix that does not fit names the shape that the checkpoint has to have.
func TestTransposedMisfits(t *testing.T) {
	program, problems := jit.Load("turned.tile", []byte(turned), nil)
	require.Empty(t, problems)
	f, err := jit.FindFunction(program, "products")
	require.NoError(t, err)
	cfg, err := config.Of(map[string]any{})
	require.NoError(t, err)
	ckpt := llamaOf(t, cfg, []safetensors.Tensor{{Name: "w", DType: lang.F32, Shape: []int{2, 3}, Data: jit.Bytes(make([]float32, 6))}})
	types := map[string]lang.DType{"T": lang.F32, "Q": lang.F32}
	_, err = gpt.Fill(f.Graph, ckpt, jit.OpenCPU(), types, map[string]int64{"K": 2, "N": 3})
	require.NoError(t, err)
	_, err = gpt.Fill(f.Graph, ckpt, jit.OpenCPU(), types, map[string]int64{"K": 3, "N": 2})
	assert.ErrorContains(t, err, `w.plain: tensor "w" of llama has the shape [2 3] and must have [K = 3, N = 2]`)
	values := []float32{1, 2, 3, 4, 5, float32(math.Inf(1))}
	ckpt = llamaOf(t, cfg, []safetensors.Tensor{{Name: "w", DType: lang.F32, Shape: []int{2, 3}, Data: jit.Bytes(values)}})
	types["Q"] = lang.I8
	_, err = gpt.Fill(f.Graph, ckpt, jit.OpenCPU(), types, map[string]int64{"K": 2, "N": 3})
	assert.ErrorContains(t, err, `tensor "w": element [1, 2] is +Inf`)
}
