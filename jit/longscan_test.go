package jit

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
)

const longScanSource = `
kernel rows(x: f32[M, N]) -> y: f32[M, N] {
    y[i, j] = cumsum(x[i, j], over j)
}

kernel columns(x: f32[M, N]) -> y: f32[M, N] {
    y[i, j] = cumsum(x[i, j], over i)
}

kernel backwards(x: f32[M, N]) -> y: f32[M, N] {
    y[i, j] = cumsum(x[i, j], over j, reverse = true)
}

kernel normal(x: f32[M, N]) -> y: f32[M, N] {
    y[i, j] = cumsum(x[i, j], over j) - sum(x[i, j], over j)
}

kernel largest(x: f32[M, N]) -> y: f32[M, N] {
    y[i, j] = scan(x[i, j], over j, -inf, max)
}

kernel last(x: f32[M, N]) -> y: f32[M, N] {
    y[i, j] = scan(x[i, j], over j, 0.0, (a, b) => if b != 0 { b } else { a })
}`

// Blocks share a scan: each goes through its part for the total first, from which those behind it go on.
func TestBlocksShareScans(t *testing.T) {
	sweep.OnceEmulated(t)
	d, err := OpenDevice(gpu())
	require.NoError(t, err)
	defer d.Close()
	module, err := NewCompiler(d, nil).Load("f.tile", []byte(longScanSource))
	require.NoError(t, err)
	for _, shape := range [][2]int64{{2, 3001}, {5, 40000}, {2999, 3}} {
		m, n := shape[0], shape[1]
		r := rand.New(rand.NewPCG(1, 2))
		x := make([]float32, m*n)
		for i := range x {
			x[i] = float32(r.IntN(7) - 3) // sums are exact in any order
		}
		want := map[string][]float32{}
		for _, kernel := range []string{"rows", "columns", "backwards", "normal", "largest", "last"} {
			want[kernel] = make([]float32, m*n)
		}
		for i := range m {
			for j := range n {
				at, left, right, above := i*n+j, i*n+j-1, i*n+n-1-j, (i-1)*n+j
				want["rows"][at], want["largest"][at], want["last"][at] = x[at], x[at], x[at]
				if j > 0 {
					want["rows"][at] += want["rows"][left]
					want["largest"][at] = max(want["largest"][at], want["largest"][left])
					if x[at] == 0 {
						want["last"][at] = want["last"][left]
					}
				}
				want["columns"][at] = x[at]
				if i > 0 {
					want["columns"][at] += want["columns"][above]
				}
				want["backwards"][right] = x[right]
				if j > 0 {
					want["backwards"][right] += want["backwards"][right+1]
				}
			}
			for j := range n {
				want["normal"][i*n+j] = want["rows"][i*n+j] - want["rows"][i*n+n-1]
			}
		}
		for kernel, want := range want {
			for _, pins := range []Args{{}, {"split": 8}, {"split": 2}} {
				long := n
				if kernel == "columns" {
					long = m
				}
				if len(pins) > 0 && long < 1000 {
					continue
				}
				args := Args{"x": ArrayOf(x, m, n)}
				maps.Copy(args, pins)
				out, err := module.Call(kernel, args)
				about := fmt.Sprint(kernel, shape, pins)
				require.NoError(t, err, about)
				require.Equal(t, want, mustSlice[float32](t, out["y"]), about)
			}
		}
	}
}

// Few rows, each of which is long, are scanned by clusters, and columns by runs of rows; where there are rows for all multiprocessors, nothing is read twice.
func TestLongScansAreShared(t *testing.T) {
	program, problems := Load("f.tile", []byte(longScanSource), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	split := func(m, n int64) map[string]int64 {
		s, err := Specialise(program.Kernels[0], Options{Dims: map[string]int64{"M": m, "N": n}})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		return l.Plan.Split
	}
	s, err := Specialise(program.Kernels[1], Options{Dims: map[string]int64{"M": 4096, "N": 4096}})
	require.NoError(t, err)
	l, err := compile.Lower(s, machine, nil)
	require.NoError(t, err)
	assert.Less(t, strings.Count(l.Code.PTX.Text, "shfl.sync"), 50, "a thread adds up rows that follow one another before lanes do")
	assert.Greater(t, split(16, 1<<22)["j"], int64(1))
	assert.Empty(t, split(1024, 1<<16))
	assert.Empty(t, split(16, 1<<12))
}
