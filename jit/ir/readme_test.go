package ir

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The kernels of the README are kernels, in the printer's own form.
func TestReadme(t *testing.T) {
	parts := strings.Split(readFile(t, "README.md"), "```\n")
	n := 0
	for i := 1; i < len(parts); i += 2 {
		f, err := Parse("README.md", parts[i])
		require.NoError(t, err)
		assert.Equal(t, comments.ReplaceAllString(parts[i], ""), f.String())
		n++
	}
	assert.Equal(t, 2, n)
}
