package fuzz

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
	"tilec/jit/jittest/sweep"
	"tilec/typecheck/typed"
)

// faulty is a device of which a bit is wrong: what is read has it set in some bytes.
type faulty struct {
	backend.Device
	every int
	// read, where it is set, is called at every read.
	read func()
}

func (f faulty) Read(data []byte, m *backend.Memory, offset int64) error {
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
	device := faulty{Device: cpu.Open(), every: 67}
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
	_, err = Replay(cpu.Open(), c)
	assert.NoError(t, err, "the program is right on a device that is")
}

func TestCompareSeesOneWrongElement(t *testing.T) {
	c := &Case{Source: `kernel k(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] * 3
}
`, Trials: []Trial{{Dims: map[string]int64{"N": 17}, Style: Normal, Seed: 1}}}
	_, err := Replay(cpu.Open(), c)
	require.NoError(t, err)
	again, err := ParseCase(c.String())
	require.NoError(t, err)
	assert.Equal(t, c, again)

	c.Source = strings.Replace(c.Source, "x[i] * 3", "x[j] * 3", 1)
	_, err = Replay(cpu.Open(), c)
	var p *Problem
	require.ErrorAs(t, err, &p)
	assert.Equal(t, Rejected, p.Kind)
}

// references gives what a program may give under three plans, as far as the reference goes.
func references(t *testing.T, k *typed.Kernel, r Trial) []*array {
	c := newChecker(cpu.Open())
	types, err := r.types()
	require.NoError(t, err)
	spec, err := jit.Specialise(k, jit.Options{Dims: r.Dims, Types: types, Pins: r.Pins, Precision: r.Precision})
	if err != nil {
		return nil
	}
	args, err := arguments(k, spec, r)
	require.NoError(t, err)
	var first []*array
	for _, open := range []int64{0, 1, 3} {
		got, p := c.reference(k, spec, r, args, open)
		if p != nil {
			return nil
		}
		if first == nil {
			first = got
		}
		for i, g := range got {
			if !first[i].agrees(g) {
				return []*array{first[i], g}
			}
		}
	}
	return nil
}

// The reference tells a result that only some extents give, once the language does not fix them.
func TestReferencesOfAPlanDependentProgramDisagree(t *testing.T) {
	agree := func(next string, open bool) bool {
		k, p := load(`kernel k(x: i32[N]) -> y: i32[1]
    grid i in 1
{
    y[i] = for k in N by BK with n = 0 { ` + next + ` }
}
`)
		require.Nil(t, p)
		if open {
			k.Axes[1].Extent = 0
		}
		return references(t, k, Trial{Dims: map[string]int64{"N": 17}, Style: Small, Seed: 1}) == nil
	}
	assert.True(t, agree("n + sum(x[k], over k)", true))
	assert.False(t, agree("n * 2 + sum(x[k], over k)", true))
	assert.True(t, agree("n * 2 + sum(x[k], over k)", false))
}

// What the checker lets through has one result, whatever extents a plan gives.
func TestNoPlanShowsThrough(t *testing.T) {
	const seeds = 200
	checked := 0
	for seed := uint64(0); seed < seeds; seed += uint64(sweep.OneIn(4)) {
		c := Generate(seed)
		if len(c.Trials) == 0 || c.isChain() {
			continue
		}
		k, p := load(c.Source)
		require.Nil(t, p, "%d: %v\n%s", seed, p, c.Source)
		for _, r := range c.Trials {
			checked++
			if d := references(t, k, r); d != nil {
				t.Errorf("seed %d, %v: %v and %v under another plan\n%s", seed, r.Dims, d[0], d[1], c.Source)
			}
		}
	}
	require.Positive(t, checked)
}
