package fuzz

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
	"tilec/jit/backend/emulator"
	"tilec/jit/jittest/sweep"
)

// Programs about each topic, on each device without a GPU: none may give a finding, and each is about its topic.
func TestTopics(t *testing.T) {
	emulator, err := emulator.Open(emulator.DefaultTarget)
	require.NoError(t, err)
	emulator.Workers = 1
	about := map[Topic]struct {
		feature string
		share   int // programs that have the feature, of a hundred
	}{
		Views: {"access view", 70}, Parts: {"formula of several parts", 90}, Splits: {"attribute split", 100},
		Generics: {"attribute generic", 100}, Graphs: {"graph for", 30}, Chains: {"graph slice", 20},
		Steps: {"graph call", 90}, Products: {"pin persist", 50}, Attention: {"pin overlap", 40}, Rows: {"pin kept", 50}, Ranges: {"axis grid ranges", 25}, Windows: {"access load computed else", 80}, Neighbours: {"pin extent", 90},
	}
	for _, topic := range Topics() {
		count := 20 / sweep.OneIn(2)
		if topic == Steps || topic == Attention { // a program takes a second
			count = 20 / sweep.OneIn(4)
		}
		for _, device := range []backend.Device{cpu.Open(), emulator} {
			t.Run(string(topic)+"/"+device.ID(), func(t *testing.T) {
				report := &Report{}
				err := Run(context.Background(), Config{Device: device, Topic: topic, Seed: 2_000_000, Count: count, Jobs: runtime.GOMAXPROCS(0), Events: report.Note})
				require.NoError(t, err)
				for _, f := range report.Findings {
					t.Errorf("seed %d: %s: %s\n%s", f.Seed, f.Kind, f.Problem, f.Case)
				}
				assert.Equal(t, count, report.Features["topic "+string(topic)])
				assert.GreaterOrEqual(t, 100*report.Features[about[topic].feature], about[topic].share*count, "%v", report.Features)
				assert.Greater(t, report.Tally.Launches, int64(count*9/10))
				assert.Less(t, float64(report.Tally.Unknown), 0.2*float64(report.Tally.Elements))
			})
		}
	}
}

// Programs about anything are about every topic now and then.
func TestTopicsAmongOthers(t *testing.T) {
	has := map[Topic]int{}
	for seed := range uint64(500) {
		has[topicOf(seed)]++
	}
	for _, topic := range Topics() {
		assert.Greater(t, has[topic], 5, topic)
	}
	assert.Greater(t, has[Anything], 250)
	_, err := ParseTopic("nothing")
	assert.ErrorContains(t, err, "views")
}

// A case without launches runs its tests; one that does not hold is a wrong result.
func TestGraphCase(t *testing.T) {
	source := "graph g(x: f32[N]) -> y: f32[N] {\n    y = x + 1\n}\ntest \"g\" {\n    check g([1.0, 2.0] as f32) == [2.0, 3.0]\n}\n"
	c, err := ParseCase(source)
	require.NoError(t, err)
	assert.Equal(t, source, c.String())
	tally, err := Replay(cpu.Open(), c)
	require.NoError(t, err)
	assert.Equal(t, int64(1), tally.Launches)

	wrong, err := ParseCase(strings.Replace(source, "3.0]", "4.0]", 1))
	require.NoError(t, err)
	_, err = Replay(cpu.Open(), wrong)
	var p *Problem
	require.ErrorAs(t, err, &p)
	assert.Equal(t, Wrong, p.Kind)
	assert.Contains(t, p.Text, "fuzz.tile:5")

	_, err = ParseCase("kernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = x[i]\n}\n")
	assert.ErrorContains(t, err, "or a test")
}
