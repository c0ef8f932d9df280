package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// changing is what the golden files do not hold: times, which belong to the planner, with the room that they take in a column, and
// numbers of lines.
var changing = regexp.MustCompile(` +[0-9]+\.[0-9] us *|elementwise_[0-9]+`)

// What is said of a step of GPT-2, and of a prompt, is as it was: -update writes what is said now.
func TestExplainGraph(t *testing.T) {
	for name, args := range map[string][]string{
		"explain_step.txt":   {"explain", "gpt.tile"},
		"explain_prompt.txt": {"explain", "gpt.tile", "forward", "S=128", "L=2", "--target", "sm_80"},
		"explain_cpu.txt":    {"explain", "gpt.tile", "scores", "B=1", "S=4", "L=2", "C=48", "H=3", "F=192", "V=64", "P=32", "R=32", "T=f32", "--target", "cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := invoke(t, args...)
			require.Equal(t, exitOK, code, stderr)
			got := changing.ReplaceAllStringFunc(stdout, func(text string) string {
				if text[0] == ' ' {
					return " # us "
				}
				return "elementwise_#"
			})
			path := "testdata/" + name
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

// Launches that stay two are named as they are, where others that copy operands first have come before them.
func TestExplainGraphWithCopies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.tile")
	require.NoError(t, os.WriteFile(file, []byte(`import "std/nn"

graph two(x: bf16[M, K], w: bf16[K, N], v: bf16[K, N]) -> (y: bf16[M, N], z: bf16[M, N]) {
    y = linear(x, w)
    z = linear(x, v)
}
`), 0o666))
	code, stdout, stderr := invoke(t, "explain", file, "two", "M=4097", "K=4095", "N=4099")
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "5 launches, of 2 calls")
	assert.Contains(t, stdout, "linear, then linear")
}
