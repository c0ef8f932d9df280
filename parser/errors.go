package parser

import (
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// syntaxError carries a diagnostic out of the productions.
type syntaxError struct {
	diag *lang.Diagnostic
	// noticed is the offset of the token at which the error came to light; its
	// place may be an earlier one.
	noticed int
}

// Error is the diagnostic's message.
func (e *syntaxError) Error() string { return e.diag.Message }

// tooDeep reports whether an error is about nesting.
func tooDeep(err error) bool {
	var ours *syntaxError
	return errors.As(err, &ours) && ours.diag.Code == lang.ErrNesting
}

func (g *grammar) failAt(code lang.Code, at lang.Span, message, fix string) *syntaxError {
	d := &lang.Diagnostic{Code: code, At: at, Message: message}
	if fix != "" {
		d.Fix = &lang.Fix{Message: fix}
	}
	return &syntaxError{d, at.Start}
}

func (g *grammar) fail(code lang.Code, t *lexer.Token, message, fix string) *syntaxError {
	return g.failAt(code, g.spanOf(t), message, fix)
}

// report adds the error of the statement or declaration that begins at from,
// unless it is the consequence of an error in the tokens.
func (g *grammar) report(err error, from int) {
	e := g.diagnose(err)
	if i := sort.SearchInts(g.causes, from); i < len(g.causes) && g.causes[i] <= e.noticed {
		return
	}
	g.diags = append(g.diags, e.diag)
}

// cutShort looks for the line break at which the broken statement or
// declaration, tokens begun to failed, should have ended: what stands behind it
// begins the next one, in the same column. So `let b = a +` does not take the
// line below into its error. It gives the token behind the break, and the error.
func (g *grammar) cutShort(begun, failed lexer.RawCursor, err error, begins func(i lexer.RawCursor) bool) (next lexer.RawCursor, cut bool, _ error) {
	for i := begun + 1; i <= failed; i++ {
		prev, t := &g.list[i-1], &g.list[i]
		if g.depths[i] != g.depths[begun] || t.Pos.Line == prev.Pos.Line || t.Pos.Column != g.list[begun].Pos.Column ||
			prev.Type == kindNewline || !begins(i) {
			continue
		}
		if i < failed {
			err = g.fail(lang.ErrSyntax, prev, fmt.Sprintf("expected the rest of the statement after `%s`", prev.Value), "")
		}
		return i, true, err
	}
	return failed, false, err
}

// moveTo goes to a token that is not before the current one.
func moveTo(lex *lexer.PeekingLexer, cursor lexer.RawCursor) {
	for lex.RawCursor() < cursor && !lex.Peek().EOF() {
		lex.Next()
	}
}

// diagnose makes a diagnostic of an error of a production or of participle.
func (g *grammar) diagnose(err error) *syntaxError {
	var ours *syntaxError
	if errors.As(err, &ours) {
		return ours
	}
	var theirs *participle.UnexpectedTokenError
	if errors.As(err, &theirs) {
		return g.unexpected(&theirs.Unexpected, wanted(theirs.Message()))
	}
	var other participle.Error
	if errors.As(err, &other) {
		at := other.Position().Offset
		return g.failAt(lang.ErrSyntax, g.span(at, at+1), other.Message(), "")
	}
	return g.failAt(lang.ErrSyntax, g.span(0, 0), err.Error(), "")
}

// words says in the reader's terms what a production of the grammar is.
var words = map[string]string{
	"<ident>":     "a name",
	"<string>":    "a string",
	"<newline>":   "a new line",
	`")"`:         "`,` or `)`",
	`"]"`:         "`,` or `]`",
	`">"`:         "`,` or `>`",
	`"}"`:         "`,` or `}`",
	"Ident":       "a name",
	"Attribute":   "an attribute",
	"Expr":        "an expression",
	"Sum":         "an expression",
	"Body":        wantBlock,
	"Otherwise":   "a block `{ ... }` or `if`",
	"Generic":     "a parameter `T: float`",
	"Param":       "a parameter",
	"Outputs":     "an output",
	"Field":       "a field",
	"TypeExpr":    "a type",
	"Tune":        "a name to tune",
	"AxisClause":  "an axis `i in N`",
	"ImportDecl":  wantDecl,
	"Declaration": wantDecl,
}

var (
	expectation = regexp.MustCompile(`(?s)\(expected (.*)\)$`)
	grammarItem = regexp.MustCompile(`^\s*(?:\((?:\?[=!])?\s*)*("(?:[^"\\]|\\.)*"|<\w+>|\w+)`)
)

// wanted takes from participle's message what it expected first, in the
// reader's terms; "" when it does not say.
func wanted(message string) string {
	m := expectation.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	item := grammarItem.FindStringSubmatch(m[1])
	if item == nil {
		return ""
	}
	if word, ok := words[item[1]]; ok {
		return word
	}
	return "`" + strings.Trim(item[1], `"`) + "`"
}

// describe names a token for the reader.
func describe(t *lexer.Token) string {
	switch {
	case t.EOF():
		return "the end of the file"
	case t.Type == kindNewline:
		return "the end of the line"
	case t.Type == kindKeyword:
		return fmt.Sprintf("the keyword `%s`", t.Value)
	case t.Type == kindString:
		return "a string"
	}
	return fmt.Sprintf("`%s`", t.Value)
}

// unexpected says that what was wanted where the token stands. When a line
// ends too early the place is its last token, not the first of the next line.
func (g *grammar) unexpected(t *lexer.Token, want string) *syntaxError {
	prev := g.before(t)
	if want == "a name" && prev != nil && is(prev, ":") {
		want = "a type"
	}
	message := fmt.Sprintf("expected %s, found %s", want, describe(t))
	if want == "" {
		message = "unexpected " + describe(t)
	}
	place := t
	if prev != nil && prev.Type != kindNewline && !(is(prev, "{") && want == wantExpr) && prev.Pos.Line != t.Pos.Line && want != "" {
		place, message = prev, fmt.Sprintf("expected %s after `%s`", want, prev.Value)
	}
	err := g.fail(lang.ErrSyntax, place, message, "")
	err.noticed = t.Pos.Offset
	if place == prev {
		if n := lang.FindNeighbour(prev.Value+prev.Value, lang.AsSign); n != nil && is(g.before(prev), prev.Value) { // `n--`
			err.diag.Fix = &lang.Fix{Message: n.Help()}
		}
		return err
	}
	if err.diag.Fix = g.hint(prev, t, want); err.diag.Fix == nil && t.Type == kindKeyword && want == "a name" {
		err.diag.Notes = []string{fmt.Sprintf("`%s` is a word of the language and cannot be a name", t.Value)}
	}
	return err
}

// before is the token before t; nil when it is the first.
func (g *grammar) before(t *lexer.Token) *lexer.Token {
	i := sort.Search(len(g.list), func(i int) bool { return g.list[i].Pos.Offset >= t.Pos.Offset })
	for i < len(g.list) && g.list[i].Pos.Offset == t.Pos.Offset && g.list[i].Value != t.Value {
		i++ // a newline stands at the offset of what it ends
	}
	if i == 0 || i > len(g.list) {
		return nil
	}
	return &g.list[i-1]
}
