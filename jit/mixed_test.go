package jit_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/jittest"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

const mixedSource = `
kernel along<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], w[j, k] as T, acc) }
    y[i, j] = acc * s[j]
}

kernel across<T: float, W: any>(x: T[M, K], w: W[K, N], s: f32[N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], w[k, j] as T, acc) }
    y[i, j] = (acc * s[j]) as T
}

kernel first<T: float, W: any>(x: T[K, M], w: W[N, K], s: f32[N]) -> y: f32[N, M]
    grid j in N by BN, i in M by BM
{
    let acc = for k in K by BK with acc = zeros(f32, j, i) { mma(w[j, k] as T, x[k, i], acc) }
    y[j, i] = acc * s[j]
}

kernel formula(x: bf16[M, K], w: i8[N, K], s: f32[N]) -> y: f32[M, N] { y[i, j] = sum(x[i, k] * (w[j, k] as bf16), over k) * s[j] }

kernel experts<T: float, W: any>(x: T[E, M, K], w: W[E, N, K], s: f32[N]) -> y: f32[E, M, N]
    grid e in E, i in M by BM, j in N by BN
{
    axis k in K
    y[e, i, j] = dot(x[e, i, k], w[e, j, k] as T) * s[j]
}

kernel gated<T: float, W: any>(x: T[M, K], w: W[N, K], v: W[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    let (a, b) = for k in K by BK with (a, b) = (zeros(f32, i, j), zeros(f32, i, j)) {
        let t = x[i, k]
        (mma(t, w[j, k] as T, a), mma(t, v[j, k] as T, b))
    }
    y[i, j] = max(a, 0) * b
}

kernel normed<T: float, W: any>(x: T[M, K], w: W[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    let v = x[i, k] as f32
    y[i, j] = dot((v * 2 - max(v, over k)) as T, w[j, k] as T)
}

kernel chained<T: float, W: any>(x: T[M, K], w: W[N, K], v: W[N, K]) -> y: f32[M, K]
    grid i in M by BM
{
    axis k in K
    axis j in N
    axis d in K
    let p = dot(x[i, k], w[j, k] as T)
    y[i, d] = dot(p as T, v[j, d] as T)
}
`

// mixedOnCPU runs those kernels on the CPU, which widens such factors first.
func mixedOnCPU(t *testing.T) func(kernel string, args ...any) *jit.Array {
	t.Helper()
	m := loadOnCPU(t, "mixed.tile", mixedSource)
	return func(kernel string, args ...any) *jit.Array {
		named := jit.Args{"x": args[0], "w": args[1]}
		if len(args) > 2 {
			named[map[bool]string{true: "v", false: "s"}[kernel == "gated" || kernel == "chained"]] = args[2]
		}
		out, err := m.Call(kernel, named)
		require.NoError(t, err, kernel)
		return out["y"]
	}
}

// loadOnCPU loads a program for the CPU, whatever the device under test is.
func loadOnCPU(t testing.TB, file, source string) *jit.Module {
	t.Helper()
	d, err := jit.OpenDevice("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	m, err := jit.NewCompiler(d, nil).Load(file, []byte(source))
	require.NoError(t, err)
	return m
}

// blockText is the block program of a kernel as it is planned for an H200.
func blockText(t *testing.T, k *typed.Kernel, o jit.Options) string {
	t.Helper()
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	s, err := jit.Specialise(k, o)
	require.NoError(t, err)
	l, err := compile.Lower(s, machine, nil)
	require.NoError(t, err)
	text, err := l.Block()
	require.NoError(t, err)
	return text
}

// Products of factors of two types give what the CPU gives: along and across the depth, by each instruction, of odd sizes, of every type.
func TestProductsOfTwoTypes(t *testing.T) {
	k, onCPU := jittest.Load(t, "mixed.tile", mixedSource), mixedOnCPU(t)
	wide := map[string]int64{"BM": 64, "BN": 64, "BK": 32, "warps": 4, "stages": 3}
	few := map[string]int64{"BM": 16, "BN": 32, "BK": 64, "warps": 4, "stages": 3}
	for _, c := range []struct {
		kernel string
		t, w   lang.DType
		sizes  [3]int64 // M, N, K
		pins   map[string]int64
	}{
		{"along", lang.BF16, lang.I8, [3]int64{70, 80, 96}, wide},
		{"along", lang.F16, lang.U8, [3]int64{70, 80, 96}, wide},
		{"along", lang.BF16, lang.F8E4M3, [3]int64{130, 144, 160}, map[string]int64{"BM": 128, "BN": 128, "BK": 64, "warps": 8, "stages": 4}},
		{"along", lang.F16, lang.F8E5M2, [3]int64{200, 144, 256}, map[string]int64{"BM": 192, "BN": 128, "BK": 64, "warps": 8, "stages": 3, "persist": 1}},
		{"along", lang.BF16, lang.U8, [3]int64{64, 64, 256}, map[string]int64{"BM": 64, "BN": 64, "BK": 64, "warps": 4, "stages": 3, "split": 2}},
		{"along", lang.BF16, lang.I8, [3]int64{9, 40, 208}, few},
		{"along", lang.F16, lang.I8, [3]int64{24, 40, 96}, few},
		{"along", lang.BF16, lang.I8, [3]int64{37, 51, 45}, wide},
		{"along", lang.BF16, lang.F8E4M3, [3]int64{1, 40, 96}, nil},
		{"along", lang.F32, lang.BF16, [3]int64{1, 40, 96}, nil},
		{"along", lang.F32, lang.F16, [3]int64{4, 40, 96}, nil},
		{"along", lang.F32, lang.I8, [3]int64{5, 40, 96}, nil},
		{"along", lang.BF16, lang.I8, [3]int64{5, 7, 3}, nil},
		{"across", lang.BF16, lang.I8, [3]int64{70, 80, 96}, wide},
		{"across", lang.F16, lang.F8E4M3, [3]int64{130, 144, 160}, map[string]int64{"BM": 128, "BN": 128, "BK": 64, "warps": 8, "stages": 4}},
		{"across", lang.BF16, lang.F8E5M2, [3]int64{260, 144, 160}, map[string]int64{"BM": 256, "BN": 128, "BK": 64, "warps": 8, "stages": 4}},
		{"across", lang.BF16, lang.U8, [3]int64{100, 144, 160}, map[string]int64{"BM": 80, "BN": 128, "BK": 16, "warps": 4, "stages": 4}},
		{"across", lang.BF16, lang.I8, [3]int64{130, 160, 96}, map[string]int64{"BM": 64, "BN": 64, "BK": 32, "warps": 4, "stages": 4, "persist": 2}},
		{"across", lang.F16, lang.I8, [3]int64{9, 48, 208}, few},
		{"across", lang.BF16, lang.I8, [3]int64{37, 51, 45}, wide},
		{"first", lang.BF16, lang.I8, [3]int64{80, 70, 96}, wide},
		{"first", lang.F16, lang.F8E4M3, [3]int64{24, 40, 64}, few},
		{"formula", lang.BF16, lang.I8, [3]int64{37, 51, 48}, nil},
		{"experts", lang.BF16, lang.I8, [3]int64{37, 51, 48}, nil},
		{"gated", lang.BF16, lang.F8E4M3, [3]int64{70, 80, 96}, wide},
		{"gated", lang.BF16, lang.I8, [3]int64{9, 40, 96}, few},
		{"normed", lang.BF16, lang.I8, [3]int64{20, 40, 64}, map[string]int64{"BM": 16, "BN": 32, "warps": 4}},
		{"normed", lang.BF16, lang.I8, [3]int64{70, 80, 64}, map[string]int64{"BM": 64, "BN": 64, "warps": 4}},
		{"chained", lang.BF16, lang.I8, [3]int64{20, 40, 32}, nil},
	} {
		t.Run(fmt.Sprint(c.kernel, " ", c.t, " ", c.w, " ", c.sizes, " ", c.pins), func(t *testing.T) {
			t.Parallel()
			m, n, depth := c.sizes[0], c.sizes[1], c.sizes[2]
			xs, ws := []int64{m, depth}, []int64{n, depth}
			switch c.kernel {
			case "across":
				ws = []int64{depth, n}
			case "first":
				xs = []int64{depth, m}
			case "experts":
				xs, ws = []int64{3, m, depth}, []int64{3, n, depth}
			}
			args := []any{small(c.t, xs...), small(c.w, ws...), small(lang.F32, n)}
			switch c.kernel {
			case "gated", "chained":
				args[2] = small(c.w, ws...)
			case "normed":
				args = args[:2]
			}
			want := onCPU(c.kernel, args...)
			got := k.Run(t, c.kernel, jit.Options{Pins: c.pins}, args...)[0]
			jittest.Same(t, got, want.Float)
		})
	}
}

// Numbers that are not finite, and the largest and the least, count as they do on the CPU.
func TestProductsOfTwoTypesWithEveryNumber(t *testing.T) {
	k, onCPU := jittest.Load(t, "mixed.tile", mixedSource), mixedOnCPU(t)
	for _, d := range []lang.DType{lang.I8, lang.U8, lang.F8E4M3, lang.F8E5M2} {
		for _, to := range []lang.DType{lang.F16, lang.BF16} {
			for _, kernel := range []string{"along", "across"} {
				x, w, s := jittest.NewArray(to, 64, 256), jittest.NewArray(d, 256, 256), jittest.NewArray(lang.F32, 256)
				for i := range 64 {
					x.SetFloat(i*256+i, 1) // each row of the result is a row of the weights
				}
				for i := range 256 {
					s.SetFloat(i, 1)
					for j := range 256 {
						w.Data[i*256+j] = byte(i + j)
						if v := w.Float(i*256 + j); v != v || math.IsInf(v, 0) { // of which any other row's 0 makes a NaN
							w.Data[i*256+j] = 0x7b
						}
					}
				}
				want := onCPU(kernel, x, w, s)
				got := k.Run(t, kernel, jit.Options{Pins: map[string]int64{"BM": 64, "BN": 64, "BK": 64, "warps": 4, "stages": 3}}, x, w, s)[0]
				jittest.Same(t, got, want.Float)
			}
		}
	}
}

// Such a product has its bytes copied ahead as they lie, and multiplied by wgmma where it has the columns for it; what takes another product's results is as it was.
func TestFormsOfProductsOfTwoTypes(t *testing.T) {
	program, problems := jit.Load("mixed.tile", []byte(mixedSource), nil)
	require.Empty(t, problems)
	for _, c := range []struct {
		kernel int
		rows   int64
		want   []string
	}{
		{0, 1024, []string{`@ring .* produced overlapped`, `@copy .* of i8 .* box`, `by wgmma of bf16, bf16 swapped rows_in_registers`}},
		{1, 1024, []string{`@ring .* produced overlapped`, `@copy .* of i8 .* box`, `by wgmma of bf16, bf16 swapped rows_in_registers`}},
		{0, 16, []string{`by mma of bf16, bf16 swapped`, `tile_1 .* of i8`}},
		{7, 16, []string{`cast .* : bf16`}},
	} {
		text := blockText(t, program.Kernels[c.kernel], jit.Options{Types: map[string]lang.DType{"T": lang.BF16, "W": lang.I8}, Dims: map[string]int64{"M": c.rows, "K": 1024, "N": 1024}})
		for _, want := range c.want {
			assert.Regexp(t, want, text)
		}
	}
}
