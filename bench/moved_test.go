package bench_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/bench"
	"tilec/jit"
	"tilec/jit/emu"
)

// movedFile has, of each workload of rows, how often the bytes are moved that have to be, a line of JSON each.
const movedFile = "testdata/moved.jsonl"

// moved is how many bytes a launch reads and writes, as a multiple of those that have to be.
type moved struct {
	Name  string  `json:"name"`
	Moved float64 `json:"moved"`
}

// TestRowsAreReadOnce counts in the emulator what row kernels move, with the plans that they have at full size: a row that is gone through again
// for each reduction is read again. What is on record may not get worse: go test ./bench -run ReadOnce -update renews it.
func TestRowsAreReadOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("runs long rows in the emulator")
	}
	device, err := jit.OpenDevice("emu:sm_90a")
	require.NoError(t, err)
	defer device.Close()
	bytesMoved := int64(0)
	device.(*jit.Emulator).OnLaunch = func(_ string, r *emu.Report) { bytesMoved += r.GlobalRead + r.GlobalWritten }
	kernels, err := bench.NewKernels(jit.NewCompiler(device, nil), 0)
	require.NoError(t, err)
	recorded := readMoved(t)
	var out bytes.Buffer
	for _, w := range bench.Workloads() {
		if !strings.HasPrefix(w.Family, "rows") {
			continue
		}
		launches, err := w.Launches(kernels.Program(), device.Target())
		require.NoError(t, err)
		require.Len(t, launches, 1)
		few, all := w, w.Sizes["M"]
		few.Pins = launches[0].Choice()
		few.Sizes = maps.Clone(w.Sizes)
		few.Sizes["M"] = 2 * max(few.Pins["BM"], 1) // two blocks
		few.Bytes = w.Bytes * float64(few.Sizes["M"]) / float64(all)
		if strings.Contains(w.Kernel, "layernorm") { // gain and bias, which each row takes from the caches
			few.Bytes += 2 * float64(few.Sizes["M"]*w.Type().Bytes(w.Sizes["N"]))
		}
		bytesMoved = 0
		r := kernels.Run(few, bench.Once)
		require.Empty(t, r.Error, w.Name)
		m := moved{w.Name, math.Round(1000*float64(bytesMoved)/few.Bytes) / 1000}
		line, err := json.Marshal(m)
		require.NoError(t, err)
		fmt.Fprintf(&out, "%s\n", line)
		if *update {
			continue
		}
		most, ok := recorded[w.Name]
		if !ok {
			most = 1
		}
		assert.LessOrEqual(t, m.Moved, most*1.01, "%s with %s: if that is as it should be, record it: go test ./bench -run ReadOnce -update", w.Name, r.Plan)
	}
	if *update {
		require.NoError(t, os.WriteFile(movedFile, out.Bytes(), 0o666))
	}
}

func readMoved(t *testing.T) map[string]float64 {
	recorded := map[string]float64{}
	text, err := os.ReadFile(movedFile)
	if err != nil && *update {
		return recorded
	}
	require.NoError(t, err)
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var m moved
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m))
		recorded[m.Name] = m.Moved
	}
	return recorded
}
