package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readTrace gives the launches of a trace, of which each must have begun, been released and ended in this order, and the events of what tilec did.
func readTrace(t *testing.T, path string) (launches, host []traceEvent) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var trace struct {
		TraceEvents []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(data, &trace))
	var device []traceEvent
	for _, text := range trace.TraceEvents {
		var name traceName
		if json.Unmarshal(text, &name) == nil && name.Phase == "M" {
			assert.Contains(t, name.Args["name"], "clock")
			continue
		}
		var e traceEvent
		require.NoError(t, json.Unmarshal(text, &e))
		if e.Process == traceHost {
			host = append(host, e)
			continue
		}
		device = append(device, e)
	}
	for i, e := range host {
		assert.Equal(t, "X", e.Phase)
		for _, o := range host[:i] { // spans of a thread lie beside or inside each other
			ended, before := e.Begin+e.Duration, o.Begin+o.Duration
			apart := e.Begin >= before-1e-6 || ended <= o.Begin+1e-6
			inside := e.Begin >= o.Begin-1e-6 && ended <= before+1e-6
			assert.True(t, o.Thread != e.Thread || apart || inside, "%v and %v", o, e)
		}
	}
	end := 0.0
	for i, e := range device {
		assert.Equal(t, "X", e.Phase)
		if i%2 == 1 { // the work of the launch before
			launch := launches[len(launches)-1]
			assert.Nil(t, e.Args)
			assert.Equal(t, "work", e.Name)
			assert.Equal(t, launch.Thread, e.Thread)
			assert.InDelta(t, launch.Begin+launch.Args.WaitedUS, e.Begin, 1e-6)
			assert.InDelta(t, launch.Begin+launch.Duration, e.Begin+e.Duration, 1e-6)
			continue
		}
		require.NotNil(t, e.Args)
		assert.GreaterOrEqual(t, e.Begin, end, "the emulator runs one launch behind the other")
		assert.GreaterOrEqual(t, e.Args.WaitedUS, 0.0)
		assert.GreaterOrEqual(t, e.Args.LastBlockWaitedUS, e.Args.WaitedUS)
		assert.GreaterOrEqual(t, e.Args.LastBlockBeganUS, 0.0)
		assert.LessOrEqual(t, e.Args.LastBlockBeganUS, e.Args.LastBlockWaitedUS)
		assert.LessOrEqual(t, e.Args.LastBlockWaitedUS, e.Duration)
		assert.InDelta(t, e.Begin+e.Duration-end, e.Args.AddedUS, 1e-6)
		assert.Positive(t, e.Args.RooflineUS)
		if e.Args.AddedUS > 0 { // the clock may stand still in a small one
			assert.InEpsilon(t, e.Args.RooflineUS/e.Args.AddedUS, e.Args.Roofline, 1e-6)
		}
		assert.NotEmpty(t, e.Args.Plan)
		end = e.Begin + e.Duration
		launches = append(launches, e)
	}
	return launches, host
}

// names are those of events.
func eventNames(events []traceEvent) (names []string) {
	for _, e := range events {
		names = append(names, e.Name)
	}
	return names
}

// A trace has the launches of a graph in their order, with what each had to do.
func TestTraceOfGraph(t *testing.T) {
	dir := t.TempDir()
	source, path := filepath.Join(dir, "two.tile"), filepath.Join(dir, "trace.json")
	require.NoError(t, os.WriteFile(source, []byte(`import "std/nn"
import "std/math"

graph two(x: f32[64, 32], w: f32[32, 48]) -> y: f32[64, 48] {
    y = softmax(linear(x, w))
}
`), 0o666))
	code, _, stderr := invoke(t, "run", source, "two", "--device", "emu", "--trace", path)
	require.Equal(t, exitOK, code, stderr)
	assert.Regexp(t, `(?m)^trace: 2 launches in [0-9.]+ us, \d+ % of the roofline, \d+ % between launches; the most: .*us \(1 x, .*, .*$`, stderr)
	assert.Contains(t, stderr, "the emulator's times are instructions")
	launches, host := readTrace(t, path)
	require.Len(t, launches, 2)
	assert.Subset(t, eventNames(host), []string{"load", "compile linear", "compile softmax", "build", "passes", "plan", "code"})
	assert.Equal(t, "linear", launches[0].Name)
	assert.Equal(t, int64(2*64*32*48), launches[0].Args.FLOP)
	assert.Equal(t, int64(4*(64*32+32*48+64*48)), launches[0].Args.Bytes)
	assert.Equal(t, "softmax", launches[1].Name)
	assert.Equal(t, int64(2*4*64*48), launches[1].Args.Bytes)
}

// A trace of a text has the launches of its last step, and of the choice of a token.
func TestTraceOfText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	code, stdout, stderr := invoke(t, "run", "gpt.tile", "--random-weights", "nano", "--prompt", "hi", "--max-new-tokens", "3", "--temperature", "0", "--device", "emu", "--trace", path)
	require.Equal(t, exitOK, code, stderr)
	assert.NotEmpty(t, stdout)
	launches, _ := readTrace(t, path)
	names := map[string]int64{}
	for _, l := range launches {
		names[l.Name] += l.Args.FLOP
	}
	assert.Equal(t, "embedding > layernorm", launches[0].Name)
	assert.Equal(t, int64(2*1024*48), names["head"])
	assert.Contains(t, names, "take_likeliest")

	code, _, stderr = invoke(t, "run", "gpt.tile", "--random-weights", "nano", "--max-new-tokens", "1", "--device", "emu", "--trace", path)
	assert.Equal(t, exitError, code)
	assert.Contains(t, stderr, "a text of two new tokens has one")
}

// A kernel is one launch; of a CPU, what runs is among what tilec did; building and benchmarks have that alone.
func TestTraceOfTheRest(t *testing.T) {
	kernel := []string{"run", "std/nn.tile", "softmax", "M=2", "N=3", "x=zeros"}
	for _, c := range []struct {
		args     []string
		launches int
		host     []string
	}{
		{append(kernel, "--device", "emu"), 1, []string{"load", "compile softmax", "plan", "code"}},
		{append(kernel, "--device", "cpu"), 0, []string{"load", "compile softmax", "plan", "code", "run softmax"}},
		{[]string{"run", "gpt.tile", "--random-weights", "nano", "--max-new-tokens", "2", "--device", "cpu"}, 0, []string{"open", "weights", "run head"}},
		{[]string{"build", "std/nn.tile", "--kernel", "softmax", "M=2", "N=3"}, 0, []string{"load", "compile softmax", "passes", "plan", "emit softmax", "ptx"}},
		{[]string{"bench", "run", "softmax f32 8192x768", "--limit", "8", "--time", "1ms", "--device", "cpu"}, 0, []string{"bench softmax f32 8192x768, at most 8", "compile softmax"}},
	} {
		path := filepath.Join(t.TempDir(), "trace.json")
		code, _, stderr := invoke(t, append(c.args, "--trace", path)...)
		require.Equal(t, exitOK, code, "%v: %s", c.args, stderr)
		launches, host := readTrace(t, path)
		assert.Len(t, launches, c.launches, c.args)
		assert.Subset(t, eventNames(host), c.host, c.args)
	}
}

// A trace that could not be written is refused before anything runs.
func TestTraceRefused(t *testing.T) {
	for _, args := range [][]string{{"run", "gpt.tile", "--device", "emu"}, {"build", "std/nn.tile"}, {"bench", "run", "softmax"}} {
		code, stdout, stderr := invoke(t, append(args, "--trace", "no/such/folder/trace.json")...)
		assert.Equal(t, exitError, code)
		assert.Contains(t, stderr, "cannot write in the folder no/such/folder")
		assert.Empty(t, stdout)
	}
}
