package jit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend/cpu"
	"tilec/jit/jittest/sweep"
	"tilec/jit/log"
	"tilec/jit/tensor"
	"tilec/lang"
)

func TestReadTensorGathersStrides(t *testing.T) {
	cpu := cpu.Open()
	m, err := tensor.Upload(cpu, Bytes([]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), 4)
	require.NoError(t, err)
	out := make([]int32, 4)
	require.NoError(t, tensor.ReadTensor(cpu, &tensor.Tensor{DType: lang.I32, Shape: []int64{2, 2}, Strides: []int64{6, 2}, Memory: m, Offset: 1}, Bytes(out)))
	assert.Equal(t, []int32{1, 3, 7, 9}, out)
}

func TestLogs(t *testing.T) {
	l, err := log.Parse("ir, CUTILEIR,ptx", nil)
	require.NoError(t, err)
	assert.True(t, l.On(log.IR))
	assert.True(t, l.On(log.PTX))
	assert.False(t, l.On(log.AST))
	_, err = log.Parse("irr", nil)
	assert.ErrorContains(t, err, `unknown stage "irr": known are all, ast, block, cutileir`)
	var none *log.Logs
	assert.False(t, none.On(log.IR))
}

func TestGraphsUnrollUpToALimit(t *testing.T) {
	sweep.Once(t)
	const source = "kernel twice(x: f32[N]) -> y: f32[N] { y[i] = 2 * x[i] }\n" +
		"graph g(x: f32[N]) -> y: f32[N] {\n    y = for n in 1000 with h = x { for m in 1000 with h = h { twice(h) } }\n}\n"
	m, err := NewCompiler(cpu.Open(), nil).Load("g.tile", []byte(source))
	require.NoError(t, err)
	_, err = m.Call("g", Args{"x": ArrayOf([]float32{1}, 1)})
	var d *lang.Diagnostic
	require.ErrorAs(t, err, &d)
	assert.Equal(t, lang.ErrLimit, d.Code)
	assert.Contains(t, d.Message, "131072")
	assert.NotNil(t, d.Fix)
}
