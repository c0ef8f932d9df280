package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/gpt"
	"tilec/jit"
	"tilec/stdlib"
)

const program = `import "std/math"

/// Twice a number.
fn twice(x) = 2 * x

/// Weights of a layer.
struct Layer<T: float> {
    /// The gain.
    g: T[N]
    next: Inner<T>
}

struct Inner<T: float> {
    b: T[N]
}

/// A matrix product.
@sizes(M = 64, N = 64, K = 64, T = f32)
kernel product<T: float>(x: T[M, K], w: T[K, N], eps: f32 = 1e-5) -> y: T[M, N]
    tune BM in {16, 32}
    grid i in M by BM, j in N by BN
{
    // the sum
    let acc = for k in K by BK with total = zeros(f32, i, j) {
        mma(x[i, k], w[k, j], total)
    }
    let acc = gelu(acc) + twice(eps)
    y[i, j] = acc as T
}

graph run<T: float>(x: T[N, N], l: Layer<T>) -> y: T[N, N] {
    let _inner = l.next
    y = product(x, x, eps = 1.0)
}
`

func TestHoverOfViews(t *testing.T) {
	s := start(t)
	doc, program := "untitled:Untitled-1", "kernel k(x: i32[M, N]) -> y: u8[M, 4 * N]\n    grid i in M by BM, j in 4 * N by BN\n{\n    let w = bitcast(x, u8)\n    y[i, j] = w[i, j]\n}\n"
	s.open(doc, program)
	require.Empty(t, s.published(doc, 1))
	require.Equal(t, "```tile\nlet w: u8[M, 4 * N]\n```", s.hover(doc, placeOf(t, program, "let |w")))
	require.Equal(t, "```tile\nlet w: u8[M, 4 * N]\n```", s.hover(doc, placeOf(t, program, "= |w[i")))
}

func TestSession(t *testing.T) {
	s := start(t)
	doc := "untitled:Untitled-1"
	s.open(doc, program)
	require.Empty(t, s.published(doc, 1))

	hover := func(piece string) string {
		t.Helper()
		return s.hover(doc, placeOf(t, program, piece))
	}
	require.Equal(t, "```tile\nlet acc: f32{i, j}\n```\n- `grid i in M by BM`\n- `grid j in N by BN`", hover("let |acc = for"))
	require.Equal(t, "```tile\nlet total: f32{i, j}\n```\n- `grid i in M by BM`\n- `grid j in N by BN`", hover("j], |total)"))
	require.Contains(t, hover("for |k in K"), "for k in K by BK")
	require.Contains(t, hover("x[i, |k]"), "for k in K by BK")
	require.Contains(t, hover("(|x[i, k]"), "x: T[M, K]")
	require.Contains(t, hover("|mma(x"), "acc plus the contraction")
	require.Contains(t, hover("|mma(x"), "here: `f32{i, j}`")
	require.Equal(t, "`zeros(f32, i, j)`: a tile of zeros over the axes named\n\nhere: `f32{i, j}`", hover("|zeros"))
	require.Contains(t, hover("product<T: |float"), "any float type")
	require.Contains(t, hover("-> |y: T[M, N]"), "output")
	require.Contains(t, hover("|gelu(acc"), "fn gelu(x) = x * sigmoid(")
	require.Contains(t, hover("|gelu(acc"), "nothing cancels")
	require.Contains(t, hover("+ tw|ice("), "```tile\nfn twice(x) = 2 * x\n```\nTwice a number.")
	require.Contains(t, hover("acc) |+ twice"), "```tile\na + b\n```")
	require.Contains(t, hover("y = |product(x"), "kernel product<T: float>(x: T[M, K], w: T[K, N], eps: f32 = 1e-5) -> y: T[M, N]\n    tune BM in {16, 32}\n    grid i in M by BM, j in N by BN\n```\nA matrix product.")
	require.Contains(t, hover("@|sizes"), "typical sizes")
	require.Contains(t, hover("|grid i"), "one block for every B elements")
	require.Contains(t, hover("l.|next"), "next: Inner<T>")
	require.Contains(t, hover("let |_inner"), "Inner")
	require.Contains(t, hover("|import"), "Elementwise functions and kernels.")
	require.Equal(t, "", hover("the |sum"))
	require.Equal(t, "", hover("A |matrix"))

	definition := func(piece string) location {
		t.Helper()
		return s.definition(doc, placeOf(t, program, piece))
	}
	to := func(from, piece string) {
		t.Helper()
		l := definition(from)
		require.Equal(t, doc, l.URI)
		require.Equal(t, placeOf(t, program, piece), l.Range.Start)
	}
	to("gelu(|acc)", "let |acc = for")
	to("y[i, j] = |acc", "let |acc = gelu")
	to("j], |total)", "with |total")
	to("mma(x[i, |k]", "for |k in K")
	to("mma(x[|i, k]", "grid |i in M")
	to("+ |twice", "fn |twice")
	to("w[k, j], |total", "with |total")
	to("as |T", "product<|T: float")
	to("l: |Layer", "struct |Layer")
	to("l.|next", "|next: Inner")
	to("(x, x, |eps", "w: T[K, N], |eps")
	to("grid i in |M", "x: T[|M, K]")
	to("by |BM, j", "tune |BM")
	library := definition("|gelu(acc")
	file, err := os.ReadFile(uri.URI(library.URI).FsPath())
	require.NoError(t, err)
	source, err := stdlib.FS.ReadFile("math.tile")
	require.NoError(t, err)
	require.Equal(t, string(source), string(file))
	require.Contains(t, strings.Split(string(file), "\n")[library.Range.Start.Line], "fn gelu(x)")
	require.Equal(t, library.URI, definition("\"std/|math").URI)

	var symbols []struct {
		Name, Detail string
		Range        span
		Children     []struct{ Name, Detail string }
	}
	s.call("textDocument/documentSymbol", object{"textDocument": object{"uri": doc}}, &symbols)
	var names []string
	for _, x := range symbols {
		names = append(names, x.Detail+" "+x.Name)
	}
	require.Equal(t, []string{"fn twice", "struct Layer", "struct Inner", "kernel product", "graph run"}, names)
	require.Equal(t, "g", symbols[1].Children[0].Name)
	require.Equal(t, "T[N]", symbols[1].Children[0].Detail)
	s.leave()
}

func TestCompletion(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/program.tile"
	s.open(doc, program)
	version := 1
	complete := func(piece, typed string) []string {
		t.Helper()
		version++
		p := placeOf(t, program, piece)
		s.change(doc, version, program)
		version++
		s.edit(doc, version, span{p, p}, typed)
		return s.complete(doc, place{p.Line, p.Character + len(typed)})
	}
	all := complete("\n    y[i, j] = acc|", "\n    let q = a")
	for _, want := range []string{"acc", "x", "eps", "i", "M", "T", "BM", "twice", "gelu", "product", "exp", "zeros", "inf", "bf16", "let", "where"} {
		require.Contains(t, all, want)
	}
	require.NotContains(t, all, "total", "it is a name of the loop")
	require.NotContains(t, all, "k", "it is an axis of the loop")
	require.Contains(t, complete("mma(|", "to"), "total")
	require.Contains(t, complete("mma(|", "to"), "k")
	require.NotContains(t, complete("let acc = |for", "a"), "acc")
	require.Equal(t, []string{"g", "next"}, complete("y = product(|x", "l."))
	require.Equal(t, []string{"b"}, complete("y = product(|x", "l.next."))
	require.Equal(t, []string{"b"}, complete("y = product(|x", "_inner."))
	require.Equal(t, []string{"start", "end"}, complete("gelu(|acc", "i."))
	require.Contains(t, complete("|kernel product", "@"), "warps")
	require.NotContains(t, complete("|kernel product", "@"), "let")
	require.Equal(t, "T", complete("= acc as |T", "")[0])
	require.Contains(t, complete("= acc as |T", "b"), "bf16")
	require.NotContains(t, complete("= acc as |T", "b"), "acc")
	require.Equal(t, []string{"j", "i"}, complete("= gelu(|acc", "sum(acc, over "))
	require.Contains(t, complete("|import \"std", "import \"st"), "std/nn")
	require.Empty(t, complete("// the su|m", "x"))
	require.Contains(t, complete("l: |Layer", "L"), "Layer")
	s.leave()
}

// TestFixes applies the edit of a quick fix, and the error is gone.
func TestFixes(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/fix.tile"
	text := "// 𝒜𝒷\nkernel f(x: f16[N], y: f32[N]) -> z: f32[N]\n    grid i in N by B\n{\n    z[i] = x[i] + y[i]\n}\n"
	s.open(doc, text)
	ds := s.published(doc, 1)
	require.Len(t, ds, 1)
	require.Equal(t, "4:16-4:17", ds[0].Range.String())
	var actions []struct {
		Title, Kind string
		Edit        struct {
			Changes map[string][]struct {
				Range   span
				NewText string
			}
		}
	}
	s.call("textDocument/codeAction", object{"textDocument": object{"uri": doc}, "range": ds[0].Range,
		"context": object{"diagnostics": []any{}}}, &actions)
	require.Len(t, actions, 1)
	require.Equal(t, "quickfix", actions[0].Kind)
	edits := actions[0].Edit.Changes[doc]
	require.Len(t, edits, 1)
	s.edit(doc, 2, edits[0].Range, edits[0].NewText)
	require.Empty(t, s.published(doc, 2))
	s.leave()
}

// TestPositions: a line of wide characters, an edit behind them.
func TestPositions(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/wide.tile"
	text := "test \"é𝒜\" { check unknown }\r\n"
	s.open(doc, text)
	ds := s.published(doc, 1)
	require.Len(t, ds, 1)
	require.Contains(t, ds[0].Message, "unknown name unknown")
	require.Equal(t, placeOf(t, text, "check |").Character, ds[0].Range.Start.Character)
	s.leave()
}

// TestTestBlocks: hover, definition and completion in a test; every error of a file, one behind a syntax error too.
func TestTestBlocks(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/tests.tile"
	text := `import "std/nn"

/// Twice x.
fn twice(x) = x + x

test "softmax" {
    let x = randn(f32, [5, 33], 1)
    inout _state = zeros(i32, [4])
    let y = softmax(twice(x) * 3)
    check close(y, softmax(x), ulps = 4), "not so"
    check x > y
}
`
	s.open(doc, text)
	require.Empty(t, s.published(doc, 1))
	require.Contains(t, s.hover(doc, placeOf(t, text, "let |y")), "f32[5, 33]")
	require.Contains(t, s.hover(doc, placeOf(t, text, "inout |_state")), "i32[4]")
	require.Contains(t, s.hover(doc, placeOf(t, text, "|softmax(twice")), "Softmax over the last dimension")
	require.Contains(t, s.hover(doc, placeOf(t, text, "|twice(x) *")), "Twice x.")
	require.Contains(t, s.hover(doc, placeOf(t, text, "twice(x) |* 3")), "f32[5, 33]")
	require.Contains(t, s.hover(doc, placeOf(t, text, "|check close")), "what must hold in a test")
	require.Contains(t, s.hover(doc, placeOf(t, text, "|close(y")), "units in the last place")
	require.Equal(t, "3:3-3:8", s.definition(doc, placeOf(t, text, "|twice(x) *")).Range.String())
	require.Equal(t, "6:8-6:9", s.definition(doc, placeOf(t, text, "x > y")).Range.String())
	labels := s.complete(doc, placeOf(t, text, "x > |y"))
	for _, want := range []string{"x", "y", "_state", "softmax", "twice", "close", "arange"} {
		require.Contains(t, labels, want)
	}
	// A syntax error above, and an unknown name in the test: both are shown.
	s.change(doc, 2, strings.Replace(strings.Replace(text, "x + x", "x +", 1), "x > y", "x > yy", 1))
	ds := s.published(doc, 2)
	require.Len(t, ds, 2)
	require.Contains(t, ds[0].Message, "expected the rest of the statement after `+`")
	require.Contains(t, ds[1].Message, "unknown name yy")
	s.leave()
}

// TestQuickFixes applies what the editor is offered for each error of a file, until none is left.
func TestQuickFixes(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/fixes.tile"
	text := `kernel k<T: float>(x: T[N], h: f16[N], inout unused: f32[N]) -> y: f32[N]
    grid i in N by B
{
    var a: f32 = x[i + 1]
    y[i] = a * h[i]
    y[i] else 0 = wheer(x[i] > 0, 1.0, 2)
}
def f(𝒜) = 𝒜 ≤ 1
graph g(x: f32[N]) -> z: f16[N] {
    z = x
`
	version := 1
	s.open(doc, text)
	errors := func(ds []diagnostic) []diagnostic {
		return slices.DeleteFunc(slices.Clone(ds), func(d diagnostic) bool { return d.Code[0] == 'W' })
	}
	for ds := errors(s.published(doc, version)); len(ds) > 0; ds = errors(s.published(doc, version)) {
		var actions []struct {
			Title string
			Edit  struct {
				Changes map[string][]struct {
					Range   span
					NewText string
				}
			}
		}
		for _, d := range ds {
			s.call("textDocument/codeAction", object{"textDocument": object{"uri": doc}, "range": d.Range, "context": object{"diagnostics": []any{}}}, &actions)
			if len(actions) > 0 {
				break
			}
		}
		require.NotEmpty(t, actions, "no fix for any of %v in\n%s", ds, text)
		edits := actions[0].Edit.Changes[doc]
		require.NotEmpty(t, edits)
		for i := len(edits) - 1; i >= 0; i-- { // the last first: those before keep their places
			text = applied(text, edits[i].Range, edits[i].NewText)
		}
		version++
		require.Less(t, version, 20, text)
		s.change(doc, version, text)
	}
	require.Equal(t, `kernel k<T: float>(x: T[N], h: f16[N], unused: f32[N]) -> y: f32[N]
    grid i in N by B
{
    let a = x[i + 1] else 0
    y[i] = (a as f16 * h[i]) as f32
    y[i] = where(x[i] > 0, 1.0, 2)
}
fn f(𝒜) = 𝒜 <= 1
graph g(x: f32[N]) -> z: f16[N] {
    z = x as f16
}
`, text)
	s.leave()
}

// applied is a text with a range, in UTF-16 units, replaced.
func applied(text string, at span, with string) string {
	offset := func(p place) int {
		lines := strings.SplitAfter(text, "\n")
		n := len(strings.Join(lines[:p.Line], ""))
		units := 0
		for _, r := range lines[p.Line] {
			if units >= p.Character {
				break
			}
			units += utf16.RuneLen(r)
			n += utf8.RuneLen(r)
		}
		return n
	}
	return text[:offset(at.Start)] + with + text[offset(at.End):]
}

func TestImports(t *testing.T) {
	s := start(t)
	dir := t.TempDir()
	lib, user := filepath.Join(dir, "lib.tile"), filepath.Join(dir, "user.tile")
	require.NoError(t, os.WriteFile(lib, []byte("fn f(x) = x\n"), 0o666))
	userURI, libURI := string(uri.File(user)), string(uri.File(lib))
	text := "import \"lib\"\n\nfn g(x) = h(f(x))\n"
	s.open(userURI, text)
	ds := s.published(userURI, 1)
	require.Len(t, ds, 1)
	require.Contains(t, ds[0].Message, "unknown name h")
	// What the editor has of the library counts, not the file.
	s.open(libURI, "fn h(x) = x\n")
	s.change(userURI, 2, text+"// again\n")
	ds = s.published(userURI, 2)
	require.Len(t, ds, 1)
	require.Contains(t, ds[0].Message, "unknown name f")
	require.Equal(t, location{libURI, span{place{0, 3}, place{0, 4}}}, s.definition(userURI, placeOf(t, text, "= |h")))
	// A change of the library alone is seen in what imports it.
	s.edit(libURI, 2, span{place{0, 0}, place{0, 0}}, "fn f(x) = x\n")
	for len(s.diagnostics[userURI].Diagnostics) > 0 {
		s.next()
	}
	// Closed and broken on disk: the error stands at the import, with its place.
	require.NoError(t, os.WriteFile(lib, []byte("fn f(x) = \n"), 0o666))
	s.notify("textDocument/didClose", object{"textDocument": object{"uri": libURI}})
	for len(s.diagnostics[userURI].Diagnostics) == 0 {
		s.next()
	}
	d := s.diagnostics[userURI].Diagnostics[0]
	require.Contains(t, d.Message, "lib.tile has errors")
	require.Equal(t, "0:0-0:12", d.Range.String())
	require.Equal(t, libURI, d.Related[0].Location.URI)
	s.leave()
}

func TestFormatting(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/format.tile"
	s.open(doc, "const A = 1\nfn f(x)=x // é\nconst B = 2\n")
	var edits []struct {
		Range   span
		NewText string
	}
	params := object{"textDocument": object{"uri": doc}, "options": object{"tabSize": 4, "insertSpaces": true}}
	s.call("textDocument/formatting", params, &edits)
	require.Len(t, edits, 1)
	require.Equal(t, "1:0-2:0", edits[0].Range.String(), "no more than the line that changes")
	require.Equal(t, "fn f(x) = x // é\n", edits[0].NewText)
	s.edit(doc, 2, edits[0].Range, edits[0].NewText)
	s.call("textDocument/formatting", params, &edits)
	require.Empty(t, edits)
	s.change(doc, 3, "const A = 1\r\nfn f(x)=x\r\n")
	s.call("textDocument/formatting", params, &edits)
	require.Len(t, edits, 1)
	require.Equal(t, "fn f(x) = x\r\n", edits[0].NewText)
	s.change(doc, 4, "fn f(x = (")
	s.call("textDocument/formatting", params, &edits)
	require.Empty(t, edits)
	s.leave()
}

// TestUnknown: what the server does not know ends no session.
func TestUnknown(t *testing.T) {
	s := start(t)
	require.NotNil(t, s.request("textDocument/unheardOf", object{}).Error)
	s.notify("$/setTrace", object{"value": "off"})
	s.notify("$/unheardOf", object{"value": 1})
	require.NotNil(t, s.request("textDocument/hover", json.RawMessage(`{"textDocument": 3}`)).Error)
	constant := "kernel k(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    let größe = 3.0\n    let bad = x[i] + unknown\n    y[i] = x[i] * größe\n}\n"
	s.open("file:///nowhere/constant.tile", constant)
	require.Equal(t, "```tile\nlet größe\n```\nlet", s.hover("file:///nowhere/constant.tile", placeOf(t, constant, "let |größe")))
	require.Equal(t, "```tile\nlet bad\n```\nlet", s.hover("file:///nowhere/constant.tile", placeOf(t, constant, "let |bad")))
	require.Equal(t, "", s.hover("file:///not/open.tile", place{}))
	s.log.Reset()
	s.leave()
}

// TestHalfCharacter: an editor may send one half of a surrogate pair.
func TestHalfCharacter(t *testing.T) {
	s := start(t)
	s.raw(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///nowhere/half.tile","languageId":"tile","version":1,"text":"// \ud835\nfn f(x) = y\ud835"}}}`)
	ds := s.published("file:///nowhere/half.tile", 1)
	require.NotEmpty(t, ds)
	require.Equal(t, "1:11-1:12", ds[0].Range.String())
	s.leave()
}

// TestNoMessage: what is no message is answered, and the session goes on.
func TestNoMessage(t *testing.T) {
	s := start(t)
	for body, code := range map[string]int{"{ no": -32700, " ": -32700, "\"text\"": -32700, `{"jsonrpc":"2.0"}`: -32600} {
		s.raw(body)
		m := s.next()
		require.Nil(t, m.ID, body)
		require.NotNil(t, m.Error, body)
		require.Equal(t, code, m.Error.Code, body)
	}
	const shapes = "kernel k(x: f32[N, 2]) -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x[i, 0] + x.shape[1] as f32\n}\n"
	s.open("file:///nowhere/shapes.tile", shapes)
	require.Empty(t, s.published("file:///nowhere/shapes.tile", 1))
	require.Equal(t, "```tile\nx: f32[N, 2]\n```\nthe sizes of x: `x.shape[0]` is that of its first dimension", s.hover("file:///nowhere/shapes.tile", placeOf(t, shapes, "x.|shape")))
	s.leave()
}

// TestLeaving without a shutdown is an error: the editor may have crashed.
func TestLeaving(t *testing.T) {
	s := start(t)
	s.notify("exit", nil)
	require.ErrorIs(t, <-s.ended, ErrNoShutdown)
}

// TestSameErrors: the editor shows what `tilec check` reports, at the same places.
func TestSameErrors(t *testing.T) {
	paths, err := filepath.Glob("../../../testdata/errors/*.tile")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	s := newServer(Options{})
	for _, path := range paths {
		path, err := filepath.Abs(path)
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		program, want := jit.Load(path, text, nil)
		want = append(want, program.Warnings...).Sort()
		doc := uri.File(path)
		require.NoError(t, s.didOpen(&protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: doc, Text: string(text)}}))
		got := s.diagnosticsOf(s.docs[doc])
		require.Len(t, got, len(want), path)
		for i, d := range want {
			require.Equal(t, d.Code, got[i].Code, path)
			require.Equal(t, severities[d.Severity], got[i].Severity, path)
			require.Equal(t, s.docs[doc].lines.position(d.At.Start), got[i].Range.Start, path)
			require.Len(t, got[i].RelatedInformation, len(d.Labels), path)
		}
		delete(s.docs, doc)
	}
}

// TestModel: the sources that ship with the compiler have no errors here either.
func TestModel(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/gpt.tile"
	s.open(doc, string(gpt.Source))
	require.Empty(t, s.published(doc, 1))
	s.leave()
}

// TestWarningsAreShown: a warning has its severity, and what is unused is shown as such; its fix is offered.
func TestWarningsAreShown(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/warned.tile"
	text := "kernel k(x: f32[N], s: f32) -> y: f32[N] {\n    let v = x[i]\n    y[i] = where(x[i] == nan, 0, x[i])\n}\n"
	s.open(doc, text)
	ds := s.published(doc, 1)
	require.Len(t, ds, 3)
	for i, code := range []string{"W0203", "W0201", "W0302"} {
		require.Equal(t, code, ds[i].Code)
		require.Equal(t, 2, ds[i].Severity)
		unnecessary := []int{1}
		if code == "W0302" {
			unnecessary = nil
		}
		require.Equal(t, unnecessary, ds[i].Tags)
	}
	var actions []struct{ Title string }
	s.call("textDocument/codeAction", object{"textDocument": object{"uri": doc}, "range": ds[2].Range, "context": object{"diagnostics": []any{}}}, &actions)
	require.Equal(t, []struct{ Title string }{{"Write `isnan(x[i])`"}}, actions)
	s.leave()
}
