package lsp

import (
	"errors"
	"strings"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
	"tilec/parser"
)

// formatting gives the edit that makes the canonical layout; none for a text
// with syntax errors, which the editor shows already.
func (s *server) formatting(p *documentParams) ([]protocol.TextEdit, error) {
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return nil, nil
	}
	old := d.lines.text
	text, err := formatted(d)
	if err != nil || text == old {
		return []protocol.TextEdit{}, err
	}
	start, end := changedLines(old, text)
	return []protocol.TextEdit{{Range: d.lines.rangeOf(start, len(old)-end), NewText: text[start : len(text)-end]}}, nil
}

// formatted is the canonical layout of a document, or its text as it is where that has syntax errors.
func formatted(d *document) (string, error) {
	old := d.lines.text
	text, err := parser.Format(lang.NewSource(d.path, old))
	if strings.Contains(old, "\r\n") { // the ends of lines are the editor's choice
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	var ds lang.Diagnostics
	if errors.As(err, &ds) {
		return old, nil
	}
	return text, err
}

// rangeFormattingParams is what we need of the protocol's DocumentRangeFormattingParams.
type rangeFormattingParams struct {
	TextDocument protocol.TextDocumentIdentifier `json:"textDocument"`
	Range        protocol.Range                  `json:"range"`
}

// rangeFormatting lays out the declarations that a range touches, with the comments above them.
func (s *server) rangeFormatting(p *rangeFormattingParams) ([]protocol.TextEdit, error) {
	out := []protocol.TextEdit{}
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return out, nil
	}
	text, err := formatted(d)
	if err != nil || text == d.lines.text {
		return out, err
	}
	was, is := declarationEnds(d.lines.text), declarationEnds(text)
	if len(was) != len(is) {
		return out, nil
	}
	from, to := d.lines.offset(p.Range.Start), d.lines.offset(p.Range.End)
	for i := 1; i < len(was); i++ {
		before, after := d.lines.text[was[i-1]:was[i]], text[is[i-1]:is[i]]
		if was[i-1] > to || was[i] <= from || before == after {
			continue
		}
		start, end := changedLines(before, after)
		out = append(out, protocol.TextEdit{Range: d.lines.rangeOf(was[i-1]+start, was[i]-end), NewText: after[start : len(after)-end]})
	}
	return out, nil
}

// declarationEnds cuts a text behind the lines in which its imports and its declarations end: the offsets of the cuts, with
// the beginning and the end of the text.
func declarationEnds(text string) []int {
	m, _ := parser.Parse(lang.NewSource("", text))
	ends := []int{0}
	cut := func(at lang.Span) {
		end := at.End
		if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
			end += i + 1
		} else {
			end = len(text)
		}
		ends = append(ends, max(end, ends[len(ends)-1]))
	}
	for _, imp := range m.Imports {
		cut(imp.Place)
	}
	for _, d := range m.Decls {
		cut(d.Span())
	}
	return append(ends, len(text))
}

// changedLines is how many bytes two texts have in common at the start and at
// the end, in whole lines: what lies between is the smallest edit, which
// leaves the cursor and the marks of the editor where they are.
func changedLines(a, b string) (start, end int) {
	least := min(len(a), len(b))
	for i := 0; i < least && a[i] == b[i]; i++ {
		if a[i] == '\n' {
			start = i + 1
		}
	}
	for i := 0; i < least-start; i++ {
		x, y := a[len(a)-1-i], b[len(b)-1-i]
		if x != y {
			break
		}
		if x == '\n' {
			end = i
		}
	}
	return start, end
}
