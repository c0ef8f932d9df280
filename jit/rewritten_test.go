package jit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest/sweep"
	"tilec/lang"
)

// rewrittenKernels are what the graphs of TestRewrittenGraphs call, beside those of TestFusedGraphs.
const rewrittenKernels = fusedKernels + `
kernel numbered<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = (x[i, j] as f32 + index(i) as f32) as T
}

kernel sums<T: float>(x: T[M, N], z: T[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = sum(x[i, j] as f32, over j) + max(z[i, j] as f32, over j)
}

kernel both<T: float>(x: T[M, N], z: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = (x[i, j] as f32 + (z[i, N - 1 - index(j)]) as f32) as T
}

kernel rows_of<T: float>(x: T[P, N], bins: i32[M]) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = x[bins[i], j] else 0
}

kernel heights<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = (x[i, j] as f32 * M as f32) as T
}
`

// Graphs of which something is computed once in place of twice, or of fewer positions, give what they give with a launch for
// each call, on the CPU and by code for a GPU.
func TestRewrittenGraphs(t *testing.T) {
	sweep.OnceEmulated(t)
	for _, c := range []struct {
		name, graph string
		launches    int
		sizes       [][3]int64
		sums        bool
	}{
		{"a call twice on the same arguments", "(x: T[M, N]) -> y: T[M, N] { y = both(softmax(x), softmax(x)) }", 2, [][3]int64{{5, 33}}, false},
		{"a call twice on what is the same", "(x: T[M, N]) -> (y: T[M, N], z: T[M, N]) {\ny = softmax(scale(x, 2))\nz = softmax(scale(x, 2))\n}", 1, [][3]int64{{5, 33}}, false},
		{"a call twice with other scalars", "(x: T[M, N]) -> (y: T[M, N], z: T[M, N]) {\ny = softmax(scale(x, 2))\nz = softmax(scale(x, 3))\n}", 2, [][3]int64{{5, 33}}, false},
		{"a call twice on a state that changes", "(x: T[M, N], inout t: T[M, N]) -> y: T[M, N] {\nlet a = softmax(t)\nadd_to(x, t)\ny = both(a, softmax(t))\n}", 0, [][3]int64{{5, 33}}, false},
		{"two states that begin alike", "(x: T[M, N]) -> (y: T[M, N], z: T[M, N]) {\ninout s = softmax(x)\ninout t = softmax(x)\nadd_to(x, s)\ny = s\nz = t\n}", 0, [][3]int64{{5, 33}}, false},

		{"the last row of each half", "(x: T[M, K], g: T[K], b: T[K], w: T[K, N]) -> y: T[2, N] {\nlet a = view(linear(layernorm(x, g, b), w), [2, M / 2, N])\ny = relu(a[.., M / 2 - 1]) * 2\n}", 0, [][3]int64{{64, 33, 20}, {200, 8, 64}}, true},
		{"a row in the middle", "(x: T[M, N]) -> y: T[N] {\nlet a = softmax(scale(x, 2))\ny = a[M / 2] * 2\n}", 0, [][3]int64{{40, 33}, {40, 64}}, true},
		{"every row but the first, as a result", "(x: T[M, N]) -> y: T[M - 1, N] { y = softmax(scale(x, 2))[1 .. M] }", 0, [][3]int64{{40, 33}, {40, 64}}, true},
		{"columns", "(x: T[M, K], w: T[K, N]) -> y: T[M, N / 2] { y = linear(x, w)[.., 0 .. N / 2] }", 0, [][3]int64{{5, 64, 20}, {40, 33, 20}}, true},
		{"columns that begin anywhere", "(x: T[M, K], w: T[K, N]) -> y: T[M, N - 3] { y = linear(x, w)[.., 3 .. N] }", 0, [][3]int64{{5, 64, 20}, {40, 33, 20}}, true},
		{"of three dimensions", "(x: T[M, 20, N]) -> (y: T[20, N], z: T[M]) {\nlet a = x * 2\nlet b = x * 3\ny = a[M - 2] * 3\nz = b[.., 7, 3] * 3\n}", 0, [][3]int64{{40, 33}}, false},
		{"rows that are picked", "(x: T[M, N]) -> y: T[3, N] { y = rows_of(x, arange(i32, [M]))[5 .. 8] }", 0, [][3]int64{{40, 33}}, false},
		{"of what two read", "(x: T[M, N]) -> y: f32[2] {\nlet a = softmax(x)\ny = sums(a[7 .. 9], scale(a[7 .. 9], 2))\n}", 0, [][3]int64{{40, 33}}, true},
		{"not of what another reads whole", "(x: T[M, N]) -> (y: T[3, N], z: T[M, N]) {\nlet a = softmax(x)\ny = scale(a[5 .. 8], 2)\nz = both(a, a)\n}", 0, [][3]int64{{40, 33}}, true},
		{"not where positions are numbers", "(x: T[M, N]) -> y: T[3, N] { y = numbered(softmax(x))[5 .. 8] }", 0, [][3]int64{{40, 33}}, true},
		{"not where the size is a number", "(x: T[M, N]) -> y: T[3, N] { y = heights(softmax(x))[5 .. 8] }", 0, [][3]int64{{40, 33}}, true},
		{"not where neighbours are read", "(x: T[M, N]) -> y: T[M, 20] { y = later(softmax(x))[.., 0 .. 20] }", 0, [][3]int64{{5, 33}, {5, 256}}, true},
		{"parts that overlap", "(x: T[M, N]) -> (y: T[3, N], z: T[3, N]) {\nlet a = softmax(x)\ny = scale(a[5 .. 8], 2)\nz = scale(a[6 .. 9], 2)\n}", 0, [][3]int64{{40, 33}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			program, problems := jit.Load("rewritten.tile", []byte(rewrittenKernels+"\ngraph g<T: float>"+c.graph+"\n"), nil)
			require.Empty(t, problems)
			g := program.Graphs[len(program.Graphs)-1]
			for _, size := range c.sizes {
				for _, d := range []lang.DType{lang.F32, lang.BF16} {
					dims := map[string]int64{"M": size[0], "N": size[1], "K": size[2]}
					t.Run(fmt.Sprintf("%s %v", d, size), func(t *testing.T) { runFused(t, fusing(t), g, dims, d, c.launches, c.sums) })
					t.Run(fmt.Sprintf("%s %v on the CPU", d, size), func(t *testing.T) { runFused(t, jit.OpenCPU(), g, dims, d, 0, c.sums) })
				}
			}
		})
	}
}
