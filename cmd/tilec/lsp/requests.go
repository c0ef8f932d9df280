package lsp

import (
	"strings"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
)

// hover says what stands under the cursor.
func (s *server) hover(p *protocol.TextDocumentPositionParams) (*hovered, error) {
	a := s.of(p.TextDocument.URI)
	if a == nil {
		return nil, nil
	}
	x, ok := a.symbolAt(a.doc.lines.offset(p.Position))
	if !ok {
		return nil, nil
	}
	text := x.doc
	if x.source != "" {
		text = code(x.source) + x.doc
	}
	return &hovered{
		Contents: protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: strings.TrimSpace(text)},
		Range:    a.doc.lines.spanRange(x.at),
	}, nil
}

// definition is where the symbol under the cursor is declared.
func (s *server) definition(p *protocol.TextDocumentPositionParams) ([]protocol.Location, error) {
	a := s.of(p.TextDocument.URI)
	if a == nil {
		return []protocol.Location{}, nil
	}
	x, ok := a.symbolAt(a.doc.lines.offset(p.Position))
	if !ok {
		return []protocol.Location{}, nil
	}
	at, ok := s.location(a, x.defined)
	if !ok {
		return []protocol.Location{}, nil
	}
	return []protocol.Location{at}, nil
}

// documentParams is the parameters of what is asked of a whole document.
type documentParams struct {
	TextDocument protocol.TextDocumentIdentifier `json:"textDocument"`
}

// documentSymbol is the outline of a document.
func (s *server) documentSymbol(p *documentParams) ([]outlined, error) {
	out := []outlined{}
	a := s.treeOf(p.TextDocument.URI)
	if a == nil {
		return out, nil
	}
	for _, d := range a.module.Decls {
		n := d.DeclName()
		if !n.Place.IsValid() || n.Name == "" {
			continue
		}
		x := outlined{Name: n.Name, Detail: keyword(d), Kind: symbolKind(d),
			Range: a.doc.lines.spanRange(d.Span()), SelectionRange: a.doc.lines.spanRange(n.Place)}
		if st, ok := d.(*lang.StructDecl); ok {
			for _, f := range st.Fields {
				if f.Name.Name != "" && f.Type != nil {
					x.Children = append(x.Children, outlined{Name: f.Name.Name, Detail: f.Type.Place.Text(), Kind: protocol.SymbolKindField,
						Range: a.doc.lines.spanRange(f.Place), SelectionRange: a.doc.lines.spanRange(f.Name.Place)})
				}
			}
		}
		out = append(out, x)
	}
	return out, nil
}

func symbolKind(d lang.Decl) protocol.SymbolKind {
	switch d.(type) {
	case *lang.ConstDecl:
		return protocol.SymbolKindConstant
	case *lang.StructDecl:
		return protocol.SymbolKindStruct
	case *lang.GraphDecl:
		return protocol.SymbolKindModule
	case *lang.TestDecl:
		return protocol.SymbolKindEvent
	}
	return protocol.SymbolKindFunction
}
