package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// The reference says of every setting how it is written, and of each pin of a kernel what the table says.
func TestReferenceHasTheSettings(t *testing.T) {
	text, err := os.ReadFile("language.md")
	require.NoError(t, err)
	page := string(text)
	for _, s := range lang.AllSettings() {
		assert.Contains(t, page, "@"+s.Name, "docs/language.md does not name @%s", s.Name)
		if s.At&lang.InTarget != 0 || s.Name == "target" || s.Name == "approx" {
			assert.Contains(t, page, fmt.Sprintf("| `%s` | %s |", s.Written, s.Doc), "docs/language.md: the table of pins says something else of @%s than lang/setting.go", s.Name)
		}
		for _, w := range s.Words {
			assert.True(t, strings.Contains(page, "`"+w+"`") || strings.Contains(page, "("+w+")"), "docs/language.md does not name %s of @%s", w, s.Name)
		}
	}
}
