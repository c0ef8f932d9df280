package lsp

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
)

// BenchmarkEdit is what the server does for one edit of a file of 5,000 lines: from the edit to its errors, and to what
// can be completed there. The pause before errors are shown is left out.
func BenchmarkEdit(b *testing.B) {
	text := longProgram(250)
	l := newLines(text)
	at := l.position(len(text) / 2)
	at.Character = 0
	doc := uri.URI("file:///nowhere/long.tile")
	b.Logf("%d lines", len(l.starts))
	for _, kind := range []string{"diagnostics", "completion", "tokens"} {
		b.Run(kind, func(b *testing.B) {
			s := newServer(Options{})
			if err := s.didOpen(&protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: doc, Text: text}}); err != nil {
				b.Fatal(err)
			}
			var times []time.Duration
			for i := range b.N {
				p := &changeParams{}
				p.TextDocument.URI, p.TextDocument.Version = doc, int32(i)
				edit := p.ContentChanges
				edit = slices.Grow(edit, 1)[:1]
				edit[0].Range, edit[0].Text = &protocol.Range{Start: at, End: at}, fmt.Sprintf("// %d\n", i)
				p.ContentChanges = edit
				begun := time.Now()
				if err := s.didChange(p); err != nil {
					b.Fatal(err)
				}
				switch kind {
				case "diagnostics":
					s.unpublished()
				case "completion":
					_, _ = s.completion(&protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: doc}, Position: at})
				case "tokens":
					_, _ = s.semanticTokens(&documentParams{protocol.TextDocumentIdentifier{URI: doc}})
				}
				times = append(times, time.Since(begun))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
