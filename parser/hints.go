package parser

import (
	"fmt"
	"sort"

	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// This file knows the slips that people make who come from other languages,
// and what to answer. A hint is found by what was wanted and what was found.

type slip struct{ want, found string }

const (
	wantExpr    = "an expression"
	wantEnd     = "the end of the statement"
	wantBlock   = "a block `{ ... }`"
	wantDeclEnd = "the end of the declaration"
	wantDecl    = "a declaration (import, const, fn, kernel, struct, graph or test)"
)

// slips maps them to what to do.
var slips = map[slip]string{
	{wantBlock, "="}:       "compare with `==`",
	{wantEnd, ":"}:         "there are no type annotations: a type follows from the value; convert with `as f32`",
	{"`=`", ":"}:           "remove the type: it follows from the value; convert with `as f32`",
	{wantExpr, ":"}:        "axes broadcast by name, so an index has no `:`; a slice is written `a..b`",
	{wantExpr, "else"}:     "`else` stands on the line of the `}` or `]` before it",
	{wantExpr, "fn"}:       "declarations stand outside of bodies; a small function is `(a, b) => a + b`",
	{wantExpr, "kernel"}:   "declarations stand outside of bodies",
	{wantExpr, "struct"}:   "declarations stand outside of bodies",
	{wantExpr, "graph"}:    "declarations stand outside of bodies",
	{wantExpr, "import"}:   "imports stand at the top of a file",
	{wantExpr, "const"}:    "write `let v = a`: inside a body a value is bound with `let`",
	{wantExpr, "grid"}:     "`grid` stands between the parameters of a kernel and its `{`",
	{wantExpr, "tune"}:     "`tune` stands between the parameters of a kernel and its `{`",
	{wantDecl, "let"}:      "at the top of a file bind a constant: `const NAME = ...`",
	{wantDecl, "def"}:      "a function is `fn name(x) = ...`, a kernel `kernel name(...) -> ... { ... }`",
	{wantDecl, "func"}:     "a function is `fn name(x) = ...`",
	{wantDecl, "function"}: "a function is `fn name(x) = ...`",
	{wantDecl, "from"}:     "a file is imported as a whole: `import \"std/nn\"`",
	{wantDecl, "class"}:    "named fields are grouped by `struct`",
	{"`:`", ">"}:           "say what it stands for: `T: float`, or `const C: int`",
	{"`:`", ","}:           "every field and parameter has a type: `name: T[N]`",
	{"`=`", "=>"}:          "a function is `fn name(x) = ...`; `=>` is for lambdas",
	{"`,` or `)`", ":"}:    "an argument is named with `=`",
	{"`,` or `)`", "*"}:    "there are no pointers: a tensor is `x: f32[N]`",
	{"`,` or `}`", "="}:    "a field has no value of its own: a checkpoint or the caller gives it",
	{"`{`", "["}:           "choices stand in braces: `tune B in {64, 128}`",
	{wantEnd, "="}:         "compare with `==`; a name is bound with `let`",
	{wantEnd, "if"}:        "choose with `if c { a } else { b }`, or by element with `where(c, a, b)`",
	{wantExpr, "axis"}:     "a reduction names its axes with `over`: `sum(x, over j)`",
	{wantBlock, "step"}:    "the extent of an axis stands after `by`",
	{wantDeclEnd, "as"}:    "the names of an imported file are used as they are",
}

// spellings are what to write in place of such a character.
var spellings = map[string]string{"#": "//", "“": "\"", "”": "\"", "×": "*", "·": "*", "≤": "<=", "≥": ">=", "≠": "!="}

// instead are the words that have one of ours in their place where a declaration or a statement begins.
var instead = map[string]string{"let": "const", "def": "fn", "func": "fn", "function": "fn", "class": "struct", "const": "let"}

// hint says what to do about a token that stands behind prev where something
// else was wanted; nil when there is no one answer.
func (g *grammar) hint(prev, t *lexer.Token, want string) *lang.Fix {
	if is(t, "else") && want == wantEnd && prev != nil && !is(prev, "}") {
		return &lang.Fix{Message: "`else` stands right behind the access whose missing elements it gives, as in `(x[i] else 0) as f32`"}
	}
	if fix := g.foreign(prev, t, want); fix != nil {
		return fix
	}
	if prev != nil && prev.Type == kindIdent && want == wantEnd {
		if first := g.before(prev); first != nil && (first.Type == kindNewline || is(first, "{")) {
			if fix := g.meant(prev, "let", "axis", "for", "if", "check"); fix != nil {
				return fix
			}
		}
	}
	if t.Type == kindIdent && want == wantDecl {
		if fix := g.meant(t, "import", "const", "fn", "kernel", "struct", "graph", "test"); fix != nil {
			return fix
		}
	}
	if h := g.hintBehind(prev, t, want); h != "" {
		return &lang.Fix{Message: h}
	}
	_, binary := binaryLevel[t.Value]
	binary = binary && t.Type != kindString || is(t, ".") || is(t, "**")
	switch {
	case prev == nil:
	case prev.Type == kindNewline && binary:
		return &lang.Fix{Message: fmt.Sprintf("an expression goes on in the next line only behind an operator: end the line above with `%s`", t.Value)}
	}
	h, ok := slips[slip{want, t.Value}]
	if !ok || t.Type == kindString {
		return nil
	}
	fix := &lang.Fix{Message: h}
	switch {
	case want == "`=`" && t.Value == ":":
		fix.Edits = g.untilEquals(t)
	case want == wantBlock && t.Value == "=":
		fix.Edits = []lang.Edit{{At: g.spanOf(t), New: "=="}}
	case want == wantDecl && instead[t.Value] != "", want == wantExpr && t.Value == "const":
		fix.Edits = []lang.Edit{{At: g.spanOf(t), New: instead[t.Value]}}
	}
	return fix
}

// hintBehind answers slips that show in what stands before them.
func (g *grammar) hintBehind(prev, t *lexer.Token, want string) string {
	if prev == nil {
		return ""
	}
	_, afterType := lang.ParseDType(prev.Value)
	switch {
	case want == wantEnd && is(t, "[") && afterType:
		return fmt.Sprintf("a conversion names the element type alone: `as %s`", prev.Value)
	case want == wantEnd && is(prev, ")"):
		if d := g.before(prev); d != nil && is(g.before(d), "(") {
			if _, cast := lang.ParseDType(d.Value); cast {
				return fmt.Sprintf("a conversion stands behind the value: `%s as %s`", t.Value, d.Value)
			}
		}
	case want == "a string" && t.Type == kindIdent && is(prev, "test"):
		return fmt.Sprintf("the name of a test is a text: `test \"%s\"`", t.Value)
	case want == "a string" && t.Type == kindIdent && is(prev, "import"):
		return "a path is a text: `import \"std/nn\"`"
	case want == "a name to tune" && is(prev, ",") && t.Type == kindInt:
		return "several choices stand in braces: `tune B in {64, 128}`"
	case want == "`:`" && is(t, ",") && g.inGenerics(t):
		return slips[slip{want, ">"}]
	}
	return ""
}

// inGenerics reports whether the bracket that t stands in is a `<`.
func (g *grammar) inGenerics(t *lexer.Token) bool {
	for u := g.before(t); u != nil && u.Type != kindNewline; u = g.before(u) {
		switch {
		case is(u, "<"):
			return true
		case is(u, "("), is(u, "{"), is(u, ")"):
			return false
		}
	}
	return false
}

// untilEquals leaves out what stands between a token and the next `=` of its line.
func (g *grammar) untilEquals(t *lexer.Token) []lang.Edit {
	from := t.Pos.Offset
	behind := sort.Search(len(g.list), func(i int) bool { return g.list[i].Pos.Offset > from })
	for i := behind; i < len(g.list); i++ {
		u := &g.list[i]
		switch {
		case u.Type == kindNewline:
			return nil
		case is(u, "="):
			return []lang.Edit{{At: g.span(from, u.Pos.Offset), New: " "}}
		}
	}
	return nil
}

// meant proposes the word that a misspelled one is nearest to; nil when none is near.
func (g *grammar) meant(t *lexer.Token, among ...string) *lang.Fix {
	word := lang.Nearest(t.Value, among)
	if word == "" {
		return nil
	}
	return &lang.Fix{Message: fmt.Sprintf("did you mean `%s`?", word), Edits: []lang.Edit{{At: g.spanOf(t), New: word}}}
}
