package lsp

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/jit/jittest/sweep"
)

// programs are all texts of the repository.
func programs(t testing.TB) []string {
	var all []string
	require.NoError(t, filepath.WalkDir("../../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".tile" {
			return err
		}
		text, err := os.ReadFile(path)
		if len(text) > 0 && len(text) < 10_000 {
			all = append(all, string(text))
		}
		return err
	}))
	require.Greater(t, len(all), 100)
	return all
}

// words are the names and numbers of a text.
func words(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return !isWord(byte(min(c, 0x7f))) })
}

// retyped is a text that somebody goes on writing: something deleted, put in, moved, or called by another name.
func retyped(r *rand.Rand, text string) string {
	if len(text) < 10 {
		return text + "const A = 1\n"
	}
	cut := func(most int) (int, int) {
		a := r.IntN(len(text))
		return a, min(a+r.IntN(most), len(text))
	}
	a, b := cut(30)
	switch all := words(text); r.IntN(9) {
	case 0:
		return text[:a] + text[b:]
	case 1:
		if len(all) == 0 {
			return text
		}
		return strings.ReplaceAll(text, all[r.IntN(len(all))], all[r.IntN(len(all))])
	case 2:
		if len(all) == 0 {
			return text
		}
		from := all[r.IntN(len(all))]
		return strings.Replace(text, from, from+"2", 1+r.IntN(2))
	case 3:
		lines := strings.SplitAfter(text, "\n")
		c := r.IntN(len(lines))
		d := min(c+r.IntN(12), len(lines))
		return strings.Join(append(append(append([]string{}, lines[:c]...), lines[d:]...), lines[c:d]...), "")
	case 4, 5:
		at := strings.Index(text[len(text)*r.IntN(5)/5:], "\n\n") + 1
		put := []string{"\nconst A = 4\n", "\nfn f(x) = x + A\n", "\nkernel k(x: f32[N]) -> y: f32[N] { y[i] = f(x[i]) }\n", "\ngraph g(x: f32[N]) -> y: f32[N] { y = k(x) }\n",
			"\ntest \"t\" {\n    check f(1) == 2\n}\n", "\n/// doc\n", "\nimport \"b\"\n", "\nimport \"std/nn\"\n", "\nstruct S { f: f32[N] }\ngraph h(s: S, x: f32[N]) -> y: f32[N] { y = s.f + k(x) }\n"}
		return text[:at] + put[r.IntN(len(put))] + text[at:]
	case 6:
		return halfTyped(r, text)
	default:
		put := []string{"(", ")", "{", "}", "let a = ", "x", " + 1", "\n", "// ", "[i]", "@", "."}
		return text[:a] + put[r.IntN(len(put))] + text[a:]
	}
}

// answers are everything that a server says of a document, as text.
func answers(t *testing.T, s *server, doc uri.URI, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	d := s.docs[doc]
	var all []string
	took := func(what string, x any, err error) {
		text, wrong := json.Marshal(x, json.Deterministic(true), lenient)
		require.NoError(t, wrong)
		all = append(all, fmt.Sprintf("%s %s %v", what, text, err))
	}
	id := protocol.TextDocumentIdentifier{URI: doc}
	took("diagnostics", s.diagnosticsOf(d), nil)
	whole := rangeParams{id, d.lines.rangeOf(0, len(d.lines.text))}
	hints, err := s.inlayHint(&whole)
	took("hints", hints, err)
	symbols, err := s.documentSymbol(&documentParams{id})
	took("symbols", symbols, err)
	tokens, err := s.semanticTokens(&documentParams{id})
	took("tokens", tokens, err)
	links, err := s.documentLink(&documentParams{id})
	took("links", links, err)
	actions, err := s.codeAction(&actionParams{TextDocument: id, Range: whole.Range})
	took("actions", actions, err)
	for range 8 {
		p := protocol.TextDocumentPositionParams{TextDocument: id, Position: d.lines.position(r.IntN(len(d.lines.text) + 1))}
		h, err := s.hover(&p)
		took("hover", h, err)
		at, err := s.definition(&p)
		took("definition", at, err)
		items, err := s.completion(&p)
		took("completion", items, err)
		help, err := s.signatureHelp(&p)
		took("signature", help, err)
		marks, err := s.documentHighlight(&p)
		took("highlight", marks, err)
		found, err := s.references(&referenceParams{TextDocument: id, Position: p.Position})
		took("references", found, err)
		callers, err := s.prepareCallHierarchy(&p)
		took("callers", callers, err)
		for _, c := range callers {
			in, err := s.incomingCalls(&callerParams{c})
			took("incoming", in, err)
			out, err := s.outgoingCalls(&callerParams{c})
			took("outgoing", out, err)
		}
	}
	return all
}

// TestServerFollowsEdits: after each of many edits of two documents, of which one may import the other, a server answers
// as one does that has just opened both.
func TestServerFollowsEdits(t *testing.T) {
	all := programs(t)
	r := rand.New(rand.NewPCG(11, 12))
	edits := 200 / sweep.OneIn(2)
	docs := []uri.URI{"file:///nowhere/a.tile", "file:///nowhere/b.tile"}
	library := t.TempDir()
	var log bytes.Buffer
	opened := func(texts []string) *server {
		s := newServer(Options{Log: &log, LibraryDir: library})
		for i, doc := range docs {
			require.NoError(t, s.didOpen(&protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: doc, Text: texts[i]}}))
		}
		return s
	}
	for done := 0; done < edits; {
		texts := []string{"import \"b\"\n" + all[r.IntN(len(all))] + all[r.IntN(len(all))], all[r.IntN(len(all))]}
		s := opened(texts)
		for range 1 + r.IntN(15) {
			i := r.IntN(2)
			was := slices.Clone(texts)
			if texts[i] = retyped(r, texts[i]); len(texts[i]) > 40_000 {
				break
			}
			p := &changeParams{}
			p.TextDocument.URI = docs[i]
			p.ContentChanges = slices.Grow(p.ContentChanges, 1)[:1]
			p.ContentChanges[0].Text = texts[i]
			require.NoError(t, s.didChange(p))
			if r.IntN(4) == 0 { // what is asked first may be of the tree alone
				continue
			}
			anew := opened(texts)
			done++
			seed := r.Uint64()
			for _, doc := range docs {
				require.Equal(t, answers(t, anew, doc, seed), answers(t, s, doc, seed), "%q became %q", was, texts)
			}
			require.Empty(t, log.String(), "%q became %q", was, texts)
		}
	}
}
