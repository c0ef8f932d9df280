package jit_test

import (
	"bytes"
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

const onMemory = `
kernel scaled(x: f32[M, N], s: f32 = 2.0) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = x[i, j] * s
}

kernel total(x: f32[M, N]) -> y: f32[N]
    grid j in N by BN
{
    axis i in M
    y[j] = sum(x[i, j], over i)
}

kernel third(x: f32[4, N]) -> y: f32[4, N]
    grid j in N by BN
{
    y[2, j] = x[2, j]
}

graph part(x: f32[4, N]) -> (y: f32[2, N], s: f32[N], z: f32[4, N]) {
    let h = scaled(x)
    y = h[0..2]
    s = total(h)
    z = third(x)
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

// Results go where the caller says on the device under test too, recorded runs and poisoned memory included; a place that the
// code is not made for is refused.
func TestRunOnTheDevice(t *testing.T) {
	d := jittest.Device(t)
	l := bindOn(t, d, "twice", jit.Args{"x": promised(d, 2, 3)})
	on := func(shape ...int64) *jit.Tensor {
		m, err := d.Alloc(4*jit.Elements(shape) + 4)
		require.NoError(t, err)
		t.Cleanup(func() { d.Free(m) })
		return &jit.Tensor{DType: lang.F32, Shape: shape, Memory: m}
	}
	read := func(x *jit.Tensor) []float32 {
		data := make([]float32, 6)
		require.NoError(t, jit.ReadTensor(d, x, jit.Bytes(data)))
		return data
	}
	x, y, z, other := on(2, 3), on(2, 3), on(2, 3), on(2, 3)
	for round := range 8 {
		require.NoError(t, d.Write(x.Memory, 0, jit.Bytes([]float32{1, 2, 3, 4, 5, float32(round)})))
		into := y
		if round%4 == 3 { // behind a recording of another place
			into = other
		}
		require.NoError(t, d.Write(into.Memory, 0, make([]byte, 24)))
		require.NoError(t, l.RunOn(context.Background(), []jit.Value{jit.TensorValue(x)}, []*jit.Tensor{into, z}))
		assert.Equal(t, []float32{6, 12, 18, 24, 30, 6 * float32(round)}, read(into))
		assert.Equal(t, []float32{2, 4, 6, 8, 10, 2 * float32(round)}, read(z))
	}
	y.Offset = 1
	require.ErrorContains(t, l.RunOn(context.Background(), []jit.Value{jit.TensorValue(x)}, []*jit.Tensor{y, z}), "multiple of 4 bytes, required 16")
	require.ErrorIs(t, l.RunOn(context.Background(), []jit.Value{jit.TensorValue(x)}, []*jit.Tensor{z}), jit.ErrMismatch)
}

// An output that is a part of what launches use, or filled by zeros first, is right in the caller's memory too.
func TestRunOnFilledAndPartlyUsed(t *testing.T) {
	d := jittest.Device(t)
	l := bindOn(t, d, "part", jit.Args{"x": promised(d, 4, 3)})
	x, err := jit.Upload(d, jit.Bytes([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), 4)
	require.NoError(t, err)
	var into []*jit.Tensor
	for round := range 5 {
		if round == 0 || round == 3 { // other places than those of the runs before, which are recorded
			into = l.Program.Outputs()
			for _, o := range into {
				m, err := d.Alloc(o.Bytes() + 64)
				require.NoError(t, err)
				o.Memory = m
			}
		}
		for _, o := range into {
			require.NoError(t, d.Fill(o.Memory, 0, o.Memory.Size, 0xee))
		}
		require.NoError(t, l.RunOn(context.Background(), []jit.Value{jit.TensorValue(&jit.Tensor{DType: lang.F32, Shape: []int64{4, 3}, Memory: x})}, into))
		for i, want := range [][]float32{{2, 4, 6, 8, 10, 12}, {44, 52, 60}, {0, 0, 0, 0, 0, 0, 7, 8, 9, 0, 0, 0}} {
			got := make([]float32, len(want))
			require.NoError(t, jit.ReadTensor(d, into[i], jit.Bytes(got)))
			assert.Equal(t, want, got)
			rest := make([]byte, 64)
			require.NoError(t, d.Read(rest, into[i].Memory, into[i].Bytes()))
			assert.Equal(t, bytes.Repeat([]byte{0xee}, 64), rest, "what lies behind output %d", i)
		}
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
