package jit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

const inPartsSource = `
kernel gains(x: bf16[M, K], g: bf16[K], w: bf16[N, K]) -> y: f32[M, N] { y[i, j] = sum(x[i, k] * g[k] * w[j, k], over k) }

kernel across(x: bf16[K, M], g: bf16[K], w: bf16[K, N]) -> y: f32[M, N] { y[i, j] = sum(w[k, j] * (g[k] * x[k, i]), over k) }

kernel groups(x: bf16[M, K], g: bf16[N, K / 16], w: i8[N, K]) -> y: f32[M, N]
{
    assume(K % 16 == 0)
    y[i, j] = sum(x[i, k] * (w[j, k] as bf16 * g[j, index(k) / 16]), over k)
}

kernel words(x: bf16[M, K], g: bf16[K / 16, N], w: i32[K / 8, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    assume(K % 16 == 0)
    axis k in K
    let q = (w[index(k) / 8, j] >> (index(k) % 8 * 4)) & 15
    y[i, j] = sum(x[i, k] * ((q - 8) as bf16 * g[index(k) / 16, j]), over k)
}

kernel scaled(x: bf16[M, K], g: f32[K], w: bf16[N, K]) -> y: f32[M, N] { y[i, j] = sum((x[i, k] as f32 * g[k] + 1) * w[j, k] as f32, over k) }

kernel normed(x: bf16[M, K], g: bf16[K], w: bf16[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    let v = x[i, k] as f32
    y[i, j] = sum(x[i, k] * g[k] * w[j, k], over k) + sum(v * v, over k)
}
`

// odd is an array of integers from -most to most, of which products of two have up to 16 bits.
func odd(d lang.DType, most, seed int, dims ...int64) *jittest.Array {
	a := jittest.NewArray(d, dims...)
	for i := range a.Len() {
		a.SetFloat(i, float64((i*7919+seed)%(2*most+1)-most))
	}
	return a
}

// Products of a number of bf16 and one of f32 that has 16 bits, as a product of two of bf16 has, are exact on tensor cores, where tf32 would round that to 11.
func TestProductsInTwoParts(t *testing.T) {
	k, onCPU := jittest.Load(t, "inparts.tile", inPartsSource), loadOnCPU(t, "inparts.tile", inPartsSource)
	wide := map[string]int64{"BM": 64, "BN": 64, "k": 32, "warps": 4, "stages": 3}
	few := map[string]int64{"BM": 16, "BN": 32, "warps": 4, "stages": 3}
	for _, c := range []struct {
		kernel  string
		m, n, k int64
		pins    map[string]int64
	}{
		{"gains", 130, 128, 96, nil}, {"gains", 37, 51, 45, nil}, {"gains", 1, 40, 64, nil}, {"gains", 64, 7, 33, nil},
		{"across", 130, 128, 96, nil}, {"across", 40, 24, 31, nil},
		{"groups", 128, 130, 96, nil}, {"groups", 5, 40, 48, nil}, {"groups", 17, 264, 32, nil},
		{"words", 70, 80, 96, wide}, {"words", 130, 64, 64, nil}, {"words", 9, 40, 96, few}, {"words", 1, 64, 64, nil},
		{"scaled", 130, 128, 96, nil}, {"scaled", 37, 51, 45, nil}, {"scaled", 3, 40, 64, nil},
		{"normed", 70, 72, 96, wide}, {"normed", 37, 51, 45, few}, {"normed", 3, 9, 64, nil},
	} {
		t.Run(fmt.Sprint(c.kernel, " ", c.m, " ", c.n, " ", c.k, " ", c.pins), func(t *testing.T) {
			t.Parallel()
			args := jit.Args{"x": odd(lang.BF16, 201, 5, c.m, c.k), "g": odd(lang.BF16, 199, 11, c.k), "w": odd(lang.BF16, 2, 17, c.n, c.k)}
			switch c.kernel {
			case "across":
				args["x"], args["w"] = odd(lang.BF16, 201, 5, c.k, c.m), odd(lang.BF16, 2, 17, c.k, c.n)
			case "scaled":
				args["g"] = odd(lang.F32, 199, 11, c.k)
			case "groups":
				args["x"], args["g"], args["w"] = odd(lang.BF16, 2, 5, c.m, c.k), odd(lang.BF16, 199, 11, c.n, c.k/16), odd(lang.I8, 127, 17, c.n, c.k)
			case "words":
				args["x"], args["g"], args["w"] = odd(lang.BF16, 40, 5, c.m, c.k), odd(lang.BF16, 199, 11, c.k/16, c.n), odd(lang.I32, 1<<30, 17, c.k/8, c.n)
			}
			want, err := onCPU.Call(c.kernel, args)
			require.NoError(t, err)
			got := k.Run(t, c.kernel, jit.Options{Pins: c.pins}, args["x"], args["g"], args["w"])[0]
			jittest.Same(t, got, want["y"].Float)
		})
	}
}

// Such a product has the instructions of bf16, with what is multiplied copied ahead as it lies; at @precision(ieee), and where the factors have more bits, it has not.
func TestFormsOfProductsInTwoParts(t *testing.T) {
	source := inPartsSource + `
@precision(ieee)
kernel refused(x: bf16[M, K], g: bf16[K], w: bf16[N, K]) -> y: f32[M, N] { y[i, j] = sum(x[i, k] * g[k] * w[j, k], over k) }

kernel longer(x: f16[M, K], g: f16[K], w: f16[N, K]) -> y: f32[M, N] { y[i, j] = sum(x[i, k] * g[k] * w[j, k], over k) }
`
	program, problems := jit.Load("inparts.tile", []byte(source), nil)
	require.Empty(t, problems)
	exact, rounded := `@product by wgmma of bf16, bf16 swapped rows_in_registers`, `by mma of f32, f32`
	for i, want := range []string{exact, exact, exact, exact, exact, exact, `dot|mma`, rounded} {
		k := program.Kernels[i]
		text := blockText(t, k, jit.Options{Dims: map[string]int64{"M": 1024, "K": 1024, "N": 1024}})
		assert.Regexp(t, want, text, k.Name)
		assert.Equal(t, want == exact, strings.Contains(text, " using "), k.Name)
	}
}
