package lsp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSignatureHelp: the parameter that each place of a half-written call is at.
func TestSignatureHelp(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/program.tile"
	s.open(doc, program)
	version := 1
	// help is the parameters under the cursor, one for each thing that the name may mean, behind a text that is being typed.
	help := func(typed string) []string {
		t.Helper()
		version++
		s.change(doc, version, program)
		version++
		p := placeOf(t, program, "    y = |product")
		s.edit(doc, version, span{p, p}, typed)
		var h *struct {
			Signatures []struct {
				Label           string
				Parameters      []struct{ Label [2]int }
				ActiveParameter *int
			}
		}
		s.call("textDocument/signatureHelp", at(doc, place{p.Line, p.Character + len(typed)}), &h)
		if h == nil {
			return nil
		}
		var all []string
		for _, x := range h.Signatures {
			text := "none of " + x.Label
			if x.ActiveParameter != nil {
				at := x.Parameters[*x.ActiveParameter].Label
				text = x.Label[at[0]:at[1]]
			}
			all = append(all, text)
		}
		return all
	}
	require.Equal(t, []string{"x: T[M, K]"}, help("product("))
	require.Equal(t, []string{"w: T[K, N]"}, help("product(x, "))
	require.Equal(t, []string{"w: T[K, N]"}, help("product(view(x, [1, 2]), "))
	require.Equal(t, []string{"eps: f32 = 1e-5"}, help("product(x, eps = "))
	require.Equal(t, []string{"T: float"}, help("product(x, T = f"))
	require.Equal(t, []string{"none of kernel product<T: float>(x: T[M, K], w: T[K, N], eps: f32 = 1e-5) -> y: T[M, N] tune BM in {16, 32} grid i in M by BM, j in N by BN"},
		help("product(x, x, 1, 2"))
	require.Equal(t, []string{"a"}, help("product(exp("), "the innermost call")
	require.Equal(t, []string{"x"}, help("twice("))
	require.Equal(t, []string{"x"}, help("gelu("), "of the library")
	require.Equal(t, []string{"over k"}, help("sum(x, over (i, "))
	require.Equal(t, []string{"[B, S, H, D]"}, help("view(x, [B, "))
	require.Len(t, help("max(x"), 2, "of two values, and over axes")
	require.Nil(t, help("(1 + "))
	require.Nil(t, help("x["))
	require.Nil(t, help("product(x)"))
	s.leave()
}
