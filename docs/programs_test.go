package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
)

var programBlock = regexp.MustCompile("(?ms)^```tile\n(.*?)^```$")

// TestPrograms compiles every program that the documentation shows.
func TestPrograms(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range programBlock.FindAllSubmatch(text, -1) {
			found++
			name := fmt.Sprintf("%s, program %d", page, i+1)
			program, ds := jit.Load(name, block[1], nil)
			if ds = append(ds, program.Warnings.Warnings()...); len(ds) > 0 {
				t.Error(ds)
			}
		}
	}
	if found < 8 {
		t.Errorf("found %d programs, there are 8 at least", found)
	}
}

// The cookbook shows parts of the examples, whose tests run them.
func TestCookbookShowsTheExamples(t *testing.T) {
	files, err := filepath.Glob("../testdata/examples/*.tile")
	require.NoError(t, err)
	var examples []string
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		examples = append(examples, string(text))
	}
	page, err := os.ReadFile("cookbook.md")
	require.NoError(t, err)
	recipes := programBlock.FindAllSubmatch(page, -1)
	assert.GreaterOrEqual(t, len(recipes), 16)
	for _, block := range recipes {
		has := func(example string) bool { return strings.Contains(example, string(block[1])) }
		assert.True(t, slices.ContainsFunc(examples, has), "no file of testdata/examples has\n%s", block[1])
	}
}
