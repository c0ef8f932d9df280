package lsp

import (
	"errors"
	"strings"

	"go.lsp.dev/protocol"

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
	text, err := parser.Format(lang.NewSource(d.path, old))
	if strings.Contains(old, "\r\n") { // the ends of lines are the editor's choice
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	var ds lang.Diagnostics
	switch {
	case errors.As(err, &ds) || err == nil && text == old:
		return []protocol.TextEdit{}, nil
	case err != nil:
		return nil, err
	}
	start, end := changedLines(old, text)
	return []protocol.TextEdit{{Range: d.lines.rangeOf(start, len(old)-end), NewText: text[start : len(text)-end]}}, nil
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
