package parser

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// The kinds of token. Docs and comments are no tokens: see scan.
const (
	kindIdent lexer.TokenType = -(iota + 2) // -1 is lexer.EOF
	kindKeyword
	kindInt
	kindFloat
	kindString
	kindOp
	kindNewline
)

// symbols names the kinds for the grammar's struct tags.
var symbols = map[string]lexer.TokenType{
	"EOF":     lexer.EOF,
	"Ident":   kindIdent,
	"Keyword": kindKeyword,
	"Int":     kindInt,
	"Float":   kindFloat,
	"String":  kindString,
	"Op":      kindOp,
	"Newline": kindNewline,
}

// keywords may not be names. `test`, `check`, `out` and `inout` are words with
// a meaning in one place only, and may be names everywhere else.
var keywords = set("import const fn kernel struct graph axis for in by with over let if else as and or not true false tune grid")

// declKeywords begin a declaration; `const` can also stand between `<` and `>`.
var declKeywords = set("import const fn kernel struct graph")

// operators, the longer spellings before their own beginnings.
var operators = strings.Fields(`
	-> => == != <= >= << >> ** // .. && ||
	+ - * / % & | ^ ~ < > = ( ) [ ] { } , : . @ ! ;`)

// operatorsBy finds the operators by their first byte.
var operatorsBy = func() (by [128][]string) {
	for _, op := range operators {
		by[op[0]] = append(by[op[0]], op)
	}
	return by
}()

var closerOf = map[string]string{"(": ")", "[": "]", "{": "}"}
var openerOf = map[string]string{")": "(", "]": "[", "}": "{"}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// endOf is the offset just behind a token.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func endOf(t *lexer.Token) int {
	if t.Type == kindNewline {
		return t.Pos.Offset
	}
	return t.Pos.Offset + len(t.Value)
}

// canEnd reports whether an operand, and so a statement, can end with the token.
func canEnd(t *lexer.Token) bool {
	switch t.Type {
	case kindIdent, kindInt, kindFloat, kindString:
		return true
	case kindKeyword:
		return t.Value == "true" || t.Value == "false"
	case kindOp:
		return openerOf[t.Value] != ""
	}
	return false
}

// is reports whether the token is this operator or word; no token is none.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func is(t *lexer.Token, text string) bool {
	return t != nil && t.Value == text && (t.Type == kindOp || t.Type == kindKeyword || t.Type == kindIdent)
}

// beginsDecl reports whether a token that is first on its line begins a
// declaration. next is the token behind it.
func beginsDecl(t, next *lexer.Token) bool {
	return t.Type == kindKeyword && declKeywords[t.Value] ||
		is(t, "test") && next.Type == kindString
}

// intValue reads an integer literal; the error says what is wrong with it.
func intValue(text string) (uint64, error) {
	if len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9' {
		return 0, errors.New("an integer does not begin with 0")
	}
	v, err := strconv.ParseUint(text, 0, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("the integer %s needs more than 64 bits", text)
	}
	if err != nil {
		return 0, fmt.Errorf("`%s` is not a number", text)
	}
	return v, nil
}

// floatValue reads a float literal; the error says what is wrong with it.
func floatValue(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("the float %s is outside the range of f64", text)
	}
	if err != nil {
		return 0, fmt.Errorf("`%s` is not a number", text)
	}
	return v, nil
}
