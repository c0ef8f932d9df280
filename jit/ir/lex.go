package ir

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type tokKind uint8

const (
	tokEnd    tokKind = iota
	tokWord           // kernel
	tokNumber         // 12, -1.5e-05, -inf
	tokString         // "a name"
	tokValue          // %12
	tokTensor         // %x
	tokPunct          // { } [ ] ( ) , : ; = @ ? % + * | ..
)

type token struct {
	kind tokKind
	// text is the token without its %, and of a string what it stands for.
	text      string
	line, col int
}

// String is the token as messages show it.
func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "end of text"
	case tokValue, tokTensor:
		return "%" + t.text
	case tokString:
		return strconv.Quote(t.text)
	}
	return t.text
}

// syntaxError is a parse error; it travels by panic inside this package only.
type syntaxError struct {
	file      string
	line, col int
	msg       string
}

// Error is file:line:column and what is wrong there.
func (e syntaxError) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.file, e.line, e.col, e.msg) }

// lexer cuts the text form into tokens, one ahead. Line ends have no meaning.
type lexer struct {
	file, text string
	pos        int
	line, col  int
	tok        token
	// pending is a constant's literal, which waits for its type.
	pending token
}

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (l *lexer) fail(format string, args ...any) { l.failAt(l.tok, format, args...) }

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (l *lexer) failAt(t token, format string, args ...any) {
	panic(syntaxError{l.file, t.line, t.col, fmt.Sprintf(format, args...)})
}

func (l *lexer) advance(n int) string {
	s := l.text[l.pos : l.pos+n]
	for i := range n {
		if s[i] == '\n' {
			l.line++
			l.col = 1
		} else {
			l.col++
		}
	}
	l.pos += n
	return s
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.advance(n)
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			l.advance(1)
		default:
			return
		}
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c == '_' || c == '.' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// span is how many bytes at the start of s make a word or a number. The sign
// of an exponent belongs to a number; `..` ends it.
func span(s string, isNumber bool) int {
	n := 0
	for n < len(s) {
		c := s[n]
		exponentSign := isNumber && n > 0 && (c == '+' || c == '-') && strings.IndexByte("eEpP", s[n-1]) >= 0
		if strings.HasPrefix(s[n:], "..") || !isWord(c) && !exponentSign {
			break
		}
		n++
	}
	return n
}

func (l *lexer) next() {
	l.skipSpace()
	t := token{line: l.line, col: l.col}
	defer func() { l.tok = t }()
	if l.pos == len(l.text) {
		return
	}
	rest := l.text[l.pos:]
	c := rest[0]
	switch {
	case c == '%' && len(rest) > 1 && isDigit(rest[1]):
		l.advance(1)
		t.kind, t.text = tokValue, l.advance(span(l.text[l.pos:], false))
	case c == '%' && len(rest) > 1 && isWord(rest[1]):
		l.advance(1)
		t.kind, t.text = tokTensor, l.advance(span(l.text[l.pos:], false))
	case c == '%' && len(rest) > 1 && rest[1] == '"':
		l.advance(1)
		t.kind, t.text = tokTensor, l.str(t)
	case c == '"':
		t.kind, t.text = tokString, l.str(t)
	case strings.HasPrefix(rest, ".."):
		t.kind, t.text = tokPunct, l.advance(2)
	case c == '-':
		t.kind, t.text = tokNumber, l.advance(1+span(rest[1:], true))
	case isDigit(c):
		t.kind, t.text = tokNumber, l.advance(span(rest, true))
	case isWord(c):
		t.kind, t.text = tokWord, l.advance(span(rest, false))
	case strings.IndexByte("{}[](),:;=@?%+*|", c) >= 0:
		t.kind, t.text = tokPunct, l.advance(1)
	default:
		l.failAt(t, "unexpected character %q", []rune(rest)[0])
	}
}

func (l *lexer) str(at token) string {
	quoted, err := strconv.QuotedPrefix(l.text[l.pos:])
	if err != nil || quoted[0] != '"' {
		l.failAt(at, "string does not end")
	}
	s, err := strconv.Unquote(l.advance(len(quoted)))
	if err != nil {
		l.failAt(at, "bad string: %v", err)
	}
	return s
}

func (l *lexer) is(punct string) bool { return l.tok.kind == tokPunct && l.tok.text == punct }

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (l *lexer) accept(punct string) bool {
	if l.is(punct) {
		l.next()
		return true
	}
	return false
}

func (l *lexer) punct(s string) {
	if !l.accept(s) {
		l.fail("%s where %s belongs", l.tok, s)
	}
}

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (l *lexer) isWord(w string) bool { return l.tok.kind == tokWord && l.tok.text == w }

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (l *lexer) acceptWord(w string) bool {
	if l.isWord(w) {
		l.next()
		return true
	}
	return false
}

func (l *lexer) word(w string) {
	if !l.acceptWord(w) {
		l.fail("%s where %s belongs", l.tok, w)
	}
}

// name reads a word, a plain number or a quoted string.
func (l *lexer) name() string {
	ok := l.tok.kind == tokWord || l.tok.kind == tokString || l.tok.kind == tokNumber && number.MatchString(l.tok.text)
	if !ok {
		l.fail("%s where a name belongs", l.tok)
	}
	s := l.tok.text
	l.next()
	return s
}

func (l *lexer) tensorName() string {
	if l.tok.kind != tokTensor {
		l.fail("%s where a tensor (%%x) belongs", l.tok)
	}
	s := l.tok.text
	l.next()
	return s
}

func (l *lexer) valueID() int {
	if l.tok.kind != tokValue {
		l.fail("%s where a value (%%1) belongs", l.tok)
	}
	id, err := strconv.ParseInt(l.tok.text, 10, 32)
	if err != nil || strconv.FormatInt(id, 10) != l.tok.text {
		l.fail("%s is not a value's number", l.tok)
	}
	l.next()
	return int(id)
}

func (l *lexer) integer() int64 {
	n, err := strconv.ParseInt(l.tok.text, 10, 64)
	if l.tok.kind != tokNumber || err != nil {
		l.fail("%s where an integer belongs", l.tok)
	}
	l.next()
	return n
}

// size reads an integer of at least 0.
func (l *lexer) size() int64 {
	at := l.tok
	n := l.integer()
	if n < 0 {
		l.failAt(at, "%d where a size belongs", n)
	}
	return n
}

func (l *lexer) positive() int64 {
	at := l.tok
	n := l.integer()
	if n < 1 {
		l.failAt(at, "%d where a positive number belongs", n)
	}
	return n
}

// items reads a comma-separated list up to the closing punctuation.
func (l *lexer) items(end string, item func()) {
	for !l.accept(end) {
		item()
		if !l.is(end) {
			l.punct(",")
		}
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
