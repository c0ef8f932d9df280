package jit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

const besideSource = `
kernel squares<T: float>(x: T[M, K], w: T[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    let v = x[i, k] as f32
    let r = sum(v * v, over k)
    y[i, j] = r + dot(x[i, k], w[j, k])
}

kernel both<T: float>(x: T[M, K], w: T[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    let v = x[i, k] as f32
    let u = w[j, k] as f32
    y[i, j] = max(v, over k) - 2 * dot(x[i, k], w[j, k]) + sum(u * u, over k)
}

kernel up_to<T: float>(x: T[M, K], w: T[N, K], n: i32) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    let (most, acc) = for k in K[.. n] by BK with (most, acc) = (full(f32, -100, i), zeros(f32, i, j)) {
        let v = x[i, k]
        (max(most, max(v as f32, over k)), mma(v, w[j, k], acc))
    }
    y[i, j] = acc + most
}
`

// What is multiplied and computed with otherwise too comes once for both, ahead of the step: exactly, up to where a loop ends, by both kinds of copies.
func TestComputedBesideProducts(t *testing.T) {
	k, onCPU := jittest.Load(t, "beside.tile", besideSource), loadOnCPU(t, "beside.tile", besideSource)
	wide := map[string]int64{"BM": 64, "BN": 64, "k": 64, "warps": 4, "stages": 3}
	few := map[string]int64{"BM": 16, "BN": 32, "k": 32, "warps": 4, "stages": 4}
	for _, c := range []struct {
		kernel  string
		d       lang.DType
		m, n, k int64
		pins    map[string]int64
	}{
		{"squares", lang.BF16, 130, 72, 640, wide}, {"squares", lang.F16, 70, 40, 328, wide}, {"squares", lang.F32, 70, 72, 288, wide}, {"squares", lang.BF16, 20, 40, 200, few},
		{"both", lang.BF16, 130, 72, 640, wide}, {"both", lang.F16, 70, 40, 324, wide}, {"both", lang.F32, 70, 72, 288, wide}, {"both", lang.BF16, 20, 40, 264, few},
		{"up_to", lang.BF16, 70, 72, 640, map[string]int64{"BM": 64, "BN": 64, "BK": 64, "warps": 4, "stages": 3}},
		{"up_to", lang.F16, 20, 40, 320, map[string]int64{"BM": 16, "BN": 32, "BK": 32, "warps": 4, "stages": 4}},
	} {
		t.Run(fmt.Sprint(c.kernel, " ", c.d, " ", c.m, " ", c.n, " ", c.k, " ", c.pins), func(t *testing.T) {
			t.Parallel()
			args := jit.Args{"x": odd(c.d, 9, 5, c.m, c.k), "w": odd(c.d, 7, 11, c.n, c.k)}
			given := []any{args["x"], args["w"]}
			if c.kernel == "up_to" {
				args["n"] = c.k - 37
				given = append(given, jit.IntValue(lang.I32, c.k-37))
			}
			want, err := onCPU.Call(c.kernel, args)
			require.NoError(t, err)
			jittest.Same(t, k.Run(t, c.kernel, jit.Options{Pins: c.pins}, given...)[0], want["y"].Float)
		})
	}
}

// One loop has the product and what is computed beside, and copies bring the rows that both take; but those of f32, which the TMA rounds for the product.
func TestFormsBesideProducts(t *testing.T) {
	program, problems := jit.Load("beside.tile", []byte(besideSource), nil)
	require.Empty(t, problems)
	for _, k := range program.Kernels[:2] {
		for d, copies := range map[lang.DType]bool{lang.BF16: true, lang.F32: false} {
			text := blockText(t, k, jit.Options{Types: map[string]lang.DType{"T": d}, Dims: map[string]int64{"M": 1024, "K": 1024, "N": 1024}})
			assert.Regexp(t, ` for k from `, text)
			assert.NotContains(t, text, "k.1", "%s %s", k.Name, d)
			if copies {
				assert.Regexp(t, `(?s)@ring stages \d ahead \d produced.*load %x[^\n]*\n[^\n]*\n *@copy`, text, "%s %s", k.Name, d)
			} else {
				assert.NotContains(t, text, "by wgmma", k.Name)
			}
		}
	}
}
