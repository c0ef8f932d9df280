package jit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/target"
	"tilec/lang"
)

// What a machine cannot do is done by what it can: a product has the same value without each capability, whose instruction is then not there.
func TestMachinesThatCanDoLess(t *testing.T) {
	const m, k, n = 128, 192, 128
	instruction := map[target.Capability]string{
		0: "wgmma.mma_async", target.Wgmma: "wgmma", target.TMA: "cp.async.bulk.tensor", target.Wgmma | target.TMA: "wgmma",
		target.CpAsync | target.TMA: "cp.async.c", target.Wgmma | target.MmaSync: "mma.sync",
	}
	const source = `
@warps(4)
@stages(3)
kernel product(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N]
    tune BM = 64, BN = 128
    grid i in M by BM, j in N by BN
{
    axis k in K
    c[i, j] = sum(a[i, k] * b[k, j], over k)
}
`
	program, ds := Load("product.tile", []byte(source), nil)
	require.Empty(t, ds)
	numbers := func(rows, columns int) *Array {
		values := make([]float32, rows*columns)
		for i := range values {
			values[i] = float32(i*7%11-5) / 4 // products and their sums are exact
		}
		return Converted(lang.F16, values, int64(rows), int64(columns))
	}
	run := func(d Device) []float64 {
		module, err := NewCompiler(d, nil).Load("product.tile", []byte(source))
		require.NoError(t, err)
		out, err := module.Call("product", Args{"a": numbers(m, k), "b": numbers(k, n)})
		require.NoError(t, err)
		return out["c"].Floats()
	}
	want := run(OpenCPU())
	spec, err := Specialise(program.Kernels[0], Options{Dims: map[string]int64{"M": m, "K": k, "N": n}})
	require.NoError(t, err)
	for without, text := range instruction {
		t.Run(without.String(), func(t *testing.T) {
			t.Parallel()
			d, err := OpenEmulator(target.Default)
			require.NoError(t, err)
			d.target = d.target.Without(without)
			l, err := Lower(spec, d.target, nil)
			require.NoError(t, err)
			ptx, err := l.PTX()
			require.NoError(t, err)
			assert.Equal(t, without == 0, strings.Contains(ptx, text), text)
			assert.Equal(t, want, run(d))
		})
	}
}
