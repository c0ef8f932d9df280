package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDifference(t *testing.T) {
	assert.Empty(t, difference("a\nb\n", "a\nb\n"))
	assert.Contains(t, difference("a\nb\n", "a\nc\n"), `line 2 was "b"`)
	assert.NotEmpty(t, difference("a\n", "a\nb\n"))
	assert.NotEmpty(t, difference("a\nb", "a"))
}

// The units are every kernel of the standard library and every workload, for each target, and no program is left out of an archive.
func TestUnits(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	t.Chdir(filepath.Join(here, "../.."))
	all, err := units(t.TempDir())
	require.NoError(t, err)
	of := map[string]int{}
	for _, u := range all {
		require.FileExists(t, u.file)
		of[u.kernel]++
	}
	assert.Zero(t, of["softmax"]%len(targets))
	assert.GreaterOrEqual(t, of["softmax"], 4*len(targets), "two types at two sizes")
	assert.Positive(t, of["blocks"], "a program of testdata/conformance/products.txtar")
	assert.Greater(t, len(all), 5000)
}
