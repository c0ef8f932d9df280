package lsp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/jit/bug"
	"tilec/lang"
)

// publishLoop shows the errors of the open documents whenever their text has
// changed and then rested.
func (s *server) publishLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		rest := time.NewTimer(s.opts.Delay)
		for resting := true; resting; {
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
				rest.Reset(s.opts.Delay)
			case <-rest.C:
				resting = false
			}
		}
		for _, p := range s.unpublished() {
			if err := s.notify(ctx, protocol.MethodTextDocumentPublishDiagnostics, p); err != nil {
				return // the editor is gone
			}
		}
	}
}

// unpublished is the diagnostics that the editor does not have yet.
func (s *server) unpublished() (all []*problems) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			b := bug.Recovered("diagnostics", r)
			s.log("%v\n%s", b, b.Stack)
		}
	}()
	for u, d := range s.docs {
		version := d.version
		p := &problems{URI: u, Version: &version, Diagnostics: s.diagnosticsOf(d)}
		text, err := json.Marshal(p, json.Deterministic(true), lenient)
		if err != nil {
			s.log("diagnostics of %s: %v", d.path, err)
			continue
		}
		if s.published[u] != string(text) {
			s.published[u] = string(text)
			all = append(all, p)
		}
	}
	for u := range s.published {
		if s.docs[u] == nil { // closed: its errors are none of the editor's
			delete(s.published, u)
			all = append(all, &problems{URI: u, Diagnostics: []problem{}})
		}
	}
	return all
}

// diagnosticsOf is the errors of a document. A file that it imports, and that
// is not open, has its first error shown at the import.
func (s *server) diagnosticsOf(d *document) []problem {
	a := s.of(d.uri)
	out := []problem{}
	elsewhere := map[string]bool{}
	for _, x := range a.diags {
		switch {
		case x.At.IsValid() && x.At.Source.Path == d.path:
			out = append(out, s.diagnostic(a, x))
		case x.At.IsValid() && !elsewhere[x.At.Source.Path]:
			elsewhere[x.At.Source.Path] = true
			out = append(out, s.importedError(a, x))
		case !x.At.IsValid():
			out = append(out, s.diagnostic(a, x))
		}
	}
	return out
}

// severities are the protocol's for those of the compiler.
var severities = map[lang.Severity]protocol.DiagnosticSeverity{
	lang.SeverityError: protocol.DiagnosticSeverityError, lang.SeverityWarning: protocol.DiagnosticSeverityWarning,
	lang.SeverityNote: protocol.DiagnosticSeverityInformation,
}

func (s *server) diagnostic(a *analysis, x *lang.Diagnostic) problem {
	message := x.Message
	if x.Label != "" {
		message += "\n" + x.Label
	}
	for _, n := range x.Notes {
		message += "\nnote: " + n
	}
	if x.Fix != nil {
		message += "\nhelp: " + x.Fix.Message
	}
	out := problem{
		Range:    a.doc.lines.spanRange(x.At),
		Severity: severities[x.Severity],
		Code:     x.Code,
		Source:   "tilec",
		Message:  message,
	}
	switch x.Code {
	case lang.WarnUnused, lang.WarnUnusedAxis, lang.WarnUnusedParam, lang.WarnUnusedImport: // which editors fade
		out.Tags = []protocol.DiagnosticTag{protocol.DiagnosticTagUnnecessary}
	}
	for _, l := range x.Labels {
		if at, ok := s.location(a, l.At); ok {
			out.RelatedInformation = append(out.RelatedInformation, related{Location: at, Message: l.Text})
		}
	}
	return out
}

// importedError shows an error of an imported file at the import.
func (s *server) importedError(a *analysis, x *lang.Diagnostic) problem {
	at := lang.Span{Source: a.module.Source}
	for i := len(a.module.Imports) - 1; i >= 0; i-- {
		imp := a.module.Imports[i]
		if m, _ := a.loader.Import(imp.Path, a.module, imp.Place); i == 0 || m != nil && m.Source.Path == x.At.Source.Path {
			at = imp.Place
		}
	}
	return s.diagnostic(a, &lang.Diagnostic{Code: x.Code, At: at,
		Message: fmt.Sprintf("%s has errors", x.At.Source.Path), Labels: []lang.Label{{At: x.At, Text: x.Message}}})
}

// location is a place in any source that the editor can open.
func (s *server) location(a *analysis, at lang.Span) (protocol.Location, bool) {
	if !at.IsValid() {
		return protocol.Location{}, false
	}
	u, err := s.uriOf(at.Source.Path)
	if err != nil {
		s.log("%v", err)
		return protocol.Location{}, false
	}
	return protocol.Location{URI: u, Range: a.lines(at.Source).spanRange(at)}, true
}

// actionParams is what we need of the protocol's CodeActionParams: the errors in the
// range are known here.
type actionParams struct {
	TextDocument protocol.TextDocumentIdentifier `json:"textDocument"`
	Range        protocol.Range                  `json:"range"`
	Context      struct {
		Only []protocol.CodeActionKind `json:"only"`
	} `json:"context"`
}

// codeAction proposes the fixes of the errors in a range.
func (s *server) codeAction(p *actionParams) ([]proposed, error) {
	out := []proposed{}
	a := s.of(p.TextDocument.URI)
	if a == nil || !wants(p.Context.Only, protocol.CodeActionKindQuickFix) {
		return out, nil
	}
	start, end := a.doc.lines.offset(p.Range.Start), a.doc.lines.offset(p.Range.End)
	for _, x := range a.diags {
		if !x.At.IsValid() || x.At.Source.Path != a.doc.path || x.At.Start > end || x.At.End < start || x.Fix == nil || len(x.Fix.Edits) == 0 {
			continue
		}
		changes := map[uri.URI][]protocol.TextEdit{}
		for _, e := range x.Fix.Edits {
			at, ok := s.location(a, e.At)
			if !ok {
				changes = nil
				break
			}
			changes[at.URI] = append(changes[at.URI], protocol.TextEdit{Range: at.Range, NewText: e.New})
		}
		if changes == nil {
			continue
		}
		out = append(out, proposed{
			Title:       title(x.Fix.Message),
			Kind:        protocol.CodeActionKindQuickFix,
			Diagnostics: []problem{s.diagnostic(a, x)},
			IsPreferred: true,
			Edit:        edited{Changes: changes},
		})
	}
	return out, nil
}

// wants reports whether a kind is among those asked for, or below one of them; all are when none is named.
func wants(only []protocol.CodeActionKind, kind protocol.CodeActionKind) bool {
	for _, o := range only {
		if o == kind || o == "" || strings.HasPrefix(string(kind), string(o)+".") {
			return true
		}
	}
	return len(only) == 0
}

// title is a message as the name of a menu entry.
func title(message string) string {
	if message == "" {
		return "Fix"
	}
	return strings.ToUpper(message[:1]) + message[1:]
}
