package jit_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

const orderingKernels = `
kernel sorted(x: f32[M, N]) -> y: f32[M, N], at: i32[M, N]
    grid i in M by BM
{
    axis j in N
    let (v, p) = sort((x[i, j], index(j)), over j)
    y[i, j] = v
    at[i, j] = p
}

kernel top(x: f32[M, N]) -> y: f32[M, 7], at: i32[M, 7]
    grid i in M by BM
{
    axis j in N
    axis r in 7
    let (v, p) = topk(x[i, j], r, over j)
    y[i, r] = v
    at[i, r] = p
}
`

// rowsOf is a matrix with many equal elements, and what a stable sort makes of each row.
func rowsOf(rows, columns int) (x *jittest.Array, ascending, descending [][]int) {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(columns)))
	x = jittest.NewArray(lang.F32, int64(rows), int64(columns))
	for i := range rows * columns {
		v := float64(r.IntN(columns)) - float64(columns/2)
		if r.IntN(50) == 0 {
			v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)]
		}
		x.SetFloat(i, v)
	}
	compare := func(a, b float64) int {
		switch {
		case a < b, b != b && a == a:
			return -1
		case a > b, a != a && b == b:
			return 1
		}
		return 0
	}
	for i := range rows {
		at := func(j int) float64 { return x.Float(i*columns + j) }
		up := make([]int, columns)
		for j := range up {
			up[j] = j
		}
		down := slices.Clone(up)
		slices.SortStableFunc(up, func(a, b int) int { return compare(at(a), at(b)) })
		slices.SortStableFunc(down, func(a, b int) int { return compare(at(b), at(a)) })
		ascending, descending = append(ascending, up), append(descending, down)
	}
	return x, ascending, descending
}

// requireSame is the same number, with the sign of a zero; of NaN, any.
func requireSame(t *testing.T, want, got float64) {
	t.Helper()
	if !math.IsNaN(want) || !math.IsNaN(got) {
		require.Equal(t, math.Float64bits(want), math.Float64bits(got))
	}
}

func TestSortLongRows(t *testing.T) {
	k := jittest.Load(t, "order.tile", orderingKernels)
	sizes := [][2]int{{3, 1000}, {1, 5000}}
	if !jittest.OnEmulator(t) {
		sizes = append(sizes, [2]int{5, 16384})
	}
	for _, s := range sizes {
		x, want, _ := rowsOf(s[0], s[1])
		out := k.Run(t, "sorted", jit.Options{}, x)
		values, positions := out[0], out[1]
		for i := range s[0] {
			for q, j := range want[i] {
				at := i*s[1] + q
				require.Equal(t, float64(j), positions.Float(at), "row %d of %v, place %d", i, s, q)
				requireSame(t, x.Float(i*s[1]+j), values.Float(at))
			}
		}
	}
}

// A vocabulary is longer than a block: the largest are found chunk by chunk.
func TestTopKOfLongRows(t *testing.T) {
	k := jittest.Load(t, "order.tile", orderingKernels)
	rows, columns := 3, 50257
	if jittest.OnEmulator(t) {
		rows, columns = 1, 9001
	}
	x, _, want := rowsOf(rows, columns)
	out := k.Run(t, "top", jit.Options{}, x)
	values, positions := out[0], out[1]
	for i := range rows {
		for q, j := range want[i][:7] {
			require.Equal(t, float64(j), positions.Float(i*7+q), "row %d, place %d", i, q)
			requireSame(t, x.Float(i*columns+j), values.Float(i*7+q))
		}
	}
}

// A row that shared memory or registers cannot hold is sorted in chunks that are merged; topk of it goes through it once.
func TestPlansOfTooLongRows(t *testing.T) {
	program, problems := jit.Load("order.tile", []byte(orderingKernels), nil)
	require.Empty(t, problems)
	target, err := target.Find("sm_90a")
	require.NoError(t, err)
	lower := func(k *typed.Kernel) *compile.Lowered {
		s, err := jit.Specialise(k, jit.Options{Dims: map[string]int64{"M": 8, "N": 50257}})
		require.NoError(t, err)
		l, err := compile.Lower(s, target, nil)
		require.NoError(t, err)
		return l
	}
	sorted, top := lower(program.Kernels[0]), lower(program.Kernels[1])
	assert.Positive(t, sorted.Plan.Chunks["j"])
	assert.Positive(t, sorted.Func.ScratchBytes())
	assert.Positive(t, top.Plan.Chunks["j"])
	assert.Zero(t, top.Func.ScratchBytes())
}

// Rows of every length up to a power of two and beyond are in order, stably, of types that share a word with their places and of others, by many warps and few.
func TestSortOfEveryLength(t *testing.T) {
	for _, d := range []lang.DType{lang.I8, lang.I32, lang.I64} {
		k := jittest.Load(t, "sort.tile", fmt.Sprintf(`
kernel sorted(x: %s[M, N]) -> at: i32[M, N]
    grid i in M by BM
{
    axis j in N
    let (_, p) = sort((x[i, j], index(j)), over j)
    at[i, j] = p
}`, d))
		for _, columns := range []int{1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 100, 257, 600} {
			const rows = 3
			r := rand.New(rand.NewPCG(uint64(d), uint64(columns)))
			x := jittest.NewArray(d, rows, int64(columns))
			for n := range rows * columns {
				x.SetFloat(n, float64(r.IntN(100)-50))
			}
			for _, pins := range []map[string]int64{{"BM": 1, "warps": 1}, {"BM": 2, "warps": 4}, {"BM": 4, "warps": 8}} {
				out := k.Run(t, "sorted", jit.Options{Pins: pins}, x)[0]
				for i := range rows {
					order := make([]int, columns)
					for j := range order {
						order[j] = j
					}
					slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x.Float(i*columns+a), x.Float(i*columns+b)) })
					for j, from := range order {
						require.Equal(t, float64(from), out.Float(i*columns+j), "%s, %d columns, %v, row %d, place %d", d, columns, pins, i, j)
					}
				}
			}
		}
	}
}
