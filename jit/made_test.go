package jit_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// madeSource has products of which a factor is made of narrower numbers by more than a conversion.
const madeSource = `
kernel rows<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], (w[j, k] as f32 * s[j]) as T, acc) }
}

kernel groups<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], (w[j, k] as f32 * s[j, index(k) // 32]) as T, acc) }
}

/// Groups of which a thread may have two beside elements that its lane alone tells apart.
kernel quads<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], (w[j, k] as f32 * s[j, index(k) // 4]) as T, acc) }
}

kernel eights<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], (w[j, k] as f32 * s[j, index(k) // 8]) as T, acc) }
}

kernel across<T: float, W: any>(x: T[M, K], w: W[K, N], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], (w[k, j] as f32 * s[j]) as T, acc) }
}

/// What the function makes of the nothing beyond a depth is no number, and does not count.
kernel inverse<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], (s[j] / w[j, k] as f32) as T, acc) }
}

kernel nibbles<T: float, W: int>(x: T[M, K], w: W[N, K], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], (((w[j, index(k) // 8] >> ((index(k) % 8 * 4) as W)) & 15) as i32 - 8) as T, acc)
    } * s[j]
}

kernel columns<T: float, W: int>(x: T[M, K], w: W[K, N], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], (((w[k, index(j) // 8] >> ((index(j) % 8 * 4) as W)) & 15) as f32 * s[j]) as T, acc)
    }
}

/// Eight of the depth are in a word, beside which lies that of the next column.
kernel deep<T: float, W: int>(x: T[M, K], w: W[K, N], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], (((w[index(k) // 8, j] >> ((index(k) % 8 * 4) as W)) & 15) as f32 * s[j]) as T, acc)
    }
}

kernel whole<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = dot(x[i, k], (w[j, k] as f32 * s[j]) as T)
}

kernel wholenibbles<T: float, W: int>(x: T[M, K], w: W[N, K], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = dot(x[i, k], ((w[j, index(k) // 8] >> ((index(k) % 8 * 4) as W)) & 15) as T) * s[j]
}

kernel first<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N]) -> y: f32[N, M]
    grid j in N by BN, i in M by BM
{
    y[j, i] = for k in K by BK with acc = zeros(f32, j, i) { mma((w[j, k] as f32 * s[j]) as T, x[i, k], acc) }
}

kernel experts<T: float, W: any>(x: T[E, M, K], w: W[E, N, K], s: f32[N]) -> y: f32[E, M, N]
    grid e in E, i in M by BM, j in N by BN
{
    axis k in K
    y[e, i, j] = dot(x[e, i, k], (w[e, j, k] as f32 * s[j]) as T)
}

/// Of 16 bits, two at a time.
kernel halves<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        let a = s[j, index(k) // 32] as T
        mma(x[i, k], a - (w[j, k] as T + 1 as T) * a, acc)
    }
}

kernel twos<T: float, W: int>(x: T[M, K], w: W[N, K], s: f32[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        let q = (w[j, index(k) // 2] >> (index(k) % 2 * 4) as W) & 15
        mma(x[i, k], (q as i32 - 8) as T * (s[j, index(k) // 32] as T), acc)
    }
}

/// Four of 2 bits to a byte.
kernel quarters<T: float, W: int>(x: T[M, K], w: W[N, K], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], (3 - ((w[j, index(k) // 4] >> (index(k) % 4 * 2) as W) & 3) as i32) as T, acc)
    } * s[j]
}

/// With zero points, in words along the columns as the weights (AWQ).
kernel points<T: float, W: int>(x: T[M, K], w: W[K, N], s: f32[N], z: W[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        let at = (index(j) % 2 * 4 + index(j) % 8 / 2) * 4
        let q = (w[k, index(j) // 8] >> at as W) & 15
        let o = (z[index(k) // 32, index(j) // 8] >> at as W) & 15
        mma(x[i, k], (q - o) as T * (s[j] as T), acc)
    }
}

/// With zero points in words along the columns, and weights along the depth (GPTQ).
kernel offsets<T: float, W: int>(x: T[M, K], w: W[K, N], s: f32[N], z: W[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        let q = (w[index(k) // 8, j] >> (index(k) % 8 * 4) as W) & 15
        let o = (z[index(k) // 32, index(j) // 8] >> (index(j) % 8 * 4) as W) & 15
        mma(x[i, k], (q - (o + 1)) as T * (s[j] as T), acc)
    }
}

/// With powers of two as scales, which bf16 has (MXFP4).
kernel powers<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        let e = (s[j, index(k) // 32] as i32 + 126) as u32
        mma(x[i, k], (w[j, k] as f32 * bitcast(max(e << 23, 0x400000), f32)) as T, acc)
    }
}

/// A factor of which something else is taken too stays what it was.
kernel shared<T: float, W: any>(x: T[M, K], w: W[N, K], s: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    let v = w[j, k] as f32 * s[j]
    y[i, j] = dot(x[i, k], v as T) + max(v, over k)
}
`

// Factors that products make themselves of what lies in shared memory are those that the CPU makes: of 8 bits and of 4, of words, along and across the depth, by each instruction, of odd sizes.
func TestFactorsThatAreMade(t *testing.T) {
	k := jittest.Load(t, "made.tile", madeSource)
	onCPU := loadOnCPU(t, "made.tile", madeSource)
	wide := map[string]int64{"BM": 64, "BN": 64, "BK": 32, "warps": 4, "stages": 3}
	large := map[string]int64{"BM": 128, "BN": 128, "BK": 64, "warps": 8, "stages": 4}
	few := map[string]int64{"BM": 16, "BN": 32, "BK": 64, "warps": 4, "stages": 3}
	for _, c := range []struct {
		kernel string
		t, w   lang.DType
		sizes  [3]int64 // M, N, K
		pins   map[string]int64
	}{
		{"rows", lang.BF16, lang.I8, [3]int64{70, 80, 96}, wide},
		{"rows", lang.F16, lang.F8E4M3, [3]int64{130, 144, 160}, large},
		{"rows", lang.BF16, lang.F4E2M1, [3]int64{130, 144, 160}, large},
		{"rows", lang.F16, lang.F4E2M1, [3]int64{9, 40, 96}, few},
		{"rows", lang.BF16, lang.F4E2M1, [3]int64{37, 51, 45}, wide},
		{"rows", lang.BF16, lang.U8, [3]int64{1, 40, 96}, nil},
		{"rows", lang.BF16, lang.F4E2M1, [3]int64{1, 40, 96}, nil},
		{"rows", lang.BF16, lang.F8E5M2, [3]int64{37, 51, 45}, few},
		{"rows", lang.BF16, lang.I8, [3]int64{64, 64, 256}, map[string]int64{"BM": 64, "BN": 64, "BK": 64, "warps": 4, "stages": 3, "split": 2}},
		{"rows", lang.BF16, lang.I8, [3]int64{200, 144, 256}, map[string]int64{"BM": 192, "BN": 128, "BK": 64, "warps": 8, "stages": 3, "persist": 1}},
		{"groups", lang.BF16, lang.I8, [3]int64{70, 80, 96}, wide},
		{"groups", lang.BF16, lang.I8, [3]int64{130, 144, 160}, large},
		{"groups", lang.F16, lang.F4E2M1, [3]int64{70, 80, 128}, wide},
		{"groups", lang.BF16, lang.F4E2M1, [3]int64{9, 40, 192}, few},
		{"groups", lang.BF16, lang.I8, [3]int64{9, 40, 90}, few},
		{"groups", lang.F16, lang.U8, [3]int64{1, 40, 256}, nil},
		{"groups", lang.BF16, lang.I8, [3]int64{9, 40, 192}, map[string]int64{"BM": 16, "BN": 32, "BK": 48, "warps": 4, "stages": 3}},
		{"quads", lang.BF16, lang.I8, [3]int64{70, 80, 96}, wide},
		{"eights", lang.BF16, lang.I8, [3]int64{70, 80, 96}, wide},
		{"eights", lang.BF16, lang.I8, [3]int64{9, 40, 192}, few},
		{"across", lang.BF16, lang.I8, [3]int64{70, 80, 96}, wide},
		{"across", lang.F16, lang.F8E4M3, [3]int64{130, 144, 160}, large},
		{"across", lang.BF16, lang.F4E2M1, [3]int64{70, 96, 96}, wide},
		{"across", lang.F16, lang.F4E2M1, [3]int64{9, 64, 96}, few},
		{"across", lang.BF16, lang.I8, [3]int64{9, 48, 40}, few},
		{"inverse", lang.BF16, lang.I8, [3]int64{9, 40, 90}, few},
		{"inverse", lang.BF16, lang.I8, [3]int64{70, 80, 90}, wide},
		{"inverse", lang.F16, lang.I8, [3]int64{37, 51, 45}, wide},
		{"nibbles", lang.BF16, lang.I32, [3]int64{70, 80, 96}, wide},
		{"nibbles", lang.F16, lang.U32, [3]int64{130, 144, 192}, large},
		{"nibbles", lang.BF16, lang.I32, [3]int64{9, 40, 192}, few},
		{"nibbles", lang.BF16, lang.I32, [3]int64{9, 40, 190}, few},
		{"nibbles", lang.F16, lang.I64, [3]int64{9, 40, 64}, few},
		{"nibbles", lang.BF16, lang.I32, [3]int64{1, 40, 96}, nil},
		{"columns", lang.BF16, lang.I32, [3]int64{70, 96, 96}, wide},
		{"columns", lang.F16, lang.U32, [3]int64{130, 256, 160}, large},
		{"columns", lang.BF16, lang.I32, [3]int64{9, 64, 96}, few},
		{"columns", lang.BF16, lang.I32, [3]int64{9, 51, 45}, few},
		{"deep", lang.BF16, lang.I32, [3]int64{70, 96, 96}, wide},
		{"deep", lang.F16, lang.U32, [3]int64{130, 144, 192}, large},
		{"deep", lang.BF16, lang.I32, [3]int64{9, 64, 128}, few},
		{"deep", lang.BF16, lang.I32, [3]int64{9, 51, 45}, few},
		{"deep", lang.BF16, lang.I32, [3]int64{9, 64, 1000}, map[string]int64{"BM": 16, "BN": 32, "BK": 512, "warps": 4, "stages": 2}},
		{"whole", lang.BF16, lang.I8, [3]int64{20, 40, 64}, map[string]int64{"BM": 16, "BN": 32, "warps": 4}},
		{"whole", lang.BF16, lang.F4E2M1, [3]int64{70, 80, 64}, map[string]int64{"BM": 64, "BN": 64, "warps": 4}},
		{"wholenibbles", lang.BF16, lang.I32, [3]int64{20, 40, 64}, map[string]int64{"BM": 16, "BN": 32, "warps": 4}},
		{"wholenibbles", lang.F16, lang.I32, [3]int64{70, 80, 64}, map[string]int64{"BM": 64, "BN": 64, "warps": 4}},
		{"first", lang.BF16, lang.I8, [3]int64{80, 70, 96}, wide},
		{"first", lang.F16, lang.F4E2M1, [3]int64{24, 40, 64}, few},
		{"experts", lang.BF16, lang.I8, [3]int64{37, 51, 48}, nil},
		{"experts", lang.BF16, lang.F4E2M1, [3]int64{37, 51, 48}, nil},
		{"halves", lang.BF16, lang.I8, [3]int64{70, 80, 96}, wide},
		{"halves", lang.F16, lang.U8, [3]int64{130, 144, 160}, large},
		{"halves", lang.F16, lang.I8, [3]int64{9, 40, 192}, few},
		{"halves", lang.BF16, lang.U8, [3]int64{9, 40, 190}, few},
		{"halves", lang.F16, lang.F8E4M3, [3]int64{70, 80, 96}, wide},
		{"halves", lang.BF16, lang.F4E2M1, [3]int64{70, 80, 96}, wide},
		{"halves", lang.F16, lang.F4E2M1, [3]int64{9, 40, 192}, few},
		{"twos", lang.BF16, lang.U8, [3]int64{70, 80, 96}, wide},
		{"twos", lang.F16, lang.U8, [3]int64{130, 144, 192}, large},
		{"twos", lang.BF16, lang.U8, [3]int64{9, 40, 192}, few},
		{"twos", lang.F16, lang.I8, [3]int64{9, 40, 190}, few},
		{"twos", lang.BF16, lang.I8, [3]int64{70, 80, 90}, wide},
		{"twos", lang.BF16, lang.U8, [3]int64{9, 40, 192}, map[string]int64{"BM": 16, "BN": 32, "BK": 48, "warps": 4, "stages": 3}},
		{"twos", lang.BF16, lang.U8, [3]int64{1, 40, 96}, nil},
		{"twos", lang.BF16, lang.U8, [3]int64{16, 64, 512}, map[string]int64{"BM": 16, "BN": 64, "BK": 64, "warps": 4, "stages": 3, "split": 2}},
		{"twos", lang.F16, lang.I32, [3]int64{9, 40, 192}, few},
		{"quarters", lang.BF16, lang.U8, [3]int64{9, 40, 192}, few},
		{"quarters", lang.F16, lang.U8, [3]int64{70, 80, 96}, wide},
		{"quarters", lang.BF16, lang.U16, [3]int64{9, 40, 128}, few},
		{"points", lang.BF16, lang.I32, [3]int64{70, 96, 96}, wide},
		{"points", lang.F16, lang.I32, [3]int64{9, 64, 96}, few},
		{"points", lang.F16, lang.I32, [3]int64{9, 51, 45}, few},
		{"offsets", lang.BF16, lang.I32, [3]int64{70, 96, 96}, wide},
		{"offsets", lang.F16, lang.I32, [3]int64{9, 64, 128}, few},
		{"powers", lang.BF16, lang.F4E2M1, [3]int64{70, 80, 96}, wide},
		{"powers", lang.BF16, lang.F4E2M1, [3]int64{9, 40, 192}, few},
		{"powers", lang.BF16, lang.F4E2M1, [3]int64{9, 40, 190}, few},
		{"powers", lang.F16, lang.F4E2M1, [3]int64{9, 40, 192}, few},
		{"powers", lang.BF16, lang.I8, [3]int64{9, 40, 192}, few},
		{"rows", lang.F32, lang.I8, [3]int64{1, 40, 96}, nil},
		{"groups", lang.F32, lang.F8E4M3, [3]int64{3, 40, 256}, nil},
		{"twos", lang.F32, lang.U8, [3]int64{4, 40, 96}, nil},
		{"nibbles", lang.F32, lang.I32, [3]int64{2, 40, 96}, nil},
		{"shared", lang.BF16, lang.I8, [3]int64{20, 40, 64}, nil},
	} {
		t.Run(fmt.Sprint(c.kernel, " ", c.t, " ", c.w, " ", c.sizes, " ", c.pins), func(t *testing.T) {
			t.Parallel()
			m, n, depth := c.sizes[0], c.sizes[1], c.sizes[2]
			xs, ws, ss := []int64{m, depth}, []int64{n, depth}, []int64{n}
			switch c.kernel {
			case "across", "columns", "deep", "points", "offsets":
				ws = []int64{depth, n}
			case "experts":
				xs, ws = []int64{3, m, depth}, []int64{3, n, depth}
			case "groups", "quads", "eights", "halves", "twos", "powers":
				ss = []int64{n, depth}
			}
			x, w, s := small(c.t, xs...), small(c.w, ws...), small(lang.F32, ss...)
			switch c.kernel {
			case "nibbles", "columns", "deep", "wholenibbles", "twos", "quarters", "points", "offsets":
				for i := range w.Data {
					w.Data[i] = byte(37*i + i/256)
				}
			case "inverse": // by powers of two
				for i := range w.Data {
					w.Data[i] = []byte{1, 2, 4, 0xff, 0xfe, 8, 0xfc, 16}[(i+i/8)%8]
				}
			}
			named, in := jit.Args{"x": x, "w": w, "s": s}, []any{x, w, s}
			if c.kernel == "points" || c.kernel == "offsets" {
				z := small(c.w, ws...)
				for i := range z.Data {
					z.Data[i] = byte(91*i + i/256)
				}
				named["z"], in = z, append(in, z)
			}
			want, err := onCPU.Call(c.kernel, named)
			require.NoError(t, err)
			got := k.Run(t, c.kernel, jit.Options{Pins: c.pins}, in...)[0]
			jittest.Same(t, got, want["y"].Float)
		})
	}
}

// What such a product takes is copied ahead as it lies, four bits or eight, and a thread loads a scale once for those of its elements that share it.
func TestFormsOfFactorsThatAreMade(t *testing.T) {
	program, problems := jit.Load("made.tile", []byte(madeSource), nil)
	require.Empty(t, problems)
	for _, c := range []struct {
		kernel string
		w      lang.DType
		rows   int64
		want   []string
	}{
		{"rows", lang.I8, 1024, []string{`@ring .* produced overlapped`, `@copy .* of i8 .* box`, `mma .* using .* by`, `by wgmma of bf16, bf16 swapped rows_in_registers`}},
		{"rows", lang.F4E2M1, 1024, []string{`@copy tile_1 {k \d+ by 2, j \d+} of f4e2m1`, `by wgmma`}},
		{"groups", lang.I8, 16, []string{`@first`, `by mma of bf16, bf16 swapped`, `tile_1 .* of i8`}},
		{"groups", lang.I8, 16, []string{`columns {i} i\+2\*2 i\+4\*2 i\+1\*2`, `depth {k} k\+1\*2 k\+4\*2 k\+8\*2 k\+2\*2 steps k\+16`}},
		{"twos", lang.U8, 16, []string{`columns {i} i\+4\*2 i\+1\*2 i\+2\*2`, `depth {k} k\+1\*2 k\+8\*2 k\+16\*2 k\+2\*2 steps k\+4\*2 k\+32`}},
		{"nibbles", lang.I32, 16, []string{`@copy tile_1 {k \d+ by 8, j \d+} of i32`}},
		{"columns", lang.I32, 1024, []string{`@copy tile_1 {j \d+ by 8, k \d+} of i32`, `by wgmma`}},
		{"deep", lang.I32, 1024, []string{`@copy tile_1 {j \d+, k \d+ by 8} of i32`, `by wgmma`}},
		{"shared", lang.I8, 16, []string{`cast .* : bf16`}},
	} {
		at := slices.IndexFunc(program.Kernels, func(k *typed.Kernel) bool { return k.Name == c.kernel })
		text := blockText(t, program.Kernels[at], jit.Options{Types: map[string]lang.DType{"T": lang.BF16, "W": c.w}, Dims: map[string]int64{"M": c.rows, "K": 8192, "N": 8192}})
		for _, want := range c.want {
			assert.Regexp(t, want, text, c.kernel)
		}
	}
}
