package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const manyFunctions = `package p

import "fmt"

type box[T any] struct{ x T }

func (b *box[T]) set(x T) { b.x = x }

func last[T any](_ string, xs ...T) (x T, ok bool) {
	for _, x = range xs {
		ok = true
	}
	return
}

func down(n int) int {
	if n > 0 {
		return down(n - 1)
	}
	return n
}

var table = []int{1, 2}

func show() string {
	b := &box[int]{}
	b.set(7)
	x, ok := last("", 1, 2, 3)
	return fmt.Sprint(b.x, x, ok, down(3), table[0])
}
`

// Faults that share a build are the faults that they are alone, and none of them is
// there unless it is put.
func TestFaultsTogetherAreThoseAlone(t *testing.T) {
	faults := []Fault{
		{ID: "method", File: "p/p.go", Old: "b.x = x }", New: "_ = x }"},
		{ID: "generic", File: "p/p.go", Old: "ok = true", New: "ok = false"},
		{ID: "recursive", File: "p/p.go", Old: "return n\n", New: "return n - 1\n"},
		{ID: "same function", File: "p/p.go", Old: "n > 0", New: "n > 5"},
		{ID: "table", File: "p/p.go", Old: "int{1, 2}", New: "int{5, 2}"},
		{ID: "unused", File: "p/p.go", Old: "x, ok := last", New: "x, ok, no := last"},
	}
	files := map[string]string{
		"go.mod":      "module m\n\ngo 1.24\n",
		"p/p.go":      manyFunctions,
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestShow(t *testing.T) {\n\tif s := show(); s != \"7 3 true 0 1\" {\n\t\tt.Fatal(s)\n\t}\n}\n",
	}
	root, origin := t.TempDir(), t.TempDir()
	for path, text := range files {
		write(t, root, path, text)
		write(t, origin, path, text)
	}
	tr := &tree{root: root, origin: origin, sound: map[string]bool{}, packages: []string{"p"}}
	require.NoError(t, tr.together(faults))
	assert.Equal(t, map[string]bool{"method": true, "generic": true, "recursive": true, "same function": true}, tr.put,
		"the table is in no function, and the last does not build")
	for id, want := range map[string]string{"": "", "method": "0 3 true 0 1", "generic": "7 3 false 0 1", "recursive": "7 3 true -1 1", "same function": "7 3 true 3 1"} {
		out, ok := tr.test("p", "", id)
		assert.Equal(t, want == "", ok, "%s: %s", id, out)
		assert.Contains(t, out, want, id)
	}
	assert.True(t, tr.passesWithout("p", "--- FAIL: TestShow (0.0s)\n"))
}

// A test that fails whatever fault is put notices none.
func TestTestThatFailsAnywayNoticesNothing(t *testing.T) {
	root, origin := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		"go.mod":               "module m\n\ngo 1.24\n",
		"jit/pass/p.go":        "package pass\n\nfunc one() int { return 1 }\n",
		"jit/pass/one_test.go": "package pass\n\nimport \"testing\"\n\nfunc TestNever(t *testing.T) { one(); t.Fatal(\"never\") }\n",
	} {
		write(t, root, path, text)
		write(t, origin, path, text)
	}
	f := Fault{ID: "one", File: "jit/pass/p.go", Old: "return 1", New: "return 2"}
	tr := &tree{root: root, origin: origin, sound: map[string]bool{}, packages: []string{"jit/pass"}}
	require.NoError(t, tr.together([]Fault{f}))
	assert.Equal(t, noSound, tr.judge(&f, "", false).Verdict)
	write(t, root, "jit/pass/one_test.go", "package pass\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif one() != 1 {\n\t\tt.Fatal()\n\t}\n}\n")
	require.NoError(t, os.RemoveAll(filepath.Join(root, "tests")))
	f.Equivalent = "1 is 2"
	assert.Equal(t, missed, tr.judge(&f, "", true).Verdict, "only all tests together make it equivalent")
	r := tr.judge(&f, "", false)
	assert.Equal(t, noticed, r.Verdict)
	assert.Equal(t, "jit/pass TestOne", r.By)
}

// A fault that does not build is tried alone, and is not noticed then either.
func TestFaultThatDoesNotBuildIsNotNoticed(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"go.mod":               "module m\n\ngo 1.24\n",
		"jit/pass/p.go":        "package pass\n\nfunc one() int { return 1 }\n",
		"jit/pass/one_test.go": "package pass\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) { one() }\n",
	} {
		write(t, root, path, text)
	}
	f := Fault{ID: "one", File: "jit/pass/p.go", Old: "return 1", New: "return x"}
	tr := &tree{root: root, origin: root, sound: map[string]bool{}, packages: []string{"jit/pass"}}
	r := tr.judge(&f, "", false)
	assert.Equal(t, noBuild, r.Verdict)
	assert.Contains(t, r.Detail, "undefined: x")
	source, err := os.ReadFile(filepath.Join(root, f.File))
	require.NoError(t, err)
	assert.Contains(t, string(source), "return 1", "the fault is taken out again")
}
