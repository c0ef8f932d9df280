package docs_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestImportsGoOneWay holds the table of rooms in ARCHITECTURE.md against the imports of the sources: a room imports rooms of
// the rows above, and of its own row.
func TestImportsGoOneWay(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go to list the imports with")
	}
	page, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	row := map[string]int{}
	name := regexp.MustCompile("`([a-z0-9/]+)`")
	rows := 0
	for _, line := range strings.Split(string(page), "\n") {
		if strings.HasPrefix(line, "## ") {
			break
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		for _, m := range name.FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			row[m[1]] = rows
		}
	}
	require.Greater(t, rows, 20)

	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "tilec/...").Output() // stderr tells of downloads
	require.NoError(t, err)
	found := 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		room := strings.TrimPrefix(fields[0], "tilec/")
		found++
		if !assert.Contains(t, row, room, "the table of rooms lacks a package") {
			continue
		}
		for _, imported := range fields[1:] {
			of, ours := strings.CutPrefix(imported, "tilec/")
			if ours && row[of] > row[room] {
				t.Errorf("%s imports %s, whose row is below its own", room, of)
			}
		}
	}
	assert.Equal(t, len(row), found, "the table of rooms names a package that is not there")
}
