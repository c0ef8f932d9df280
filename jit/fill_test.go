package jit_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/jit/log"
	"tilec/lang"
)

// TestFillsAreCounted: an output that is proven to be stored costs nothing more, one that is not is filled once a run.
func TestFillsAreCounted(t *testing.T) {
	const source = `
kernel both_of(x: f32[N]) -> (y: f32[N], z: f32[N, 2])
    grid i in N by B
{
    y[i] = x[i]
    z[i, 0] = 0
    z[i, 1] = x[i]
}

kernel up(x: f32[N]) -> (y: f32[N], z: f32[2 * N])
    grid i in N by B
{
    y[i] = x[i]
    z[2 * i] = x[i]
}

kernel parts(x: f32[N, N]) -> y: f32[3, N] {
    y[0, i] = sum(x[i, j], over j)
    y[1, j] = sum(x[i, j], over i)
}

graph both(x: f32[N]) -> (a: f32[2 * N], b: f32[4 * N]) {
    let (_, c) = both_of(x + 1)
    let (_, d) = up(x + 1)
    a = view(c, [2 * N])
    let (_, e) = up(d * 2)
    b = e
}
`
	var logged bytes.Buffer
	logs, err := log.Parse("launch", &logged)
	require.NoError(t, err)
	module, err := jit.NewCompiler(jittest.Device(t), logs).Load("fill.tile", []byte(source))
	require.NoError(t, err)
	line, square := jittest.NewArray(lang.F32, 4), jittest.NewArray(lang.F32, 4, 4)
	for _, c := range []struct {
		function string
		x        *jit.Array
		fills    string
	}{
		{"both_of", line, ""},
		{"up", line, "up.z"},
		{"parts", square, "parts.1.y"}, // and not before the second launch
		{"both", line, "up.z up.z"},
	} {
		f, err := module.Function(c.function)
		require.NoError(t, err)
		l, err := f.Bind(jit.Args{"x": c.x})
		require.NoError(t, err)
		require.Equal(t, c.fills, strings.Join(l.Program.Fills(), " "), c.function)
		logged.Reset()
		const runs = 3
		for range runs {
			require.NoError(t, l.Run())
		}
		said := runs - strings.Count(logged.String(), "launches replayed") // a replay is one line
		require.Positive(t, said)
		require.Equal(t, said*len(strings.Fields(c.fills)), strings.Count(logged.String(), "with zeros"), c.function)
		l.Close()
	}
}

// TestNothingReliesOnFreshMemory: the device under test gives memory without a zero in it.
func TestNothingReliesOnFreshMemory(t *testing.T) {
	device := jittest.Device(t)
	m, err := device.Alloc(64)
	require.NoError(t, err)
	defer device.Free(m)
	got := make([]byte, 64)
	require.NoError(t, device.Read(got, m, 0))
	require.NotContains(t, got, byte(0))
	require.NoError(t, device.Fill(m, 8, 16, 0))
	require.NoError(t, device.Read(got, m, 0))
	require.Equal(t, make([]byte, 16), got[8:24])
	require.NotContains(t, got[:8], byte(0))
	require.NotContains(t, got[24:], byte(0))
	require.NoError(t, device.Fill(m, 64, 0, 0))
	require.Error(t, device.Fill(m, 60, 8, 0), "behind its end")
}
