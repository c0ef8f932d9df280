package jit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
)

const batchedSource = `
kernel batched<T: float>(a: T[B, M, K], b: T[B, K, N]) -> c: T[B, M, N] {
    c[n, i, j] = sum(a[n, i, k] * b[n, k, j], over k) as T
}`

// A block has several products of a batch, which its warps have for themselves as far as there are enough, in 16 bits, tf32 and on the ordinary cores.
func TestBatchedProducts(t *testing.T) {
	sweep.OnceEmulated(t)
	d, err := OpenDevice(gpu())
	require.NoError(t, err)
	defer d.Close()
	modules := map[string]*Module{}
	for _, precision := range []string{"tf32", "ieee"} {
		modules[precision], err = NewCompiler(d, nil).Load("f.tile", []byte("@precision("+precision+")"+batchedSource))
		require.NoError(t, err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	small := func(n int64) []float32 { // sums of small integers are exact in any order
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.IntN(5) - 2)
		}
		return x
	}
	for _, c := range []struct {
		b, m, k, n int64
		pins       []Args
	}{
		{21, 16, 16, 16, []Args{{}, {"BN": 2, "warps": 4}, {"BN": 8, "warps": 4}, {"BN": 4, "warps": 8, "BI": 32}, {"BN": 1, "warps": 1}}},
		{9, 20, 24, 12, []Args{{"BN": 2, "BI": 16, "BJ": 16}, {"BN": 4, "BI": 32, "BJ": 16, "k": 16, "warps": 2}, {"BN": 3, "BI": 16, "BJ": 16}}},
		{5, 64, 64, 64, []Args{{}, {"BN": 1, "BI": 64, "BJ": 64, "warps": 4}, {"BN": 2, "BI": 32, "BJ": 64, "warps": 4}}},
	} {
		x, w := small(c.b*c.m*c.k), small(c.b*c.k*c.n)
		want := make([]float32, c.b*c.m*c.n)
		for p := range c.b {
			for i := range c.m {
				for k := range c.k {
					for j := range c.n {
						want[(p*c.m+i)*c.n+j] += x[(p*c.m+i)*c.k+k] * w[(p*c.k+k)*c.n+j]
					}
				}
			}
		}
		for _, dtype := range []lang.DType{lang.BF16, lang.F32} {
			for precision, module := range modules {
				for _, pins := range c.pins {
					args := Args{"a": Converted(dtype, x, c.b, c.m, c.k), "b": Converted(dtype, w, c.b, c.k, c.n)}
					for n, v := range pins {
						args[n] = v
					}
					out, err := module.Call("batched", args)
					about := fmt.Sprint(c.b, c.m, c.k, c.n, dtype, precision, pins)
					require.NoError(t, err, about)
					require.Equal(t, Converted(dtype, want, c.b, c.m, c.n).Floats(), out["c"].Floats(), about)
				}
			}
		}
	}
}

// A formula of a batch gets what one that names the batch's position has: boxes, wgmma and blocks that stay; warps have small products for themselves.
func TestBatchedPlan(t *testing.T) {
	program, problems := Load("f.tile", []byte(batchedSource), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	block := func(b, n int64) string {
		s, err := Specialise(program.Kernels[0], Options{Dims: map[string]int64{"B": b, "M": n, "K": n, "N": n}, Types: map[string]lang.DType{"T": lang.BF16}})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		return l.Code.PTX.Text
	}
	large := block(64, 512)
	assert.Contains(t, large, "wgmma.mma_async")
	assert.Contains(t, large, "cp.async.bulk.tensor.3d")
	small := block(4096, 16)
	assert.NotContains(t, small, "wgmma")
	assert.Equal(t, 2, strings.Count(small, "mma.sync"), "two instructions have the 16 columns of a warp's product")
}
