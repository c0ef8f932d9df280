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
	"tilec/jit/block"
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
		lang.F16: {math.Inf(1), 0, math.Copysign(0, -1)}, lang.F8E4M3: {math.NaN(), 0, math.Copysign(0, -1)}, lang.F8E5M2: {math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}, lang.F64: {math.NaN(), math.Inf(-1)},
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
						v := values[r.IntN(len(values))]
						if x.SetFloat(n, v); math.IsInf(v, 0) && d.Saturates() {
							x.Data[n] = byte(d.InfinityBits())
							if v < 0 {
								x.Data[n] |= 0x80
							}
						}
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

// Rows that a block has by itself are searched for a threshold, unless the setting or few results speak against it; the plan says so, and no register is kept in memory.
func TestTopKFindsAThreshold(t *testing.T) {
	program, problems := jit.Load("top.tile", []byte(`
kernel top<const K: i32 = 50>(x: f32[M, N]) -> y: f32[M, K] {
    let (v, _) = topk(x[i, j], r, over j)
    y[i, r] = v
}`), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, c := range []struct {
		rows, columns, results int64
		pins                   map[string]int64
		form                   int64
	}{
		{4096, 4096, 50, nil, block.ByThreshold}, {64, 128256, 50, nil, block.ByThreshold}, {4096, 4096, 50, map[string]int64{"selection": 1}, block.OneByOne},
		{4096, 4096, 4, nil, block.OneByOne}, {4096, 4096, 4, map[string]int64{"selection": 2, "BI": 1}, block.ByThreshold}, {65536, 64, 50, nil, block.OneByOne},
	} {
		s, err := jit.Specialise(program.Kernels[0], jit.Options{Dims: map[string]int64{"M": c.rows, "N": c.columns}, Pins: c.pins, Consts: map[string]lang.Literal{"K": {DType: lang.I32, Int: c.results}}})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		assert.Equal(t, c.form, l.Code.Form("selection", machine), "%v: %s", c, l.Plan)
	}
}

// A threshold is found among ranks that are all equal, rising, falling and at both ends of the range, for as many results as a row has elements too.
func TestThresholds(t *testing.T) {
	const columns = 300
	k := jittest.Load(t, "top.tile", `
kernel top<const K: i32>(x: i32[M, N]) -> y: i32[M, K], at: i32[M, K]
    grid i in M by BM
{
    axis j in N
    axis r in K
    let (v, p) = topk(x[i, j], r, over j)
    y[i, r] = v
    at[i, r] = p
}`)
	rows := []func(j int) float64{
		func(int) float64 { return 0 }, func(int) float64 { return math.MinInt32 }, func(int) float64 { return math.MaxInt32 },
		func(j int) float64 { return float64(j) }, func(j int) float64 { return float64(-j) },
		func(j int) float64 { return float64(j%2)*math.MaxInt32 + float64((j+1)%2)*math.MinInt32 },
		func(j int) float64 { return float64(j/100) - 1 },
	}
	x := jittest.NewArray(lang.I32, int64(len(rows)), columns)
	for i, of := range rows {
		for j := range columns {
			x.SetFloat(i*columns+j, of(j))
		}
	}
	for _, results := range []int64{1, 50, 64} {
		for _, pins := range []map[string]int64{{"BM": 1, "warps": 4, "selection": 2}, {"BM": 1, "warps": 2, "j": 128, "selection": 2}} {
			out := k.Run(t, "top", jit.Options{Pins: pins, Consts: map[string]lang.Literal{"K": {DType: lang.I32, Int: results}}}, x)
			for i, of := range rows {
				order := make([]int, columns)
				for j := range order {
					order[j] = j
				}
				slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(of(b), of(a)) })
				for q := range int(results) {
					require.Equal(t, float64(order[q]), out[1].Float(i*int(results)+q), "%d results, %v, row %d, place %d", results, pins, i, q)
					require.Equal(t, of(order[q]), out[0].Float(i*int(results)+q))
				}
			}
		}
	}
}
