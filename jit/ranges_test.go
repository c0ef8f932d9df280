package jit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/typecheck/typed"
)

const rangesSource = `
kernel segments(x: f32[R, C], first: i32[V1]) -> y: f32[V1 - 1, C]
    grid v in V1 - 1, c in C by BC
{
    let from = first[v]
    let to = first[v + 1]
    y[v, c] = for r in R[from .. to] by BR with a = zeros(f32, c) {
        a + sum(x[r, c], over r)
    }
}

kernel sparse(first: i32[M1], column: i32[Z], value: f32[Z], x: f32[N]) -> y: f32[M1 - 1]
    grid i in M1 - 1
{
    let from = first[i]
    let to = first[i + 1]
    y[i] = for r in Z[from .. to] by BR with a = 0.0 {
        a + sum(value[r] * (x[column[r]] else 0), over r)
    }
}

kernel largest(first: i32[M1], value: f32[Z]) -> (y: f32[M1 - 1], n: i32[M1 - 1])
    grid i in M1 - 1
{
    let (most, all) = for r in Z[first[i] .. first[i + 1]] by BR with (m, k) = (-inf, 0) {
        (max(m, max(value[r], over r)), k + sum(where(value[r] > 2, 1, 0), over r))
    }
    y[i] = most
    n[i] = all
}

kernel norms(first: i32[M1], value: f32[Z], scale: f32[C]) -> y: f32[M1 - 1, C]
    grid i in M1 - 1
{
    axis c in C
    let n = for r in Z[first[i] .. first[i + 1]] by BR with n = 1.0 {
        n + 2 * sum(value[r] * value[r], over r)
    }
    y[i, c] = n * scale[c]
}`

// A block has several short ranges, where loops do nothing but load and reduce; where it is faster, or where it is pinned.
func TestRangesSideBySide(t *testing.T) {
	program, problems := Load("f.tile", []byte(rangesSource+`

kernel hits(first: i32[M1], column: i32[Z], inout count: i32[N]) -> y: i32[M1 - 1]
    grid i in M1 - 1
{
    for r in Z[first[i] .. first[i + 1]] by BR { atomic_add(count[column[r]], 1) }
    y[i] = first[i]
}`), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	lower := func(kernel string, dims, pins map[string]int64) *compile.Lowered {
		k := program.Kernels[slices.IndexFunc(program.Kernels, func(k *typed.Kernel) bool { return k.Name == kernel })]
		s, err := Specialise(k, Options{Dims: dims, Pins: pins})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		return l
	}
	short := map[string]int64{"M1": 1<<20 + 1, "Z": 32 << 20, "N": 1 << 20}
	l := lower("sparse", short, nil)
	assert.Greater(t, l.Plan.Ranges, int64(1), l.Plan)
	one := lower("sparse", short, map[string]int64{"ranges": 1})
	assert.Zero(t, one.Plan.Ranges, one.Plan)
	assert.Less(t, 2*l.Plan.Time, one.Plan.Time)
	assert.Equal(t, int64(16), lower("sparse", short, map[string]int64{"ranges": 16}).Plan.Ranges)
	assert.Equal(t, l.Plan.String(), lower("sparse", short, l.Choice()).Plan.String(), "its pins give the plan again")
	long := map[string]int64{"M1": 8193, "Z": 4 << 20, "N": 8192}
	l = lower("sparse", long, nil)
	assert.Zero(t, l.Plan.Ranges, l.Plan)
	assert.Equal(t, l.Plan.String(), lower("sparse", short, l.Choice()).Plan.String(), "its pins give the plan again")
	assert.Zero(t, lower("hits", short, map[string]int64{"ranges": 16}).Plan.Ranges, "a loop changes memory")
}

// Ranges that are read from memory may be empty, long, end before they begin and reach beyond the dimension.
func TestRangesFromMemory(t *testing.T) {
	sweep.OnceEmulated(t)
	d, err := OpenDevice(gpu())
	require.NoError(t, err)
	defer d.Close()
	module, err := NewCompiler(d, nil).Load("f.tile", []byte(rangesSource))
	require.NoError(t, err)
	even := make([]int32, 41)
	for i := range even {
		even[i] = int32(i * 5)
	}
	for name, first := range map[string][]int32{
		"even": even, "one long": {0, 0, 200, 200}, "one": {0, 200}, "uneven": {0, 1, 1, 40, 47, 47, 47, 160, 161, 200},
		"backwards and beyond": {-7, 3, 190, 230, 12, 12, 900, 5, -1, 30},
	} {
		for _, pins := range []Args{{}, {"BR": 1}, {"BR": 8, "warps": 2}, {"BR": 256}, {"ranges": 1}, {"ranges": 2}, {"ranges": 8, "BR": 4, "warps": 1}, {"ranges": 64, "BR": 8, "warps": 4}} {
			const rows, columns = 200, 9
			r := rand.New(rand.NewPCG(1, 2))
			x, value, column := make([]float32, rows*columns), make([]float32, rows), make([]int32, rows)
			for i := range x {
				x[i] = float32(r.IntN(9) - 4) // sums of small integers are exact in any order
			}
			for i := range value {
				value[i], column[i] = float32(r.IntN(9)-4), int32(r.IntN(rows*columns+4)-2)
			}
			ranges := len(first) - 1
			sums, products, most, counts, norms := make([]float32, ranges*columns), make([]float32, ranges), make([]float32, ranges), make([]int32, ranges), make([]float32, ranges*3)
			for v := range ranges {
				most[v] = float32(math.Inf(-1))
				norm := float32(1)
				for i := max(first[v], 0); i < min(first[v+1], rows); i++ {
					for c := range columns {
						sums[v*columns+c] += x[int(i)*columns+c]
					}
					if c := column[i]; c >= 0 && c < rows*columns {
						products[v] += value[i] * x[c]
					}
					norm += 2 * value[i] * value[i]
					most[v] = max(most[v], value[i])
					if value[i] > 2 {
						counts[v]++
					}
				}
				for c := range 3 {
					norms[v*3+c] = norm * float32(c+1)
				}
			}
			call := func(kernel string, args Args) map[string]*Array {
				for n, v := range pins {
					args[n] = v
				}
				out, err := module.Call(kernel, args)
				require.NoError(t, err, fmt.Sprintf("%s %s %v", kernel, name, pins))
				return out
			}
			at := ArrayOf(first, int64(len(first)))
			out := call("segments", Args{"first": at, "x": ArrayOf(x, rows, columns)})
			require.Equal(t, sums, mustSlice[float32](t, out["y"]), "segments, %s, %v", name, pins)
			out = call("sparse", Args{"first": at, "column": ArrayOf(column, rows), "value": ArrayOf(value, rows), "x": ArrayOf(x, rows*columns)})
			require.Equal(t, products, mustSlice[float32](t, out["y"]), "sparse, %s, %v", name, pins)
			out = call("largest", Args{"first": at, "value": ArrayOf(value, rows)})
			require.Equal(t, most, mustSlice[float32](t, out["y"]), "largest, %s, %v", name, pins)
			require.Equal(t, counts, mustSlice[int32](t, out["n"]), "largest, %s, %v", name, pins)
			out = call("norms", Args{"first": at, "value": ArrayOf(value, rows), "scale": ArrayOf([]float32{1, 2, 3}, 3)})
			require.Equal(t, norms, mustSlice[float32](t, out["y"]), "norms, %s, %v", name, pins)
		}
	}
}
