package lsp

import (
	"tilec/cmd/tilec/lsp/protocol"
)

// referenceParams is what we need of the protocol's ReferenceParams.
type referenceParams struct {
	TextDocument protocol.TextDocumentIdentifier `json:"textDocument"`
	Position     protocol.Position               `json:"position"`
	Context      struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

// references lists where the workspace names what stands under the cursor.
func (s *server) references(p *referenceParams) ([]protocol.Location, error) {
	out := []protocol.Location{}
	a := s.treeOf(p.TextDocument.URI)
	if a == nil {
		return out, nil
	}
	x, ok := a.occurrenceAt(a.doc.lines.offset(p.Position))
	if !ok {
		return out, nil
	}
	for _, b := range s.filesNaming(a, x) {
		for _, y := range b.occurrencesOf(x) {
			if y.declares && !p.Context.IncludeDeclaration {
				continue
			}
			if at, ok := s.location(b, y.at); ok {
				out = append(out, at)
			}
		}
	}
	return out, nil
}

// filesNaming are the files that can name what an occurrence in a file stands for: the file itself, where its
// declaration alone can, or all in which the word stands.
func (s *server) filesNaming(a *analysis, x occurrence) []*analysis {
	if d := a.declAt(x.at.Start); x.defined.IsValid() && x.kind != declName && d != nil && x.defined.Source == a.module.Source {
		if at := d.Span(); at.Start <= x.defined.Start && x.defined.End <= at.End && !namedFromOutside(x.kind) {
			return []*analysis{a}
		}
	}
	all := s.sources(x.text)
	if x.defined.IsValid() { // the file that declares it may be outside of the workspace
		here := false
		for _, b := range all {
			here = here || b.doc.path == x.defined.Source.Path
		}
		if !here {
			all = append(all, s.parse(&document{path: x.defined.Source.Path, lines: a.lines(x.defined.Source)}))
		}
	}
	return all
}

// namedFromOutside reports the kinds of name that others than their declaration may name: fields, and parameters and extents in calls.
func namedFromOutside(k nameKind) bool {
	switch k {
	case fieldName, paramName, constParamName, typeParamName, tileName:
		return true
	}
	return false
}

// documentHighlight marks every other place of a document that names what stands under the cursor.
func (s *server) documentHighlight(p *protocol.TextDocumentPositionParams) ([]highlight, error) {
	out := []highlight{}
	a := s.treeOf(p.TextDocument.URI)
	if a == nil {
		return out, nil
	}
	x, ok := a.occurrenceAt(a.doc.lines.offset(p.Position))
	if !ok {
		return out, nil
	}
	for _, y := range a.occurrencesOf(x) {
		kind := protocol.DocumentHighlightKindRead
		if y.declares || y.stores {
			kind = protocol.DocumentHighlightKindWrite
		}
		out = append(out, highlight{Range: a.doc.lines.spanRange(y.at), Kind: kind})
	}
	return out, nil
}
