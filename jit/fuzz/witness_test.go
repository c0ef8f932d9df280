package fuzz

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend/cpu"
	"tilec/lang"
)

// spoiler is a witness of a program of which one launch leaves a wrong byte.
type spoiler struct {
	*Witness
	launch int
}

func (s *spoiler) After(o *jit.Observation) error {
	if o.Number == s.launch {
		y := o.Operands[len(o.Operands)-1].Tensor
		if err := s.device.Write(y.Memory, y.Offset*int64(y.DType.Size()), []byte{1, 2, 3, 4}); err != nil {
			return err
		}
	}
	return s.Witness.After(o)
}

// Of a graph the launch that is wrong is named, and no other: those behind it are judged by what they really read.
func TestWitnessNamesTheLaunch(t *testing.T) {
	program, ds := jit.Load("witness.tile", []byte(`kernel step(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = exp(x[i]) / 2
}

kernel total(x: f32[N]) -> y: f32[1] {
    y[0] = sum(x[i], over i)
}

graph g(x: f32[N]) -> y: f32[1] {
    y = total(step(step(step(x))))
}
`), nil)
	require.Empty(t, ds)
	f, err := jit.FindFunction(program, "g")
	require.NoError(t, err)
	device := cpu.Open()
	l, err := f.On(jit.NewCompiler(device, nil)).Bind(jit.Args{"x": jit.NewArray(lang.F32, 10)})
	require.NoError(t, err)
	defer l.Close()
	for launch, kernel := range []string{"step", "step", "step", "total", ""} {
		w := NewWitness(device, 1)
		l.Program.Observe(&spoiler{w, launch})
		require.NoError(t, l.Run())
		if kernel == "" {
			assert.Nil(t, w.First)
			continue
		}
		require.NotNil(t, w.First)
		assert.Equal(t, kernel, w.First.Kernel)
		assert.Equal(t, launch, w.Launch)
		assert.Equal(t, int64(1), w.First.Wrong)
		assert.Equal(t, 4, w.Of)
		require.Len(t, w.Judgements, 2)
		assert.Equal(t, 3, w.Judgements[0].Launches)
		assert.Equal(t, int64(30), w.Judgements[0].Judged)
		assert.Equal(t, int64(1), w.Judgements[0].Wrong+w.Judgements[1].Wrong)
	}
}

// The launches of a formula may store parts of one output: what an earlier one stored stays.
func TestWitnessOfFormulasInParts(t *testing.T) {
	program, ds := jit.Load("witness.tile", []byte(`kernel both(x: f32[M, M]) -> (y: f32[M, 2], z: f32[M]) {
    y[i, 0] = sum(x[i, j], over j)
    y[j, 1] = max(x[i, j], over i)
    z[j] = y[j, 0]
}

kernel some(x: u16[N], s: f32) -> y: f32[3 * N]
    grid i in N//2 by B
{
    assume(N % 2 == 0)
    let w = bitcast(x, u32)
    y[3 * i] = (w[i] as f32) * s
}
`), nil)
	require.Empty(t, ds)
	device := cpu.Open()
	device.Poison()
	for name, args := range map[string]jit.Args{
		"both": {"x": &jit.Array{DType: lang.F32, Shape: []int64{5, 5}, Data: bytes.Repeat([]byte{1, 2, 3, 4}, 25)}},
		"some": {"x": &jit.Array{DType: lang.U16, Shape: []int64{8}, Data: bytes.Repeat([]byte{5, 6, 0, 0}, 4)}, "s": 0.1},
	} {
		f, err := jit.FindFunction(program, name)
		require.NoError(t, err)
		l, err := f.On(jit.NewCompiler(device, nil)).Bind(args)
		require.NoError(t, err)
		defer l.Close()
		w := NewWitness(device, 1)
		l.Program.Observe(w)
		require.NoError(t, l.Run())
		assert.Nil(t, w.First, "%v", w.First)
		require.NotEmpty(t, w.Judgements)
		for _, j := range w.Judgements {
			assert.Equal(t, j.Elements, j.Judged, &j)
			assert.Zero(t, j.Unknown, &j)
			assert.Zero(t, j.Left, &j)
			t.Log(j.Kernel, j.Result, &j)
		}
	}
}
