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

const countedSource = `
kernel groups<T: float, const G: int = 32>(x: T[M, K], w: T[N, K], s: f32[M, K / G], t: f32[N, K / G]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis r in G
    y[i, j] = for g in K / G with acc = zeros(f32, i, j) {
        acc + dot(x[i, g * G + index(r)] else 0, w[j, g * G + index(r)] else 0) * s[i, g] * t[j, g]
    }
}

kernel weights<const G: int = 32>(x: bf16[M, K], w: i8[N, K], s: f32[M, K / G], t: f32[N, K / G]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    assume(K % G == 0)
    axis r in G
    y[i, j] = for g in K / G with acc = zeros(f32, i, j) {
        acc + dot(x[i, g * G + index(r)], w[j, g * G + index(r)] as bf16) * (s[i, g] * t[j, g])
    }
}

@approx
kernel approximate<const G: int = 32>(x: f8e4m3[M, K], w: f8e4m3[N, K], s: f32[M, K / G], t: f32[N, K / G]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis r in G
    y[i, j] = for g in K / G with acc = zeros(f32, i, j) {
        acc + dot(x[i, g * G + index(r)] else 0, w[j, g * G + index(r)] else 0) * s[i, g] * t[j, g]
    }
}

kernel matrices<T: float>(x: T[B, M, K], w: T[B, N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = for b in B with acc = zeros(f32, i, j) { mma(x[b, i, k], w[b, j, k], acc) }
}

kernel taps(x: bf16[H, C], w: bf16[R, O, C]) -> y: f32[H, O]
    grid h in H by BH, o in O by BO
{
    axis c in C
    y[h, o] = for r in R with acc = zeros(f32, h, o) { mma(x[index(h) + r - R / 2, c] else 0, w[r, o, c], acc) }
}

kernel behind(x: bf16[M, K], w: bf16[N, K], first: i32) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis r in 16
    y[i, j] = for g in (K / 16)[clamp(first, 0, K / 16) ..] with acc = zeros(f32, i, j) {
        mma(x[i, g * 16 + index(r)] else 0, w[j, g * 16 + index(r)] else 0, acc)
    }
}
`

// Products in loops over numbers, as over groups of the depth that have a scale each, give what they give on the CPU, by each instruction and however far their loads run ahead.
func TestProductsInLoopsOverNumbers(t *testing.T) {
	cpu, err := jit.OpenDevice("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { cpu.Close() })
	onCPU, err := jit.NewCompiler(cpu, nil).Load("counted.tile", []byte(countedSource))
	require.NoError(t, err)
	k := jittest.Load(t, "counted.tile", countedSource)
	wide := map[string]int64{"BM": 64, "BN": 64, "warps": 4, "stages": 3}
	for _, c := range []struct {
		kernel string
		d      lang.DType
		sizes  [3]int64 // M, N, K
		pins   map[string]int64
	}{
		{"groups", lang.BF16, [3]int64{70, 80, 128}, wide},
		{"groups", lang.F8E4M3, [3]int64{70, 80, 160}, wide},
		{"groups", lang.F8E5M2, [3]int64{70, 80, 160}, map[string]int64{"BM": 64, "BN": 64, "warps": 4, "stages": 4}},
		{"groups", lang.F32, [3]int64{70, 80, 96}, wide},
		{"groups", lang.BF16, [3]int64{33, 17, 70}, nil}, // an odd depth, of which a part has no group
		{"weights", lang.BF16, [3]int64{70, 80, 128}, wide},
		{"weights", lang.BF16, [3]int64{9, 48, 256}, map[string]int64{"BM": 16, "BN": 32, "warps": 4, "stages": 4}},
		{"approximate", lang.F8E4M3, [3]int64{70, 80, 160}, wide},
		{"approximate", lang.F8E4M3, [3]int64{130, 128, 128}, map[string]int64{"BM": 128, "BN": 128, "warps": 8, "stages": 2}},
		{"matrices", lang.BF16, [3]int64{70, 80, 64}, wide},
		{"matrices", lang.F16, [3]int64{70, 80, 64}, map[string]int64{"BM": 64, "BN": 64, "warps": 4, "stages": 4, "persist": 1}},
		{"taps", lang.BF16, [3]int64{70, 64, 32}, map[string]int64{"BH": 64, "BO": 64, "warps": 4, "stages": 3}},
		{"behind", lang.BF16, [3]int64{70, 80, 128}, wide},
	} {
		t.Run(fmt.Sprint(c.kernel, " ", c.d, " ", c.sizes, " ", c.pins), func(t *testing.T) {
			t.Parallel()
			m, n, depth := c.sizes[0], c.sizes[1], c.sizes[2]
			x, w := small(c.d, m, depth), small(c.d, n, depth)
			var args []any
			named := jit.Args{}
			switch c.kernel {
			case "matrices":
				x, w = small(c.d, 3, m, depth), small(c.d, 3, n, depth)
			case "taps":
				w = small(c.d, 5, n, depth)
			case "behind":
				args, named = []any{jit.IntValue(lang.I32, 2)}, jit.Args{"first": 2}
			default:
				if c.kernel == "weights" {
					w = small(lang.I8, n, depth)
				}
				s, u := small(lang.F32, m, depth/32), small(lang.F32, n, depth/32)
				args, named = []any{s, u}, jit.Args{"s": s, "t": u}
			}
			args = append([]any{x, w}, args...)
			named["x"], named["w"] = x, w
			want, err := onCPU.Call(c.kernel, named)
			require.NoError(t, err)
			got := k.Run(t, c.kernel, jit.Options{Pins: c.pins}, args...)[0]
			jittest.Same(t, got, want["y"].Float)
		})
	}
}

// Loads of such a loop run ahead of its steps.
func TestLoadsOfLoopsOverNumbersRunAhead(t *testing.T) {
	for kernel, instruction := range map[string]string{"groups": "wgmma of bf16, bf16", "weights": "wgmma of bf16, bf16 swapped rows_in_registers", "approximate": "wgmma of f8e4m3, f8e4m3 stepwise"} {
		o := jit.Options{Types: map[string]lang.DType{}, Dims: map[string]int64{"M": 1024, "K": 2048, "N": 1024}, Consts: map[string]lang.Literal{"G": {DType: lang.I32, Int: 128}}}
		if kernel == "groups" {
			o.Types["T"] = lang.BF16
		}
		l, text := lowered(t, countedSource, kernel, o)
		assert.Regexp(t, `@ring stages [2-8] .*produced`, text)
		assert.Contains(t, text, "by "+instruction)
		assert.Contains(t, text, fmt.Sprintf("@plan sm_90a warps %d stages %d", l.Plan.Warps, l.Plan.Stages))
	}
}
