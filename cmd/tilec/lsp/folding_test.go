package lsp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFolding(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/fold.tile"
	text := `import "std/math"
import "std/nn"
// one
// two
kernel k(x: f32[N, M]) -> y: f32[N]
    grid i in N by B
{
    y[i] = for k in M by BM with a = zeros(f32, i) {
        a + sum(x[i, k], over k)
    } // behind
}
fn f(x) = x
`
	s.open(doc, text)
	var folds []struct {
		StartLine, EndLine int
		Kind               string
	}
	s.call("textDocument/foldingRange", object{"textDocument": object{"uri": doc}}, &folds)
	var all []string
	for _, f := range folds {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%d-%d %s", f.StartLine, f.EndLine, f.Kind)))
	}
	require.ElementsMatch(t, []string{"0-1 imports", "2-3 comment", "4-9", "6-9", "7-8"}, all)
	s.leave()
}

func TestSelectionRange(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/program.tile"
	s.open(doc, program)
	type grown struct {
		Range  span
		Parent *grown
	}
	var result []grown
	s.call("textDocument/selectionRange", object{"textDocument": object{"uri": doc}, "positions": []place{placeOf(t, program, "twice(|eps)"), placeOf(t, program, "twice(eps|)")}}, &result)
	require.Len(t, result, 2)
	for _, r := range result {
		var texts []string
		for x := &r; x != nil; x = x.Parent {
			text := textIn(program, x.Range)
			texts = append(texts, strings.SplitN(text, "\n", 2)[0])
		}
		require.Equal(t, []string{"eps", "twice(eps)", "gelu(acc) + twice(eps)", "let acc = gelu(acc) + twice(eps)", "{", "@sizes(M = 64, N = 64, K = 64, T = f32)", "import \"std/math\""}, texts)
	}
	s.leave()
}

// textIn is the part of a text in a range of bytes.
func textIn(text string, at span) string {
	l := newLines(text)
	from := l.starts[at.Start.Line] + at.Start.Character
	return text[from : l.starts[at.End.Line]+at.End.Character]
}

// TestRangeFormatting: no more than the declarations in the range.
func TestRangeFormatting(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/format.tile"
	text := "const A=1\n// é\nfn f(x)=x\n\n\n\nfn g(x)=x\n"
	s.open(doc, text)
	format := func(text string, at span) string {
		var edits []struct {
			Range   span
			NewText string
		}
		s.call("textDocument/rangeFormatting", object{"textDocument": object{"uri": doc}, "range": at, "options": object{"tabSize": 4}}, &edits)
		for i := len(edits) - 1; i >= 0; i-- {
			text = applied(text, edits[i].Range, edits[i].NewText)
		}
		return text
	}
	require.Equal(t, "const A=1\n// é\nfn f(x) = x\n\n\n\nfn g(x)=x\n", strings.Replace(format(text, span{place{2, 1}, place{2, 3}}), "\n\n// é", "\n// é", 1))
	require.Equal(t, "const A = 1\n// é\nfn f(x)=x\n\n\n\nfn g(x)=x\n", format(text, span{place{0, 0}, place{0, 3}}))
	whole := format(text, span{place{0, 0}, place{7, 0}})
	require.Contains(t, whole, "const A = 1\n")
	require.Contains(t, whole, "fn f(x) = x\n\nfn g(x) = x\n")
	s.change(doc, 2, "fn f(x)=x\nfn g(x = (\n")
	require.Equal(t, "unchanged", format("unchanged", span{place{0, 0}, place{1, 0}}))
	s.leave()
}
