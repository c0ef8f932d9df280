package jit_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/lang"
)

const onMemory = `
kernel scaled(x: f32[M, N], s: f32 = 2.0) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = x[i, j] * s
}

graph twice(x: f32[M, N]) -> (y: f32[M, N], z: f32[M, N]) {
    let h = scaled(x)
    z = h
    y = scaled(h, 3.0)
}
`

func bindOn(t *testing.T, d jit.Device, name string, args jit.Args) *jit.Launch {
	t.Helper()
	module, err := jit.NewCompiler(d, nil).Load("memory.tile", []byte(onMemory))
	require.NoError(t, err)
	f, err := module.Function(name)
	require.NoError(t, err)
	l, err := f.Bind(args)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

func promised(d jit.Device, shape ...int64) *jit.Tensor {
	return &jit.Tensor{DType: lang.F32, Shape: shape, Memory: jit.Promise(d, 0, 4*jit.Elements(shape))}
}

func borrowed(t *testing.T, d jit.Device, data []float32, shape ...int64) *jit.Tensor {
	t.Helper()
	m, err := jit.Borrow(d, unsafe.Pointer(unsafe.SliceData(data)), int64(4*len(data)), 4)
	require.NoError(t, err)
	return &jit.Tensor{DType: lang.F32, Shape: shape, Memory: m}
}

// A function bound to shapes alone runs on memory of the caller, and writes its results there, each time where it is told.
func TestRunOnMemoryOfTheCaller(t *testing.T) {
	d := jit.OpenCPU()
	l := bindOn(t, d, "twice", jit.Args{"x": promised(d, 2, 3)})
	require.ErrorContains(t, l.Run(), "has no memory yet")
	for round := range 4 {
		x := []float32{1, 2, 3, 4, 5, float32(round)}
		y, z := make([]float32, 6), make([]float32, 6)
		args := []jit.Value{jit.TensorValue(borrowed(t, d, x, 2, 3))}
		for range 3 { // the last of them replayed, where the device records
			clear(y)
			require.NoError(t, l.RunOn(context.Background(), args, []*jit.Tensor{borrowed(t, d, y, 2, 3), borrowed(t, d, z, 2, 3)}))
			assert.Equal(t, []float32{6, 12, 18, 24, 30, 6 * float32(round)}, y)
			assert.Equal(t, []float32{2, 4, 6, 8, 10, 2 * float32(round)}, z)
		}
		err := l.RunOn(context.Background(), args, []*jit.Tensor{borrowed(t, d, x, 2, 3), borrowed(t, d, z, 2, 3)})
		require.ErrorIs(t, err, jit.ErrOverlap)
		err = l.RunOn(context.Background(), args, []*jit.Tensor{borrowed(t, d, y, 3, 2), borrowed(t, d, z, 2, 3)})
		require.ErrorIs(t, err, jit.ErrMismatch)
	}
}

// Scalars come with the run; what is left out at Bind has its default.
func TestRunOnScalars(t *testing.T) {
	d := jit.OpenCPU()
	l := bindOn(t, d, "scaled", jit.Args{"x": promised(d, 1, 2)})
	leaves := l.Leaves()
	require.Len(t, leaves, 2)
	assert.Equal(t, "s", leaves[1].Name)
	y := make([]float32, 2)
	for _, s := range []jit.Value{leaves[1].Value, jit.FloatValue(lang.F32, 5)} {
		require.NoError(t, l.RunOn(context.Background(), []jit.Value{jit.TensorValue(borrowed(t, d, []float32{1, 2}, 1, 2)), s}, []*jit.Tensor{borrowed(t, d, y, 1, 2)}))
		assert.Equal(t, []float32{float32(s.Scalar.Float), 2 * float32(s.Scalar.Float)}, y)
	}
}

func TestBorrowMisuse(t *testing.T) {
	d := jit.OpenCPU()
	_, err := jit.Borrow(d, nil, 4, 4)
	require.ErrorIs(t, err, jit.ErrUnset)
	word := new(uint64)
	_, err = jit.Borrow(d, unsafe.Add(unsafe.Pointer(word), 1), 4, 4)
	require.ErrorIs(t, err, jit.ErrMismatch)
	e, err := jit.OpenEmulator("sm_90a")
	require.NoError(t, err)
	_, err = jit.Borrow(e, unsafe.Pointer(word), 4, 4)
	require.ErrorIs(t, err, jit.ErrOtherDevice)
}
