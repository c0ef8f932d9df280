package lsp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompletionByPlace: what alone can stand at a place, or what stands there first.
func TestCompletionByPlace(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/program.tile"
	s.open(doc, program)
	version := 1
	complete := func(piece, typed string) []string {
		t.Helper()
		version++
		s.change(doc, version, program)
		version++
		p := placeOf(t, program, piece)
		s.edit(doc, version, span{p, p}, typed)
		return s.complete(doc, place{p.Line, p.Character + len(typed)})
	}
	require.Equal(t, []string{"shape"}, complete("gelu(|acc", "x."))
	require.Empty(t, complete("gelu(|acc", "eps."), "a scalar has no shape")
	require.Equal(t, []string{"N", "K", "M"}, complete("BM, j in |N", ""))
	require.Equal(t, []string{"N", "K", "M"}, complete("    let acc = gelu", "    axis d in "))
	require.Equal(t, []string{"N", "K", "M"}, complete("    let acc = gelu", "    let s = for d in K"))
	require.NotEqual(t, []string{"N", "K", "M"}, complete("tune BM in |{", ""))
	require.Equal(t, []string{"latency", "evict_first", "evict_last", "evict_normal", "no_allocate"}, complete("mma(x[i, k]|", " @"))
	require.Equal(t, []string{"name", "transposed", "scale"}, complete("    g: T[N]|", " @"))
	require.Contains(t, complete("|kernel product", "@"), "warps")
	require.NotContains(t, complete("|kernel product", "@"), "latency")
	require.Equal(t, []string{"T = ", "x = ", "w = ", "eps = "}, complete("    y = |product", "product(")[:4])
	require.Equal(t, []string{"T = ", "eps = "}, complete("    y = |product", "product(x, x, e")[:2])
	require.Equal(t, []string{"T = ", "w = "}, complete("    y = |product", "product(x, eps = 1, ")[:2])
	require.NotContains(t, complete("    y = |product", "product(x, eps = 1, "), "eps = ")
	require.NotContains(t, complete("    y = |product", "product(x, eps = "), "w = ", "behind the name its value stands")
	s.leave()
}
