// Package ptxtest is what tests of the packages that write PTX share. It imports none of them.
package ptxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Assembler looks for ptxas as the build does: $TILEC_PTXAS, .tools/ptxas of the repository, $PATH. Without one the test is skipped.
func Assembler(t testing.TB) string {
	t.Helper()
	if p := os.Getenv("TILEC_PTXAS"); p != "" {
		return p
	}
	for dir, err := os.Getwd(); err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		p := filepath.Join(dir, ".tools", "ptxas")
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			return p
		}
	}
	p, err := exec.LookPath("ptxas")
	if err != nil {
		t.Skip("no ptxas: not in $TILEC_PTXAS, .tools/ptxas or $PATH")
	}
	return p
}
