package lsp

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
)

// rename gives the texts of the files after a rename, by their base names, or why it is refused.
func (s *session) rename(doc string, p place, to string, texts map[string]string) (map[string]string, string) {
	s.t.Helper()
	params := at(doc, p)
	params["newName"] = to
	m := s.request("textDocument/rename", params)
	if m.Error != nil {
		require.Equal(s.t, requestFailed, m.Error.Code, m.Error.Message)
		return nil, m.Error.Message
	}
	var edit struct {
		Changes map[string][]struct {
			Range   span
			NewText string
		}
	}
	require.NoError(s.t, json.Unmarshal(m.Result, &edit))
	out := map[string]string{}
	for u, edits := range edit.Changes {
		name := filepath.Base(u)
		text := texts[name]
		for i := len(edits) - 1; i >= 0; i-- {
			text = applied(text, edits[i].Range, edits[i].NewText)
		}
		out[name] = text
	}
	return out, ""
}

// TestRename: each kind of name, in every place where it stands; and names that would mean something else.
func TestRename(t *testing.T) {
	text := `import "std/math"

const HALF = 0.5

/// Pinned.
@sizes(M = 64, T = f32)
@target(sm_90a, BM = 32)
kernel scaled<T: float>(x: T[M, K], eps: f32 = 1e-5) -> y: T[M]
    tune BM in {16, 32}
    grid i in M by BM
{
    let acc = for k in K by BK with sum2 = zeros(f32, i) {
        let v = x[i, k] as f32
        sum2 + sum(v * v, over k)
    }
    let acc = acc + eps * HALF
    y[i] = gelu(acc) as T
}

graph run(x: f32[N, N]) -> y: f32[N] {
    y = scaled(x, eps = 1.0)
}
`
	s := start(t)
	doc := "file:///nowhere/names.tile"
	s.open(doc, text)
	require.Empty(t, s.published(doc, 1))
	texts := map[string]string{"names.tile": text}
	version := 1
	for _, c := range []struct{ piece, to string }{
		{"let |acc = for", "first"}, {"gelu(|acc", "second"}, {"|sum2 + sum", "total"}, {"sum(|v", "value"},
		{"for |k in", "depth"}, {"grid |i", "row"}, {"K by |BK", "STEP"}, {"tune |BM", "ROWS"}, {"@target(sm_90a, |BM", "ROWS"}, {"x[i, |k]", "kk"},
		{"x: T[|M", "ROW_COUNT"}, {"@sizes(|M", "ROW_COUNT"}, {"<|T: float", "ELEMENT"}, {"x, |eps = 1.0", "epsilon"}, {"eps * |HALF", "ONE_HALF"},
		{"y = |scaled", "weighed"}, {"f32[|N, N]", "SIDE"},
	} {
		out, why := s.rename(doc, placeOf(t, text, c.piece), c.to, texts)
		require.Empty(t, why, c)
		require.NotEqual(t, text, out["names.tile"], c)
		// There and back again is where it began, and there is without errors.
		version++
		s.change(doc, version, out["names.tile"])
		require.Empty(t, s.published(doc, version), "%v in\n%s", c, out["names.tile"])
		first := placeOf(t, out["names.tile"], c.to)
		name := nameAt(text, placeOf(t, text, c.piece))
		again, why := s.rename(doc, first, name, out)
		require.Empty(t, why, c)
		require.Equal(t, text, again["names.tile"], c)
		version++
		s.change(doc, version, text)
	}
	for _, c := range []struct{ piece, to, why string }{
		{"let |acc = for", "eps", "eps at names.tile:16:21 would mean something else"},
		{"|sum2 + sum", "v", "sum2 at names.tile:14:9 would mean something else"},
		{"let |v", "sum2", "would mean something else"},
		{"for |k in", "i", ""},
		{"y = |scaled", "run", ""},
		{"y = |scaled", "gelu", ""},
		{"|gelu(acc", "g", "is declared in the standard library"},
		{"= |zeros", "z", "is a name of the language"},
		{"let |v", "let", "cannot be a name"},
		{"let |v", "2v", "cannot be a name"},
		{"let |v", "a b", "cannot be a name"},
		{"|kernel scaled", "a", "no name stands here"},
	} {
		_, why := s.rename(doc, placeOf(t, text, c.piece), c.to, texts)
		require.NotEmpty(t, why, c)
		require.Contains(t, why, c.why)
	}
	var prepared struct {
		Range       span
		Placeholder string
	}
	s.call("textDocument/prepareRename", at(doc, placeOf(t, text, "let |v")), &prepared)
	require.Equal(t, "v", prepared.Placeholder)
	require.NotNil(t, s.request("textDocument/prepareRename", at(doc, placeOf(t, text, "|gelu(acc"))).Error)
	s.leave()
}

// nameAt is the name that begins at a place.
func nameAt(text string, p place) string {
	l := newLines(text)
	from := l.offset(protocol.Position{Line: uint32(p.Line), Character: uint32(p.Character)})
	to := from
	for to < len(text) && isWord(text[to]) {
		to++
	}
	return text[from:to]
}

// TestRenameInWorkspace: files that are not open too, and what they declare themselves is in the way.
func TestRenameInWorkspace(t *testing.T) {
	texts := map[string]string{
		"lib.tile":   "fn half(x) = 0.5 * x\nstruct W { a: f32[N] }\n",
		"user.tile":  "import \"lib\"\n\nfn fourth(x) = half(half(x))\nfn taken(x) = x\n",
		"model.tile": "import \"lib\"\ngraph g(w: W) -> y: f32[N] {\n    y = half(w.a)\n}\n",
		"other.tile": "fn half(x) = x\n",
	}
	dir := folder(t, texts)
	s := startIn(t, dir)
	doc := string(uri.File(filepath.Join(dir, "user.tile")))
	s.open(doc, texts["user.tile"])
	at := placeOf(t, texts["user.tile"], "|half(half")
	out, why := s.rename(doc, at, "halved", texts)
	require.Empty(t, why)
	require.Equal(t, map[string]string{
		"lib.tile":   "fn halved(x) = 0.5 * x\nstruct W { a: f32[N] }\n",
		"user.tile":  "import \"lib\"\n\nfn fourth(x) = halved(halved(x))\nfn taken(x) = x\n",
		"model.tile": "import \"lib\"\ngraph g(w: W) -> y: f32[N] {\n    y = halved(w.a)\n}\n",
	}, out)
	_, why = s.rename(doc, at, "taken", texts)
	require.NotEmpty(t, why)
	_, why = s.rename(doc, at, "g", texts)
	require.Contains(t, why, "model.tile", "of a file that is not open")

	model := string(uri.File(filepath.Join(dir, "model.tile")))
	s.open(model, texts["model.tile"])
	out, why = s.rename(model, placeOf(t, texts["model.tile"], "w.|a"), "rows", texts)
	require.Empty(t, why)
	require.Equal(t, "fn half(x) = 0.5 * x\nstruct W { rows: f32[N] }\n", out["lib.tile"])
	_, why = s.rename(model, placeOf(t, texts["model.tile"], "f32[|N]"), "L", texts)
	require.Contains(t, why, "is a dimension of the structs that w: W is made of")
	s.leave()
}
