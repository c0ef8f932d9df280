package fuzz

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend/cpu"
	"tilec/lang"
	"tilec/stdlib"
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

// Where blocks share an online softmax, what they round is relative to the largest of their own part, and judged so.
func TestWitnessOfSharedSoftmax(t *testing.T) {
	source, err := stdlib.FS.ReadFile("nn.tile")
	require.NoError(t, err)
	program, ds := jit.Load("nn.tile", source, nil)
	require.Empty(t, ds)
	device, err := jit.OpenEmulator("sm_90a")
	require.NoError(t, err)
	const b, s, h, d, p = 1, 40, 2, 16, 128
	random := func(seed int, shape ...int64) *jit.Array {
		values := make([]float64, jit.Elements(shape))
		for i := range values {
			values[i] = float64((i*7919+seed*31)%257)/64 - 2
		}
		return jit.Converted(lang.BF16, values, shape...)
	}
	args := jit.Args{"q": random(1, b, s, h, d), "k": random(2, b, h, p, d), "v": random(3, b, h, p, d), "start": jit.ArrayOf([]int32{p - s}, b), "scale": 0.25,
		"BM": 32, "BN": 16, "split": 4}
	f, err := jit.FindFunction(program, "attention")
	require.NoError(t, err)
	l, err := f.On(jit.NewCompiler(device, nil)).Bind(args)
	require.NoError(t, err)
	defer l.Close()
	w := &keeper{Witness: NewWitness(device, 1)}
	l.Program.Observe(w)
	require.NoError(t, l.Run())
	assert.Nil(t, w.First, "%v", w.First)
	require.Len(t, w.Judgements, 1)
	assert.Equal(t, w.Judgements[0].Elements, w.Judgements[0].Judged, &w.Judgements[0])
	whole := *w.kept[0]
	whole.Splits = nil
	assert.NotZero(t, w.arith.Judge(&whole, 1, 1<<40)[0].Wrong, "otherwise it makes no difference here")
}
