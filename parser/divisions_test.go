package parser

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// TestDivisions reads the lines by which the editor's grammar is tested: what each `//` is to it, it is to the scanner.
func TestDivisions(t *testing.T) {
	text, err := os.ReadFile("../editors/vscode/test/divisions.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	require.Greater(t, len(lines), 20)
	for _, line := range lines {
		want, source := strings.TrimSpace(line[:4]), line[4:]
		s := scan(lang.NewSource("line.tile", source))
		got := ""
		for i := range s.tokens {
			if is(&s.tokens[i], "//") {
				got += "D"
			}
		}
		got += strings.Repeat("C", len(s.comments))
		assert.Equal(t, want, got, source)
	}
}
