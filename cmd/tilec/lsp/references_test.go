package lsp

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.lsp.dev/uri"
)

// startIn begins a session whose workspace is a folder.
func startIn(t *testing.T, folder string) *session {
	s := begin(t)
	s.call("initialize", object{"processId": nil, "workspaceFolders": []object{{"uri": string(uri.File(folder)), "name": "here"}}, "capabilities": object{}}, nil)
	s.notify("initialized", object{})
	return s
}

// folder is a workspace of files with their texts.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	return dir
}

func (s *session) references(doc string, p place, declaration bool) []string {
	s.t.Helper()
	var all []location
	params := at(doc, p)
	params["context"] = object{"includeDeclaration": declaration}
	s.call("textDocument/references", params, &all)
	var places []string
	for _, l := range all {
		places = append(places, fmt.Sprintf("%s %s", filepath.Base(l.URI), l.Range))
	}
	sort.Strings(places)
	return places
}

func (s *session) highlights(doc string, p place) map[string]int {
	s.t.Helper()
	var all []struct {
		Range span
		Kind  int
	}
	s.call("textDocument/documentHighlight", at(doc, p), &all)
	kinds := map[string]int{}
	for _, h := range all {
		kinds[h.Range.String()] = h.Kind
	}
	return kinds
}

// TestReferences: every name of a kernel is found where it is written, and no other of the same letters.
func TestReferences(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/program.tile"
	s.open(doc, program)
	find := func(piece string, want ...string) {
		t.Helper()
		var places []string
		for _, w := range want {
			p := placeOf(t, program, w)
			places = append(places, fmt.Sprintf("%d:%d", p.Line, p.Character))
		}
		var got []string
		for at := range s.highlights(doc, placeOf(t, program, piece)) {
			got = append(got, at[:strings.IndexByte(at, '-')])
		}
		require.ElementsMatch(t, places, got, piece)
	}
	find("let |acc = for", "let |acc = for", "gelu(|acc)")
	find("= |acc as", "let |acc = gelu", "= |acc as")
	find("with |total", "with |total", "j], |total)")
	find("(x: T[|M, K]", "@sizes(|M", "(x: T[|M, K]", "-> y: T[|M", "i in |M")
	find("for |k in", "for |k in", "x[i, |k]", "w[|k, j]")
	find("grid |i in", "grid |i in", "f32, |i, j)", "mma(x[|i,", "y[|i, j]")
	find("product<|T: float", "K = 64, |T = f32", "product<|T: float", "product<T: float>(x: |T", "w: |T[K", "-> y: |T[M", "as |T")
	find("by |BM", "tune |BM", "by |BM")
	find("w: T[K, N], |eps", "w: T[K, N], |eps", "twice(|eps)", "x, x, |eps")
	find("fn |twice", "fn |twice", "+ |twice")
	find("|next: Inner", "|next: Inner", "l.|next")
	find("struct |Inner", "next: |Inner", "struct |Inner")
	find("= |zeros", "= |zeros")
	p := placeOf(t, program, "    |y[i, j]")
	require.Equal(t, 3, s.highlights(doc, p)[span{p, place{p.Line, p.Character + 1}}.String()], "a store is a write")
	s.leave()
}

// TestReferencesOfFormulas: the axes of a formula are declared by their use.
func TestReferencesOfFormulas(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/formula.tile"
	text := "@split(k, 2)\nkernel f(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {\n    c[i, j] = sum(a[i, k] * b[k, j], over k)\n}\n"
	s.open(doc, text)
	require.Empty(t, s.published(doc, 1))
	require.Equal(t, []string{"formula.tile 0:7-0:8", "formula.tile 2:23-2:24", "formula.tile 2:30-2:31", "formula.tile 2:42-2:43"},
		s.references(doc, placeOf(t, text, "over |k"), true))
	require.Equal(t, []string{"formula.tile 2:20-2:21"}, s.references(doc, placeOf(t, text, "c[|i, j]"), false))
	s.leave()
}

// TestReferencesInWorkspace: files that are not open, and the standard library.
func TestReferencesInWorkspace(t *testing.T) {
	lib := "fn half(x) = 0.5 * x\nstruct W { a: f32[N] }\n"
	user := "import \"lib\"\nimport \"std/math\"\n\nfn quarter(x) = half(half(x))\nfn smooth(x) = gelu(half(x))\n"
	dir := folder(t, map[string]string{"lib.tile": lib, "user.tile": user, "other.tile": "fn half(x) = x\n", "model.tile": "import \"lib\"\ngraph g(w: W) -> y: f32[N] {\n    y = w.a\n}\n"})
	s := startIn(t, dir)
	doc := string(uri.File(filepath.Join(dir, "user.tile")))
	s.open(doc, user)
	require.Equal(t, []string{"lib.tile 0:3-0:7", "user.tile 3:16-3:20", "user.tile 3:21-3:25", "user.tile 4:20-4:24"}, s.references(doc, placeOf(t, user, "|half(x))\nfn"), true))
	require.Equal(t, []string{"math.tile", "user.tile"}, func() (files []string) {
		for _, r := range s.references(doc, placeOf(t, user, "|gelu"), true) {
			if name := r[:strings.IndexByte(r, ' ')]; len(files) == 0 || files[len(files)-1] != name {
				files = append(files, name)
			}
		}
		return files
	}())
	libDoc := string(uri.File(filepath.Join(dir, "lib.tile")))
	s.open(libDoc, lib)
	require.Equal(t, []string{"lib.tile 1:11-1:12", "model.tile 2:10-2:11"}, s.references(libDoc, placeOf(t, lib, "|a: f32"), true))

	var symbols []struct {
		Name, ContainerName string
		Location            location
	}
	s.call("workspace/symbol", object{"query": "HF"}, &symbols)
	require.Len(t, symbols, 2)
	for i, file := range []string{"lib.tile", "other.tile"} {
		require.Equal(t, "half", symbols[i].Name)
		require.Equal(t, file, symbols[i].ContainerName)
		require.Equal(t, "0:3-0:7", symbols[i].Location.Range.String())
	}

	var links []struct {
		Range  span
		Target string
	}
	s.call("textDocument/documentLink", object{"textDocument": object{"uri": doc}}, &links)
	require.Len(t, links, 2)
	require.Equal(t, "0:8-0:11", links[0].Range.String())
	require.Equal(t, libDoc, links[0].Target)
	require.Equal(t, "math.tile", filepath.Base(links[1].Target))
	s.leave()
}
