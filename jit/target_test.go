package jit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend/emulator"
	"tilec/jit/compile"
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
			m, err := target.Find(target.Default)
			require.NoError(t, err)
			d := emulator.New(m.Without(without))
			l, err := compile.Lower(spec, d.Target(), nil)
			require.NoError(t, err)
			ptx, err := l.PTX()
			require.NoError(t, err)
			assert.Equal(t, without == 0, strings.Contains(ptx, text), text)
			assert.Equal(t, want, run(d))
		})
	}
}

// Code for every machine of the table gives what the CPU gives: a product, rows that are reduced, and an axis too long for a block.
func TestEveryMachineRuns(t *testing.T) {
	const source = `
kernel product(a: bf16[M, K], b: bf16[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(a[i, k] * b[k, j], over k)
}
kernel rows(x: f32[M, N]) -> y: f32[M]
    grid i in M by BM
{
    axis j in N
    y[i] = max(x[i, j], over j) - sum(x[i, j], over j)
}
`
	numbers := func(d lang.DType, rows, columns int) *Array {
		values := make([]float32, rows*columns)
		for i := range values {
			values[i] = float32(i*7%11-5) / 4 // exact, and so are products and sums
		}
		return Converted(d, values, int64(rows), int64(columns))
	}
	run := func(d Device) (results []*Array) {
		module, err := NewCompiler(d, nil).Load("machines.tile", []byte(source))
		require.NoError(t, err)
		for _, call := range []struct {
			name string
			args Args
		}{
			{"product", Args{"a": numbers(lang.BF16, 70, 96), "b": numbers(lang.BF16, 96, 72)}},
			{"rows", Args{"x": numbers(lang.F32, 3, 1000)}},
			{"rows", Args{"x": numbers(lang.F32, 1, 60000)}},
		} {
			out, err := module.Call(call.name, call.args)
			require.NoError(t, err)
			for _, a := range out {
				results = append(results, a)
			}
		}
		return results
	}
	want := run(OpenCPU())
	for _, m := range target.GPUs() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, run(emulator.New(m)))
		})
	}
}
