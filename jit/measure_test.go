package jit_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// What is measured runs as often as was asked and once before, launches that a GPU gets in a graph as well as those that say something.
func TestMeasureRuns(t *testing.T) {
	const source = `
kernel step(inout x: f32[N])
    grid i in N by 32
{
    x[i] = x[i] + 1
}

kernel said(inout x: f32[N])
    grid i in N by 32
{
    assert(x[i] >= 0, "less than 0")
    x[i] = x[i] + 1
}

graph twice(inout x: f32[N]) {
    step(x)
    step(x)
}
`
	device := jittest.Device(t)
	module, err := jit.NewCompiler(device, nil).Load("measure.tile", []byte(source))
	require.NoError(t, err)
	flush, err := device.Alloc(1 << 10)
	require.NoError(t, err)
	t.Cleanup(func() { device.Free(flush) })
	require.NoError(t, device.Fill(flush, 0, flush.Size, 7))
	for name, each := range map[string]float64{"step": 1, "said": 1, "twice": 2} {
		f, err := module.Function(name)
		require.NoError(t, err)
		x := jittest.Normal(lang.F32, name, 100)
		for i := range int64(100) {
			lang.F32.PutElementAt(x.Data, i, float64(i))
		}
		launch, err := f.Bind(jit.Args{"x": x})
		require.NoError(t, err)
		times, err := launch.Measure(3, flush)
		require.NoError(t, err)
		require.Len(t, times, 3)
		for _, took := range times {
			assert.Positive(t, took)
			assert.Less(t, took, time.Minute)
		}
		got, err := launch.Read("x")
		require.NoError(t, err)
		for i, v := range got.Floats() {
			require.Equal(t, float64(i)+4*each, v, "%s, element %d", name, i)
		}
		launch.Close()
		_, err = launch.Measure(1, nil)
		assert.ErrorIs(t, err, jit.ErrClosed)
	}
	data := make([]byte, flush.Size)
	require.NoError(t, device.Read(data, flush, 0))
	assert.True(t, bytes.Equal(make([]byte, flush.Size), data), "what was to be overwritten before each run")
}
