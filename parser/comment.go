package parser

import (
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// This file finds divisions that nobody divides by. In `let row = i // W` the
// text behind `//` is a comment, and the program means something else than it
// seems to. So a comment behind an operand that is an expression over names of
// its declaration is an error: nobody remarks that.

// doubtful is a comment behind an operand on its line.
type doubtful struct {
	operand lexer.Token
	comment lexer.Token
}

// doubt remembers a comment that the line before it could divide by.
func (s *scanner) doubt(comment lexer.Token) {
	if len(s.tokens) == 0 {
		return
	}
	prev := s.tokens[len(s.tokens)-1]
	if prev.Pos.Line == s.line && canEnd(&prev) && !is(&prev, "}") && len(comment.Value) > 2 && comment.Value[2] != '/' {
		s.doubts = append(s.doubts, doubtful{prev, comment})
	}
}

// quotients reports the comments that read as the right side of a division.
func (g *grammar) quotients(mod *lang.Module, doubts []doubtful) {
	var in lang.Decl
	var names map[string]bool // of the declaration
	for _, d := range doubts {
		decl := declBefore(mod, d.operand.Pos.Offset)
		if decl == nil || d.operand.Pos.Offset >= decl.Span().End {
			continue
		}
		if decl != in {
			in, names = decl, g.namesOf(decl)
		}
		if isDivisor(d.comment.Value[2:], names) {
			g.reportQuotient(d)
		}
	}
}

// namesOf is every name in a declaration.
func (g *grammar) namesOf(decl lang.Decl) map[string]bool {
	at, names := decl.Span(), map[string]bool{}
	i := sort.Search(len(g.list), func(i int) bool { return g.list[i].Pos.Offset >= at.Start })
	for ; i < len(g.list) && g.list[i].Pos.Offset < at.End; i++ {
		if t := &g.list[i]; t.Type == kindIdent {
			names[t.Value] = true
		}
	}
	return names
}

// isDivisor reports a text that is an expression over numbers and names of its declaration,
// with the extent of an axis behind it or not: `4 by BN`.
func isDivisor(text string, names map[string]bool) bool {
	if divisor, extent, ok := strings.Cut(text, " by "); ok && len(strings.Fields(extent)) == 1 {
		text = divisor
	}
	const before, after = "const c = (", ")\n"
	mod, ds := Parse(lang.NewSource("", before+text+after))
	if len(ds) > 0 || len(mod.Decls) != 1 {
		return false
	}
	known := true
	lang.Walk(mod.Decls[0].(*lang.ConstDecl).Value, func(n lang.Node) bool {
		if x, ok := n.(*lang.NameExpr); ok {
			known = known && names[x.Name]
		}
		return known
	})
	return known
}

func (g *grammar) reportQuotient(d doubtful) {
	start := d.comment.Pos.Offset
	divisor := start + 2
	for text := g.src.Text; text[divisor] == ' ' || text[divisor] == '\t'; {
		divisor++
	}
	g.diags = append(g.diags, &lang.Diagnostic{
		Code:    lang.ErrComment,
		At:      lang.Span{Source: g.src, Start: start, End: start + len(d.comment.Value)},
		Message: "this is a comment, and reads as a division: `//` divides inside brackets or without a space on either side",
		Fix: &lang.Fix{
			Message: "divide by writing `//` between its operands without spaces; say more in a comment",
			Edits:   []lang.Edit{{At: lang.Span{Source: g.src, Start: endOf(&d.operand), End: divisor}, New: "//"}},
		},
	})
}
