// Package sweep says how many cases of a sweep a test takes: a fixed sample of what takes long, so that two cores run every test in less than a quarter of
// an hour, and all of them where [Variable] is set, as before a release. Tests that build the compiler once more, for another machine or in another form,
// are left out altogether without it, and what is the same on every device runs once.
package sweep

import (
	"os"
	"strings"
	"testing"
)

// Variable names the environment variable that has sweeps take all of their cases.
const Variable = "TILEC_TEST_THOROUGH"

// DeviceVariable names the environment variable that chooses the device under test. Tests run on the CPU unless it is set.
const DeviceVariable = "TILEC_TEST_DEVICE"

// OneIn is which multiples a sweep takes of its cases: of n, or of 1 where [Variable] is set.
func OneIn(n int) int {
	if os.Getenv(Variable) != "" {
		return 1
	}
	return n
}

// NeedThorough skips a test for a reason unless [Variable] is set.
func NeedThorough(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(Variable) == "" {
		t.Skipf("%s: set %s=1", reason, Variable)
	}
}

// Once is for a test that opens the devices that it needs itself: it does not run again where a GPU or an emulator is under test.
func Once(t testing.TB) {
	t.Helper()
	if strings.HasPrefix(os.Getenv(DeviceVariable), "cuda") {
		notAgain(t)
	}
	OnceEmulated(t)
}

// OnceEmulated is for a test that opens the GPU under test, or an emulator where there is none: it does not run again where an emulator is under test.
func OnceEmulated(t testing.TB) {
	t.Helper()
	if strings.HasPrefix(os.Getenv(DeviceVariable), "emu") {
		notAgain(t)
	}
}

func notAgain(t testing.TB) {
	t.Helper()
	t.Skipf("it is the same without %s", DeviceVariable)
}
