package target_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbered is code that asks which machine something is for instead of what the machine can do: a comparison of a
// compute capability with a number, or of a name with one of a GPU's.
var numbered = regexp.MustCompile(`(?i)\barch\w*(\(\))? *([<>]=?|[!=]=) *\d` +
	`|(?i)(capability|compute)\w*(\(\))? *([<>]=?|[!=]=) *\d` +
	`|([<>]=?|[!=]=|\bcase) *"sm_\d` +
	`|"sm_\d+a?" *[!=]=`)

func TestWhatIsNumbered(t *testing.T) {
	for _, code := range []string{
		"if t.Arch > 0 {", "t.Arch == 90 && d", "case t.arch >= 80:", `k.target.Name != "sm_90a"`, `case "sm_86":`,
		"switch c := d.Capability(); {\n\tcase d.Capability() < 80:", `if "sm_80" == name {`,
	} {
		assert.Regexp(t, numbered, code)
	}
	for _, code := range []string{`target.Find("sm_90a")`, "t.Has(target.Wgmma)", `[]string{"sm_80", "sm_90a"}`, "runtime.GOARCH == goarch"} {
		assert.NotRegexp(t, numbered, code)
	}
}

// Which machine can do what is said in this package alone.
func TestNobodyElseKnowsTheMachines(t *testing.T) {
	root, seen := filepath.Join("..", ".."), 0
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path == filepath.Join(root, "jit", "target"), e.IsDir() && path != root && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		seen++
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			assert.NotRegexp(t, numbered, line, "%s:%d: ask jit/target for a capability by name", path, i+1)
		}
		return err
	}))
	require.Greater(t, seen, 100)
}
