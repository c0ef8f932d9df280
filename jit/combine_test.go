package jit_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
)

// affineSource composes affine maps x -> a x + b, which does not commute, of
// i32, which wraps: any order but that of the positions, and any element too
// many or too few, gives another result.
const affineSource = `
fn then(a1, b1, a2, b2) = (a1 * a2, a2 * b1 + b2)
kernel rows(a: i32[M, N], b: i32[M, N]) -> (p: i32[M], q: i32[M], r: i32[M, N], s: i32[M, N], t: i32[M, N], u: i32[M, N])
    grid i in M by B
{
    axis j in N
    let (p1, q1) = reduce((a[i, j], b[i, j]), over j, (1, 0), then)
    p[i] = p1
    q[i] = q1
    let (r1, s1) = scan((a[i, j], b[i, j]), over j, (1, 0), then)
    r[i, j] = r1
    s[i, j] = s1
    let (t1, u1) = scan((a[i, j], b[i, j]), over j, (1, 0), then, reverse = true)
    t[i, j] = t1
    u[i, j] = u1
}
kernel columns(a: i32[N, M], b: i32[N, M]) -> (p: i32[M], q: i32[M], r: i32[N, M], s: i32[N, M], t: i32[N, M], u: i32[N, M])
    grid i in M by B
{
    axis j in N
    let (p1, q1) = reduce((a[j, i], b[j, i]), over j, (1, 0), then)
    p[i] = p1
    q[i] = q1
    let (r1, s1) = scan((a[j, i], b[j, i]), over j, (1, 0), then)
    r[j, i] = r1
    s[j, i] = s1
    let (t1, u1) = scan((a[j, i], b[j, i]), over j, (1, 0), then, reverse = true)
    t[j, i] = t1
    u[j, i] = u1
}
`

type affine struct{ a, b int32 }

func (x affine) then(y affine) affine { return affine{x.a * y.a, y.a*x.b + y.b} }

func ints(n int, at func(int) int32) []byte {
	data := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(at(i)))
	}
	return data
}

// TestCombineKeepsOrder runs compositions of affine maps along rows and columns
// of many sizes, in blocks of many shapes.
func TestCombineKeepsOrder(t *testing.T) {
	k := jittest.Load(t, "affine.tile", affineSource)
	for _, c := range []struct {
		m, n int
		pins map[string]int64
	}{
		{1, 1, nil}, {3, 2, nil}, {2, 31, nil}, {5, 33, nil}, {3, 257, nil}, {2, 1000, nil}, {1, 5000, nil},
		{3, 33, map[string]int64{"B": 2, "warps": 1}},
		{7, 64, map[string]int64{"B": 4, "warps": 4}},
		{9, 7, map[string]int64{"B": 8, "warps": 2}},
		{2, 300, map[string]int64{"B": 1, "warps": 8}},
		{17, 96, map[string]int64{"B": 16, "warps": 8}},
		{33, 5, map[string]int64{"B": 32, "warps": 4}},
		{2, 1030, map[string]int64{"B": 2, "warps": 4}},
		{2, 1000, map[string]int64{"j": 300}},
		{3, 257, map[string]int64{"j": 64, "B": 2}},
	} {
		for _, name := range []string{"rows", "columns"} {
			t.Run(fmt.Sprintf("%s/%dx%d%v", name, c.m, c.n, c.pins), func(t *testing.T) {
				checkAffine(t, k, name, c.m, c.n, jit.Options{Pins: c.pins})
			})
		}
	}
}

func checkAffine(t *testing.T, k *jittest.Kernels, name string, m, n int, opts jit.Options) {
	r := rand.New(rand.NewPCG(uint64(m), uint64(n)))
	maps := make([]affine, m*n)
	for i := range maps {
		maps[i] = affine{int32(r.Uint32()) | 1, int32(r.Uint32())}
	}
	at := func(i, j int) int { return i*n + j }
	shape := []int64{int64(m), int64(n)}
	if name == "columns" {
		at = func(i, j int) int { return j*m + i }
		shape = []int64{int64(n), int64(m)}
	}
	forward, backward, total := make([]affine, m*n), make([]affine, m*n), make([]affine, m)
	for i := range m {
		acc := maps[at(i, 0)]
		forward[at(i, 0)] = acc
		for j := 1; j < n; j++ {
			acc = acc.then(maps[at(i, j)])
			forward[at(i, j)] = acc
		}
		total[i] = acc
		acc = maps[at(i, n-1)]
		backward[at(i, n-1)] = acc
		for j := n - 2; j >= 0; j-- {
			acc = acc.then(maps[at(i, j)])
			backward[at(i, j)] = acc
		}
	}
	a := &jittest.Array{DType: lang.I32, Shape: shape, Data: ints(m*n, func(i int) int32 { return maps[i].a })}
	b := &jittest.Array{DType: lang.I32, Shape: shape, Data: ints(m*n, func(i int) int32 { return maps[i].b })}
	out := k.Run(t, name, opts, a, b)
	for i, want := range [][]affine{total, total, forward, forward, backward, backward} {
		data := ints(len(want), func(j int) int32 {
			if i%2 == 0 {
				return want[j].a
			}
			return want[j].b
		})
		require.Equal(t, data, out[i].Data, "result %d", i)
	}
}

// TestCombineAssembles hands reductions and scans to the assembler: in one block, and in parts.
func TestCombineAssembles(t *testing.T) {
	sweep.Once(t)
	assembler, err := cuda.FindAssembler()
	if errors.Is(err, cuda.ErrNoAssembler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	program, problems := jit.Load("affine.tile", []byte(affineSource), nil)
	require.Empty(t, problems)
	for _, k := range program.Kernels {
		for _, machine := range []string{"sm_80", "sm_90a"} {
			for n, pins := range map[int64]map[string]int64{33: nil, 500: nil, 700: {"j": 256}} {
				t.Run(fmt.Sprintf("%s/%s/%d", k.Name, machine, n), func(t *testing.T) {
					t.Parallel()
					to, err := target.Find(machine)
					require.NoError(t, err)
					s, err := jit.Specialise(k, jit.Options{Dims: map[string]int64{"M": 7, "N": n}, Pins: pins})
					require.NoError(t, err)
					l, err := compile.Lower(s, to, nil)
					require.NoError(t, err)
					ptx, err := l.PTX()
					require.NoError(t, err)
					_, _, err = assembler.Compile(context.Background(), []byte(ptx), machine, cuda.CompileOptions{})
					require.NoError(t, err)
				})
			}
		}
	}
}
