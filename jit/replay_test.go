package jit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
	"tilec/typecheck/typed"
)

const replaySource = `
kernel add(x: f32[N], inout t: f32[N], s: f32) -> y: f32[N]
    grid i in N by B
{
    t[i] = t[i] + x[i]
    y[i] = t[i] * s
}
kernel up(x: f32[N]) -> y: f32[2 * N]
    grid i in N by B
{
    y[2 * i] = x[i]
}
kernel loud(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    print("{}", x[i])
    y[i] = x[i]
}
kernel times(x: f32[N], s: f32) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] * s
}
graph spread(x: f32[N], s: f32) -> y: f32[2 * N] { y = up(times(x, s)) }
graph steps(x: f32[N], inout t: f32[N], s: f32) -> y: f32[2 * N] { y = up(add(x, t, s)) }
graph said(x: f32[N]) -> y: f32[N] { y = loud(loud(x)) }
`

// recorder is a device that records, and may be told that somebody else does.
type recorder struct {
	jittest.Recorder
	capturing bool
}

func (r *recorder) Capturing() bool { return r.capturing }

// A program that runs again on the same arguments is recorded at the second run, and each run does all that the first one
// did: inouts go on, outputs that nothing stores are 0, and what is written to arguments between the runs is seen.
func TestReplay(t *testing.T) {
	const n = 300
	device := &recorder{Recorder: jittest.Recorder{Device: jittest.Device(t)}}
	var log strings.Builder
	logs, err := jit.ParseLogs("launch", &log)
	require.NoError(t, err)
	compiler := jit.NewCompiler(device, logs)
	program, problems := jit.Load("replay.tile", []byte(replaySource), nil)
	require.Empty(t, problems)
	upload := func(values ...float32) jit.Value {
		all := make([]float32, n)
		for i := range all {
			all[i] = values[i%len(values)]
		}
		m, err := jit.Upload(device, jit.Bytes(all), 4)
		require.NoError(t, err)
		return jit.TensorValue(&jit.Tensor{DType: lang.F32, Shape: []int64{n}, Memory: m})
	}
	x, state := upload(1, 2), upload(0)
	args := []jit.Value{x, state, jit.FloatValue(lang.F32, 10)}
	p, err := compiler.BindGraph(graphNamed(t, program, "steps"), args, jit.Options{Separate: true})
	require.NoError(t, err)
	defer p.Close()
	check := func(args []jit.Value, want ...float32) {
		t.Helper()
		out, err := p.Run(args)
		require.NoError(t, err)
		got := make([]float32, 2*n)
		require.NoError(t, jit.ReadTensor(device, out[0].Tensor, jit.Bytes(got)))
		for i := range n {
			require.Equal(t, want[i%len(want)], got[2*i], "element %d", 2*i)
			require.Zero(t, got[2*i+1])
		}
	}
	counts := func(recorded, replayed int) {
		t.Helper()
		require.Equal(t, [2]int{recorded, replayed}, [2]int{len(device.Recorded), device.Replayed})
	}
	check(args, 10, 20)
	counts(0, 0)
	check(args, 20, 40)
	counts(1, 1)
	check(args, 30, 60)
	counts(1, 2)
	assert.Contains(t, log.String(), "steps: 2 launches replayed")
	require.NoError(t, device.Write(x.Tensor.Memory, 0, jit.Bytes(make([]float32, n))))
	check([]jit.Value{x, state, jit.FloatValue(lang.F32, 1)}, 3, 6) // another scalar: nothing is recorded for it yet
	counts(1, 2)
	_, err = p.Run(args)
	require.NoError(t, err)
	counts(1, 3)
	other := upload(0)
	fresh := []jit.Value{x, other, args[2]}
	check(fresh, 0, 0) // another place
	counts(1, 3)
	require.NoError(t, device.Write(other.Tensor.Memory, 0, jit.Bytes([]float32{1, 2, 1, 2})))
	out, err := p.Run(fresh)
	require.NoError(t, err)
	counts(2, 4)
	got := make([]float32, 2*n)
	require.NoError(t, jit.ReadTensor(device, out[0].Tensor, jit.Bytes(got)))
	require.Equal(t, []float32{10, 0, 20, 0, 10, 0, 20, 0, 0, 0}, got[:10])

	device.capturing = true // somebody else records, who must get each launch
	_, err = p.Run(fresh)
	require.NoError(t, err)
	counts(2, 4)
	device.capturing = false

	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	_, err = p.RunContext(ctx, fresh)
	require.ErrorIs(t, err, why)
}

func graphNamed(t *testing.T, p *typed.Program, name string) *typed.Graph {
	i := slices.IndexFunc(p.Graphs, func(g *typed.Graph) bool { return g.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return p.Graphs[i]
}

// A replay is of the tensors and scalars of its recording, and fills what the launches find filled.
func TestReplayIsOfItsArguments(t *testing.T) {
	const n = 200
	device := &recorder{Recorder: jittest.Recorder{Device: jittest.Device(t)}}
	compiler := jit.NewCompiler(device, nil)
	program, problems := jit.Load("replay.tile", []byte(replaySource), nil)
	require.Empty(t, problems)
	both := make([]float32, 2*n)
	for i := range both {
		both[i] = float32(i)
	}
	m, err := jit.Upload(device, jit.Bytes(both), 4)
	require.NoError(t, err)
	args := func(offset int64, scalar float64) []jit.Value {
		return []jit.Value{jit.TensorValue(&jit.Tensor{DType: lang.F32, Shape: []int64{n}, Memory: m, Offset: offset}), jit.FloatValue(lang.F32, scalar)}
	}
	p, err := compiler.BindGraph(graphNamed(t, program, "spread"), args(0, 2), jit.Options{Separate: true})
	require.NoError(t, err)
	defer p.Close()
	for i, c := range []struct {
		offset   int64
		scalar   float64
		replayed int
	}{{0, 2, 0}, {0, 2, 1}, {n, 2, 1}, {0, 3, 1}, {0, 2, 2}, {0, 2, 3}, {n, 2, 3}, {n, 2, 4}, {n, 2, 5}} {
		out, err := p.Run(args(c.offset, c.scalar))
		require.NoError(t, err)
		require.Equal(t, c.replayed, device.Replayed, "run %d", i)
		y := out[0].Tensor
		got := make([]float32, 2*n)
		require.NoError(t, jit.ReadTensor(device, y, jit.Bytes(got)))
		for j := range n {
			require.Equal(t, float32(c.scalar)*float32(c.offset+int64(j)), got[2*j], "run %d, element %d", i, j)
			require.Zero(t, got[2*j+1], "run %d, element %d", i, j)
		}
		require.NoError(t, device.Fill(y.Memory, y.DType.Bytes(y.Offset), y.DType.Bytes(2*n), 0x7f))
	}
}

// What the host looks at after each launch cannot be recorded, and the log says so, once.
func TestReplayIsRefused(t *testing.T) {
	device := &recorder{Recorder: jittest.Recorder{Device: jittest.Device(t)}}
	var log, out strings.Builder
	logs, err := jit.ParseLogs("launch", &log)
	require.NoError(t, err)
	compiler := jit.NewCompiler(device, logs)
	compiler.Output = &out
	program, problems := jit.Load("replay.tile", []byte(replaySource), nil)
	require.Empty(t, problems)
	m, err := jit.Upload(device, jit.Bytes([]float32{1}), 4)
	require.NoError(t, err)
	args := []jit.Value{jit.TensorValue(&jit.Tensor{DType: lang.F32, Shape: []int64{1}, Memory: m})}
	p, err := compiler.BindGraph(graphNamed(t, program, "said"), args, jit.Options{Separate: true})
	require.NoError(t, err)
	defer p.Close()
	for range 4 {
		_, err = p.Run(args)
		require.NoError(t, err)
	}
	assert.Empty(t, device.Recorded)
	assert.Equal(t, 1, strings.Count(log.String(), "said is not recorded, and costs the host each launch: loud prints or asserts"))
	assert.Equal(t, 8, strings.Count(out.String(), "block (0)"))
}
