package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/fuzz"
)

// What is wrong is said with the element, the kernel and the launch; what is not judged with the reason.
func TestPrintChecks(t *testing.T) {
	wrong := fuzz.Judgement{Kernel: "add", Result: "z", Launches: 2, Elements: 12, Judged: 12, Worst: 0.5, Wrong: 3, First: "z[0, 1] = 7, which must be 6"}
	w := &fuzz.Witness{First: &wrong, Launch: 1, Of: 3, Judgements: []fuzz.Judgement{
		wrong,
		{Kernel: "twice", Result: "y", Launches: 1, Elements: 100, Judged: 10, Unknown: 2, Worst: 1},
		{Kernel: "f", Result: "y", Launches: 1, Elements: 100, Skipped: "too much", Left: 1},
		{Kernel: "h", Result: "y", Launches: 3, Elements: 90, Judged: 60, Worst: 0.25, Skipped: "too much", Left: 1},
		{Kernel: "k", Result: "y", Launches: 1, Elements: 9, Wrong: 1, First: "reference: load at line 3: index 0 of x is 9, outside 9, though the checker proved it inside"},
	}}
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "stdout"))
	require.NoError(t, err)
	defer out.Close()
	errs, err := os.Create(filepath.Join(dir, "stderr"))
	require.NoError(t, err)
	defer errs.Close()
	a := &app{stdout: &output{File: out}, stderr: errs}
	a.printChecks("twice", w)
	stdout, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	stderr, err := os.ReadFile(errs.Name())
	require.NoError(t, err)
	assert.Equal(t, `check add.z (2 launches): 3 of 12 elements judged are beyond their bounds, the first of them z[0, 1] = 7, which must be 6
check y: 10 of 100 elements (blocks drawn at random) within their bounds, the worst at 1 of its bound; of 2 nothing is known
check f.y: not judged: too much
check h.y (3 launches): 60 of 90 elements within their bounds, the worst at 0.25 of its bound; 1 of 3 launches not judged: too much
check k.y: reference: load at line 3: index 0 of x is 9, outside 9, though the checker proved it inside
`, string(stdout))
	assert.Contains(t, string(stderr), "twice is wrong: the first result that leaves its bounds is z of the kernel add, in launch 2 of 3")
}
