package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

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
