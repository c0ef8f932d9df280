package jit

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/jittest/sweep"
	"tilec/lang"
)

const groupedSource = `
kernel grouped<T: float>(x: T[M, K], first: i32[E + 1], w: T[E, K, N], b: T[E, N]) -> y: T[M, N]
    grid e in E, i in M[first[e] .. first[e + 1]] by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], w[e, k, j], acc) }
    y[i, j] = (acc + b[e, j] as f32) as T
}

kernel transposed<T: float>(x: T[M, K], ends: i32[E], w: T[E, N, K]) -> y: f32[M, N]
    grid e in E, i in M[.. ends[e]] by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], w[e, j, k], acc) }
}`

// The rows of a product are of ranges that lie in memory, whose blocks stay or go, with a producer or without. The TMA stores what is whole.
func TestGroupedProduct(t *testing.T) {
	sweep.OnceEmulated(t)
	all := []Args{{}, {"BM": 64, "BN": 128, "persist": 0}, {"BM": 128, "BN": 64, "BK": 32, "warps": 4, "persist": 2, "stages": 4}, {"BM": 64, "BN": 64, "warps": 4, "persist": 1},
		{"BM": 192, "BN": 128, "BK": 32, "warps": 4, "persist": 2, "stages": 4}, {"wgmma": 1, "BM": 32, "BN": 32}, {"BM": 16, "BN": 16, "BK": 16, "cluster": 2}}
	for name, c := range map[string]struct {
		m, k, n int
		first   []int32
		pins    []Args
	}{
		"uneven":               {400, 96, 136, []int32{0, 128, 128, 131, 140, 399}, all},
		"one":                  {400, 96, 136, []int32{0, 0, 0, 400, 400, 400}, all},
		"some":                 {400, 96, 136, []int32{3, 17, 150, 150, 278, 390}, all},
		"backwards and beyond": {400, 96, 136, []int32{-9, 100, 40, 300, 2147483647, 5}, all},
		"more tiles than blocks": {9000, 32, 128, []int32{0, 2000, 2001, 2001, 8990, 9000},
			[]Args{{"BM": 64, "BN": 64, "BK": 32, "warps": 4, "persist": 2, "stages": 4}, {"BM": 64, "BN": 128, "BK": 32, "persist": 1}}},
		"no ranges": {40, 32, 24, []int32{7}, []Args{{}, {"persist": 1, "BM": 64, "BN": 64}}},
		"no rows":   {0, 32, 128, []int32{0, 0, 0, 0, 0, 0}, []Args{{}}},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		small := func(n int) []float32 { // sums of small integers are exact in any order
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.IntN(5) - 2)
			}
			return x
		}
		e := len(c.first) - 1
		x, w, b := small(c.m*c.k), small(e*c.k*c.n), small(e*c.n)
		turned := make([]float32, len(w))
		for i, v := range w {
			g, k, j := i/(c.k*c.n), i/c.n%c.k, i%c.n
			turned[(g*c.n+j)*c.k+k] = v
		}
		product := func(first []int32) []float32 {
			y := make([]float32, c.m*c.n)
			for i, g := range groupsOf(first, c.m) {
				if g < 0 {
					continue
				}
				for k := range c.k {
					for j := range c.n {
						y[i*c.n+j] += x[i*c.k+k] * w[(g*c.k+k)*c.n+j]
					}
				}
			}
			return y
		}
		want, plain := product(c.first), product(append([]int32{0}, c.first[1:]...))
		for i, g := range groupsOf(c.first, c.m) {
			for j := range c.n {
				if g >= 0 {
					want[i*c.n+j] += b[g*c.n+j]
				}
			}
		}
		for _, device := range []string{"cpu", gpu()} {
			d, err := OpenDevice(device)
			require.NoError(t, err)
			defer d.Close()
			module, err := NewCompiler(d, nil).Load("f.tile", []byte(groupedSource))
			require.NoError(t, err)
			for i, pins := range c.pins {
				if device == "cpu" && len(pins) > 0 || name != "uneven" && i%sweep.OneIn(2) == 1 {
					continue
				}
				call := func(kernel string, args Args) []float64 {
					maps.Copy(args, pins)
					out, err := module.Call(kernel, args)
					require.NoError(t, err, "%s %s %s %v", kernel, device, name, pins)
					return out["y"].Floats()
				}
				m, k, n, e := int64(c.m), int64(c.k), int64(c.n), int64(e)
				for _, d := range []lang.DType{lang.BF16, lang.F32} {
					if d == lang.F32 && name != "uneven" && name != "no ranges" {
						continue
					}
					rows := Converted(d, x, m, k)
					y := call("grouped", Args{"x": rows, "first": ArrayOf(c.first, e+1), "w": Converted(d, w, e, k, n), "b": Converted(d, b, e, n)})
					require.Equal(t, Converted(d, want, m, n).Floats(), y, "%s %s %s %v", device, name, d, pins)
					y = call("transposed", Args{"x": rows, "ends": ArrayOf(c.first[1:], e), "w": Converted(d, turned, e, n, k)})
					require.Equal(t, Converted(lang.F32, plain, m, n).Floats(), y, "%s %s %s %v", device, name, d, pins)
				}
			}
		}
	}
}

// groupsOf is the range of each row, -1 where none has it.
func groupsOf(first []int32, m int) []int {
	of := slices.Repeat([]int{-1}, m)
	behind := 0
	for g := range len(first) - 1 {
		to := max(min(int(first[g+1]), m), behind)
		for i := max(int(first[g]), behind); i < to; i++ {
			of[i] = g
		}
		behind = to
	}
	return of
}
