package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/typecheck/typed"
)

// The kernels that bench/beyond times beside PyTorch compute what they should, element by element, on the CPU and in the emulator, or on the device under test: a third and a
// ninth of them where sweeps take a sample.
func TestBeyond(t *testing.T) {
	checkBeyond(t, 250, func(file string) bool { return file != "fused" && file != "networks" })
}

// And the graphs of fused.tile, which take as long as all others.
func TestBeyondFused(t *testing.T) {
	checkBeyond(t, 99, func(file string) bool { return file == "fused" })
}

// And those of networks.tile.
func TestBeyondNetworks(t *testing.T) {
	checkBeyond(t, 26, func(file string) bool { return file == "networks" })
}

// checkBeyond checks the kernels of some files, of which there are so many at least.
func checkBeyond(t *testing.T, least int, of func(file string) bool) {
	text, err := os.ReadFile("../../bench/beyond/sizes.txt")
	require.NoError(t, err)
	onDevices(t, func(t *testing.T, id string, device backend.Device) {
		a := &app{sources: map[string][]byte{}}
		programs := map[string]*typed.Program{}
		kernels, run := 0, 0
		for line := range strings.Lines(string(text)) {
			parts := strings.Split(strings.TrimSpace(line), ": ")
			if strings.HasPrefix(line, "#") || len(parts) < 3 { // a size alone
				continue
			}
			file, name, _ := strings.Cut(parts[0], " ")
			if !of(file) {
				continue
			}
			each := sweep.OneIn(3)
			if id == "emu" { // which takes most of the time
				each *= each
			}
			if kernels++; kernels%each != 0 {
				continue
			}
			if programs[file] == nil {
				programs[file], err = a.load("../../bench/beyond/" + file + ".tile")
				require.NoError(t, err)
			}
			f, err := jit.FindFunction(programs[file], name)
			require.NoError(t, err)
			args, err := parseArguments(strings.Fields(parts[2]))
			require.NoError(t, err, name)
			w, err := witnessed(f, jit.NewCompiler(device, nil), args, 1)
			require.NoError(t, err, name)
			assert.Nil(t, w.First, "%s: %v", name, w.First)
			run++
		}
		assert.GreaterOrEqual(t, kernels, least)
		assert.GreaterOrEqual(t, run, kernels/9)
	})
}

// onDevices runs a test on the CPU and in the emulator, or on the device under test alone where that is another, as a machine with a GPU has little time; its memory holds no zeros to
// begin with.
func onDevices(t *testing.T, test func(t *testing.T, id string, device backend.Device)) {
	devices := []string{"cpu", "emu"}
	if id := os.Getenv(jittest.DeviceVariable); id != "" && id != "cpu" && id != "emu" {
		devices = []string{id}
	}
	for _, id := range devices {
		t.Run(id, func(t *testing.T) {
			device, err := openDevice(id)
			require.NoError(t, err)
			defer device.Close()
			device.Poison()
			test(t, id, device)
		})
	}
}
