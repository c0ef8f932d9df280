package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of many texts that are interrupted, those that were printed are whole, and stderr says how many there are.
func TestInterruptedTextsAreWhole(t *testing.T) {
	dir := t.TempDir()
	prompts := filepath.Join(dir, "prompts.txt")
	require.NoError(t, os.WriteFile(prompts, []byte(strings.Repeat("ROMEO:\n", 5000)), 0o600))
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	require.NoError(t, err)
	defer stderr.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	code := make(chan int, 1)
	go func() {
		defer w.Close()
		code <- run([]string{"run", "gpt.tile", "--prompts", prompts, "--max-new-tokens", "200", "--batch", "3", "--device", "cpu", "--json"}, w, stderr, time.Now())
	}()
	lines := bufio.NewReader(r)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	own, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, own.Signal(os.Interrupt)) // the command listens to it
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, exitInterrupted, <-code)
	all := strings.Split(strings.TrimSuffix(first+string(rest), "\n"), "\n")
	for _, line := range all {
		var s sample
		require.NoError(t, json.Unmarshal([]byte(line), &s))
		assert.Len(t, s.Tokens, 200)
	}
	said, err := os.ReadFile(stderr.Name())
	require.NoError(t, err)
	assert.Contains(t, string(said), "of 5000 texts are done\ninterrupted\n")
}
