// Package parser makes the syntax tree of a text. It reports every error of a
// text that is not the consequence of another: it goes on with the next
// statement inside a block, and with the next declaration outside.
//
// The stages: scan cuts the text into tokens, balance repairs brackets, layout
// adds the newlines that end statements, and the grammar makes the tree.
package parser

import (
	"sort"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// Parse makes the syntax tree of a source. The tree is never nil; with
// diagnostics it lacks what could not be parsed.
func Parse(src *lang.Source) (*lang.Module, lang.Diagnostics) {
	mod, ds, _ := parseAt(src, 1)
	return mod, ds
}

// parseAt makes the syntax tree of a source, whose first line messages call by a number. It also tells what the tree lacks.
func parseAt(src *lang.Source, line int) (*lang.Module, lang.Diagnostics, []loss) {
	g := grammars.Get().(*grammar)
	defer func() {
		g.parse = parse{}
		grammars.Put(g)
	}()
	mod, ds := g.module(src, line)
	for _, l := range g.losses {
		mod.Lost = append(mod.Lost, l.names...)
		mod.Partial = mod.Partial || len(l.names) == 0
	}
	return mod, ds, g.losses
}

// parse is the state of one parse.
type parse struct {
	src  *lang.Source
	docs map[int]string
	tokens
	// depth is how deep the expression being parsed is nested.
	depth int
	// diags is all errors; causes is the places of those that break the tokens behind them, in order.
	diags  lang.Diagnostics
	causes []int
	// inTest: the declaration being parsed is a test, where `check` begins a statement.
	inTest bool
	// lost is where the declarations begin that could not be parsed.
	lost []int
	// losses are what the tree lacks, in the order of the text.
	losses []loss
	// bindings are the assignments to a plain name in the declaration being parsed.
	bindings []*lang.AssignStmt
}

type tokens struct {
	list   []lexer.Token
	depths []int32
}

// loss is a declaration or an import that could not be parsed.
type loss struct {
	offset int
	// names are those that it may have had; none where nobody knows.
	names []string
}

func tokenize(src *lang.Source, line int) (tokens, *scanner, lang.Diagnostics) {
	s := scanFrom(src, line)
	balanced, diags := balanceBrackets(src, s.tokens)
	list, depths := layout(balanced)
	return tokens{list, depths}, s, append(s.diags, diags...)
}

var allowTrailing = participle.AllowTrailing(true)

func (g *grammar) module(src *lang.Source, line int) (*lang.Module, lang.Diagnostics) {
	toks, scanned, diags := tokenize(src, line)
	g.parse = parse{src: src, docs: scanned.docs, tokens: toks, diags: diags}
	for _, d := range diags {
		if breaksTokens(d) {
			g.causes = append(g.causes, d.At.Start)
		}
	}
	sort.Ints(g.causes)
	mod := &lang.Module{Source: src}
	lex, err := lexer.Upgrade(&tokenList{toks.list})
	if err != nil {
		panic(err) // a tokenList gives no error
	}
	for {
		for lex.Peek().Type == kindNewline {
			lex.Next()
		}
		if lex.Peek().EOF() {
			g.quotients(mod, scanned.doubts)
			ds := merge(g.diags.Sort())
			markDamage(mod, ds, g.lost)
			return mod, g.causesOnly(ds)
		}
		g.declaration(lex, mod)
	}
}

// merge makes one error of those that say the same of neighbouring text, such
// as each bracket of a `(((` that is never closed.
func merge(ds lang.Diagnostics) lang.Diagnostics {
	var out lang.Diagnostics
	for _, d := range ds {
		if len(out) > 0 {
			last := out[len(out)-1]
			if last.Code == d.Code && last.Message == d.Message && last.At.End == d.At.Start && last.At.Start < d.At.Start {
				last.At.End = d.At.End
				if last.Fix != nil && d.Fix != nil {
					last.Fix.Edits = append(last.Fix.Edits, d.Fix.Edits...)
				}
				continue
			}
		}
		out = append(out, d)
	}
	return out
}

// breaksTokens reports whether an error in the tokens can make the text behind
// it look wrong to the grammar.
func breaksTokens(d *lang.Diagnostic) bool {
	switch d.Code {
	case lang.ErrUnbalanced:
		if len(d.Labels) > 0 && d.Labels[0].At.Text() == "{" {
			return false
		}
		return d.At.Text() != "{"
	case lang.ErrNumber:
		return false
	}
	return true
}

// declaration parses one declaration into the module, or reports why it cannot
// and goes on to the next one.
func (g *grammar) declaration(lex *lexer.PeekingLexer, mod *lang.Module) {
	start := lex.MakeCheckpoint()
	from := lex.Peek().Pos.Offset
	g.bindings = nil
	g.inTest = g.begins(start.RawCursor(), "test")
	d, err := g.decl.ParseFromLexer(lex, allowTrailing)
	if err == nil {
		g.lower(d, mod)
		if t := lex.Peek(); t.EOF() || t.Type == kindNewline {
			return
		}
		err = g.unexpected(lex.Peek(), wantDeclEnd)
		if d.Import == nil {
			mod.Decls[len(mod.Decls)-1].(damaged).MarkDamage(lang.DamagedHeader)
		}
	} else {
		g.lose(start.RawCursor())
	}
	failed := lex.RawCursor()
	next, cut, err := g.cutShort(start.RawCursor(), failed, err, g.beginsDeclaration)
	g.report(err, from)
	lex.LoadCheckpoint(start)
	if cut {
		moveTo(lex, next)
		return
	}
	g.skipDeclaration(lex, failed)
}

// begins reports whether the declaration at i, behind its attributes, begins with a word.
func (g *grammar) begins(i lexer.RawCursor, word string) bool {
	for ; !g.list[i].EOF(); i++ {
		if t := &g.list[i]; beginsDecl(t, &g.list[i+1]) {
			return t.Value == word
		}
	}
	return false
}

// skipDeclaration goes to the declaration behind the broken one that begins
// here. When its header is what broke, at the token failed, the body is parsed
// all the same, for its errors.
func (g *grammar) skipDeclaration(lex *lexer.PeekingLexer, failed lexer.RawCursor) {
	begun := lex.RawCursor()
	for !lex.Peek().EOF() {
		i := lex.RawCursor()
		t := lex.Peek()
		if i > begun && i >= failed && g.depths[i] == 0 {
			prev := &g.list[i-1]
			switch {
			case prev.Pos.Line != t.Pos.Line && g.beginsDeclaration(i):
				return
			case failed > begun && t.Pos.Column == 1 && (prev.Type == kindNewline || t.Type == kindIdent && prev.Pos.Line != t.Pos.Line):
				return // whatever it is, it is not part of the broken one
			case is(t, "{") && !is(prev, "in") && !g.begins(begun, "struct"): // whose fields are no statements
				if _, err := g.block(lex); err == nil {
					continue
				}
			}
		}
		lex.Next()
	}
}

// beginsDeclaration reports whether a token that is first on its line begins a
// declaration, with its attributes.
func (g *grammar) beginsDeclaration(i lexer.RawCursor) bool {
	t := &g.list[i]
	return is(t, "@") || !t.EOF() && beginsDecl(t, &g.list[i+1])
}
