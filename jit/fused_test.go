package jit_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// fusedKernels are what the graphs of TestFusedGraphs call.
const fusedKernels = `import "std/math"
import "std/nn"

kernel scale<T: float>(x: T[M, N], a: f32) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = (x[i, j] as f32 * a) as T
}

kernel rms<T: float>(x: T[M, N], g: T[N]) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    let v = x[i, j] as f32
    y[i, j] = (v * rsqrt(mean(v * v, over j) + 1e-5) * g[j] as f32) as T
}

kernel weights<T: float>(x: T[M, N]) -> y: T[M, N] {
    let e = exp(x[i, j] as f32 - max(x[i, j], over j) as f32)
    y[i, j] = (e / sum(e, over j)) as T
}

kernel off<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in N
    y[i, j] = (x[i, j] as f32 - mean(x[i, k] as f32, over k)) as T
}

kernel scores<T: float>(q: T[M, K], k: T[N, K]) -> y: T[M, N] {
    y[i, j] = (sum(q[i, d] * k[j, d], over d) / 4) as T
}

kernel batch<T: float>(x: T[B, C, P], g: T[C]) -> y: T[B, C, P]
    grid c in C by BC
{
    axis n in B
    axis p in P
    let v = x[n, c, p] as f32 - mean(x[n, c, p] as f32, over (n, p))
    y[n, c, p] = (v * rsqrt(mean(v * v, over (n, p)) + 1e-5) * g[c] as f32) as T
}

kernel turned<T: float>(x: T[M, N]) -> y: T[N, M]
    grid j in N by BN, i in M by BM
{
    y[j, i] = x[i, j]
}

kernel later<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = x[i, j + 1] else 0
}

kernel near<T: float>(x: T[M, N], w: T[N, 3]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    axis r in 3
    y[i, j] = sum((x[i, j + r - 1] else 0) * w[j, r], over r) as T
}

kernel channels<T: float>(x: T[B, C, P], b: T[C]) -> y: T[B, C, P]
    grid n in B by BB, c in C by BC, p in P by BP
{
    y[n, c, p] = (x[n, c, p] as f32 + b[c] as f32) as T
}

kernel groups<T: float>(x: T[B, G, C, P]) -> y: T[B, G, C, P] {
    let d = x[n, q, c, p] as f32 - mean(x[n, q, c, p] as f32, over (c, p))
    y[n, q, c, p] = (d * rsqrt(mean(d * d, over (c, p)) + 1e-5)) as T
}

kernel image<T: float>(x: T[B, C, H, W], w: T[O, C, 3, 3]) -> y: T[B, O, H - 2, W - 2] {
    y[n, o, h, v] = sum(x[n, c, h + r, v + s] * w[o, c, r, s], over (c, r, s)) as T
}

kernel least<T: float>(x: T[B, C, P]) -> y: T[B, P] {
    y[n, p] = min(x[n, c, p], over c)
}

kernel pooled<T: float>(x: T[B, H, W]) -> y: T[B, H / 2, W / 2] {
    axis r in 2
    axis s in 2
    y[n, h, v] = max(x[n, 2 * h + r, 2 * v + s] else -inf, over (r, s))
}

kernel pointwise<T: float>(x: T[B, C, H, W], w: T[O, C]) -> y: T[B, O, H, W] {
    y[n, o, h, v] = sum(x[n, c, h, v] * w[o, c], over c) as T
}

kernel averaged<T: float>(x: T[B, C, H, W]) -> y: T[B, C, H / 2, W / 2] {
    axis r in 2
    axis s in 2
    y[n, c, h, v] = mean(x[n, c, 2 * h + r, 2 * v + s] else 0, over (r, s)) as T
}

kernel merged<T: any>(x: T[B, 2 * H, 2 * W, C]) -> y: T[B, H, W, 4, C]
    grid b in B, h in H, v in W, k in 4, c in C by BC
{
    y[b, h, v, k, c] = x[b, 2 * h + k % 2, 2 * v + k / 2, c]
}

kernel mirrored<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = (x[i, j] as f32 * 2 + x[i, N - 1 - index(j)] as f32) as T
}

kernel rows<T: float>(x: T[M, N]) -> y: f32[M]
    grid i in M by BM
{
    let s = for j in N by BN with s = zeros(f32, i) {
        s + max(x[i, j] as f32, over j)
    }
    y[i] = s
}

kernel add_to<T: float>(x: T[M, N], inout t: T[M, N])
    grid i in M by BM, j in N by BN
{
    t[i, j] = (t[i, j] as f32 + x[i, j] as f32) as T
}

kernel put<T: float>(x: T[M, N], start: i32, inout to: T[P, N])
    grid i in M by BM
{
    axis j in N
    to[start + index(i), j] = x[i, j]
}

kernel heads<T: float>(o: T[M, H, C, D], most: T[M, H, C]) -> y: T[M, H, D]
    grid i in M, h in H
{
    axis c in C
    axis e in D
    let r = exp(most[i, h, c] as f32 - max(most[i, h, c] as f32, over c))
    y[i, h, e] = (sum(r * o[i, h, c, e] as f32, over c) / sum(r, over c)) as T
}

kernel keep<T: float>(x: T[M, H, D], inout to: T[M, H, P, D])
    grid i in M, h in H
{
    axis d in D
    to[i, h, i + 2, d] = x[i, h, d]
}

kernel mix<T: float>(q: T[M, H, D], k: T[M, H, D], v: T[M, H, D]) -> y: T[M, H, D]
    grid i in M, h in H
{
    axis d in D
    axis e in D
    let s = sum(q[i, h, d] as f32 * k[i, h, d] as f32, over d)
    y[i, h, e] = (s * v[i, h, e] as f32) as T
}

kernel turn<T: float>(x: T[M, H, D]) -> y: T[M, H, D]
    grid i in M, h in H
{
    axis d in D
    y[i, h, d] = -x[i, h, d]
}

kernel reverse<T: float>(x: T[M, N], inout t: T[M, N])
    grid i in M by BM
{
    axis j in N
    t[i, j] = (t[i, N - 1 - index(j)] as f32 + x[i, j] as f32) as T
}

kernel loud<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    assert(x[i, j] as f32 < 1e9, "large")
    y[i, j] = x[i, j]
}
`

// A fused graph gives what the graph gives of which every call is a launch, with as many launches as it says. Where no sum is
// added up in another order, the bits are the same.
func TestFusedGraphs(t *testing.T) {
	sweep.OnceEmulated(t)
	for _, c := range []struct {
		name, graph string
		// launches on a GPU of shapes, each M, N, K.
		launches int
		sizes    [][3]int64
		types    []lang.DType
		// sums are added up in an order that the plan decides.
		sums bool
	}{
		{"a norm into a product of few rows", "(x: T[M, K], g: T[K], b: T[K], w: T[K, N]) -> y: T[M, N] { y = linear(layernorm(x, g, b), w) }", 1,
			[][3]int64{{1, 40, 48}, {3, 33, 50}, {4, 8, 200}, {8, 40, 96}, {16, 33, 50}}, []lang.DType{lang.BF16, lang.F16}, true},
		{"and into one of many", "(x: T[M, K], g: T[K], b: T[K], w: T[K, N]) -> y: T[M, N] { y = linear(layernorm(x, g, b), w) }", 2,
			[][3]int64{{17, 40, 48}, {70, 33, 50}}, []lang.DType{lang.BF16}, true},
		{"and into one of f32", "(x: T[M, K], g: T[K], b: T[K], w: T[K, N]) -> y: T[M, N] { y = linear(layernorm(x, g, b), w) }", 2,
			[][3]int64{{1, 40, 48}}, []lang.DType{lang.F32}, true},
		{"another norm, and an activation behind", "(x: T[M, K], g: T[K], w: T[K, N]) -> y: T[M, N] { y = relu(linear(rms(x, g), w)) * 2 }", 1,
			[][3]int64{{1, 40, 48}, {2, 17, 31}}, []lang.DType{lang.BF16}, true},
		{"a sum of neighbours into a product", "(x: T[M, K], u: T[K, 3], w: T[K, N]) -> y: T[M, N] { y = linear(near(x, u), w) }", 1,
			[][3]int64{{1, 40, 48}, {4, 33, 50}}, []lang.DType{lang.BF16}, true},
		{"and not into one of many rows", "(x: T[M, K], u: T[K, 3], w: T[K, N]) -> y: T[M, N] { y = linear(near(x, u), w) }", 2,
			[][3]int64{{70, 33, 50}}, []lang.DType{lang.BF16}, true},
		{"a bias along the columns of a product that is looked at as an image", "(x: T[M, K], w: T[K, N], b: T[N]) -> y: T[M, N, 1] { y = relu(channels(view(linear(x, w), [M, N, 1]), b)) }", 1,
			[][3]int64{{17, 19, 33}, {64, 64, 32}, {1, 5, 7}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"and along its rows, as one of two images", "(x: T[2 * M, K], w: T[K, N], b: T[M]) -> y: T[2, M, N] { y = channels(view(linear(x, w), [2, M, N]), b) }", 2,
			[][3]int64{{17, 19, 33}, {64, 64, 32}}, []lang.DType{lang.F32}, true},
		{"a bias along channels behind a norm of groups of them", "(x: T[M, 2, 3, N], b: T[6]) -> y: T[M, 6, N] { y = relu(channels(view(groups(x), [M, 6, N]), b)) }", 1,
			[][3]int64{{5, 33}, {1, 128}, {3, 1}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"a reduction behind a convolution that is looked at as rows", "(x: T[M, 5, N, K], w: T[9, 5, 3, 3]) -> y: T[M, (N - 2) * (K - 2)] { y = relu(least(view(image(x, w), [M, 9, (N - 2) * (K - 2)]))) }", 1,
			[][3]int64{{2, 9, 11}, {1, 6, 40}, {3, 3, 3}}, []lang.DType{lang.F32}, true},
		{"not windows of an image that is reduced as a row", "(x: T[M, 2 * N, 2 * K]) -> y: f32[M] { y = rows(view(pooled(x), [M, N * K])) }", 2,
			[][3]int64{{3, 5, 7}}, []lang.DType{lang.F32}, true},
		{"the mean of windows behind a convolution", "(x: T[M, K, 2 * N + 1, 16], w: T[6, K]) -> y: T[M, 6, N, 8] { y = averaged(pointwise(x, w)) }", 1,
			[][3]int64{{1, 9, 24}, {3, 20, 32}, {1, 3, 1}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"places that are moved behind a norm that is looked at as images", "(x: T[8 * N, K], g: T[K], b: T[K]) -> y: T[2, N, 1, 4, K] { y = merged(view(relu(layernorm(x, g, b)), [2, 2 * N, 2, K])) }", 1,
			[][3]int64{{1, 33, 5}, {1, 9, 12}, {1, 64, 1}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"windows and an activation", "(x: T[M, 2 * N, 2 * K]) -> y: T[M, N, K] { y = relu(pooled(x)) }", 1,
			[][3]int64{{3, 5, 7}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"what a formula names twice", "(x: T[M, N], z: T[M, N]) -> y: T[M, N] { y = weights(x * z) }", 1,
			[][3]int64{{5, 33}, {70, 300}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"and what it reads along two axes", "(x: T[M, N], z: T[M, N]) -> y: T[M, N] { y = off(x * z) }", 1,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32}, true},
		{"attention of three kernels", "(q: T[M, K], k: T[N, K], v: T[N, K]) -> y: T[M, K] { y = linear(weights(scores(q, k)), v) }", 1,
			[][3]int64{{64, 128, 32}, {70, 40, 24}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"an activation and a sum behind a product", "(x: T[M, K], w: T[K, N], r: T[M, N]) -> y: T[M, N] { y = relu(linear(x, w)) + r }", 1,
			[][3]int64{{17, 19, 33}, {64, 64, 32}, {1, 5, 7}}, []lang.DType{lang.F32, lang.BF16, lang.F16}, true},
		{"two products of the same rows", "(x: T[M, K], w: T[K, N], v: T[K, N]) -> y: T[M, N] { y = relu(linear(x, w)) * linear(x, v) }", 1,
			[][3]int64{{1, 40, 48}, {5, 33, 20}, {64, 64, 64}, {130, 72, 200}}, []lang.DType{lang.F32, lang.BF16, lang.F16}, true},
		{"and of other rows", "(x: T[M, K], z: T[M, 2 * K], w: T[K, N], v: T[2 * K, N]) -> y: T[M, N] { y = relu(linear(x, w)) + linear(z, v) }", 1,
			[][3]int64{{1, 40, 48}, {33, 40, 24}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"and of parts of the same", "(x: T[M, 2 * K], w: T[K, N], v: T[K, N]) -> y: T[M, N] { y = relu(linear(x[.., 0 .. K], w)) * linear(x[.., K .. 2 * K], v) }", 1,
			[][3]int64{{1, 40, 48}, {33, 40, 24}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"a norm into both", "(x: T[M, K], g: T[K], w: T[K, N], v: T[K, N]) -> y: T[M, N] {\nlet a = rms(x, g)\ny = relu(linear(a, w)) * linear(a, v)\n}", 1,
			[][3]int64{{1, 40, 48}, {3, 33, 50}, {16, 33, 50}}, []lang.DType{lang.BF16, lang.F16}, true},
		{"and not into both of many rows", "(x: T[M, K], g: T[K], w: T[K, N], v: T[K, N]) -> y: T[M, N] {\nlet a = rms(x, g)\ny = relu(linear(a, w)) * linear(a, v)\n}", 2,
			[][3]int64{{70, 33, 50}}, []lang.DType{lang.BF16}, true},
		{"a product that another needs and is multiplied with", "(x: T[M, N], w: T[N, N]) -> y: T[M, N] {\nlet a = linear(x, w)\ny = relu(linear(a, w)) * a\n}", 2,
			[][3]int64{{5, 40, 1}, {64, 64, 1}}, []lang.DType{lang.BF16}, true},
		{"not a product that is read in two places", "(x: T[M, K], w: T[K, N]) -> y: T[M, N] { y = mirrored(linear(x, w)) }", 2,
			[][3]int64{{5, 33, 20}}, []lang.DType{lang.F32}, true},
		{"nor attention, whose threads reduce together", "(q: T[M, 2, 3, 16], k: T[M, 3, 8, 16], v: T[M, 3, 8, 16], start: i32[M], w: T[16, 16]) -> y: T[M, 2, 3, 16] {\n" +
			"let a = view(linear(view(q, [M * 6, 16]), w), [M, 2, 3, 16])\ny = a * attention(q, k, v, start, 0.5)\n}", 2, [][3]int64{{3, 1, 1}}, []lang.DType{lang.BF16}, true},
		{"one that is turned", "(x: T[M, K], w: T[K, N]) -> y: T[N, M] { y = scale(turned(linear(x, w)), 2) }", 1,
			[][3]int64{{5, 33, 20}}, []lang.DType{lang.F32}, true},
		{"elementwise before a softmax", "(x: T[M, N]) -> y: T[M, N] { y = softmax(scale(x, 0.5)) }", 1,
			[][3]int64{{5, 33}, {1, 1}, {64, 128}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"elementwise behind a softmax", "(x: T[M, N]) -> y: T[M, N] { y = scale(softmax(x), 3) - x }", 1,
			[][3]int64{{5, 33}, {7, 300}}, []lang.DType{lang.F32, lang.F16}, true},
		{"a chain through kernels", "(x: T[M, N], z: T[M, N]) -> y: T[M, N] { y = relu(scale(scale(x + z, 2), 3)) + 1.0 }", 1,
			[][3]int64{{5, 33}, {1, 1000}}, []lang.DType{lang.F32, lang.F16, lang.BF16}, false},
		{"a tensor turned", "(x: T[M, N]) -> y: T[N, M] { y = turned(scale(x, 2)) }", 1,
			[][3]int64{{5, 33}, {40, 64}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"a sum with the mirrored row", "(x: T[M, N]) -> y: T[M, N] { y = mirrored(scale(x, 2)) }", 1,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32}, false},
		{"in a loop", "(x: T[M, N]) -> y: f32[M] { y = rows(scale(x, 2)) }", 1,
			[][3]int64{{5, 33}, {70, 300}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"in another shape", "(x: T[M, N]) -> y: T[N, M] { y = scale(view(scale(x, 2), [N, M]), 3) }", 1,
			[][3]int64{{5, 33}, {1, 64}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"heads put together before a product", "(o: T[M, 4, 3, K], most: T[M, 4, 3], w: T[4 * K, N]) -> y: T[M, N] { y = linear(view(heads(o, most), [M, 4 * K]), w) }", 1,
			[][3]int64{{1, 40, 16}, {2, 17, 5}}, []lang.DType{lang.BF16, lang.F16}, true},
		{"stored elsewhere", "(x: T[M, N], inout t: T[M + 9, N]) { put(scale(x, 2), 3, t) }", 1,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"side by side", "(x: T[M, N], inout t: T[M + 9, N], inout u: T[M + 9, N]) {\nput(x, 3, t)\nput(x, 3, u)\n}", 1,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"a part stored elsewhere", "(x: T[M, K], w: T[K, 3 * N], inout t: T[M + 9, N]) -> y: T[M, 3 * N] {\nlet a = linear(x, w)\nput(a[.., N .. 2 * N], 3, t)\ny = a\n}", 1,
			[][3]int64{{1, 40, 16}, {3, 17, 31}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"parts of heads put into a cache", "(x: T[M, K], w: T[K, 12 * N], inout t: T[M, 4, 8, N], inout u: T[M, 4, 8, N]) -> y: T[M, 4, N] {\n" +
			"let a = view(linear(x, w), [M, 3, 4, N])\nkeep(a[.., 1], t)\nkeep(a[.., 2], u)\ny = turn(a[.., 0])\n}", 1,
			[][3]int64{{1, 16, 16}, {2, 5, 31}, {4, 8, 8}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"a product that is read in parts", "(x: T[M, K], w: T[K, 12 * N], r: T[M, 4, N]) -> y: T[M, 4, N] {\nlet a = view(linear(x, w), [M, 3, 4, N])\ny = mix(a[.., 0], a[.., 1], a[.., 2]) + r\n}", 1,
			[][3]int64{{1, 16, 16}, {2, 5, 31}, {4, 8, 8}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"and in the same part twice", "(x: T[M, K], w: T[K, 12 * N], r: T[M, 4, N]) -> y: T[M, 4, N] {\nlet a = view(linear(x, w), [M, 3, 4, N])\ny = mix(a[.., 2], a[.., 0], a[.., 0]) + r\n}", 1,
			[][3]int64{{1, 16, 16}, {2, 5, 31}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"not of many weights", "(x: T[M, K], w: T[K, 12 * N], r: T[M, 4, N]) -> y: T[M, 4, N] {\nlet a = view(linear(x, w), [M, 3, 4, N])\ny = mix(a[.., 0], a[.., 1], a[.., 2]) + r\n}", 2,
			[][3]int64{{1, 64, 1024}}, []lang.DType{lang.BF16}, true},
		{"not of parts that others read too", "(x: T[M, K], w: T[K, 12 * N], r: T[M, 4, N]) -> (y: T[M, 4, N], z: T[M, 12 * N]) {\nlet b = linear(x, w)\nlet a = view(b, [M, 3, 4, N])\ny = mix(a[.., 0], a[.., 1], a[.., 2]) + r\nz = b\n}", 2,
			[][3]int64{{1, 16, 16}}, []lang.DType{lang.BF16}, true},
		{"added to what is there", "(x: T[M, N], inout t: T[M, N]) { add_to(scale(x, 2), t) }", 1,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32}, false},

		{"not where it may be outside", "(x: T[M, N]) -> y: T[M, N] { y = later(scale(x, 2)) }", 2,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32}, false},
		{"what others read too stays", "(x: T[M, N]) -> (y: T[M, N], z: T[M, N]) {\nlet a = scale(x, 2)\ny = scale(a, 3)\nz = softmax(a)\n}", 2,
			[][3]int64{{5, 33}, {70, 300}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"a result and what is made of it", "(x: T[M, N]) -> (y: T[M, N], z: T[M, N]) {\nlet a = scale(x, 2)\ny = a\nz = scale(a, 3)\n}", 1,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"a value that two calls read", "(x: T[M, N]) -> (y: T[M, N], z: T[M, N]) {\nlet a = scale(x, 2)\nlet b = relu(a)\nlet c = scale(a, 3)\ny = c\nz = b + c\n}", 1,
			[][3]int64{{5, 33}, {64, 64}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"a value that two calls read behind a product", "(x: T[M, K], w: T[K, N], r: T[M, N]) -> (y: T[M, N], z: f32[M, N]) {\nlet a = linear(x, w)\ny = relu(a) + r\nz = scale(a, 3) as f32\n}", 1,
			[][3]int64{{5, 33, 20}, {64, 64, 64}, {1, 40, 48}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"a bias, an activation, a residual and casts behind a product", "(x: T[M, K], w: T[K, N], b: T[N], r: T[M, N]) -> y: T[M, N] {\n" +
			"let a = linear_f32(x, w)\nlet c = add_bias(a, b)\nlet d = gelu(c) as T\ny = (d as f32 + r as f32) as T\n}", 1,
			[][3]int64{{5, 33, 20}, {64, 64, 64}, {1, 40, 48}}, []lang.DType{lang.F32, lang.BF16, lang.F16}, true},
		{"in another shape behind a product", "(x: T[M, K], w: T[K, 2 * N], r: T[M, 2, N]) -> y: T[M, 2, N] { y = relu(view(linear(x, w), [M, 2, N])) + r }", 1,
			[][3]int64{{5, 33, 20}, {64, 32, 64}, {1, 40, 48}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"in two shapes", "(x: T[M, N]) -> (y: T[N, M], z: T[M * N], w: T[M, N]) {\nlet a = view(scale(x, 2), [N, M]) * 3\nlet b = view(a, [M * N]) + 1\ny = a\nz = b\nw = view(b, [M, N]) * x\n}", 1,
			[][3]int64{{5, 33}, {64, 64}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"a part of a value that another reads whole", "(x: T[M, N]) -> (y: T[M, N], z: T[M, N / 2]) {\nlet a = scale(x, 2)\ny = scale(a, 3)\nz = scale(a[.., 0 .. N / 2], 3)\n}", 2,
			[][3]int64{{5, 34}, {70, 300}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"through graphs and tuples", "(x: T[M, N]) -> y: T[M, N] {\nlet (a, b) = (scale(x, 2), relu(x))\nlet c = for n in 3 with c = scale(a, 2) { relu(scale(c, 2)) + 1 }\ny = c * b\n}", 1,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32, lang.BF16}, false},
		{"not in another shape where positions matter", "(x: T[M, K], w: T[K, N]) -> y: T[M, N] { y = turned(view(linear(x, w), [N, M])) }", 2,
			[][3]int64{{5, 33, 20}}, []lang.DType{lang.F32}, true},
		{"a tensor that one call reads twice", "(x: T[M, N]) -> (y: T[M, N], z: T[M, N]) {\nlet a = softmax(x)\nlet b = scale(a, 2)\ny = add(a, a)\nz = add(a, b)\n}", 1,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32, lang.BF16}, true},
		{"not of what is written in between", "(x: T[M, N], inout t: T[M, N]) -> y: T[M, N] {\nlet a = scale(t, 2)\nadd_to(x, t)\ny = scale(a, 3)\n}", 3,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32}, false},
		{"not of what is written there", "(inout t: T[M, N]) { add_to(scale(t, 2), t) }", 2,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32}, false},
		{"not what exchanges elements", "(x: T[M, K], w: T[K, N], inout t: T[M, N]) { reverse(linear(x, w), t) }", 2,
			[][3]int64{{5, 33, 16}, {3, 300, 7}}, []lang.DType{lang.F32}, true},
		{"a part that alone is read", "(x: T[M, N]) -> y: T[M, N / 2] {\nlet a = scale(x, 2)\ny = scale(a[.., 0 .. N / 2], 3)\n}", 1,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32}, false},
		{"not what asserts", "(x: T[M, N]) -> y: T[M, N] { y = loud(scale(x, 2)) }", 2,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32}, false},
		{"not beside one that writes the same", "(x: T[M, N], inout t: T[M + 9, N]) {\nput(x, 3, t)\nput(x, 4, t)\n}", 2,
			[][3]int64{{5, 33}}, []lang.DType{lang.F32}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			program, problems := jit.Load("fused.tile", []byte(fusedKernels+"\ngraph g<T: float>"+c.graph+"\n"), nil)
			require.Empty(t, problems)
			g := program.Graphs[len(program.Graphs)-1]
			for _, size := range c.sizes {
				for _, d := range c.types[:max(1, len(c.types)/sweep.OneIn(2))] {
					dims := map[string]int64{}
					for i, name := range []string{"M", "N", "K"} {
						dims[name] = size[i]
					}
					t.Run(fmt.Sprintf("%s %v", d, size), func(t *testing.T) { runFused(t, fusing(t), g, dims, d, c.launches, c.sums) })
					t.Run(fmt.Sprintf("%s %v on the CPU", d, size), func(t *testing.T) { runFused(t, jit.OpenCPU(), g, dims, d, 0, c.sums) })
				}
			}
		})
	}
}

// Launches into which others are fused are cut as those by themselves are: a norm of few rows by many blocks, with what is before it and behind it.
func TestFusedKernelsAreCut(t *testing.T) {
	sweep.Once(t)
	device, err := jit.OpenEmulator("sm_90a")
	require.NoError(t, err)
	defer device.Close()
	for _, graph := range []string{
		"(x: T[M, N, K], g: T[N], r: T[M, N, K], s: T[M, N, K]) -> y: T[M, N, K] { y = (relu(batch(x, g) * s) + r) * 2 }",
		"(x: T[M, N, K], g: T[N], r: T[M, N, K]) -> y: T[M, N, K] { y = relu(batch(x * r, g)) }",
		"(x: T[M, N, K], g: T[N], r: T[M, N, K]) -> (y: T[M, N, K], z: T[M, N, K]) {\nlet a = batch(x, g)\ny = a\nz = relu(a) + r\n}",
		"(r: T[M, N, K], x: T[M, 3 * N, K], g: T[N]) -> y: T[M, N, K] { y = relu(batch(x[.., N .. 2 * N], g) * r) }",
	} {
		program, problems := jit.Load("fused.tile", []byte(fusedKernels+"\ngraph g<T: float>"+graph+"\n"), nil)
		require.Empty(t, problems)
		g := program.Graphs[len(program.Graphs)-1]
		dims := map[string]int64{"M": 8, "N": 1, "K": 131072}
		runFused(t, device, g, dims, lang.F32, 2, true)
		runFused(t, jit.OpenCPU(), g, dims, lang.F32, 0, true)
	}
	// Both halves of what stores a part of an image.
	program, problems := jit.Load("fused.tile", []byte(concatKernels+`
graph g<T: float>(x: T[M, N, K], g: T[N]) -> y: T[M, 2 * N, K] {
    let a = batch(x, g)
    y = channels(a * 2, batch(a, g))
}`), nil)
	require.Empty(t, problems)
	runFused(t, device, program.Graphs[0], map[string]int64{"M": 8, "N": 1, "K": 131072}, lang.F32, 4, true)
}

// fusing is a machine whose launches take so long that all is fused that can be; where there is a GPU, what that finds worth its while.
func fusing(t *testing.T) jit.Device {
	if jittest.OnGPU(t) && !jittest.OnEmulator(t) {
		return jittest.Device(t)
	}
	device, err := jit.OpenEmulator("sm_80")
	require.NoError(t, err)
	return device
}

// runFused compares the runs of a graph whose launches are fused, so many where that is said, and of the same graph with a launch
// for each call.
func runFused(t *testing.T, device jit.Device, g *typed.Graph, dims map[string]int64, d lang.DType, launches int, sums bool) {
	compiler := jit.NewCompiler(device, nil)
	run := func(separate bool) (out [][]byte) {
		text := ""
		opts := jit.Options{Separate: separate, Dump: func(_ string, after lang.Listing) { text = after.String() }}
		var args []jit.Value
		var changed []*jit.Tensor
		for i, p := range g.Params {
			var shape []int64
			for _, s := range p.Type.Shape {
				n, err := s.Eval(func(sym *size.Symbol) (int64, bool) { n, ok := dims[sym.Name]; return n, ok })
				require.NoError(t, err)
				shape = append(shape, n)
			}
			d := p.Type.DType.Resolve(map[*typed.TypeParam]lang.DType{g.TypeParams[0]: d})
			a := jittest.Normal(d, fmt.Sprint(i), shape...)
			if d == lang.I32 { // where a sequence begins: before the cache, in it, and so that it ends behind it
				for k := range shape[0] {
					require.NoError(t, a.SetFloat(int(k), []float64{3, -5, 70}[k%3]))
				}
			}
			m, err := compiler.Device.Alloc(int64(len(a.Data)))
			require.NoError(t, err)
			t.Cleanup(func() { compiler.Device.Free(m) })
			require.NoError(t, compiler.Device.Write(m, 0, a.Data))
			tensor := &jit.Tensor{DType: d, Shape: shape, Memory: m}
			args = append(args, jit.TensorValue(tensor))
			if p.Mode == lang.InOut {
				changed = append(changed, tensor)
			}
		}
		p, err := compiler.BindGraph(g, args, opts)
		require.NoError(t, err)
		defer p.Close()
		if _, gpu := device.(*jit.GPU); !separate && !gpu && launches > 0 {
			assert.Equal(t, launches, strings.Count(text, "\n")-1-strings.Count(text, "result "), text)
		}
		results, err := p.Run(args)
		require.NoError(t, err)
		for _, r := range results {
			changed = append(changed, r.Tensor)
		}
		for _, r := range changed {
			data := make([]byte, r.Bytes())
			require.NoError(t, jit.ReadTensor(compiler.Device, r, data))
			out = append(out, data)
		}
		return out
	}
	got, want := run(false), run(true)
	require.Len(t, got, len(want))
	for n := range want {
		if !sums {
			assert.Equal(t, want[n], got[n])
			continue
		}
		// Another order of a sum in f32, or of products of factors in tf32, rounds to another neighbour in the type: a few units.
		unit := math.Ldexp(1, -map[lang.DType]int{lang.F32: 10, lang.F16: 10, lang.BF16: 7}[d])
		for i := 0; i < len(want[n]); i += d.Size() {
			a, b := element(d, got[n][i:i+d.Size()]), element(d, want[n][i:i+d.Size()])
			if math.Abs(a-b) > 4*unit*max(1, math.Abs(b)) {
				t.Errorf("result %d, element %d: %v, apart %v", n, i/d.Size(), a, b)
			}
		}
	}
}

func element(d lang.DType, data []byte) float64 {
	a := jit.NewArray(d, 1)
	copy(a.Data, data)
	return a.Float(0)
}
