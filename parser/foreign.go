package parser

import (
	"fmt"
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// This file answers what is written as in another language: it finds the word in lang's table of neighbours by
// what stands around the token that does not fit.

// foreign says what to write instead of what another language has here; nil when this is no such thing.
func (g *grammar) foreign(prev, t *lexer.Token, want string) *lang.Fix {
	if prev == nil {
		return nil
	}
	next := g.after(t)
	touches := endOf(prev) == t.Pos.Offset
	sign := func(s string) *lang.Fix { return &lang.Fix{Message: lang.FindNeighbour(s, lang.AsSign).Help()} }
	switch {
	case is(t, "=") && touches && want == wantExpr && lang.FindNeighbour(prev.Value+"=", lang.AsSign) != nil:
		return sign(prev.Value + "=")
	case is(t, prev.Value) && touches && lang.FindNeighbour(prev.Value+prev.Value, lang.AsSign) != nil:
		return sign(prev.Value + prev.Value)
	case is(t, ":") && next != nil && is(next, "=") && endOf(t) == next.Pos.Offset:
		return sign(":=")
	case is(t, ">") && is(prev, "<") && touches:
		return sign("<>")
	case is(t, "@") && want == wantEnd, is(prev, "@") && want == "a name" && g.firstOnLine(t) != prev:
		return sign("@")
	case is(t, "..") && want == wantBlock:
		return sign("..")
	case is(t, "[") && g.inOutputs(prev):
		return sign("->")
	case want == wantBlock && is(t, ":"):
		if g.firstOnLine(t).Value == "for" {
			return sign(":")
		}
		return sign("{")
	case want == wantBlock && (t.Type == kindNewline || t.EOF() || t.Type == kindIdent):
		axis := t
		if t.Type == kindNewline {
			axis = next
		}
		if axis != nil && axis.Type == kindIdent && is(g.after(axis), "in") {
			at := g.spanOf(axis)
			at.End = at.Start
			return &lang.Fix{Message: fmt.Sprintf("the axes of the blocks stand behind `grid`: `grid %s in ...`", axis.Value), Edits: []lang.Edit{{At: at, New: "grid "}}}
		}
		if t.Type != kindIdent {
			return sign("{")
		}
	case t.Type == kindKeyword && want == "the name of a field":
		if n := lang.FindNeighbour(t.Value, lang.AsCall, lang.AsType, lang.AsValue); n != nil {
			return &lang.Fix{Message: n.Help()}
		}
	case is(t, ".") && is(g.before(prev), "@"):
		return &lang.Fix{Message: fmt.Sprintf("leave it out: a kernel is declared by `kernel`, and `@%s` is no attribute here", prev.Value)}
	case is(t, ".") && next != nil && prev.Type == kindIdent:
		if n := typeNamed(next.Value); n != nil {
			return &lang.Fix{Message: n.Help(), Edits: []lang.Edit{{At: g.span(prev.Pos.Offset, endOf(next)), New: n.Ours}}}
		}
	}
	return g.foreignWord(prev, t, want)
}

// typeNamed is the row of an element type, by a neighbour's name or ours.
func typeNamed(name string) *lang.Neighbour {
	if d, ok := lang.ParseDType(name); ok {
		return &lang.Neighbour{Place: lang.AsType, Ours: d.String()}
	}
	n := lang.FindNeighbour(name, lang.AsType)
	if n != nil {
		if _, ok := lang.ParseDType(n.Ours); !ok {
			return nil
		}
	}
	return n
}

// foreignWord answers a word that begins a statement, a declaration or a function elsewhere.
func (g *grammar) foreignWord(prev, t *lexer.Token, want string) *lang.Fix {
	word := prev
	switch {
	case want == wantDecl && t.Type == kindIdent && slips[slip{want, t.Value}] == "":
		word = t
	case prev.Type != kindIdent:
		return nil
	case want != wantEnd && !strings.HasPrefix(want, "`,`"):
		return nil
	}
	n := lang.FindNeighbour(word.Value, lang.AsStatement)
	if n == nil {
		return nil
	}
	fix := &lang.Fix{Message: n.Help()}
	if g.inTest {
		fix.Message = n.GraphHelp()
	}
	switch word.Value {
	case "return":
		at := g.spanOf(word)
		at.End = t.Pos.Offset
		fix.Edits = []lang.Edit{{At: at}}
	case "var", "mut":
		if want == wantEnd {
			fix.Edits = []lang.Edit{{At: g.spanOf(word), New: "let"}}
		}
	}
	return fix
}

// inOutputs reports the name of an element type where that of an output belongs: behind `->`, or in its brackets.
func (g *grammar) inOutputs(name *lexer.Token) bool {
	if name.Type != kindIdent {
		return false
	}
	t := g.before(name)
	for is(t, ",") || is(t, "(") {
		if is(t, "(") {
			return is(g.before(t), "->")
		}
		for t = g.before(t); t != nil && !is(t, ",") && !is(t, "(") && t.Type != kindNewline; {
			t = g.before(t)
		}
	}
	return is(t, "->")
}

// firstOnLine is the first token on the line of a token.
func (g *grammar) firstOnLine(t *lexer.Token) *lexer.Token {
	for u := g.before(t); u != nil && u.Pos.Line == t.Pos.Line && u.Type != kindNewline; u = g.before(u) {
		t = u
	}
	return t
}

// after is the token behind t; nil when it is the last.
func (g *grammar) after(t *lexer.Token) *lexer.Token {
	i := sort.Search(len(g.list), func(i int) bool { return g.list[i].Pos.Offset > t.Pos.Offset })
	if i == len(g.list) {
		return nil
	}
	return &g.list[i]
}
