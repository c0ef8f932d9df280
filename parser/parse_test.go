package parser

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// Every example of the language page parses.
func TestLanguageExamples(t *testing.T) {
	text, err := os.ReadFile("testdata/language.tile")
	require.NoError(t, err)
	mod, diags := Parse(lang.NewSource("language.tile", string(text)))
	require.NoError(t, diags.Err())
	var names []string
	for _, d := range mod.Decls {
		names = append(names, d.DeclName().Name)
	}
	require.Equal(t, []string{"add", "softmax", "gelu", "linear_gelu", "attention", "embed", "matmul"}, names)
}
