package conformance_test

import (
	"fmt"
	"strings"
	"testing"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// contractionForms are the ways to write a product of matrices, of T with the accumulator A.
const contractionForms = `
kernel dots(a: T[M, K], b: T[K, N]) -> y: A[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = dot(a[i, k], b[k, j])
}

kernel steps(a: T[M, K], b: T[K, N]) -> y: A[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(A, i, j) {
        mma(a[i, k], b[k, j], acc)
    }
}

kernel sums(a: T[M, K], b: T[K, N]) -> y: A[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = sum(a[i, k] WIDE * b[k, j] WIDE, over k)
}

/// A batch whose members are one after the other in a block's tile, with b stored [N, K].
kernel batches(a: T[H, M, K], b: T[H, N, K]) -> y: A[H, M, N]
    grid h in H by 2, i in M by BM, j in N by BN
{
    axis k in K
    y[h, i, j] = dot(a[h, i, k], b[h, j, k], over k)
}

/// A batch by a scalar position.
kernel heads(a: T[H, M, K], b: T[H, K, N]) -> y: A[H, M, N]
    grid h in H, i in M by BM, j in N by BN
{
    y[h, i, j] = for k in K by BK with acc = zeros(A, i, j) {
        mma(a[h, i, k], b[h, k, j], acc)
    }
}

/// A row times a matrix, and a number.
kernel vector(a: T[K], b: T[K, N]) -> y: A[N]
    grid j in N by BN
{
    axis k in K
    y[j] = dot(a[k], b[k, j])
}

kernel inner(a: T[K], b: T[K]) -> y: A[1]
    grid g in 1
{
    axis k in K
    y[g] = dot(a[k], b[k])
}
`

// Contractions of every type in every form, at sizes that fit nothing: with
// factors from -3 to 3, every sum is exact in every accumulator.
func TestContractionMatrix(t *testing.T) {
	extents := [][3]int{{1, 1, 1}, {3, 17, 33}, {17, 3, 65}, {33, 65, 17}, {65, 33, 3}, {1, 65, 33}, {33, 1, 65}, {17, 33, 1}, {64, 64, 64}, {3, 17, 64}, {16, 32, 768}}
	if jittest.OnEmulator(t) {
		extents = [][3]int{{1, 3, 1}, {3, 17, 33}, {33, 17, 3}, {17, 1, 65}, {3, 17, 64}} // of the last, warps share the depth
	}
	for _, d := range lang.DTypes() {
		if d == lang.Bool {
			continue
		}
		acc := d.Accumulator()
		wide := ""
		if d.IsInt() && d != acc { // a product of two is not of their type
			wide = " as " + acc.String()
		}
		source := strings.NewReplacer("T[", d.String()+"[", "A[", acc.String()+"[", "zeros(A,", "zeros("+acc.String()+",", " WIDE", wide).Replace(contractionForms)
		kernels := jittest.Load(t, d.String()+".tile", source)
		for _, precision := range jittest.Precisions(t, d) {
			for _, e := range extents {
				t.Run(fmt.Sprintf("%s%s/%dx%dx%d", d, precision, e[0], e[1], e[2]), func(t *testing.T) {
					opts := jit.Options{Precision: precision}
					m, n, k := e[0], e[1], e[2]
					const h = 3
					a, b := factors(d, 1, h, m, k), factors(d, 2, h, k, n)
					flipped := jittest.NewArray(d, h, int64(n), int64(k))
					for i := range h * n * k {
						g, j, q := i/(n*k), i/k%n, i%k
						flipped.SetFloat(i, b.Float(g*k*n+q*n+j))
					}
					want := func(g, i, j int) float64 {
						s := 0.0
						for q := range k {
							s += a.Float(g*m*k+i*k+q) * b.Float(g*k*n+q*n+j)
						}
						return s
					}
					part := func(x *jittest.Array, shape ...int64) *jittest.Array {
						p := jittest.NewArray(d, shape...)
						copy(p.Data, x.Data)
						return p
					}
					a0, b0 := part(a, int64(m), int64(k)), part(b, int64(k), int64(n))
					for _, name := range []string{"dots", "steps", "sums"} {
						y := kernels.Run(t, name, opts, a0, b0)[0]
						jittest.Same(t, y, func(i int) float64 { return want(0, i/n, i%n) })
					}
					y := kernels.Run(t, "batches", opts, a, flipped)[0]
					jittest.Same(t, y, func(i int) float64 { return want(i/(m*n), i/n%m, i%n) })
					y = kernels.Run(t, "heads", opts, a, b)[0]
					jittest.Same(t, y, func(i int) float64 { return want(i/(m*n), i/n%m, i%n) })
					y = kernels.Run(t, "vector", opts, part(a, int64(k)), b0)[0]
					jittest.Same(t, y, func(i int) float64 { return want(0, 0, i) })
					column := jittest.NewArray(d, int64(k))
					for q := range k {
						column.SetFloat(q, b.Float(q*n))
					}
					y = kernels.Run(t, "inner", opts, part(a, int64(k)), column)[0]
					jittest.Same(t, y, func(int) float64 { return want(0, 0, 0) })
				})
			}
		}
	}
}

// factors are whole numbers from -3 to 3, or from 0 to 6 where the type has no sign.
func factors(d lang.DType, seed, h, rows, columns int) *jittest.Array {
	r := jittest.Rand(fmt.Sprint("factors", seed, rows, columns))
	a := jittest.NewArray(d, int64(h), int64(rows), int64(columns))
	for i := range a.Len() {
		v := float64(r.IntN(7))
		if d.IsFloat() || d.IsSigned() {
			v -= 3
		}
		a.SetFloat(i, v)
	}
	return a
}
