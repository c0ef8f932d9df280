package lsp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// proposal is an item of a completion.
type proposal struct {
	Label, Detail, InsertText, FilterText string
	InsertTextFormat                      int
	AdditionalTextEdits                   []struct {
		Range   span
		NewText string
	}
}

func (s *session) proposals(doc string, p place) map[string]proposal {
	s.t.Helper()
	var all []proposal
	s.call("textDocument/completion", at(doc, p), &all)
	byLabel := map[string]proposal{}
	for _, x := range all {
		require.NotContains(s.t, byLabel, x.Label)
		byLabel[x.Label] = x
	}
	return byLabel
}

// TestAutoImport: what the library has is proposed with the import that it takes, kernels where they can be called.
func TestAutoImport(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/a.tile"
	text := "import \"std/nn\"\n\nkernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = ge\n}\ngraph g(x: f32[N]) -> y: f32[N] {\n    y = so\n}\n"
	s.open(doc, text)
	in := s.proposals(doc, placeOf(t, text, "ge|\n"))
	require.Contains(t, in["gelu"].Detail, "fn gelu(x)")
	require.Len(t, in["gelu"].AdditionalTextEdits, 1)
	edit := in["gelu"].AdditionalTextEdits[0]
	require.Equal(t, "0:15-0:15", edit.Range.String())
	require.Equal(t, "\nimport \"std/math\"", edit.NewText)
	require.NotContains(t, in, "batched_matmul", "a kernel calls no kernel")
	require.Empty(t, in["softmax"].AdditionalTextEdits, "it is imported")
	in = s.proposals(doc, placeOf(t, text, "so|\n"))
	require.Contains(t, in, "batched_matmul")
	// With the edit the program is right.
	text = strings.Replace(strings.Replace(text, "\n", edit.NewText+"\n", 1), "ge\n", "gelu(x[i])\n", 1)
	text = strings.Replace(text, "so\n", "softmax(x)\n", 1)
	s.change(doc, 2, text)
	for _, d := range s.published(doc, 2) {
		require.NotEqual(t, "E0201", d.Code, d.Message)
	}
	s.leave()
}

// TestSnippets: an editor that has places to fill in gets them, and what they say at first has no errors.
func TestSnippets(t *testing.T) {
	s := begin(t)
	s.call("initialize", object{"capabilities": object{"textDocument": object{"completion": object{"completionItem": object{"snippetSupport": true}}}}}, nil)
	s.notify("initialized", object{})
	doc := "file:///nowhere/a.tile"
	text := "ker\n\nfn f(x) {\n    x\n}\n"
	s.open(doc, text)
	outside, inside := s.proposals(doc, placeOf(t, text, "ker|")), s.proposals(doc, placeOf(t, text, "    |x"))
	require.Equal(t, 2, outside["kernel ..."].InsertTextFormat)
	require.Equal(t, "kernel", outside["kernel ..."].FilterText)
	require.Contains(t, outside, "kernel")
	require.NotContains(t, outside, "for ...")
	require.Contains(t, inside, "for ...")
	require.NotContains(t, inside, "kernel ...")
	version := 1
	for label, x := range outside {
		if !strings.HasSuffix(label, " ...") {
			continue
		}
		version++
		filled := plain(x.InsertText)
		require.NotContains(t, filled, "$")
		s.change(doc, version, "const a = 1\nconst b = 1\n"+filled+"\n")
		for _, d := range s.published(doc, version) {
			require.NotEqual(t, 1, d.Severity, "%s: %s", filled, d.Message)
		}
	}
	require.Greater(t, version, 5)
	s.leave()

	s = start(t) // an editor that has none
	s.open(doc, text)
	require.NotContains(t, s.proposals(doc, placeOf(t, text, "ker|")), "kernel ...")
	s.leave()
}
