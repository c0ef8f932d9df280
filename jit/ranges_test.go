package jit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
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
}`

// Ranges that are read from memory may be empty, long, end before they begin and reach beyond the dimension.
func TestRangesFromMemory(t *testing.T) {
	d, err := OpenDevice("emu")
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
		for _, pins := range []Args{{}, {"BR": 1}, {"BR": 8, "warps": 2}, {"BR": 256}} {
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
			sums, products, most, counts := make([]float32, ranges*columns), make([]float32, ranges), make([]float32, ranges), make([]int32, ranges)
			for v := range ranges {
				most[v] = float32(math.Inf(-1))
				for i := max(first[v], 0); i < min(first[v+1], rows); i++ {
					for c := range columns {
						sums[v*columns+c] += x[int(i)*columns+c]
					}
					if c := column[i]; c >= 0 && c < rows*columns {
						products[v] += value[i] * x[c]
					}
					most[v] = max(most[v], value[i])
					if value[i] > 2 {
						counts[v]++
					}
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
		}
	}
}
