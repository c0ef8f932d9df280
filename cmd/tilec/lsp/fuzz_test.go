package lsp

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
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
				inside(h.Range)
			}
			_, err = s.definition(&p)
			require.NoError(t, err)
			_, err = s.completion(&p)
			require.NoError(t, err)
			_, err = s.signatureHelp(&p)
			require.NoError(t, err)
			marks, err := s.documentHighlight(&p)
			require.NoError(t, err)
			for _, m := range marks {
				inside(m.Range)
			}
			found, err := s.references(&referenceParams{TextDocument: p.TextDocument, Position: p.Position})
			require.NoError(t, err)
			for _, l := range found {
				if l.URI == doc {
					inside(l.Range)
				}
			}
			callers, err := s.prepareCallHierarchy(&p)
			require.NoError(t, err)
			for _, c := range callers {
				in, err := s.incomingCalls(&callerParams{c})
				require.NoError(t, err)
				for _, x := range in {
					for _, at := range x.FromRanges {
						if x.From.URI == doc {
							inside(at)
						}
					}
				}
				_, err = s.outgoingCalls(&callerParams{c})
				require.NoError(t, err)
			}
			selected, err := s.selectionRange(&selectionParams{p.TextDocument, []protocol.Position{p.Position}})
			require.NoError(t, err)
			for x := &selected[0]; x != nil; x = x.Parent {
				inside(x.Range)
			}
		}
		// A rename is made everywhere or refused.
		if _, err = s.rename(&renameParams{TextDocument: p.TextDocument, Position: p.Position, NewName: "renamed"}); err != nil {
			var refusal *jsonrpc2.Error
			require.ErrorAs(t, err, &refusal, "%q", text)
		}
		tokens, err := s.semanticTokens(&documentParams{p.TextDocument})
		require.NoError(t, err)
		line, character := uint32(0), uint32(0)
		for i := 0; i < len(tokens.Data); i += 5 {
			if tokens.Data[i] > 0 {
				character = 0
			}
			line, character = line+tokens.Data[i], character+tokens.Data[i+1]
			inside(protocol.Range{Start: protocol.Position{Line: line, Character: character}, End: protocol.Position{Line: line, Character: character + tokens.Data[i+2]}})
		}
		whole := rangeParams{p.TextDocument, d.lines.rangeOf(0, len(text))}
		hints, err := s.inlayHint(&whole)
		require.NoError(t, err)
		for _, h := range hints {
			inside(protocol.Range{Start: h.Position, End: h.Position})
		}
		folds, err := s.foldingRange(&documentParams{p.TextDocument})
		require.NoError(t, err)
		for _, f := range folds {
			require.Less(t, int(f.EndLine), len(d.lines.starts), "%q", text)
		}
		links, err := s.documentLink(&documentParams{p.TextDocument})
		require.NoError(t, err)
		for _, l := range links {
			inside(l.Range)
		}
		_, err = s.codeLens(&documentParams{p.TextDocument})
		require.NoError(t, err)
		part, err := s.rangeFormatting(&rangeFormattingParams{p.TextDocument, whole.Range})
		require.NoError(t, err)
		for _, e := range part {
			inside(e.Range)
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
var halfTypedTime = 2 * time.Second
