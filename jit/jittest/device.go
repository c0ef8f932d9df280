// Package jittest is what tests of compiled kernels share: the device under
// test, runs that show elements left unwritten and writes gone astray, and
// tolerances that are derived from the arithmetic rather than chosen.
package jittest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/backend/emulator"
	"tilec/jit/backend/nvidia"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
)

// DeviceVariable names the environment variable that chooses the device under
// test, as `tilec --device` does, or "blocks" for Blocks. Tests run on the CPU unless it is set.
const DeviceVariable = sweep.DeviceVariable

// TargetVariable names the environment variable with the PTX target to compile
// for, when that is not the device's own: sm_80 on a newer GPU.
const TargetVariable = "TILEC_TEST_TARGET"

// open opens the device under test once for all tests of a process: opening a
// GPU takes longer than most tests.
var open = sync.OnceValues(func() (backend.Device, error) {
	name := os.Getenv(DeviceVariable)
	if name == "" {
		name = "cpu"
	}
	if name == "blocks" {
		machine, err := target.Find(target.Default)
		return NewBlocks(machine), err
	}
	d, err := jit.OpenDevice(name)
	if err == nil {
		d.Poison()
	}
	retarget := os.Getenv(TargetVariable)
	if err != nil || retarget == "" {
		return d, err
	}
	gpu, ok := d.(*nvidia.Device)
	if !ok {
		return nil, fmt.Errorf("%s is %s, but %s is no GPU", TargetVariable, retarget, d.Name())
	}
	return gpu, gpu.Retarget(retarget)
})

// Device is the device under test. A device that was asked for and is not there fails the test.
func Device(t testing.TB) backend.Device {
	t.Helper()
	d, err := open()
	require.NoErrorf(t, err, "opening the device that %s names", DeviceVariable)
	return d
}

// OnGPU tells whether the device under test is a GPU.
func OnGPU(t testing.TB) bool { return Device(t).Target().IsGPU() }

// OnEmulator tells whether the device under test is a GPU in software: it does
// what a GPU does, thousands of times slower.
func OnEmulator(t testing.TB) bool {
	_, ok := Device(t).(*emulator.Device)
	return ok
}

// Path finds a file of the repository, whether the test runs in its package's
// folder, as `go test` does, or in the root, as a test binary that was carried to another machine does.
func Path(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(name))
		}
		parent := filepath.Dir(dir)
		require.NotEqualf(t, dir, parent, "no folder above the test's holds go.mod, so %s cannot be found", name)
		dir = parent
	}
}
