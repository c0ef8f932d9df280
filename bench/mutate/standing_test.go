package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sumSource = `package p

// Sum is the sum of two numbers.
func Sum(a, b int) int {
	c := a + b
	return c
}

func other() int { return 1 }
`

var sumFault = Fault{ID: "sum", File: "p/f.go", Old: "a + b", New: "a - b", Class: "fold", Note: "n"}

// write puts a source into a folder, and gives the folder.
func write(t *testing.T, root, path, source string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(source), 0o644))
	return root
}

// resultOf is a result as judge makes it for the sources under a root.
func resultOf(t *testing.T, f *Fault, root, verdict string) Result {
	t.Helper()
	function, err := f.function(root)
	require.NoError(t, err)
	return Result{ID: f.ID, Verdict: verdict, Fault: f.hash(), Function: function}
}

func TestResultHoldsWhileItsFunctionIsUnchanged(t *testing.T) {
	root := write(t, t.TempDir(), "p/f.go", sumSource)
	kept := map[string]Result{"sum": resultOf(t, &sumFault, root, noticed)}
	for _, c := range []struct{ what, source, why string }{
		{"nothing", sumSource, ""},
		{"a comment", `package p

// Sum adds.
func Sum(a, b int) int {
	// c is the sum.
	c := a + b // here

	return c
}

func other() int { return 1 }
`, ""},
		{"another function", `package p

import "fmt"

func other() { fmt.Println() }

func Sum(a, b int) int {
	c := a + b
	return c
}
`, ""},
		{"another line of the function", `package p

func Sum(a, b int) int {
	c := a + b
	return c + 1
}
`, functionChanged},
		{"the line itself", `package p

func Sum(a, b int) int {
	c := b + a
	return c
}
`, appliesNoMore},
	} {
		t.Run(c.what, func(t *testing.T) {
			root := write(t, t.TempDir(), "p/f.go", c.source)
			r, why := standing(&sumFault, kept, root)
			assert.Equal(t, c.why, why)
			if c.why != "" {
				assert.Empty(t, r.Verdict, "a result that does not hold is none")
			}
		})
	}
	_, why := standing(&sumFault, nil, root)
	assert.Equal(t, neverRun, why)
	changed := sumFault
	changed.New = "a * b"
	_, why = standing(&changed, kept, root)
	assert.Equal(t, otherFault, why)
}

// What was recorded before results had hashes holds for nothing.
func TestResultWithoutHashesDoesNotHold(t *testing.T) {
	root := write(t, t.TempDir(), "p/f.go", sumSource)
	_, why := standing(&sumFault, map[string]Result{"sum": {ID: "sum", Verdict: noticed}}, root)
	assert.NotEmpty(t, why)
}

func TestFaultInATileFileBelongsToItsDeclaration(t *testing.T) {
	const one = "kernel one(x: f32[N]) -> y: f32[N] grid i in N by B { y[i] = x[i] + 1.0 }\n"
	const two = "kernel two(x: f32[N]) -> y: f32[N] grid i in N by B { y[i] = x[i] * 2.0 }\n"
	f := Fault{ID: "one", File: "k.tile", Old: "x[i] + 1.0", New: "x[i] - 1.0"}
	of := func(source string) string {
		h, err := f.function(write(t, t.TempDir(), "k.tile", source))
		require.NoError(t, err)
		return h
	}
	assert.Equal(t, of(one+two), of(two+one))
	assert.Equal(t, of(one), of(one+two))
	assert.NotEqual(t, of(one), of("kernel one(x: f32[N]) -> y: f32[N] grid i in N by B { y[i] = 2.0 * (x[i] + 1.0) }\n"))
}

func TestEveryFaultIsInADeclaration(t *testing.T) {
	for _, f := range faults() {
		if f.stale("../..") == nil {
			_, err := f.function("../..")
			assert.NoError(t, err, f.ID)
		}
	}
}

func TestResumeRunsWhatHasNoResultThatHolds(t *testing.T) {
	root := write(t, t.TempDir(), "p/f.go", sumSource)
	list := []Fault{sumFault}
	all := regexp.MustCompile("")
	kept := map[string]Result{"sum": resultOf(t, &sumFault, root, noticed)}
	assert.Empty(t, toRun(list, kept, root, selection{match: all, resume: true}))
	assert.Len(t, toRun(list, kept, root, selection{match: all}), 1)
	assert.Empty(t, toRun(list, kept, root, selection{match: regexp.MustCompile("race")}))
	write(t, root, "p/f.go", "package p\n\nfunc Sum(a, b int) int { return a + b }\n")
	assert.Len(t, toRun(list, kept, root, selection{match: all, resume: true}), 1, "the function has changed")
	kept["sum"] = resultOf(t, &sumFault, root, missed)
	assert.Empty(t, toRun(list, kept, root, selection{match: all, resume: true}))
	assert.Len(t, toRun(list, kept, root, selection{match: all, resume: true, again: true}), 1)
}

func TestReportCountsOnlyWhatHolds(t *testing.T) {
	root := write(t, t.TempDir(), "p/f.go", sumSource)
	kept := map[string]Result{"sum": resultOf(t, &sumFault, root, noticed)}
	assert.Contains(t, markdown([]Fault{sumFault}, kept, root), "**1 of the 1 faults that were run and count were noticed, 100.0 %; 0 of the list's 1 were not run.**")
	write(t, root, "p/f.go", "package p\n\nfunc Sum(a, b int) int { return a + b }\n")
	text := markdown([]Fault{sumFault}, kept, root)
	assert.Contains(t, text, "**0 of the 0 faults")
	assert.Contains(t, text, "1 of the list's 1 were not run")
	assert.Contains(t, text, functionChanged)
}
