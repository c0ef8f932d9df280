package jit_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/ir/eval"
	"tilec/jit/jittest"
	"tilec/lang"
)

// The numbers are as random as they should be: moments, and no ties between neighbours, seeds and coordinates.
func TestRandomNumbersAreRandom(t *testing.T) {
	const rows, columns = 64, 512
	const n = rows * columns
	program, problems := jit.Load("random.tile", []byte(`
kernel numbers(seed: i32, inout u: f32[M, N], inout z: f32[M, N])
    grid i in M by BM, j in N by BN
{
    u[i, j] = rand(seed, i, j)
    z[i, j] = randn(seed, i, j)
}
`), nil)
	require.Empty(t, problems)
	draw := func(seed int64) (u, z []float64) {
		c := jit.NewCompiler(jittest.Device(t), nil)
		var args []jit.Value
		args = append(args, jit.Value{Scalar: &lang.Literal{DType: program.Kernels[0].Params[0].DType.Of, Int: seed}})
		var tensors []*jit.Tensor
		for range 2 {
			m, err := c.Device.Alloc(4 * n)
			require.NoError(t, err)
			t.Cleanup(func() { c.Device.Free(m) })
			require.NoError(t, c.Device.Write(m, 0, make([]byte, 4*n)))
			x := &jit.Tensor{DType: program.Kernels[0].Params[1].DType.Of, Shape: []int64{rows, columns}, Memory: m}
			tensors = append(tensors, x)
			args = append(args, jit.TensorValue(x))
		}
		p, err := c.BindKernel(program.Kernels[0], args, jit.Options{})
		require.NoError(t, err)
		defer p.Close()
		_, err = p.Run(args)
		require.NoError(t, err)
		var out [2][]float64
		for k, x := range tensors {
			a := jittest.NewArray(x.DType, rows, columns)
			require.NoError(t, jit.ReadTensor(c.Device, x, a.Data))
			for i := range n {
				out[k] = append(out[k], a.Float(i))
			}
		}
		return out[0], out[1]
	}
	u, z := draw(1)
	other, _ := draw(2)
	mean := func(f func(i int) float64) float64 {
		sum := 0.0
		for i := range n {
			sum += f(i)
		}
		return sum / n
	}
	// Each mean is within 5 of its own standard deviations of what it should be.
	within := func(what string, got, want, deviation float64) {
		t.Helper()
		assert.InDeltaf(t, want, got, 5*deviation/math.Sqrt(n), what)
	}
	within("mean of rand", mean(func(i int) float64 { return u[i] }), 0.5, math.Sqrt(1.0/12))
	within("second moment of rand", mean(func(i int) float64 { return u[i] * u[i] }), 1.0/3, math.Sqrt(1.0/5-1.0/9))
	within("mean of randn", mean(func(i int) float64 { return z[i] }), 0, 1)
	within("variance of randn", mean(func(i int) float64 { return z[i] * z[i] }), 1, math.Sqrt2)
	within("skew of randn", mean(func(i int) float64 { return z[i] * z[i] * z[i] }), 0, math.Sqrt(15))
	within("fourth moment of randn", mean(func(i int) float64 { return math.Pow(z[i], 4) }), 3, math.Sqrt(96))
	centred := func(x []float64, i int) float64 { return x[i%n] - 0.5 }
	within("neighbours in a row", mean(func(i int) float64 { return centred(u, i) * centred(u, i+1) }), 0, 1.0/12)
	within("neighbours in a column", mean(func(i int) float64 { return centred(u, i) * centred(u, i+columns) }), 0, 1.0/12)
	within("seeds", mean(func(i int) float64 { return centred(u, i) * centred(other, i) }), 0, 1.0/12)
	for i := range n {
		bits := eval.RandomBits(1, uint64(i/columns)<<32|uint64(i%columns), 0)
		require.Equalf(t, float64(uint32(bits)>>8)*0x1p-24, u[i], "element %d", i)
		require.True(t, u[i] >= 0 && u[i] < 1)
		require.False(t, math.IsNaN(z[i]) || math.IsInf(z[i], 0))
	}
	var bins [16]int
	for i := range n {
		bins[int(u[i]*16)]++
	}
	chi := 0.0
	for _, b := range bins {
		d := float64(b) - n/16
		chi += d * d / (n / 16)
	}
	assert.Less(t, chi, 45.0, "chi square of 16 bins has 15 degrees of freedom: 45 is past one in ten thousand")
}
