package lsp

import (
	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
)

// inlayHint shows behind the name of each `let`, and of what each loop carries, the element type and the axes of its value.
// A value of a fn has none where calls give it several. Behind `by B` it shows the extent that the planner chose, where that is known.
func (s *server) inlayHint(p *rangeParams) ([]hint, error) {
	out := []hint{}
	a := s.of(p.TextDocument.URI)
	if a == nil {
		return out, nil
	}
	from, to := a.doc.lines.offset(p.Range.Start), a.doc.lines.offset(p.Range.End)
	show := func(names []lang.Ident) {
		for _, id := range names {
			if id.Name == "_" || id.Place.Start < from || id.Place.End > to {
				continue
			}
			types := a.types.of(id.Place)
			if len(types) != 1 {
				continue
			}
			out = append(out, hint{Position: a.doc.lines.position(id.Place.End), Label: ": " + types[0].text, Kind: protocol.InlayHintKindType})
		}
	}
	for _, d := range a.module.Decls {
		if at := d.Span(); at.End < from || at.Start > to {
			continue
		}
		for _, h := range a.extentHints(d) {
			if at := a.doc.lines.offset(h.Position); from <= at && at <= to {
				out = append(out, h)
			}
		}
		lang.Walk(d, func(n lang.Node) bool {
			switch n := n.(type) {
			case *lang.LetStmt:
				show(n.Names)
			case *lang.ForExpr:
				show(n.Carried)
			}
			return true
		})
	}
	return out, nil
}
