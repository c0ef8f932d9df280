package typecheck_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
)

// BenchmarkCheck types the standard library and the language model built on it.
func BenchmarkCheck(b *testing.B) {
	files := map[string]string{"std/nn": "../stdlib/nn.tile", "std/math": "../stdlib/math.tile", "": "../gpt/gpt.tile"}
	modules := map[string]*lang.Module{}
	for name, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(b, err)
		m, ds := parser.Parse(lang.NewSource(path, string(text)))
		require.NoError(b, ds.Err())
		modules[name] = m
	}
	load := func(path string, _ *lang.Module, _ lang.Span) (*lang.Module, lang.Diagnostics) {
		return modules[path], nil
	}
	for b.Loop() {
		_, ds := typecheck.Check(modules[""], load)
		require.NoError(b, ds.Err())
	}
}
