package ir

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The kernels of the README are kernels, in the printer's own form.
func TestReadme(t *testing.T) {
	words := strings.Split(readFile(t, "README.md"), "```\n")
	n := 0
	for i := 1; i < len(words); i += 2 {
		f, err := Parse("README.md", words[i])
		require.NoError(t, err)
		assert.Equal(t, comments.ReplaceAllString(words[i], ""), f.String())
		n++
	}
	assert.Equal(t, 2, n)
}
