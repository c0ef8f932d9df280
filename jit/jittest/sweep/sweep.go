// Package sweep says how many cases of a sweep a test takes: a fixed sample of what takes long, so that two cores run every test in less than a quarter of
// an hour, and all of them where [Variable] is set, as before a release. Tests that build the compiler once more, for another machine or in another form,
// are left out altogether without it.
package sweep

import (
	"os"
	"testing"
)

// Variable names the environment variable that has sweeps take all of their cases.
const Variable = "TILEC_TEST_THOROUGH"

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
