package parser

import (
	"fmt"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// parseBody is the production body.
func (g *grammar) parseBody(lex *lexer.PeekingLexer) (body, error) {
	if !is(lex.Peek(), "{") {
		return nil, participle.NextMatch
	}
	return g.block(lex)
}

// parseOtherwise is the production otherwise.
func (g *grammar) parseOtherwise(lex *lexer.PeekingLexer) (otherwise, error) {
	switch t := lex.Peek(); {
	case is(t, "{"):
		return g.block(lex)
	case is(t, "if"):
		return g.ifExpr(lex)
	}
	return nil, participle.NextMatch
}

// block is statements in braces. A broken statement is reported and left out;
// the error of a block is only ever that it is nested too deep.
func (g *grammar) block(lex *lexer.PeekingLexer) (*lang.Block, error) {
	if err := g.enter(lex); err != nil {
		return nil, err
	}
	defer g.leave()
	inside := g.depths[lex.RawCursor()] + 1
	b := &lang.Block{}
	start := lex.Next().Pos.Offset
	for {
		for lex.Peek().Type == kindNewline {
			lex.Next()
		}
		t := lex.Peek()
		if t.EOF() || g.depths[lex.RawCursor()] < inside {
			lex.Next()
			b.At = g.since(start, lex)
			return b, nil
		}
		before := lex.MakeCheckpoint()
		s, err := g.statement(lex)
		if err == nil {
			err = g.endOfStatement(lex)
		}
		switch {
		case err == nil:
			b.Stmts = append(b.Stmts, s)
		case tooDeep(err):
			return nil, err // what is inside would be too deep as well
		default:
			g.recover(lex, before, err)
		}
	}
}

func (g *grammar) endOfStatement(lex *lexer.PeekingLexer) error {
	t := lex.Peek()
	if t.Type == kindNewline || t.EOF() || is(t, "}") {
		return nil
	}
	return g.unexpected(t, "the end of the statement")
}

// recover reports the error of the statement that began at start, and goes to
// the statement behind it.
func (g *grammar) recover(lex *lexer.PeekingLexer, start lexer.Checkpoint, err error) {
	begun := start.RawCursor()
	next, cut, err := g.cutShort(begun, lex.RawCursor(), err, g.beginsStatement)
	g.report(err, g.list[begun].Pos.Offset)
	if cut {
		lex.LoadCheckpoint(start)
		moveTo(lex, next)
		return
	}
	g.skipStatement(lex, begun)
}

// beginsStatement reports whether a token that is first on its line can begin a statement.
func (g *grammar) beginsStatement(i lexer.RawCursor) bool {
	t := &g.list[i]
	return t.Type == kindIdent || is(t, "let") || is(t, "axis") || is(t, "for") || is(t, "if")
}

// skipStatement goes behind the broken statement that began at a cursor: to
// the end of its line, or to a `let` or `axis`, which begin the next one for
// sure. The blocks on the way are parsed, for their errors.
func (g *grammar) skipStatement(lex *lexer.PeekingLexer, begun lexer.RawCursor) {
	level := g.depths[begun]
	for !lex.Peek().EOF() {
		t, depth := lex.Peek(), g.depths[lex.RawCursor()]
		switch {
		case depth < level, depth == level && t.Type == kindNewline:
			return
		case depth == level && lex.RawCursor() > begun && (is(t, "let") || is(t, "axis")):
			return
		case is(t, "{"):
			if _, err := g.block(lex); err == nil {
				continue
			}
		}
		lex.Next()
	}
}

// statement parses one statement.
func (g *grammar) statement(lex *lexer.PeekingLexer) (lang.Stmt, error) {
	t := lex.Peek()
	start := t.Pos.Offset
	switch {
	case is(t, "let"):
		s, err := g.let.ParseFromLexer(lex, allowTrailing)
		if err != nil {
			return nil, err
		}
		return &lang.LetStmt{At: g.since(start, lex), Names: g.lowerIdents(s.Names), Value: s.Value}, nil
	case is(t, "axis"):
		s, err := g.axis.ParseFromLexer(lex, allowTrailing)
		if err != nil {
			return nil, err
		}
		return &lang.AxisStmt{At: g.since(start, lex), Axis: g.lowerAxis(s.Axis)}, nil
	case is(t, "check"):
		if s, err := g.check(lex); s != nil || err != nil {
			return s, err
		}
	case is(t, "inout") && g.list[lex.RawCursor()+1].Type == kindIdent:
		lex.Next()
		name := lex.Next()
		if t := lex.Peek(); !is(t, "=") {
			return nil, g.unexpected(t, "`=`")
		}
		lex.Next()
		v, err := g.expr(lex)
		if err != nil {
			return nil, err
		}
		return &lang.LetStmt{At: g.since(start, lex), InOut: true, Names: []lang.Ident{g.lowerIdent(ident{*name})}, Value: v}, nil
	}
	x, err := g.expr(lex)
	if err != nil {
		return nil, err
	}
	if !is(lex.Peek(), "=") {
		return &lang.ExprStmt{At: g.since(start, lex), X: x}, nil
	}
	switch x.(type) {
	case *lang.IndexExpr, *lang.NameExpr:
	case *lang.TupleExpr:
		return nil, g.needsLet(x)
	default:
		return nil, g.failAt(lang.ErrSyntax, x.Span(), "only an element `y[i, j]` or an output can be assigned", "bind a value with `let name = ...`")
	}
	lex.Next()
	v, err := g.expr(lex)
	if err != nil {
		return nil, err
	}
	s := &lang.AssignStmt{At: g.since(start, lex), Target: x, Value: v}
	if _, ok := x.(*lang.NameExpr); ok {
		g.bindings = append(g.bindings, s)
	}
	return s, nil
}

// check is `check e` or `check e, "message"`, which is the call `check(e, ...)`
// without its brackets. It gives nil when this is not that.
func (g *grammar) check(lex *lexer.PeekingLexer) (lang.Stmt, error) {
	before := lex.MakeCheckpoint()
	word := lex.Next()
	if t := lex.Peek(); !beginsExpr(t) || !g.inTest && (is(t, "(") || is(t, "[") || is(t, "-")) {
		lex.LoadCheckpoint(before)
		return nil, nil
	}
	at := g.spanOf(word)
	list := &argumentList{}
	for {
		if err := g.argument(lex, list); err != nil {
			return nil, err
		}
		if !is(lex.Peek(), ",") {
			break
		}
		lex.Next()
	}
	call := &lang.CallExpr{At: g.since(at.Start, lex), Fn: &lang.NameExpr{At: lang.At{Place: at}, Name: word.Value}, Args: list.args, Over: list.over}
	return &lang.ExprStmt{At: call.At, X: call}, nil
}

// checkBindings reports the names that a declaration assigns without having
// them as outputs: a value is bound by `let`.
func (g *grammar) checkBindings(outputs ...*lang.Param) {
	for _, s := range g.bindings {
		name := s.Target.(*lang.NameExpr)
		known := false
		for _, p := range outputs {
			known = known || p.Name.Name == name.Name
		}
		if !known {
			g.report(g.needsLet(name), s.Place.Start)
		}
	}
}

func (g *grammar) needsLet(target lang.Expr) error {
	at := target.Span()
	err := g.failAt(lang.ErrSyntax, at, fmt.Sprintf("`%s` is not an output, so it cannot be assigned", at.Text()), "bind a value with `let`")
	err.diag.Notes = []string{"a name is bound once and never changes"}
	if _, several := target.(*lang.TupleExpr); several {
		err.diag.Notes = []string{"outputs are assigned one by one"}
		err.diag.Fix.Message = "bind the values with `let`"
	}
	err.diag.Fix.Edits = []lang.Edit{{At: lang.Span{Source: at.Source, Start: at.Start, End: at.Start}, New: "let "}}
	return err
}
