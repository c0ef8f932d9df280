package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Commands that print little print it as JSON too.
func TestSmallCommandsPrintJSON(t *testing.T) {
	printed := func(code int, args ...string) map[string]any {
		got, stdout, stderr := invoke(t, args...)
		require.Equal(t, code, got, stderr)
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(stdout), &object), stdout)
		return object
	}
	assert.NotEmpty(t, printed(exitOK, "version", "--json")["version"])

	dir := filepath.Join(t.TempDir(), "begun")
	begun := printed(exitOK, "init", "--json", dir)
	assert.Equal(t, filepath.Join(dir, starterName), begun["file"])
	assert.Contains(t, begun["next"].([]any)[0].(map[string]any)["command"], "tilec watch")

	path := filepath.Join(dir, "loose.tile")
	require.NoError(t, os.WriteFile(path, []byte("fn f(x: f32)->f32 {\nx+1\n}\n"), 0o644))
	loose := printed(exitOK, "fmt", "--json", path)
	assert.Equal(t, true, loose["changed"])
	assert.Contains(t, loose["text"], "x + 1")
	assert.NotContains(t, printed(exitOK, "fmt", "--json", "-l", path), "text")
	assert.Contains(t, printed(exitOK, "fmt", "--json", "-d", path)["diff"], "+    x + 1")
	assert.Equal(t, true, printed(exitOK, "fmt", "--json", "-w", path)["changed"])
	assert.Equal(t, false, printed(exitOK, "fmt", "--json", path)["changed"])
	require.NoError(t, os.WriteFile(path, []byte("fn f("), 0o644))
	assert.NotEmpty(t, printed(exitError, "fmt", "--json", path)["errors"])
	assert.NotEmpty(t, printed(exitError, "init", "--json", dir)["errors"])
}

// Every command has --json but for those that print JSON or a shell's words anyway.
func TestEveryCommandHasJSON(t *testing.T) {
	without := map[string]bool{"lsp": true, "completion": true, "help": true}
	_, help, _ := invoke(t, "--help")
	_, list, found := strings.Cut(help, "Available Commands:\n")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n\n")
	for _, line := range strings.Split(list, "\n") {
		name := strings.Fields(line)[0]
		_, of, _ := invoke(t, name, "--help")
		if strings.Contains(of, "Available Commands:") { // its own commands have
			continue
		}
		assert.NotEqual(t, without[name], strings.Contains(of, "--json"), name)
	}
}
