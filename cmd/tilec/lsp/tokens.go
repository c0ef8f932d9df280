package lsp

import (
	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
)

// tokenTypes are the kinds of name that an editor may show in colours of their own, in the order of the legend. All are
// the protocol's own, so that every theme has a colour for them.
var tokenTypes = []string{"variable", "parameter", "enumMember", "typeParameter", "function", "struct", "type", "property", "decorator"}

// The places in tokenTypes.
const (
	variableToken uint32 = iota
	parameterToken
	axisToken
	typeParameterToken // element types, dimensions and extents
	functionToken
	structToken
	typeToken
	propertyToken
	decoratorToken
)

// tokenModifiers are bits, in the order of the legend.
var tokenModifiers = []string{"declaration", "readonly", "modification", "defaultLibrary"}

const (
	declarationBit uint32 = 1 << iota
	readonlyBit
	modificationBit
	libraryBit
)

// tokenOf is the type and the modifiers of a name; ok is false for keywords, and for the name of a test, which is a text.
func (s *server) tokenOf(x occurrence) (kind, bits uint32, ok bool) {
	switch x.kind {
	case localName:
		kind, bits = variableToken, readonlyBit
	case paramName:
		kind = parameterToken
	case axisName, scalarName:
		kind = axisToken
	case dimName, constParamName, typeParamName, tileName:
		kind = typeParameterToken
	case fieldName:
		kind = propertyToken
	case builtinName:
		kind, bits = functionToken, libraryBit
		if _, isType := lang.ParseDType(x.text); isType {
			kind = typeToken
		} else if _, isBound := find(bounds, x.text); isBound {
			kind = typeToken
		} else if _, isConstant := find(constants, x.text); isConstant {
			kind, bits = variableToken, libraryBit|readonlyBit
		}
	case declName:
		switch x.decl.(type) {
		case *lang.TestDecl:
			return 0, 0, false
		case *lang.StructDecl:
			kind = structToken
		case *lang.ConstDecl:
			kind, bits = variableToken, readonlyBit
		default:
			kind = functionToken
		}
	default:
		if _, isWord := find(keywords, x.text); isWord { // `check`, which the grammar of the editor colours
			return 0, 0, false
		}
		kind = propertyToken // `x.shape`, `i.start`
	}
	if x.attribute {
		kind, bits = decoratorToken, 0
	}
	if x.defined.IsValid() && s.inLibrary(x.defined.Source.Path) {
		bits |= libraryBit
	}
	if x.declares {
		bits |= declarationBit
	}
	if x.stores {
		bits |= modificationBit
	}
	return kind, bits, true
}

// semanticTokens says of every name in a document what it is.
func (s *server) semanticTokens(p *documentParams) (*semanticData, error) {
	return s.tokensIn(s.treeOf(p.TextDocument.URI), nil), nil
}

// rangeParams is the parameters of what is asked of a part of a document.
type rangeParams struct {
	TextDocument protocol.TextDocumentIdentifier `json:"textDocument"`
	Range        protocol.Range                  `json:"range"`
}

// semanticTokensRange is semanticTokens of a part of a document.
func (s *server) semanticTokensRange(p *rangeParams) (*semanticData, error) {
	return s.tokensIn(s.treeOf(p.TextDocument.URI), &p.Range), nil
}

// tokensIn gives five numbers a name: its line and character, each from the name before, its length, type and modifiers.
func (s *server) tokensIn(a *analysis, part *protocol.Range) *semanticData {
	out := &semanticData{Data: []uint32{}}
	if a == nil {
		return out
	}
	from, to := 0, len(a.doc.lines.text)
	if part != nil {
		from, to = a.doc.lines.offset(part.Start), a.doc.lines.offset(part.End)
	}
	var line, character uint32
	end := from
	var names []occurrence
	for _, d := range a.module.Decls {
		if at := d.Span(); at.Start <= to && at.End >= from {
			names = append(names, a.occurrencesIn(d)...)
		}
	}
	for _, x := range names {
		kind, bits, ok := s.tokenOf(x)
		if !ok || x.at.Start < end || x.at.End > to { // a half-written text may have a name twice
			continue
		}
		at := a.doc.lines.spanRange(x.at)
		if at.Start.Line != line {
			character = 0
		}
		out.Data = append(out.Data, at.Start.Line-line, at.Start.Character-character, at.End.Character-at.Start.Character, kind, bits)
		line, character, end = at.Start.Line, at.Start.Character, x.at.End
	}
	return out
}
