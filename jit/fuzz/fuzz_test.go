package fuzz

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
	"tilec/jit/backend/emulator"
)

// A short run: no program may give a finding, and most of what is computed must be known.
func TestPrograms(t *testing.T) {
	emulator, err := emulator.Open(emulator.DefaultTarget)
	require.NoError(t, err)
	emulator.Workers = 1
	for _, c := range []struct {
		device backend.Device
		count  int
	}{{cpu.Open(), 100}, {emulator, 30}} {
		t.Run(c.device.ID(), func(t *testing.T) {
			report := &Report{}
			err := Run(context.Background(), Config{Device: c.device, Seed: 1_000_000, Count: c.count, Jobs: runtime.GOMAXPROCS(0), Events: report.Note})
			require.NoError(t, err)
			for _, f := range report.Findings {
				t.Errorf("seed %d: %s: %s\n%s", f.Seed, f.Kind, f.Problem, f.Case)
			}
			assert.Equal(t, c.count, report.Programs)
			assert.Greater(t, report.Tally.Elements, int64(1000*c.count))
			assert.Less(t, float64(report.Tally.Unknown), 0.2*float64(report.Tally.Elements))
		})
	}
}

// The same seed gives the same program.
func TestGenerateIsDeterministic(t *testing.T) {
	for seed := range uint64(50) {
		assert.Equal(t, Generate(seed).String(), Generate(seed).String())
	}
	assert.NotEqual(t, Generate(1).Source, Generate(2).Source)
}

// Cases kept from findings that have been put right.
func TestKeptCases(t *testing.T) {
	files, err := filepath.Glob("../../testdata/fuzz/*.tile")
	require.NoError(t, err)
	emulator, err := emulator.Open(emulator.DefaultTarget)
	require.NoError(t, err)
	for _, name := range files {
		for _, device := range []backend.Device{cpu.Open(), emulator} {
			t.Run(filepath.Base(name)+"/"+device.ID(), func(t *testing.T) {
				text, err := os.ReadFile(name)
				require.NoError(t, err)
				c, err := ParseCase(string(text))
				require.NoError(t, err)
				_, err = Replay(device, c)
				assert.NoError(t, err)
			})
		}
	}
}
