package jit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/cache"
	"tilec/jit/jittest/sweep"
)

// A compiler predicts and compiles by the plans that another has chosen, which are in the cache, and asks for others where sizes or pins are others.
func TestPlansComeFromTheCache(t *testing.T) {
	sweep.Once(t)
	const source = `
kernel linear(x: bf16[M, K], w: bf16[N, K]) -> y: bf16[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = sum(x[i, k] * w[j, k], over k) as bf16
}`
	program, problems := jit.Load("kept.tile", []byte(source), nil)
	require.Empty(t, problems)
	dir := t.TempDir()
	predicted := func(dir string, m int64, pins map[string]int64) any {
		d, err := jit.OpenEmulator("sm_90a")
		require.NoError(t, err)
		defer d.Close()
		c := jit.NewCompiler(d, nil)
		if dir != "" {
			c.Cache = cache.Open(dir)
			c.Cache.Notify(func(err error) { t.Error(err) })
		}
		s, err := jit.Specialise(program.Kernels[0], jit.Options{Dims: map[string]int64{"M": m, "N": 4096, "K": 1024}, Pins: pins})
		require.NoError(t, err)
		e, err := c.Predicted(s)
		require.NoError(t, err)
		return e
	}
	for _, c := range []struct {
		m    int64
		pins map[string]int64
	}{{4096, nil}, {16, nil}, {4096, map[string]int64{"BM": 64}}} {
		want := predicted("", c.m, c.pins)
		assert.Equal(t, want, predicted(dir, c.m, c.pins), "chosen")
		assert.Equal(t, want, predicted(dir, c.m, c.pins), "kept")
	}
}
