package lsp

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"tilec/gpt"
	"tilec/stdlib"
)

// halfTyped makes of a text what it may be while someone types: cut off, with
// a piece lost, doubled or moved, with something put in.
func halfTyped(r *rand.Rand, text string) string {
	cut := func() (int, int) {
		a := r.IntN(len(text) + 1)
		return a, min(a+r.IntN(30), len(text))
	}
	for range 1 + r.IntN(3) {
		a, b := cut()
		switch r.IntN(6) {
		case 0:
			text = text[:a]
		case 1:
			text = text[:a] + text[b:]
		case 2:
			text = text[:b] + text[a:]
		case 3:
			words := []string{"let ", "(", "{", "}", "]", "[", ".", "@", "\"", "//", " else ", " over ", "\n", "kernel ", "import \"", "as ", "𝒜", "\xff", "\r", "struct S<T: float> {", "for k in ", "if "}
			text = text[:a] + words[r.IntN(len(words))] + text[a:]
		case 4:
			c, d := cut()
			text = text[:a] + text[min(c, d):max(c, d)] + text[a:]
		case 5:
			c, d := cut()
			text = text[:a] + text[c:d] + text[b:]
		}
	}
	return text
}

// TestHalfTyped asks everything of texts that are being typed: nothing panics,
// every answer is one, and every place that is given lies in the text.
func TestHalfTyped(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	nn, err := stdlib.FS.ReadFile("nn.tile")
	require.NoError(t, err)
	texts := []string{program, string(gpt.Source), string(nn)}
	var log bytes.Buffer
	s := newServer(Options{Log: &log, LibraryDir: t.TempDir()})
	doc := uri.URI("file:///nowhere/half.tile")
	require.NoError(t, s.didOpen(&protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: doc}}))
	d := s.docs[doc]
	for deadline := time.Now().Add(halfTypedTime); time.Now().Before(deadline); {
		text := halfTyped(r, texts[r.IntN(len(texts))])
		d.lines = newLines(text)
		s.changed()
		inside := func(at protocol.Range) {
			require.Equal(t, d.lines.position(d.lines.offset(at.Start)), at.Start, "%q", text)
			require.Equal(t, d.lines.position(d.lines.offset(at.End)), at.End, "%q", text)
		}
		p := protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: doc}}
		for _, x := range s.unpublished() {
			for _, e := range x.Diagnostics {
				inside(e.Range)
			}
		}
		for range 6 {
			p.Position = d.lines.position(r.IntN(len(text) + 1))
			h, err := s.hover(&p)
			require.NoError(t, err)
			if h != nil {
				inside(*h.Range)
			}
			_, err = s.definition(&p)
			require.NoError(t, err)
			_, err = s.completion(&p)
			require.NoError(t, err)
		}
		symbols, err := s.documentSymbol(&documentParams{p.TextDocument})
		require.NoError(t, err)
		for _, x := range symbols {
			inside(x.Range)
			inside(x.SelectionRange)
		}
		_, err = s.formatting(&documentParams{p.TextDocument})
		require.NoError(t, err)
		actions, err := s.codeAction(&actionParams{TextDocument: p.TextDocument, Range: d.lines.rangeOf(0, len(text))})
		require.NoError(t, err)
		for _, x := range actions {
			for _, edits := range x.Edit.Changes {
				for _, e := range edits {
					inside(e.Range)
				}
			}
		}
		require.Empty(t, log.String(), "%q", text)
	}
}

// halfTypedTime is how long TestHalfTyped goes on.
var halfTypedTime = time.Second
