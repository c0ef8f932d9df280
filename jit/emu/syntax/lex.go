package syntax

import (
	"fmt"
	"strings"
)

// A tokenKind is the class of a token; punctuation is its own character.
type tokenKind byte

const (
	tokenEnd    tokenKind = 0
	tokenName   tokenKind = 'a' // add.s32, %tid.x, .param, $L1
	tokenNumber tokenKind = '1'
	tokenString tokenKind = '"'
)

type token struct {
	kind tokenKind
	text string
	line int
}

// String is the token as messages name it.
func (t token) String() string {
	if t.kind == tokenEnd {
		return "the end of the text"
	}
	return fmt.Sprintf("%q", t.text)
}

// An Error is a module that Parse does not take, with the line of the PTX text.
type Error struct {
	Line    int
	Message string
	// Limit: the text is more than is read, and not wrong.
	Limit bool
}

// Error names the line.
func (e *Error) Error() string { return fmt.Sprintf("ptx line %d: %s", e.Line, e.Message) }

type lexer struct {
	text string
	at   int
	line int
}

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || c == '%'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// next gives the next token. A name goes on over '.' and '::', so that an
// instruction with its modifiers is one token.
func (l *lexer) next() token {
	if !l.skip() {
		return token{0, "", l.line}
	}
	start, c := l.at, l.text[l.at]
	switch {
	case isLetter(c) || c == '.' && l.letterAt(l.at+1):
		l.at++
		for l.at < len(l.text) {
			switch c := l.text[l.at]; {
			case isLetter(c) || isDigit(c):
				l.at++
				continue
			case c == '.' && l.letterAt(l.at+1):
				l.at++
				continue
			case c == ':' && l.at+1 < len(l.text) && l.text[l.at+1] == ':':
				l.at += 2
				continue
			}
			break
		}
		return token{tokenName, l.text[start:l.at], l.line}
	case isDigit(c):
		for l.at < len(l.text) && (isLetter(l.text[l.at]) || isDigit(l.text[l.at]) || l.text[l.at] == '.' || l.exponentSign()) {
			l.at++
		}
		return token{tokenNumber, l.text[start:l.at], l.line}
	case c == '"':
		l.at++
		for l.at < len(l.text) && l.text[l.at] != '"' && l.text[l.at] != '\n' {
			l.at++
		}
		if l.at == len(l.text) || l.text[l.at] != '"' {
			panic(&Error{Line: l.line, Message: "a string does not end"})
		}
		l.at++
		return token{tokenString, l.text[start+1 : l.at-1], l.line}
	}
	l.at++
	return token{tokenKind(c), l.text[start:l.at], l.line}
}

func (l *lexer) letterAt(i int) bool {
	return i < len(l.text) && (isLetter(l.text[i]) || isDigit(l.text[i]))
}

// exponentSign tells whether the sign here belongs to a decimal number: 1e-5.
func (l *lexer) exponentSign() bool {
	if c := l.text[l.at]; c != '-' && c != '+' {
		return false
	}
	before := l.text[l.at-1]
	if before != 'e' && before != 'E' {
		return false
	}
	start := l.at - 1
	for start > 0 && (isDigit(l.text[start-1]) || l.text[start-1] == '.') {
		start--
	}
	// 0x1e-5 is a subtraction: what precedes the e holds a letter.
	return start == 0 || !isLetter(l.text[start-1])
}

// skip passes white space and comments; false at the end.
func (l *lexer) skip() bool {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '\n':
			l.line++
			l.at++
		case c <= ' ':
			l.at++
		case strings.HasPrefix(l.text[l.at:], "//"):
			for l.at < len(l.text) && l.text[l.at] != '\n' {
				l.at++
			}
		case strings.HasPrefix(l.text[l.at:], "/*"):
			end := strings.Index(l.text[l.at:], "*/")
			if end < 0 {
				panic(&Error{Line: l.line, Message: "a comment does not end"})
			}
			l.line += strings.Count(l.text[l.at:l.at+end], "\n")
			l.at += end + 2
		default:
			return true
		}
	}
	return false
}
