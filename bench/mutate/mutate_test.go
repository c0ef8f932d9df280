package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/jittest"
)

func TestListOfFaults(t *testing.T) {
	ids := map[string]bool{}
	for _, f := range faults() {
		assert.False(t, ids[f.ID], "%s is in the list twice", f.ID)
		ids[f.ID] = true
		assert.NotEqual(t, f.Old, f.New, f.ID)
		assert.NotEmpty(t, f.Note, f.ID)
		assert.True(t, slices.Contains(classes, f.Class), "%s is of the unknown class %q", f.ID, f.Class)
	}
}

// Sources move on, and a fault that no longer applies counts as nothing until
// the list follows: but for a few, it has.
func TestListFollowsTheSources(t *testing.T) {
	gone := 0
	for _, f := range faults() {
		if err := f.stale("../.."); err != nil {
			gone++
			t.Logf("%s: %v", f.ID, err)
		}
	}
	require.LessOrEqual(t, gone, len(faults())/10, "-check lists the faults that no longer apply: give them the code of now")
}

// A fault for which nothing is tested would count as missed.
func TestEveryFaultHasPackagesToTest(t *testing.T) {
	var all []string
	for _, s := range suites {
		all = append(all, strings.Fields(s.packages)...)
	}
	for _, f := range faults() {
		assert.NotEmpty(t, packagesFor(&f, all, false), "%s: no suite is for %s", f.ID, f.File)
	}
	for _, p := range all {
		assert.DirExists(t, "../../"+strings.TrimSuffix(p, onEmulator))
	}
}

func TestApplyWantsOnePlace(t *testing.T) {
	f := Fault{File: "x.go", Old: "a + b", New: "a - b"}
	changed, line, err := f.apply("one\nc = a + b\n")
	require.NoError(t, err)
	assert.Equal(t, "one\nc = a - b\n", changed)
	assert.Equal(t, 2, line)
	_, _, err = f.apply("c = a * b")
	assert.ErrorContains(t, err, "no longer has")
	_, _, err = f.apply("a + b, a + b")
	assert.ErrorContains(t, err, "more than once")
}

func TestLikeliestPackagesComeFirst(t *testing.T) {
	all := []string{"gpt", "jit", "jit@emu", "jit/pass", "jit/ptx", "lang"}
	f := Fault{File: "jit/pass/cse.go"}
	assert.Equal(t, []string{"jit/pass", "jit", "jit@emu"}, packagesFor(&f, all, false))
	assert.Equal(t, []string{"jit/pass", "jit", "jit@emu", "gpt", "jit/ptx", "lang"}, packagesFor(&f, all, true))
}

func TestDeviceVariableIsThatOfTheTests(t *testing.T) {
	assert.Equal(t, jittest.DeviceVariable, deviceVariable)
}

func TestLikeliestTestComesFirst(t *testing.T) {
	f := Fault{ID: "x"}
	assert.Equal(t, "", likeliest(&f, nil))
	kept := map[string]Result{"x": {By: "jit TestA/b"}}
	assert.Equal(t, "jit TestA/b", likeliest(&f, kept))
	f.First = "jit/ptx TestC"
	assert.Equal(t, "jit/ptx TestC", likeliest(&f, kept))
	assert.Equal(t, `^TestA$/^n=2\.5$`, patternOf("TestA/n=2.5"))
}

// What is tried first must be of a package that has tests, or nothing is.
func TestFirstTestsAreOfPackages(t *testing.T) {
	for _, f := range faults() {
		for _, first := range []string{f.First, added[f.ID]} {
			if p, test, ok := strings.Cut(first, " "); first != "" {
				assert.True(t, ok && strings.HasPrefix(test, "Test"), "%s: %q", f.ID, first)
				assert.DirExists(t, "../../"+strings.TrimSuffix(p, onEmulator), f.ID)
			}
		}
	}
}

func TestFailedTest(t *testing.T) {
	assert.Equal(t, "TestA/case_1", failedTest("--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/case_1 (0.0s)\n        x\n--- FAIL: TestB\n"))
	assert.Equal(t, "(too slow)", failedTest("panic: test timed out after 2m0s"))
	assert.Equal(t, "(crash)", failedTest("fatal error: out of memory"))
}

func TestReportCounts(t *testing.T) {
	root := write(t, t.TempDir(), "p/f.go", "package p\n\nfunc f(a, b, c, d int) int { return a + b + c + d }\n")
	all := []Fault{
		{ID: "a", File: "p/f.go", Old: "a +", Class: "cse", Note: "n"},
		{ID: "b", File: "p/f.go", Old: "b +", Class: "cse", Note: "n", Missed: "nothing looks"},
		{ID: "c", File: "p/f.go", Old: "c +", Class: "fold", Note: "n", Equivalent: "same bits"},
		{ID: "d", File: "p/f.go", Old: "+ d", Class: "fold", Note: "n"},
		{ID: "e", File: "p/f.go", Old: "+ e", Class: "fold", Note: "n"},
		{ID: "f", File: "p/f.go", Old: "func", Class: "fold", Note: "n"},
	}
	kept := map[string]Result{}
	for i, verdict := range []string{noticed, missed, equivalent, noBuild} {
		kept[all[i].ID] = resultOf(t, &all[i], root, verdict)
	}
	kept["e"] = Result{ID: "e", Verdict: noticed, Fault: all[4].hash()}
	text := markdown(all, kept, root)
	assert.Contains(t, text, "**1 of the 2 faults that were run and count were noticed, 50.0 %; 2 of the list's 6 were not run.** 1 more")
	assert.Contains(t, text, "| cse | 1 | 1 | 0 | 0 |")
	assert.Contains(t, text, "| fold | 0 | 0 | 1 | 2 |")
	assert.Contains(t, text, "nothing looks")
	assert.Contains(t, text, "same bits")
	assert.Contains(t, text, appliesNoMore)
	assert.Contains(t, text, neverRun)
	assert.Equal(t, 1, strings.Count(text, noBuild))
}
