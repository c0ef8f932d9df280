package fuzz

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
)

// faulty is a device of which a bit is wrong: what is read has it set in some bytes.
type faulty struct {
	jit.Device
	every int
	// read, where it is set, is called at every read.
	read func()
}

func (f faulty) Read(data []byte, m *jit.Memory, offset int64) error {
	if f.read != nil {
		f.read()
	}
	err := f.Device.Read(data, m, offset)
	for i := f.every - 1; i < len(data); i += f.every {
		data[i] ^= 2
	}
	return err
}

// A device with a fault is found out, and the program that shows it is made small.
func TestFaultsAreFoundAndShrunk(t *testing.T) {
	report := &Report{}
	device := faulty{Device: jit.OpenCPU(), every: 67}
	require.NoError(t, Run(t.Context(), Config{Device: device, Seed: 7, Count: 2, Jobs: 1, Events: report.Note}))
	require.NotEmpty(t, report.Findings)
	// Shrinking ends after so many runs: a limit of time would make less of them on a loaded machine.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := 100
	device.read = func() {
		if left--; left == 0 {
			cancel()
		}
	}
	Shrink(ctx, device, 1, report.Findings, func(f *Finding) { report.Note(Event{Seed: f.Seed, Finding: f}) })
	f := report.Findings[0]
	require.True(t, f.Small)
	assert.Contains(t, []Kind{Wrong, Stray}, f.Kind)
	assert.Less(t, len(f.Case), len(Generate(f.Seed).String())/2)
	c, err := ParseCase(f.Case)
	require.NoError(t, err)
	_, err = Replay(jit.OpenCPU(), c)
	assert.NoError(t, err, "the program is right on a device that is")
}

func TestCompareSeesOneWrongElement(t *testing.T) {
	c := &Case{Source: `kernel k(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] * 3
}
`, Trials: []Trial{{Dims: map[string]int64{"N": 17}, Style: Normal, Seed: 1}}}
	_, err := Replay(jit.OpenCPU(), c)
	require.NoError(t, err)
	again, err := ParseCase(c.String())
	require.NoError(t, err)
	assert.Equal(t, c, again)

	c.Source = strings.Replace(c.Source, "x[i] * 3", "x[j] * 3", 1)
	_, err = Replay(jit.OpenCPU(), c)
	var p *Problem
	require.ErrorAs(t, err, &p)
	assert.Equal(t, Rejected, p.Kind)
}

// A result that only some extents give is the program's, not the compiler's.
func TestReferencesOfAPlanDependentProgramDisagree(t *testing.T) {
	source := func(next string) string {
		return `kernel k(x: i32[N]) -> y: i32[1]
    grid i in 1
{
    y[i] = for k in N by BK with n = 0 { ` + next + ` }
}
`
	}
	c := newChecker(jit.OpenCPU())
	agree := func(source string) bool {
		k, p := load(source)
		require.Nil(t, p)
		r := Trial{Dims: map[string]int64{"N": 17}, Style: Small, Seed: 1}
		spec, err := jit.Specialise(k, jit.Options{Dims: r.Dims})
		require.NoError(t, err)
		args, err := arguments(k, spec, r)
		require.NoError(t, err)
		whole, p := c.reference(k, spec, r, args, 0)
		require.Nil(t, p)
		parts, p := c.reference(k, spec, r, args, 3)
		require.Nil(t, p)
		return whole[0].agrees(parts[0])
	}
	assert.True(t, agree(source("n + sum(x[k], over k)")))
	assert.False(t, agree(source("n * 2 + sum(x[k], over k)")))
}
