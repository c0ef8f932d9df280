package lsp

import (
	"fmt"
	"path/filepath"

	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
	"tilec/typecheck"
)

// document is a text that is open in the editor. It hides the file of its name.
type document struct {
	uri     uri.URI
	path    string
	version int32
	lines   *lines
	// analysis is nil when the text, or that of another document, has changed since. checked: it has types.
	analysis *analysis
	checked  bool
	// memory is what is known from the last check, and typed the types that it found, by declaration.
	memory typecheck.Memory
	typed  map[lang.Decl]*bodyTypes
	// names are the names of declarations, as they were when somebody asked.
	names map[lang.Decl]*names
	// extents are those that the planner chose for kernels, by name.
	extents map[lang.Decl]map[string]string
}

// pathOf is the name of a document among the sources: that of its file, or all of its URI.
func pathOf(u uri.URI) string {
	if u.IsFile() {
		return filepath.Clean(u.FsPath())
	}
	return string(u)
}

// didOpen takes the text of a document that the editor has opened.
func (s *server) didOpen(p *protocol.DidOpenTextDocumentParams) error {
	d := p.TextDocument
	s.docs[d.URI] = &document{uri: d.URI, path: pathOf(d.URI), version: d.Version, lines: newLines(d.Text)}
	s.changed()
	return nil
}

// changeParams is the protocol's DidChangeTextDocumentParams with a change of either
// kind in one type: the whole text when it has no range.
type changeParams struct {
	TextDocument   protocol.VersionedTextDocumentIdentifier `json:"textDocument"`
	ContentChanges []struct {
		Range *protocol.Range `json:"range"`
		Text  string          `json:"text"`
	} `json:"contentChanges"`
}

// didChange follows the changes that the editor has made, each to the result of the one before.
func (s *server) didChange(p *changeParams) error {
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return fmt.Errorf("%s is not open", p.TextDocument.URI)
	}
	d.version = p.TextDocument.Version
	for _, c := range p.ContentChanges {
		text := d.lines.text
		start, end := 0, len(text)
		if c.Range != nil {
			a, b := d.lines.offset(c.Range.Start), d.lines.offset(c.Range.End)
			start, end = min(a, b), max(a, b)
		}
		d.lines = newLines(text[:start] + c.Text + text[end:])
	}
	s.changed()
	return nil
}

// didClose forgets a document; its file counts again.
func (s *server) didClose(p *documentParams) error {
	delete(s.docs, p.TextDocument.URI)
	for path := range s.trees {
		if s.documentOf(path) == nil {
			delete(s.trees, path)
		}
	}
	s.changed()
	return nil
}

// filesChanged: a file has changed on disk that a document may import.
func (s *server) filesChanged(*none) error {
	s.changed()
	return nil
}

// changed drops what was known of the documents: each may import another.
func (s *server) changed() {
	for _, d := range s.docs {
		d.analysis, d.checked = nil, false
	}
	for _, t := range s.trees {
		t.current = false
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// opened gives the text of a file that is open.
func (s *server) opened(path string) ([]byte, bool) {
	for _, d := range s.docs {
		if d.path == path {
			return []byte(d.lines.text), true
		}
	}
	return nil, false
}

// of is what is known of an open document; nil when it is not open.
func (s *server) of(u uri.URI) *analysis {
	a := s.treeOf(u)
	if d := s.docs[u]; d != nil && !d.checked {
		d.checked = true
		s.typed(a)
	}
	return a
}

// treeOf is what is known of an open document without its types, unless it has been checked: while someone types, what needs
// no types does not wait for the checker.
func (s *server) treeOf(u uri.URI) *analysis {
	d := s.docs[u]
	if d == nil {
		return nil
	}
	if d.analysis == nil {
		d.analysis = s.parse(d)
	}
	return d.analysis
}
