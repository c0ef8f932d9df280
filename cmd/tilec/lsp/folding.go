package lsp

import (
	"strings"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
	"tilec/parser"
)

// foldingRange lists what can be folded away: declarations, blocks, imports, and comments of several lines.
func (s *server) foldingRange(p *documentParams) ([]fold, error) {
	out := []fold{}
	a := s.treeOf(p.TextDocument.URI)
	if a == nil {
		return out, nil
	}
	seen := map[[2]uint32]bool{}
	add := func(first, last uint32, kind protocol.FoldingRangeKind) {
		if first < last && !seen[[2]uint32{first, last}] {
			seen[[2]uint32{first, last}] = true
			out = append(out, fold{StartLine: first, EndLine: last, Kind: kind})
		}
	}
	line := func(offset int) uint32 { return a.doc.lines.position(offset).Line }
	// A bracket that closes on a line of its own stays in sight.
	last := func(at lang.Span) uint32 {
		l := line(at.End)
		if l > 0 && strings.TrimLeft(a.doc.lines.text[a.doc.lines.starts[l]:at.End], " \t})]") == "" {
			l--
		}
		return l
	}
	if n := len(a.module.Imports); n > 0 {
		add(line(a.module.Imports[0].Place.Start), line(a.module.Imports[n-1].Place.End), protocol.FoldingRangeKindImports)
	}
	for _, d := range a.module.Decls {
		if name := d.DeclName().Place; name.IsValid() {
			add(line(name.Start), last(d.Span()), "")
		}
		lang.Walk(d, func(n lang.Node) bool {
			if b, ok := n.(*lang.Block); ok {
				add(line(b.Place.Start), last(b.Place), "")
			}
			return true
		})
	}
	for _, run := range commentRuns(a) {
		add(run[0], run[1], protocol.FoldingRangeKindComment)
	}
	return out, nil
}

// commentRuns are the first and the last lines of comments that stand on lines of their own, one below the other.
func commentRuns(a *analysis) [][2]uint32 {
	var runs [][2]uint32
	l := a.doc.lines
	for _, c := range parser.Comments(a.module.Source) {
		at := l.position(c.Start).Line
		if strings.TrimSpace(l.text[l.starts[at]:c.Start]) != "" {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1][1]+1 == at {
			runs[n-1][1] = at
			continue
		}
		runs = append(runs, [2]uint32{at, at})
	}
	return runs
}

// selectionParams is what we need of the protocol's SelectionRangeParams.
type selectionParams struct {
	TextDocument protocol.TextDocumentIdentifier `json:"textDocument"`
	Positions    []protocol.Position             `json:"positions"`
}

// selectionRange lists, for each position, what a selection there grows to: the name, the expression, the statement,
// the declaration, the file.
func (s *server) selectionRange(p *selectionParams) ([]selection, error) {
	out := []selection{}
	a := s.treeOf(p.TextDocument.URI)
	if a == nil {
		return out, nil
	}
	for _, at := range p.Positions {
		offset := a.doc.lines.offset(at)
		path := a.path(offset)
		if offset > 0 { // at the end of a name the name, not what comes behind it
			if before := a.path(offset - 1); len(before) > len(path) {
				path = before
			}
		}
		whole := lang.Span{Source: a.module.Source, End: len(a.doc.lines.text)}
		selected := &selection{Range: a.doc.lines.spanRange(whole)}
		outer := whole
		for _, n := range path {
			if at := n.Span(); at.IsValid() && at != outer && at.Start >= outer.Start && at.End <= outer.End {
				selected = &selection{Range: a.doc.lines.spanRange(at), Parent: selected}
				outer = at
			}
		}
		out = append(out, *selected)
	}
	return out, nil
}
