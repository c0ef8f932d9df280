package parser

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// syntaxError carries a diagnostic out of the productions.
type syntaxError struct{ diag *lang.Diagnostic }

func (e *syntaxError) Error() string { return e.diag.Message }

func (g *grammar) failAt(code lang.Code, at lang.Span, message, fix string) *syntaxError {
	d := &lang.Diagnostic{Code: code, At: at, Message: message}
	if fix != "" {
		d.Fix = &lang.Fix{Message: fix}
	}
	return &syntaxError{d}
}

func (g *grammar) fail(code lang.Code, t *lexer.Token, message, fix string) *syntaxError {
	return g.failAt(code, g.spanOf(t), message, fix)
}

// report adds the error of the statement or declaration that begins at from,
// unless it is the consequence of an error in the tokens.
func (g *grammar) report(err error, from int) {
	d := g.diagnose(err)
	for _, cause := range g.causes {
		if from <= cause && cause <= d.At.Start {
			return
		}
	}
	g.diags = append(g.diags, d)
}

// diagnose makes a diagnostic of an error of a production or of participle.
func (g *grammar) diagnose(err error) *lang.Diagnostic {
	var ours *syntaxError
	if errors.As(err, &ours) {
		return ours.diag
	}
	var theirs *participle.UnexpectedTokenError
	if errors.As(err, &theirs) {
		return g.unexpected(&theirs.Unexpected, wanted(theirs.Message())).diag
	}
	var other participle.Error
	if errors.As(err, &other) {
		at := other.Position().Offset
		return g.failAt(lang.ErrSyntax, g.span(at, at+1), other.Message(), "").diag
	}
	return g.failAt(lang.ErrSyntax, g.span(0, 0), err.Error(), "").diag
}

// words says in the reader's terms what a production of the grammar is.
var words = map[string]string{
	"<ident>":     "a name",
	"<string>":    "a string",
	"<newline>":   "a new line",
	"Ident":       "a name",
	"Attribute":   "an attribute",
	"Expr":        "an expression",
	"Sum":         "an expression",
	"Body":        "a block `{ ... }`",
	"Otherwise":   "a block `{ ... }` or `if`",
	"Generic":     "a parameter `T: float`",
	"Param":       "a parameter",
	"Outputs":     "an output",
	"Field":       "a field",
	"TypeExpr":    "a type",
	"Tune":        "a name to tune",
	"AxisClause":  "an axis `i in N`",
	"ImportDecl":  "a declaration (import, const, fn, kernel, struct, graph or test)",
	"Declaration": "a declaration (import, const, fn, kernel, struct, graph or test)",
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

// unexpected says that what was wanted where the token stands.
func (g *grammar) unexpected(t *lexer.Token, want string) *syntaxError {
	message := fmt.Sprintf("expected %s, found %s", want, describe(t))
	if want == "" {
		message = "unexpected " + describe(t)
	}
	err := g.fail(lang.ErrSyntax, t, message, "")
	if h, ok := hints[hintKey{want, t.Value}]; ok {
		err.diag.Fix = &lang.Fix{Message: h}
	} else if t.Type == kindKeyword && want == "a name" {
		err.diag.Notes = []string{fmt.Sprintf("`%s` is a word of the language and cannot be a name", t.Value)}
	}
	return err
}

type hintKey struct{ want, found string }

// hints are the slips that are common enough to have an answer of their own.
var hints = map[hintKey]string{
	{"a block `{ ... }`", "="}: "compare with `==`",
	{"`=`", ":"}:               "remove the type: it follows from the value; convert with `as f32`",
}

// afterStatement is the error of a token that stands where a statement should end.
func (g *grammar) afterStatement(t *lexer.Token, _ lang.Stmt) error {
	return g.unexpected(t, "the end of the statement")
}

// foreignStatement recognises statements of other languages.
func (g *grammar) foreignStatement(*lexer.PeekingLexer) error { return nil }
