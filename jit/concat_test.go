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

const concatKernels = `
@warps(4) // so that it stays a launch of its own
kernel linear<T: float>(x: T[M, K], w: T[N, K]) -> y: T[M, N] {
    y[i, j] = sum(x[i, k] * w[j, k], over k) as T
}

kernel batch<T: float>(x: T[B, C, P], g: T[C]) -> y: T[B, C, P]
    grid c in C by BC
{
    axis n in B
    axis p in P
    let v = x[n, c, p] as f32
    let m = mean(v, over (n, p))
    y[n, c, p] = ((v - m) * rsqrt(mean((v - m) * (v - m), over (n, p)) + 1) * (g[c] as f32)) as T
}

kernel relu<T: float>(x: T[M, N]) -> y: T[M, N] {
    y[i, j] = max(x[i, j], 0)
}

kernel columns<T: any>(a: T[M, C], b: T[M, D]) -> y: T[M, C + D]
    grid i in M by B
{
    axis c in C
    axis d in D
    y[i, index(c)] = a[i, c]
    y[i, C + d] = b[i, d]
}

kernel rows<T: any>(a: T[C, N], b: T[D, N], e: T[E, N]) -> y: T[C + D + E, N]
    grid j in N by B
{
    axis c in C
    axis d in D
    axis k in E
    y[C + d, j] = b[d, j]
    y[index(c), j] = a[c, j]
    y[C + D + k, j] = e[k, j]
}

kernel channels<T: any>(a: T[B, C, P], b: T[B, D, P]) -> y: T[B, C + D, P]
    grid n in B, p in P by BP
{
    axis c in C
    axis d in D
    y[n, index(c), p] = a[n, c, p]
    y[n, C + d, p] = b[n, d, p]
}

kernel swapped<T: any>(a: T[M, C], b: T[M, C]) -> y: T[M, 2 * C]
    grid i in M by B
{
    axis c in C
    y[i, C + c] = a[i, c]
    y[i, index(c)] = b[i, c]
}
`

// Launches store what one would put one behind the other where that puts it, along any dimension, in chains, and read it there; not what is a result by itself,
// an argument, or stored twice. The bits are those of launches by themselves.
func TestConcatenations(t *testing.T) {
	sweep.OnceEmulated(t)
	for _, c := range []struct {
		name, graph string
		launches    int
	}{
		{"columns", "(x: T[M, K], w: T[N, K], v: T[4, K]) -> y: T[M, N + 4] { y = columns(linear(x, w), linear(x, v)) }", 2},
		{"rows of three", "(x: T[M, K], w: T[N, K], v: T[4, K]) -> y: T[2 * M + 4, N] { y = rows(linear(x, w), linear(v, w), linear(x, w * 2)) }", 4},
		{"the second first", "(x: T[M, K], w: T[N, K], v: T[N, K]) -> y: T[M, 2 * N] { y = swapped(linear(x, w), linear(x, v)) }", 2},
		{"a chain", "(x: T[M, K], w: T[N, K], v: T[4, K], u: T[8, N + 4]) -> y: T[M, N + 12] {\nlet a = columns(linear(x, w), linear(x, v))\ny = columns(a, linear(a, u))\n}", 4},
		{"channels that are normed behind each", "(x: T[M, K], w: T[8 * N, K], v: T[4 * N, K], u: T[4 * N, K], g: T[12]) -> y: T[M, 16, N] {\n" +
			"let a = channels(view(linear(x, w), [M, 8, N]), view(linear(x, v), [M, 4, N]))\ny = channels(batch(a, g), view(linear(x, u), [M, 4, N]))\n}", 4},
		{"a part that others read before and behind", "(x: T[M, K], w: T[N, K], v: T[4, K]) -> (y: T[M, N + 4], z: T[M, M]) {\nlet a = linear(x, w)\nlet s = linear(a, a)\ny = columns(a, linear(x, v))\nz = s + linear(a, a)\n}", 4},
		{"with what joins them", "(x: T[9, 4, 256 * K], g: T[4]) -> y: T[9, 8, 256 * K] {\nlet a = batch(x, g)\ny = channels(a * 2, batch(a, g) + x)\n}", 2},
		{"a row of a part", "(x: T[M, K], w: T[N, K], v: T[4, K]) -> (y: T[M, N + 4], z: T[1, N]) {\nlet a = linear(x, w)\ny = columns(a, linear(x, v))\nz = relu(a[3 .. 4])\n}", 3},
		{"a part that is made of another", "(x: T[M, K], w: T[N, K], u: T[4, N]) -> y: T[M, N + 4] {\nlet a = linear(x, w)\ny = columns(a, linear(relu(a), u))\n}", 3},
		{"not an argument", "(x: T[M, K], w: T[N, K]) -> y: T[M, N + K] { y = columns(linear(x, w), x) }", 0},
		{"not a result", "(x: T[M, K], w: T[N, K], v: T[4, K]) -> (y: T[M, N + 4], z: T[M, N]) {\nlet a = linear(x, w)\ny = columns(a, linear(x, v))\nz = a\n}", 0},
		{"not the same twice", "(x: T[M, K], w: T[N, K]) -> y: T[M, 2 * N] {\nlet a = linear(x, w)\ny = columns(a, a)\n}", 0},
		{"not a part that is seen without its rows", "(x: T[M, K], w: T[N, K], v: T[4, K]) -> (y: T[M, N + 4], z: T[1, M * N]) {\nlet a = linear(x, w)\ny = columns(a, linear(x, v))\nz = relu(view(a, [1, M * N]))\n}", 0},
		{"not what is a part of two", "(x: T[M, K], w: T[8 * N, K], v: T[4 * N, K], g: T[12]) -> y: T[M, 16, N] {\n" +
			"let b = view(linear(x, v), [M, 4, N])\ny = channels(batch(channels(view(linear(x, w), [M, 8, N]), b), g), b)\n}", 0},
		{"nor of two at once", "(x: T[M, K], w: T[N, K], v: T[4, K]) -> (y: T[M, N + 4], z: T[M, N + 4]) {\nlet a = linear(x, w)\nlet b = linear(x, v)\ny = columns(a, b)\nz = columns(a, b * 2)\n}", 0},
	} {
		program, problems := jit.Load("concat.tile", []byte(concatKernels+"\ngraph g<T: float>"+c.graph+"\n"), nil)
		require.Empty(t, problems, c.name)
		g := program.Graphs[len(program.Graphs)-1]
		for _, d := range []lang.DType{lang.F32, lang.BF16} {
			for _, size := range [][3]int64{{64, 48, 32}, {17, 19, 33}} {
				if d == lang.F32 != (size[0] == 64) && sweep.OneIn(2) > 1 {
					continue
				}
				dims := map[string]int64{"M": size[0], "N": size[1], "K": size[2]}
				launches := 0
				if size[0] == 64 {
					launches = c.launches
				}
				t.Run(fmt.Sprintf("%s %s %v", c.name, d, size), func(t *testing.T) { runFused(t, concatenating(t), g, dims, d, launches, true) })
				t.Run(fmt.Sprintf("%s %s %v on the CPU", c.name, d, size), func(t *testing.T) { runFused(t, jit.OpenCPU(), g, dims, d, 0, true) })
			}
		}
	}
}

// concatenating is the device under test where that is a GPU, else an emulator of one with copies that run ahead.
func concatenating(t *testing.T) jit.Device {
	if jittest.OnGPU(t) && !jittest.OnEmulator(t) {
		return jittest.Device(t)
	}
	device, err := jit.OpenEmulator("sm_90a")
	require.NoError(t, err)
	return device
}
