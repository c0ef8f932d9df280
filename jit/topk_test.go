package jit_test

import (
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
)

// Of every element type, rows that are gone through in chunks give what a stable sort begins with: NaN first, equal ones as they
// stand, a zero with its sign, and nothing where there are too few.
func TestTopKOfEveryType(t *testing.T) {
	special := map[lang.DType][]float64{
		lang.F32: {math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0}, lang.BF16: {math.NaN(), math.Inf(-1), math.Copysign(0, -1), 0},
		lang.F16: {math.Inf(1), 0, math.Copysign(0, -1)}, lang.F8E4M3: {math.NaN(), 0, math.Copysign(0, -1)}, lang.F64: {math.NaN(), math.Inf(-1)},
		lang.I32: {math.MaxInt32, math.MinInt32}, lang.U32: {math.MaxUint32, 0}, lang.I8: {-128, 127}, lang.U8: {0, 255}, lang.I64: {-5, 7},
	}
	const rows = 3
	for d, values := range special {
		k := jittest.Load(t, "top.tile", fmt.Sprintf(`
kernel top(x: %[1]s[M, N]) -> y: %[1]s[M, 7], at: i32[M, 7]
    grid i in M by BM
{
    axis j in N
    axis r in 7
    let (v, p) = topk(x[i, j], r, over j)
    y[i, r] = v
    at[i, r] = p
}`, d))
		for _, columns := range []int{5, 61, 700} {
			for _, pins := range []map[string]int64{{"BM": 2, "j": 32}, {"BM": 1, "j": 256, "warps": 2}, {"BM": 1, "j": 128, "warps": 4, "selection": 2}, {"BM": 1, "warps": 1, "selection": 2}, {"BM": 1, "warps": 8, "selection": 2}, nil} {
				if pins["j"] >= int64(columns) {
					continue
				}
				r := rand.New(rand.NewPCG(uint64(d), uint64(columns)))
				x := jittest.NewArray(d, rows, int64(columns))
				for n := range rows * columns {
					switch row := n / columns; {
					case row == 1: // the better ones come last, so that each chunk has some
						x.SetFloat(n, float64(n%columns/8))
					case r.IntN(20) == 0:
						x.SetFloat(n, values[r.IntN(len(values))])
					case row == 0 && d.IsSigned():
						x.SetFloat(n, float64(r.IntN(15)-7))
					default:
						x.SetFloat(n, float64(r.IntN(8)))
					}
				}
				out := k.Run(t, "top", jit.Options{Pins: pins}, x)
				for i := range rows {
					order := make([]int, columns)
					for j := range order {
						order[j] = j
					}
					at := func(j int) float64 { return x.Float(i*columns + j) }
					slices.SortStableFunc(order, func(a, b int) int {
						x, y := at(a), at(b)
						switch {
						case x > y, math.IsNaN(x) && !math.IsNaN(y):
							return -1
						case x < y, !math.IsNaN(x) && math.IsNaN(y):
							return 1
						}
						return 0
					})
					for q := range 7 {
						what := fmt.Sprintf("%s, %d columns, %v, row %d, place %d", d, columns, pins, i, q)
						if q >= columns {
							require.Equal(t, -1.0, out[1].Float(i*7+q), what)
							continue
						}
						require.Equal(t, float64(order[q]), out[1].Float(i*7+q), what)
						requireSame(t, at(order[q]), out[0].Float(i*7+q))
					}
				}
			}
		}
	}
}

// A row of 50257 is gone through once, in chunks of thousands, of which the later have few of the largest: 50 of each of 256 rows
// take the time in which the rows are read some times, and not a step for each result of each chunk.
func TestTopKOfLongRowsIsASelection(t *testing.T) {
	program, problems := jit.Load("top.tile", []byte(`
kernel top(x: f32[M, N]) -> y: f32[M, 50] {
    let (v, _) = topk(x[i, j], r, over j)
    y[i, r] = v
}`), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	s, err := jit.Specialise(program.Kernels[0], jit.Options{Dims: map[string]int64{"M": 256, "N": 50257}})
	require.NoError(t, err)
	l, err := compile.Lower(s, machine, nil)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, l.Plan.Chunks["j"], int64(1024), l.Plan)
	assert.Less(t, l.Plan.Time, 150e-6)
}
