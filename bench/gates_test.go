package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"tilec/bench"
	"tilec/jit/assembled"
	"tilec/jit/cuda"
	"tilec/jit/target"
	"tilec/typecheck/typed"
)

var (
	update = flag.Bool("update", false, "record what is measured, in place of comparing it")
	words  = flag.String("workloads", "", "only the workloads with this in their name or their family")
)

// gatesFile has the figures of each launch, a line of JSON each.
const gatesFile = "testdata/gates.jsonl"

// TestMachineCodeIsNoWorse holds the machine code of all workloads against the record. A workload that is not on record must have nothing
// spilled, no warning, the plan's residency, and no barrier of the block, nor a call, in a loop with products. After a change for the
// better, or one that is meant to be: go test ./bench -run MachineCode -update.
func TestMachineCodeIsNoWorse(t *testing.T) {
	if testing.Short() {
		t.Skip("assembles every workload")
	}
	tools, program, machine := assembling(t)
	all := bench.Workloads()
	if *words != "" {
		all = bench.Select(all, []string{*words})
	}
	recorded := readGates(t)
	known := recorded
	if *update {
		known = nil
	}
	found := make([][]bench.Figures, len(all))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, w := range all {
		g.Go(func() (err error) {
			found[i], err = w.Figures(context.Background(), program, machine, tools, known)
			return err
		})
	}
	require.NoError(t, g.Wait())
	if *update {
		record(t, found, recorded)
		return
	}
	better, held := 0, 0
	for _, figures := range found {
		for _, f := range figures {
			if f.Held {
				held++
			}
			assert.Empty(t, f.Worse(recorded[f.Name]), "%s: if that is as it should be, record it: go test ./bench -run MachineCode -update", f.Name)
			if len(recorded[f.Name].Worse(f)) > 0 {
				better++
			}
			delete(recorded, f.Name)
		}
	}
	for name := range recorded {
		if *words != "" {
			break // of others
		}
		t.Errorf("%s has a line for %s, which is no workload", gatesFile, name)
	}
	if *words == "" {
		assert.GreaterOrEqual(t, held, 25, "workloads whose code is held to a residency")
	}
	if better > 0 {
		t.Logf("%d launches are better than on record: go test ./bench -run MachineCode -update holds them to it", better)
	}
}

// assembling is what workloads are compiled and assembled with; without an assembler, where none is asked for, the test is skipped.
func assembling(t *testing.T) (*assembled.Tools, *typed.Program, target.Machine) {
	t.Helper()
	tools, err := assembled.Find()
	if errors.Is(err, assembled.ErrNoTools) && os.Getenv(cuda.AssemblerVariable) == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	program, err := bench.Program()
	require.NoError(t, err)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	return tools, program, machine
}

// Two blocks that share copies hand stages back to each other in every step, and wait for no fence there: no workload is planned so.
func TestPairsOfBlocksWaitForNoFence(t *testing.T) {
	tools, program, machine := assembling(t)
	for _, w := range bench.Select(bench.Workloads(), []string{"linear_bias bf16 8192x768x2304"}) {
		w.Pins = map[string]int64{"persist": 2, "cluster": 2}
		figures, err := w.Figures(context.Background(), program, machine, tools, nil)
		require.NoError(t, err)
		require.Len(t, figures, 1)
		assert.Zero(t, figures[0].Fences)
		assert.Zero(t, figures[0].Barriers)
	}
}

// record writes what was found in the order of the workloads; what was not looked at stays as it was.
func record(t *testing.T, found [][]bench.Figures, before map[string]bench.Figures) {
	now := map[string][]bench.Figures{}
	for _, figures := range found {
		if len(figures) > 0 {
			name, _, _ := strings.Cut(figures[0].Name, ", ")
			now[name] = figures
		}
	}
	var out bytes.Buffer
	for _, w := range bench.Workloads() {
		figures, ok := now[w.Name]
		if !ok {
			for name := range before {
				if of, _, _ := strings.Cut(name, ", "); of == w.Name {
					figures = append(figures, before[name])
				}
			}
		}
		slices.SortFunc(figures, func(a, b bench.Figures) int { return strings.Compare(a.Name, b.Name) })
		for _, f := range figures {
			require.NoError(t, json.NewEncoder(&out).Encode(f))
		}
	}
	require.NoError(t, os.WriteFile(gatesFile, out.Bytes(), 0o666))
}

func readGates(t *testing.T) map[string]bench.Figures {
	text, err := os.ReadFile(gatesFile)
	require.NoError(t, err)
	recorded := map[string]bench.Figures{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var f bench.Figures
		require.NoError(t, json.Unmarshal(lines.Bytes(), &f))
		recorded[f.Name] = f
	}
	return recorded
}

func TestWorseFiguresAreFound(t *testing.T) {
	record := bench.Figures{Name: "f", Spilled: 8, Code: 100, Instructions: 10, Unit: "element"}
	assert.Empty(t, record.Worse(record))
	assert.Equal(t, []string{"the code is 121 instructions, at most 120 may be"}, bench.Figures{Code: 121}.Worse(record))
	assert.Equal(t, []string{"4 bytes of a thread are spilled, at most 0 may be"}, bench.Figures{Spilled: 4, Held: true}.Worse(record))
	assert.Empty(t, bench.Figures{Spilled: 4, Instructions: 10.2, Unit: "element"}.Worse(record))
	assert.Empty(t, bench.Figures{Instructions: 100, Unit: "score"}.Worse(record), "another unit")
	assert.Equal(t, []string{
		"12 bytes of a thread are spilled, at most 8 may be",
		"1 blocks a multiprocessor are missing from the plan's residency, at most 0 may be",
		"11 instructions for each element, at most 10.3 may be",
	}, bench.Figures{Spilled: 12, Missing: 1, Instructions: 11, Unit: "element"}.Worse(record))
}

// A product whose depth is no whole number of steps reads zeros behind its end, which the TMA gives where the tensor ends there: threads do not
// clear the last stage again, which took a hundred stores, a fence and a barrier.
func TestDepthThatEndsWithItsTensorIsNotCleared(t *testing.T) {
	program, err := bench.Program()
	require.NoError(t, err)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, name := range []string{"linear bf16 1000x1000x1000", "linear f32 1000x1000x1000"} {
		launches, err := bench.Select(bench.Workloads(), []string{name})[0].Launches(program, machine)
		require.NoError(t, err)
		require.Len(t, launches, 1)
		text, err := launches[0].PTX()
		require.NoError(t, err)
		assert.Contains(t, text, "cp.async.bulk.tensor", name)
		assert.NotContains(t, text, "st.shared.", name)
	}
}
