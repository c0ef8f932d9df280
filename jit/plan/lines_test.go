package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

// A depthwise convolution with channels innermost: each channel has windows of its own.
const windows = `kernel @windows {
  dim B = ?
  dim H = ?
  dim W = ?
  dim C = 128
  dim R = 3
  dim S = 3
  tensor %x : in bf16[B, H, W, C] align 16
  tensor %w : in bf16[R, S, C] align 16
  tensor %y : out bf16[B, H, W, C] align 16
  axis n : grid B by BN = ?
  axis h : grid H by BH = ?
  axis v : grid W by BV = ?
  axis c : grid C by BC = ?
  axis r : whole R[0 .. 3]
  axis s : whole S[0 .. 3]
body:
  %0 = index n : i32{n}
  %1 = index h : i32{h}
  %2 = index v : i32{v}
  %3 = index c : i32{c}
  %6 = index r : i32{r}
  %9 = add %1, %6 : i32{h, r}
  %14 = index s : i32{s}
  %17 = add %2, %14 : i32{v, s}
  %22 = const 0 : bf16
  %23 = load %x[%0, ?%9, ?%17, %3] else %22 : bf16{n, h, r, v, s, c}
  %27 = load %w[%6, %14, %3] : bf16{r, s, c}
  %28 = cast %23 : f32{n, h, r, v, s, c}
  %29 = cast %27 : f32{r, s, c}
  %31 = mul %28, %29 : f32{n, h, r, v, s, c}
  %32 = sum %31 over r, s : f32{n, h, v, c}
  %33 = cast %32 : bf16{n, h, v, c}
  store %y[%0, %1, %2, %3] = %33
}
`

// Windows are loaded by whole lines, and no pin of one extent finds a plan that the search has not found.
func TestWindowsByLines(t *testing.T) {
	f, err := ir.Parse("windows", windows)
	require.NoError(t, err)
	size, m := sizes(map[string]int64{"B": 32, "H": 64, "W": 64}), on(t, "sm_90a")
	p, err := plan.Choose(f, m, size, nil)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, 2*p.Extents["c"], int64(128), p)
	assert.EqualValues(t, 1, p.Chunks["r"], "%s: a loop goes through the rows of a window", p)
	assert.EqualValues(t, 8*32*p.Warps, p.Extents["n"]*p.Extents["h"]*p.Extents["v"]*p.Extents["c"], "%s: a vector a thread", p)
	for _, pin := range []string{"BN", "BH", "BV", "BC"} {
		for n := int64(1); n <= 64; n *= 2 {
			pinned, err := plan.Choose(f, m, size, map[string]int64{pin: n})
			require.NoError(t, err)
			assert.GreaterOrEqual(t, pinned.Time, 0.99*p.Time, "%s, where the search has chosen %s", pinned, p)
		}
	}
}

// A matrix whose columns are stored as rows, far larger than the L2.
const transposition = `kernel @transpose {
  dim M = ?
  dim N = 8192
  tensor %x : in f32[M, N] align 16
  tensor %y : out f32[N, M] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  store %y[%1, %0] = %2
}
`

// The sums of columns.
const columnSums = `kernel @column_sum {
  dim M = 16384
  dim N = 4096
  tensor %x : in f32[M, N] align 16
  tensor %y : out f32[N] align 16
  axis j : grid N by BJ = ?
  axis i : whole M[0 .. 16384]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = sum %2 over i : f32{j}
  store %y[%1] = %3
}
`

// Blocks read and write whole lines of what the L2 has no room for, and two of them in a row where rows lie in pages of their own.
func TestBlocksHaveWholeLines(t *testing.T) {
	for _, c := range []struct {
		text  string
		axes  []string
		bytes int64
	}{{transposition, []string{"i", "j"}, 256}, {columnSums, []string{"j"}, 128}} {
		f, err := ir.Parse("lines", c.text)
		require.NoError(t, err)
		p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"M": 8192}), nil)
		require.NoError(t, err)
		for _, axis := range c.axes {
			assert.GreaterOrEqual(t, 4*p.Extents[axis], c.bytes, "%s: bytes along %s", p, axis)
		}
	}
}
