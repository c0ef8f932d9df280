package typecheck_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// marker is an expected error: a comment under the line of the error, whose
// caret stands in the column where the error begins.
//
//	y[i] = x[k]
//	//       ^ ERROR E0401 "walks"
//
// In the first two columns, where a caret has no room, it is `// ERROR@1 E0401 "walks"`.
// The pattern is matched with the message, then the fix in parentheses.
var marker = regexp.MustCompile(`^\s*//(?:\s*\^ ERROR| ERROR@(\d+)) (E\d{4}) ("(?:[^"\\]|\\.)*")\s*$`)

type expectation struct {
	file, code   string
	line, column int
	pattern      *regexp.Regexp
}

func (e expectation) String() string {
	return fmt.Sprintf("%s:%d:%d: %s %q", e.file, e.line, e.column, e.code, e.pattern)
}

func expectations(t *testing.T, file, text string) []expectation {
	var all []expectation
	above := 0
	for i, line := range strings.Split(text, "\n") {
		if !strings.Contains(line, "^ ERROR") && !strings.Contains(line, "// ERROR@") {
			above = i + 1
			continue
		}
		m := marker.FindStringSubmatch(line)
		require.NotNil(t, m, "%s:%d: malformed marker", file, i+1)
		pattern, err := strconv.Unquote(m[3])
		require.NoError(t, err, "%s:%d", file, i+1)
		column, err := strconv.Atoi(m[1])
		if err != nil {
			column = len([]rune(line[:strings.Index(line, "^")])) + 1
		}
		all = append(all, expectation{file, m[2], above, column, regexp.MustCompile(pattern)})
	}
	return all
}

// TestErrors types every program of testdata/errors. A folder there is a program
// of several files, whose root is main.tile. Exactly the errors that are marked
// must be found, each at its line and column.
func TestErrors(t *testing.T) {
	root := filepath.Join("..", "testdata", "errors")
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		name := e.Name()
		files := map[string]string{}
		main := name
		if e.IsDir() {
			main = "main.tile"
			paths, err := filepath.Glob(filepath.Join(root, name, "*.tile"))
			require.NoError(t, err)
			for _, p := range paths {
				text, err := os.ReadFile(p)
				require.NoError(t, err)
				files[filepath.Base(p)] = string(text)
			}
		} else {
			text, err := os.ReadFile(filepath.Join(root, name))
			require.NoError(t, err)
			files[name] = string(text)
		}
		t.Run(name, func(t *testing.T) {
			var want []expectation
			for file, text := range files {
				want = append(want, expectations(t, file, text)...)
			}
			require.NotEmpty(t, want, "no error is marked")
			_, ds := checkFiles(t, main, files)
			compare(t, want, ds)
		})
	}
	require.GreaterOrEqual(t, len(entries), 40)
}

func compare(t *testing.T, want []expectation, got lang.Diagnostics) {
	found := make([]bool, len(want))
	for _, d := range got {
		line, column := d.At.Position()
		text := d.Message
		if d.Fix != nil {
			text += " (" + d.Fix.Message + ")"
		}
		ok := false
		for i, w := range want {
			if !found[i] && w.file == d.At.Source.Path && w.line == line && w.column == column && w.code == string(d.Code) && w.pattern.MatchString(text) {
				found[i], ok = true, true
				break
			}
		}
		assert.True(t, ok, "not expected: %v (%v)", d, d.Fix)
	}
	for i, w := range want {
		assert.True(t, found[i], "not found: %v", w)
	}
}

// Where arguments give a dimension two sizes, the error shows the argument that gave the first.
func TestSizesThatDisagreeAreBothShown(t *testing.T) {
	_, ds := check(t, `
kernel add(x: f32[N], y: f32[N]) -> z: f32[N] grid i in N by B { z[i] = x[i] + y[i] }
graph g(a: f32[M], b: f32[M + 1]) -> z: f32[M] { z = add(a, b) }
`)
	require.Len(t, ds, 1)
	assert.Equal(t, "b", ds[0].At.Text())
	require.Len(t, ds[0].Labels, 1)
	assert.Equal(t, "N is M by this argument", ds[0].Labels[0].Text)
	assert.Equal(t, "a", ds[0].Labels[0].At.Text())
}
