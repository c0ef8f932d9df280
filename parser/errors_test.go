package parser

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

// An expectation stands in a comment on the line of its error:
//
//	// ERROR "regex"          an error on this line
//	// ERROR@token "regex"    an error at this token
//	// ERROR-1 "regex"        an error on the line above
//
// Several may follow each other. The message, then the fix, must match.
var expected = regexp.MustCompile(`ERROR(-\d+)?(?:@(\S+))? ("(?:[^"\\]|\\.)*")`)

type expectedError struct {
	line    int
	token   string
	pattern *regexp.Regexp
}

func expectedErrors(t *testing.T, text string) []expectedError {
	var all []expectedError
	for i, line := range strings.Split(text, "\n") {
		_, comment, ok := strings.Cut(line, "// ERROR")
		if !ok {
			continue
		}
		for _, m := range expected.FindAllStringSubmatch("ERROR"+comment, -1) {
			back, _ := strconv.Atoi(m[1])
			pattern, err := strconv.Unquote(m[3])
			require.NoError(t, err)
			all = append(all, expectedError{i + 1 + back, m[2], regexp.MustCompile(pattern)})
		}
	}
	return all
}

// TestErrors checks that exactly the expected errors are found in testdata/errors.
func TestErrors(t *testing.T) {
	paths, err := filepath.Glob("testdata/errors/*.tile")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			checkErrors(t, filepath.Base(path), string(text))
		})
	}
}

func checkErrors(t *testing.T, name, text string) {
	_, diags := Parse(lang.NewSource(name, text))
	want := expectedErrors(t, text)
	require.NotEmpty(t, want, "%s expects no error", name)
	for _, d := range diags {
		line, _ := d.At.Position()
		said := d.Message
		if d.Fix != nil {
			said += "; " + d.Fix.Message
		}
		found := -1
		for i, w := range want {
			if w.line == line && (w.token == "" || w.token == d.At.Text()) && w.pattern.MatchString(said) {
				found = i
				break
			}
		}
		if !assert.GreaterOrEqual(t, found, 0, fmt.Sprintf("unexpected at `%s`: %v\n\t%s", d.At.Text(), d, said)) {
			continue
		}
		want = append(want[:found:found], want[found+1:]...)
	}
	for _, w := range want {
		assert.Fail(t, "missing error", "%s:%d: no error matches %q", name, w.line, w.pattern)
	}
}

// Every page of a syntax error code has an example that gives that error and
// no other, and one that parses.
func TestCodePages(t *testing.T) {
	for _, code := range []lang.Code{lang.ErrSyntax, lang.ErrCharacter, lang.ErrString, lang.ErrNumber, lang.ErrEncoding, lang.ErrUnbalanced, lang.ErrNesting} {
		row, ok := lang.CodeInfo(code)
		require.True(t, ok, "%s has no page", code)
		_, diags := Parse(lang.NewSource("fails.tile", row.Fails))
		require.NotEmpty(t, diags, "%s: the failing example parses", code)
		for _, d := range diags {
			assert.Equal(t, code, d.Code, d.Message)
		}
		_, diags = Parse(lang.NewSource("works.tile", row.Works))
		assert.NoError(t, diags.Err(), "%s: the working example", code)
	}
}

// The edits of a fix, applied, remove the error.
func TestFixesApply(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"fn f(x) = x && y\n", "fn f(x) = x and y\n"},
		{"fn f(x) = x&&y and !y\n", "fn f(x) = x and y and not y\n"},
		{"const A = 3;\n", "const A = 3\n"},
		{"const A = 1.\n", "const A = 1.0\n"},
		{"const A = (1 + 2]\n", "const A = (1 + 2)\n"},
		{"fn f(x) { if x = 1 { 2 } else { 3 } }\n", "fn f(x) { if x == 1 { 2 } else { 3 } }\n"},
		{"fn f(x) {\n    y = x\n    y\n}\n", "fn f(x) {\n    let y = x\n    y\n}\n"},
	} {
		_, diags := Parse(lang.NewSource("fix.tile", tt.text))
		require.NotEmpty(t, diags, tt.text)
		fixed := tt.text
		for i := len(diags) - 1; i >= 0; i-- {
			require.NotNil(t, diags[i].Fix, diags[i].Message)
			require.Len(t, diags[i].Fix.Edits, 1, diags[i].Message)
			e := diags[i].Fix.Edits[0]
			fixed = fixed[:e.At.Start] + e.New + fixed[e.At.End:]
		}
		assert.Equal(t, tt.want, fixed)
		_, diags = Parse(lang.NewSource("fix.tile", fixed))
		assert.NoError(t, diags.Err())
	}
}
