package lsp

import (
	"os"
	"strings"

	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
	"tilec/stdlib"
)

// This file answers who calls a fn, a kernel or a graph, and whom it calls. A fn that is handed on as an argument is called
// there too.

// caller is the protocol's CallHierarchyItem: a declaration that calls or is called.
type caller struct {
	Name           string              `json:"name"`
	Kind           protocol.SymbolKind `json:"kind"`
	Detail         string              `json:"detail,omitzero"`
	URI            uri.URI             `json:"uri"`
	Range          protocol.Range      `json:"range"`
	SelectionRange protocol.Range      `json:"selectionRange"`
	// Data is for us: the editor gives it back.
	Data callerData `json:"data"`
}

// callerData finds a declaration again.
type callerData struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// callerParams is the parameters of what is asked of a declaration.
type callerParams struct {
	Item caller `json:"item"`
}

// incomingCall is the protocol's CallHierarchyIncomingCall: who calls, and where in it.
type incomingCall struct {
	From       caller           `json:"from"`
	FromRanges []protocol.Range `json:"fromRanges"`
}

// outgoingCall is the protocol's CallHierarchyOutgoingCall: who is called, and where.
type outgoingCall struct {
	To         caller           `json:"to"`
	FromRanges []protocol.Range `json:"fromRanges"`
}

// prepareCallHierarchy is the declaration that the name under the cursor stands for, where that can be called.
func (s *server) prepareCallHierarchy(p *protocol.TextDocumentPositionParams) ([]caller, error) {
	out := []caller{}
	a := s.treeOf(p.TextDocument.URI)
	if a == nil {
		return out, nil
	}
	x, ok := a.occurrenceAt(a.doc.lines.offset(p.Position))
	if !ok || !callable(x.decl) {
		return out, nil
	}
	if c, ok := s.callerOf(a, x.decl); ok {
		out = append(out, c)
	}
	return out, nil
}

// incomingCalls are the declarations of the workspace that call one.
func (s *server) incomingCalls(p *callerParams) ([]incomingCall, error) {
	out := []incomingCall{}
	a, d := s.declared(p.Item.Data)
	if d == nil {
		return out, nil
	}
	name := d.DeclName()
	x := occurrence{at: name.Place, text: name.Name, kind: declName, defined: name.Place, decl: d}
	for _, b := range s.filesNaming(a, x) {
		for _, from := range b.module.Decls {
			if !strings.Contains(from.Span().Text(), x.text) {
				continue
			}
			var places []protocol.Range
			for _, y := range b.of(from, x, placeIn(x.defined)) {
				if !y.declares {
					places = append(places, b.doc.lines.spanRange(y.at))
				}
			}
			if c, ok := s.callerOf(b, from); ok && places != nil {
				out = append(out, incomingCall{c, places})
			}
		}
	}
	return out, nil
}

// outgoingCalls are the declarations that one calls, in the order of the text.
func (s *server) outgoingCalls(p *callerParams) ([]outgoingCall, error) {
	out := []outgoingCall{}
	a, d := s.declared(p.Item.Data)
	if d == nil {
		return out, nil
	}
	at := map[lang.Decl]int{}
	for _, x := range a.occurrencesIn(d) {
		if x.declares || !callable(x.decl) {
			continue
		}
		i, known := at[x.decl]
		if !known {
			c, ok := s.callerOf(a, x.decl)
			if !ok {
				continue
			}
			i = len(out)
			at[x.decl] = i
			out = append(out, outgoingCall{To: c})
		}
		out[i].FromRanges = append(out[i].FromRanges, a.doc.lines.spanRange(x.at))
	}
	return out, nil
}

// callable reports a fn, a kernel or a graph.
func callable(d lang.Decl) bool {
	switch d.(type) {
	case *lang.FnDecl, *lang.KernelDecl, *lang.GraphDecl:
		return true
	}
	return false
}

// callerOf shows a declaration, of the file or of one that it imports.
func (s *server) callerOf(a *analysis, d lang.Decl) (caller, bool) {
	name := d.DeclName()
	whole, ok := s.location(a, d.Span())
	if !ok || name.Name == "" {
		return caller{}, false
	}
	path := d.Span().Source.Path
	return caller{Name: name.Name, Kind: symbolKind(d), Detail: keyword(d) + " of " + path[strings.LastIndexAny(path, `/\`)+1:], URI: whole.URI,
		Range: whole.Range, SelectionRange: a.lines(name.Place.Source).spanRange(name.Place), Data: callerData{path, name.Name}}, true
}

// declared finds a declaration again that has been shown; nil when it is no more.
func (s *server) declared(x callerData) (*analysis, lang.Decl) {
	var a *analysis
	if d := s.documentOf(x.Path); d != nil {
		a = s.treeOf(d.uri)
	} else {
		text, err := readSource(x.Path)
		if err != nil {
			return nil, nil
		}
		a = s.parse(&document{path: x.Path, lines: newLines(string(text))})
	}
	for _, d := range a.module.Decls {
		if d.DeclName().Name == x.Name {
			return a, d
		}
	}
	return nil, nil
}

// readSource is the text of a file, or of one of the standard library.
func readSource(path string) ([]byte, error) {
	if name, ok := strings.CutPrefix(path, "std/"); ok {
		return stdlib.FS.ReadFile(name)
	}
	return os.ReadFile(path)
}
