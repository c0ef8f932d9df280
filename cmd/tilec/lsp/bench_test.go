package lsp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
)

// BenchmarkEdit is what the server does for one edit of a file of 5,000 lines that is open, with its errors shown: from the
// edit to its errors, to what can be completed there, and to its semantic tokens. The pause before errors are shown is left
// out. A comment is a line that is put in before others; typing is a statement that somebody writes, a key at a time, which
// leaves brackets open and names unknown on the way; the header is that of a function that all kernels call.
func BenchmarkEdit(b *testing.B) {
	kernels := strings.ReplaceAll(longProgram(250), "max(shifted, 0)", "clipped(shifted)")
	text := kernels + "\nfn clipped(x) = max(x, 0)\n"
	at := len(text) / 2
	at += strings.Index(text[at:], "    let root")
	const statement = "    let more = max(root + scaled, sqrt(acc[i]))\n"
	edits := map[string]func(i int) string{
		"comment": func(i int) string { return text[:at] + strings.Repeat("    // comment\n", i+1) + text[at:] },
		"typing":  func(i int) string { return text[:at] + statement[:i%len(statement)+1] + text[at:] },
		"header":  func(i int) string { return kernels + fmt.Sprintf("\nfn clipped(x) = max(x, %d)\n", i%2) },
	}
	doc := uri.URI("file:///nowhere/long.tile")
	b.Logf("%d lines", len(newLines(text).starts))
	for _, kind := range []string{"comment/diagnostics", "comment/completion", "comment/tokens", "typing/diagnostics", "typing/completion", "typing/tokens", "header/diagnostics"} {
		of, until, _ := strings.Cut(kind, "/")
		b.Run(kind, func(b *testing.B) {
			s := newServer(Options{})
			if err := s.didOpen(&protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: doc, Text: text}}); err != nil {
				b.Fatal(err)
			}
			s.unpublished()
			was := text
			var times []time.Duration
			for i := range b.N {
				now := edits[of](i)
				p := &changeParams{}
				p.TextDocument.URI, p.TextDocument.Version = doc, int32(i)
				p.ContentChanges = slices.Grow(p.ContentChanges, 1)[:1]
				change := &p.ContentChanges[0]
				change.Range, change.Text = difference(was, now)
				was = now
				begun := time.Now()
				if err := s.didChange(p); err != nil {
					b.Fatal(err)
				}
				switch until {
				case "diagnostics":
					s.unpublished()
				case "completion":
					_, _ = s.completion(&protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: doc}, Position: change.Range.Start})
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

// difference is the edit that makes one text of another.
func difference(was, now string) (*protocol.Range, string) {
	from, same := 0, min(len(was), len(now))
	for from < same && was[from] == now[from] {
		from++
	}
	behind := 0
	for behind < same-from && was[len(was)-1-behind] == now[len(now)-1-behind] {
		behind++
	}
	at := newLines(was).rangeOf(from, len(was)-behind)
	return &at, now[from : len(now)-behind]
}
