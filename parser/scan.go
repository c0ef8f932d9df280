package parser

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// scanner cuts a text into tokens. It is written by hand because two rules of
// the language need to see beyond one token: `//` is a comment or a floor
// division by what stands around it, and a newline may end a statement.
type scanner struct {
	src    *lang.Source
	text   string
	pos    int
	line   int
	bol    int // offset at which the line begins
	tokens []lexer.Token
	// docs has the `///` text above the token at an offset.
	docs    map[int]string
	doc     []string
	docLine int // line of the last line of doc
	// inline counts the ( and [ that were opened on this line.
	inline int
	// closers has, for the rest of this line behind each of its bytes, how many ) and ] close what stands before it.
	closers []int32
	diags   lang.Diagnostics
	// comments are the comments, which are no tokens, for the formatter.
	comments []lexer.Token
	doubts   []doubtful
}

// scan cuts a source into tokens, without newlines, ended by an EOF token.
func scan(src *lang.Source) *scanner { return scanFrom(src, 1) }

// scanFrom is scan of a source whose first line has a number.
func scanFrom(src *lang.Source, line int) *scanner {
	s := &scanner{src: src, text: src.Text, line: line, docs: map[int]string{}}
	s.tokens = make([]lexer.Token, 0, len(s.text)/4+1)
	if i := invalidUTF8(s.text); i >= 0 {
		s.report(lang.ErrEncoding, i, i+1, fmt.Sprintf("byte 0x%02x at offset %d is not UTF-8", s.text[i], i)).
			Notes = []string{"a .tile file is UTF-8 text; is this one binary, or saved in another encoding?"}
		s.pos = len(s.text)
	}
	s.pos += len(s.text[s.pos:]) - len(strings.TrimPrefix(s.text[s.pos:], "\ufeff"))
	for s.pos < len(s.text) {
		s.next()
	}
	s.tokens = append(s.tokens, lexer.EOFToken(s.position(len(s.text))))
	return s
}

func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}

func (s *scanner) position(offset int) lexer.Position {
	return lexer.Position{Offset: offset, Line: s.line, Column: offset - s.bol + 1}
}

func (s *scanner) report(code lang.Code, start, end int, message string) *lang.Diagnostic {
	d := &lang.Diagnostic{Code: code, At: lang.Span{Source: s.src, Start: start, End: end}, Message: message}
	s.diags = append(s.diags, d)
	return d
}

func (s *scanner) next() {
	switch c := s.text[s.pos]; {
	case c == '\n':
		s.pos++
		s.line++
		s.bol = s.pos
		s.inline, s.closers = 0, nil
	case c == ' ' || c == '\t' || c == '\r':
		s.pos++
	case strings.HasPrefix(s.text[s.pos:], "/*"):
		s.blockComment()
	case strings.HasPrefix(s.text[s.pos:], "//") && !s.divides():
		s.comment()
	case c == '"':
		s.str()
	case c >= '0' && c <= '9':
		s.number()
	case c == '.' && s.pointFirst():
		s.fraction()
	default:
		s.word()
	}
}

// emit adds the token from the current position to end.
func (s *scanner) emit(kind lexer.TokenType, end int) {
	if s.doc != nil {
		if s.line == s.docLine+1 {
			s.docs[s.pos] = strings.Join(s.doc, "\n")
		}
		s.doc = nil
	}
	s.tokens = append(s.tokens, lexer.Token{Type: kind, Value: s.text[s.pos:end], Pos: s.position(s.pos)})
	s.pos = end
}

// restOfLine is the text from an offset to the end of its line.
func (s *scanner) restOfLine(from int) string {
	rest := s.text[from:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return strings.TrimSuffix(rest, "\r")
}

// divides decides what the `//` at the current position is. It is a floor
// division behind an operand when it touches an operand on both sides (`a//b`),
// or when it stands in round or square brackets that begin before it and end
// behind it on this line (`x[i // 2]`). Everywhere else it begins a comment.
func (s *scanner) divides() bool {
	if len(s.tokens) == 0 {
		return false
	}
	prev := &s.tokens[len(s.tokens)-1]
	rest := s.restOfLine(s.pos + 2)
	if prev.Pos.Line != s.line || !canEnd(prev) || rest == "" || rest[0] == '/' {
		return false
	}
	if endOf(prev) == s.pos && rest[0] != ' ' && rest[0] != '\t' {
		return true
	}
	return s.inline > 0 && s.closedBehind(s.pos+2)
}

// closedBehind reports whether a bracket that is open before an offset is closed behind it on this line. A line is looked
// through once, however many divisions it has.
func (s *scanner) closedBehind(offset int) bool {
	if s.closers == nil {
		line := s.restOfLine(s.bol)
		s.closers = make([]int32, len(line)+1)
		for i := len(line) - 1; i >= 0; i-- {
			n := s.closers[i+1]
			switch line[i] {
			case '(', '[':
				n = max(n-1, 0)
			case ')', ']':
				n++
			}
			s.closers[i] = n
		}
	}
	return s.closers[offset-s.bol] > 0
}

func (s *scanner) comment() {
	line := s.restOfLine(s.pos)
	if strings.HasPrefix(line, "///") && !strings.HasPrefix(line, "////") {
		if s.doc != nil && s.line != s.docLine+1 {
			s.doc = nil
		}
		s.doc = append(s.doc, strings.TrimSpace(line[3:]))
		s.docLine = s.line
	}
	comment := lexer.Token{Value: line, Pos: s.position(s.pos)}
	s.comments = append(s.comments, comment)
	s.doubt(comment)
	s.pos += len(line)
}

func (s *scanner) blockComment() {
	end := len(s.text)
	if i := strings.Index(s.text[s.pos+2:], "*/"); i >= 0 {
		end = s.pos + 2 + i + 2
	}
	s.report(lang.ErrCharacter, s.pos, s.pos+2, "there are no `/* */` comments").
		Fix = &lang.Fix{Message: "begin each line of the comment with `//`"}
	s.line += strings.Count(s.text[s.pos:end], "\n")
	if i := strings.LastIndexByte(s.text[s.pos:end], '\n'); i >= 0 {
		s.bol, s.closers = s.pos+i+1, nil
	}
	s.pos = end
}

func (s *scanner) str() {
	line := s.restOfLine(s.pos)
	end, closed := quotedLen(line)
	at := s.pos
	s.emit(kindString, at+end)
	if !closed {
		fix := &lang.Fix{Message: "close it with `\"`; a line break in a string is `\\n`"}
		if !strings.ContainsAny(line[:end], "()[]{}") { // with brackets in it, it ends nobody knows where
			fix.Edits = []lang.Edit{{At: lang.Span{Source: s.src, Start: at + end, End: at + end}, New: "\""}}
		}
		s.report(lang.ErrString, at, at+end, "this string does not end on its line").Fix = fix
		return
	}
	if _, err := strconv.Unquote(line[:end]); err != nil {
		from, to := badEscape(line[:end])
		s.report(lang.ErrString, at+from, at+to, fmt.Sprintf("`%s` is not an escape", line[from:to])).
			Notes = []string{`the escapes are those of Go: \n \t \r \\ \" \x41 \u00e9 \U0001f600 \101`}
	}
}

// quotedLen is the length of the string that a line begins with.
func quotedLen(line string) (n int, closed bool) {
	for n = 1; n < len(line); n++ {
		switch line[n] {
		case '\\':
			n++
		case '"':
			return n + 1, true
		}
	}
	return len(line), false
}

// closedString reports whether a string token has its end.
func closedString(text string) bool {
	_, closed := quotedLen(text)
	return closed
}

// badEscape finds the first bad escape of a quoted string.
func badEscape(quoted string) (from, to int) {
	rest := quoted[1 : len(quoted)-1]
	for rest != "" {
		_, _, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			from = len(quoted) - 1 - len(rest)
			_, n := utf8.DecodeRuneInString(rest[1:])
			return from, from + 1 + n
		}
		rest = tail
	}
	return 0, len(quoted)
}

func digits(c byte) bool { return c >= '0' && c <= '9' || c == '_' }

func alnum(c byte) bool { return digits(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// number takes everything that looks like one number, then judges it, so that
// a malformed number is one error.
func (s *scanner) number() {
	at := func(i int) byte {
		if i < len(s.text) {
			return s.text[i]
		}
		return 0
	}
	run := func(i int, of func(byte) bool) int {
		for of(at(i)) {
			i++
		}
		return i
	}
	kind, end := kindInt, run(s.pos, digits)
	if prefix := at(s.pos + 1); at(s.pos) == '0' && (prefix|0x20 == 'x' || prefix|0x20 == 'b' || prefix|0x20 == 'o') {
		if end = run(end, alnum); at(end) == '.' && digits(at(end+1)) {
			end = run(end+1, alnum)
		}
	} else {
		if at(end) == '.' && digits(at(end+1)) {
			kind, end = kindFloat, run(end+1, digits)
		}
		if c := at(end); c == 'e' || c == 'E' {
			exp := end + 1
			if at(exp) == '+' || at(exp) == '-' {
				exp++
			}
			if digits(at(exp)) {
				kind, end = kindFloat, run(exp, digits)
			}
		}
		end = run(end, alnum)
	}
	var err error
	start, text := s.pos, s.text[s.pos:end]
	if kind == kindInt {
		_, err = intValue(text)
	} else {
		_, err = floatValue(strings.ReplaceAll(text, "_", ""))
	}
	s.emit(kind, end)
	switch {
	case err != nil:
		s.report(lang.ErrNumber, start, end, err.Error())
	case kind == kindInt && at(end) == '.' && at(end+1) != '.' && !unicode.IsLetter(rune(at(end+1))):
		s.pos++
		s.report(lang.ErrNumber, start, end+1, fmt.Sprintf("`%s.` has no digit after the point", text)).
			Fix = &lang.Fix{Message: fmt.Sprintf("write `%s.0`", text), Edits: []lang.Edit{{At: lang.Span{Source: s.src, Start: end + 1, End: end + 1}, New: "0"}}}
	}
}

// pointFirst reports a number that begins with its point, as in `x * .5`: a point behind an operand is of a field.
func (s *scanner) pointFirst() bool {
	if s.pos+1 >= len(s.text) || s.text[s.pos+1] < '0' || s.text[s.pos+1] > '9' {
		return false
	}
	if len(s.tokens) == 0 {
		return true
	}
	prev := &s.tokens[len(s.tokens)-1]
	return endOf(prev) != s.pos || !canEnd(prev) && !is(prev, ".")
}

// fraction takes a number that begins with its point, which is an error.
func (s *scanner) fraction() {
	start := s.pos
	for s.pos++; s.pos < len(s.text) && (alnum(s.text[s.pos]) || strings.IndexByte("+-", s.text[s.pos]) >= 0 && s.text[s.pos-1]|0x20 == 'e'); {
		s.pos++
	}
	text := s.text[start:s.pos]
	s.pos = start
	s.emit(kindFloat, start+len(text))
	d := s.report(lang.ErrNumber, start, s.pos, fmt.Sprintf("`%s` has no digit before the point", text))
	if _, err := floatValue("0" + strings.ReplaceAll(text, "_", "")); err == nil {
		d.Fix = &lang.Fix{Message: fmt.Sprintf("write `0%s`", text), Edits: []lang.Edit{{At: lang.Span{Source: s.src, Start: start, End: start}, New: "0"}}}
	}
}

// word takes a name, a keyword or an operator; anything else is no token.
func (s *scanner) word() {
	end := s.pos
	for end < len(s.text) {
		if c := s.text[end]; alnum(c) {
			end++
			continue
		} else if c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRuneInString(s.text[end:])
		if !unicode.IsLetter(r) && !(end > s.pos && (unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))) {
			break
		}
		end += n
	}
	if end > s.pos {
		if keywords[s.text[s.pos:end]] {
			s.emit(kindKeyword, end)
		} else {
			s.emit(kindIdent, end)
		}
		return
	}
	if c := s.text[s.pos]; c < utf8.RuneSelf {
		for _, op := range operatorsBy[c] {
			if strings.HasPrefix(s.text[s.pos:], op) {
				s.operator(op)
				return
			}
		}
	}
	s.badCharacters()
}

// respelled are operators of other languages, with ours.
var respelled = map[string]string{"&&": "and", "||": "or", "!": "not"}

func (s *scanner) operator(op string) {
	start := s.pos
	switch op {
	case "(", "[":
		s.inline++
	case ")", "]":
		s.inline = max(s.inline-1, 0)
	case ";":
		s.emit(kindNewline, start+1)
		d := s.report(lang.ErrSyntax, start, start+1, "a statement ends with its line, not with `;`")
		d.Fix = &lang.Fix{Message: "begin a new line"}
		if rest := strings.TrimSpace(s.restOfLine(s.pos)); rest == "" || strings.HasPrefix(rest, "//") {
			d.Fix = &lang.Fix{Message: "remove the `;`", Edits: []lang.Edit{{At: d.At}}}
		}
		return
	}
	s.emit(kindOp, start+len(op))
	if word, ok := respelled[op]; ok {
		t := &s.tokens[len(s.tokens)-1]
		t.Type, t.Value = kindKeyword, word
		d := s.report(lang.ErrSyntax, start, s.pos, fmt.Sprintf("`%s` is spelled `%s`", op, word))
		d.Fix = &lang.Fix{Message: fmt.Sprintf("write `%s`", word), Edits: []lang.Edit{{At: d.At, New: padding(s.text, start-1) + word + padding(s.text, s.pos)}}}
	}
}

// padding is the space that a word needs beside the character at an offset.
func padding(text string, offset int) string {
	if offset >= 0 && offset < len(text) && strings.IndexByte(" \t\r\n", text[offset]) >= 0 {
		return ""
	}
	return " "
}

// badCharacters reports a run of characters that begin no token as one error.
func (s *scanner) badCharacters() {
	start := s.pos
	for s.pos < len(s.text) && s.noToken() {
		_, n := utf8.DecodeRuneInString(s.text[s.pos:])
		s.pos += n
	}
	bad := s.text[start:s.pos]
	d := s.report(lang.ErrCharacter, start, s.pos, fmt.Sprintf("%s cannot stand here", describeCharacters(bad)))
	if n := lang.FindNeighbour(bad, lang.AsSign); n != nil {
		d.Fix = &lang.Fix{Message: n.Help()}
		if instead := spellings[bad]; instead != "" {
			d.Fix.Edits = []lang.Edit{{At: d.At, New: instead}}
		}
	}
	if bad[len(bad)-1] == '#' { // what follows is a comment elsewhere, and no second error
		s.pos += len(s.restOfLine(s.pos))
	}
}

func (s *scanner) noToken() bool {
	r, _ := utf8.DecodeRuneInString(s.text[s.pos:])
	if r >= utf8.RuneSelf {
		return !unicode.IsLetter(r)
	}
	return !alnum(byte(r)) && strings.IndexByte(" \t\r\n\"()[]{}+-*/%&|^~<>=!,:;.@", byte(r)) < 0
}

func describeCharacters(bad string) string {
	if r, n := utf8.DecodeRuneInString(bad); n == len(bad) {
		if unicode.IsPrint(r) {
			return fmt.Sprintf("the character `%s`", bad)
		}
		return fmt.Sprintf("the character %U", r)
	}
	if runes := []rune(bad); len(runes) > 12 {
		bad = string(runes[:12])
	}
	return fmt.Sprintf("the characters %s", strconv.Quote(bad))
}
