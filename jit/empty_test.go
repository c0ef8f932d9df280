package jit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/tensor"
	"tilec/lang"
)

// An empty dimension is none of the concern of a kernel that accesses no position that it would have.
func TestEmptyDimensions(t *testing.T) {
	inf := math.Inf(1)
	zeros := func(n int) []float64 { return make([]float64, n) }
	for _, c := range []struct {
		name, source string
		// shape is that of x; want is y.
		shape []int64
		want  []float64
	}{
		{"sum", "kernel f(x: f32[N]) -> y: f32[1] { y[0] = sum(x[i], over i) }", []int64{0}, []float64{0}},
		{"max", "kernel f(x: f32[N]) -> y: f32[1] { y[0] = max(x[i], over i) }", []int64{0}, []float64{-inf}},
		{"prod", "kernel f(x: f32[N]) -> y: f32[2] { y[1] = prod(x[i], over i)\n y[0] = min(x[i], over i) }", []int64{0}, []float64{inf, 1}},
		{"second axis", "kernel f(x: f32[M, N]) -> y: f32[M]\n    grid i in M by B\n{\n    axis j in N\n    y[i] = sum(x[i, j], over j)\n}", []int64{2, 0}, zeros(2)},
		{"first position of another", "kernel f(x: f32[M, N]) -> y: f32[1]\n    grid g in 1\n{\n    axis j in N\n    y[0] = sum(x[0, j], over j)\n}", []int64{3, 0}, []float64{0}},
		{"loop", "kernel f(x: f32[N]) -> y: f32[1]\n    grid g in 1\n{\n    y[0] = for k in N by BK with a = 2.0 { a + sum(x[k], over k) }\n}", []int64{0}, []float64{2}},
		{"shifted loop", "kernel f(x: f32[N]) -> y: f32[1]\n    grid g in 1\n{\n    y[0] = for k in N with a = 2.0 { a + x[N - 1 - k] }\n}", []int64{0}, []float64{2}},
		{"product", "kernel f(x: f32[M, K]) -> y: f32[M, M] { y[i, j] = sum(x[i, k] * x[j, k], over k) }", []int64{3, 0}, zeros(9)},
		{"no rows of nothing", "kernel f(x: f32[M, N]) -> y: f32[M, 3]\n    grid i in M by BM, j in 3\n{\n    y[i, j] = x[i, 0]\n}", []int64{0, 0}, zeros(0)},
		{"no columns of nothing", "kernel f(x: f32[M, N]) -> y: f32[3, M]\n    grid j in 3, i in M by BM\n{\n    y[j, i] = x[i, 0]\n}", []int64{0, 0}, zeros(0)},
		{"product of nothing", "kernel f(x: f32[M, K]) -> y: f32[M, M] { y[i, j] = sum(x[i, k] * x[j, k], over k) }", []int64{0, 3}, zeros(0)},
	} {
		for _, device := range []string{"cpu", "emu", "emu:sm_80"} {
			t.Run(c.name+" on "+device, func(t *testing.T) {
				d, err := OpenDevice(device)
				require.NoError(t, err)
				defer d.Close()
				m, err := NewCompiler(d, nil).Load("f.tile", []byte(c.source))
				require.NoError(t, err)
				out, err := m.Call("f", Args{"x": Converted(lang.F32, make([]float64, tensor.Elements(c.shape)), c.shape...)})
				require.NoError(t, err)
				assert.Equal(t, c.want, out["y"].Floats())
			})
		}
	}
}

// Where an access needs a position that an empty dimension has not, the launch is refused, and says which dimension it is.
func TestEmptyDimensionsThatAreAccessed(t *testing.T) {
	for _, c := range []struct {
		source, dim string
		shape       []int64
	}{
		{"kernel f(x: f32[N, M]) -> y: f32[1]\n    grid g in 1\n{\n    axis j in M\n    y[0] = sum(x[0, j], over j)\n}", "N", []int64{0, 3}},
		{"kernel f(x: f32[N, M]) -> y: f32[M] grid j in M by B { y[j] = x[N - 1, j] }", "N", []int64{0, 3}},
		{"kernel f(x: f32[N, M]) -> y: f32[N * M + 1]\n    grid i in M by B\n{\n    y[i * N] = 1.0 + x[0, i]\n}", "N", []int64{0, 3}},
		{"kernel f(x: f32[N, M]) -> y: f32[M]\n    grid i in M by B\n{\n    axis j in N\n    y[i] = pick(x[j, i], j, 0)\n}", "N", []int64{0, 3}},
	} {
		for _, device := range []string{"cpu", "emu"} {
			d, err := OpenDevice(device)
			require.NoError(t, err)
			defer d.Close()
			m, err := NewCompiler(d, nil).Load("f.tile", []byte(c.source))
			require.NoError(t, err, c.source)
			_, err = m.Call("f", Args{"x": Converted(lang.F32, make([]float64, tensor.Elements(c.shape)), c.shape...)})
			if assert.Error(t, err, "%s\non %s", c.source, device) {
				assert.Contains(t, err.Error(), "dimension "+c.dim+" of f is 0")
			}
		}
	}
}
