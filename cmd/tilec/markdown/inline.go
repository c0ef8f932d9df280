package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file makes HTML of the text in a block.

// escaper writes what HTML has other meanings for.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// Escape is a text in HTML.
func Escape(text string) string { return escaper.Replace(text) }

// piece is a part of a text: HTML, or signs that may begin or end emphasis.
type piece struct {
	html string
	// sign is '*' or '_' where count signs may still be emphasis, and size how many there were.
	sign        byte
	count, size int
	// opens and closes say what they may do.
	opens, closes bool
}

// inline is the HTML of a text.
func (r *renderer) inline(text string) string { return r.within(text, 0) }

func (r *renderer) within(text string, depth int) string {
	var pieces []piece
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			pieces = append(pieces, piece{html: Escape(plain.String())})
			plain.Reset()
		}
	}
	raw := func(html string) {
		flush()
		pieces = append(pieces, piece{html: html})
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			raw("<br>\n")
			i += 2
		case c == '\\' && i+1 < len(text) && punctuation(text[i+1]):
			plain.WriteByte(text[i+1])
			i += 2
		case c == '`':
			n := run(text, i)
			if end := codeEnd(text, i+n, n); end >= 0 {
				raw("<code>" + Escape(codeText(text[i+n:end])) + "</code>")
				i = end + n
			} else {
				plain.WriteString(text[i : i+n])
				i += n
			}
		case c == '*' || c == '_':
			n := run(text, i)
			flush()
			pieces = append(pieces, signs(text, i, n))
			i += n
		case c == '[' || c == '!' && strings.HasPrefix(text[i:], "!["):
			if html, n := r.linked(text[i:], depth); n > 0 {
				raw(html)
				i += n
			} else {
				plain.WriteByte(c)
				i++
			}
		case c == '<' || strings.HasPrefix(text[i:], "http") && (i == 0 || !word(text[i-1])):
			if html, n := r.bare(text[i:]); n > 0 {
				raw(html)
				i += n
			} else {
				plain.WriteByte(c)
				i++
			}
		case c == '&':
			sign, n := entity(text[i:])
			plain.WriteString(sign)
			i += n
		case c == '\n':
			line := plain.String()
			kept := strings.TrimRight(line, " ")
			plain.Reset()
			plain.WriteString(kept)
			if len(line)-len(kept) > 1 {
				raw("<br>")
			}
			plain.WriteByte('\n')
			i++
		default:
			plain.WriteByte(c)
			i++
		}
	}
	flush()
	return emphasise(pieces)
}

// run is how many of one sign follow each other.
func run(text string, i int) int {
	n := 1
	for i+n < len(text) && text[i+n] == text[i] {
		n++
	}
	return n
}

func punctuation(c byte) bool {
	return strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) >= 0
}

func word(c byte) bool {
	return c >= utf8.RuneSelf || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// codeEnd is where n signs end the code that begins at i; -1 where nothing does.
func codeEnd(text string, i, n int) int {
	for i < len(text) {
		if text[i] != '`' {
			i++
			continue
		}
		m := run(text, i)
		if m == n {
			return i
		}
		i += m
	}
	return -1
}

// codeText is what stands in code: a space at both ends sets signs apart.
func codeText(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if len(text) > 1 && text[0] == ' ' && text[len(text)-1] == ' ' && strings.TrimSpace(text) != "" {
		text = text[1 : len(text)-1]
	}
	return text
}

// signs says what so many signs may do, by what stands beside them.
func signs(text string, i, n int) piece {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+n:])
	if i == 0 {
		before = ' '
	}
	if i+n == len(text) {
		after = ' '
	}
	mark := func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
	left := !unicode.IsSpace(after) && (!mark(after) || unicode.IsSpace(before) || mark(before))
	right := !unicode.IsSpace(before) && (!mark(before) || unicode.IsSpace(after) || mark(after))
	p := piece{html: text[i : i+n], sign: text[i], count: n, size: n, opens: left, closes: right}
	if text[i] == '_' {
		p.opens, p.closes = left && (!right || mark(before)), right && (!left || mark(after))
	}
	return p
}

// emphasise pairs signs, and joins the pieces.
func emphasise(pieces []piece) string {
	for i := 0; i < len(pieces); i++ {
		for p := &pieces[i]; p.closes && p.count > 0; p = &pieces[i] {
			j := i - 1
			for ; j >= 0; j-- {
				o := &pieces[j]
				if o.sign == p.sign && o.opens && o.count > 0 && !((o.closes || p.opens) && (o.size+p.size)%3 == 0 && (o.size%3 != 0 || p.size%3 != 0)) {
					break
				}
			}
			if j < 0 {
				break
			}
			o := &pieces[j]
			n, tag := 1, "em"
			if o.count > 1 && p.count > 1 {
				n, tag = 2, "strong"
			}
			var inner strings.Builder
			for _, x := range pieces[j+1 : i] {
				inner.WriteString(x.written())
			}
			o.count -= n
			p.count -= n
			pieces = append(pieces[:j+1], append([]piece{{html: "<" + tag + ">" + inner.String() + "</" + tag + ">"}}, pieces[i:]...)...)
			i = j + 2
		}
	}
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.written())
	}
	return b.String()
}

// written is a piece in HTML, of signs those that are no emphasis.
func (p *piece) written() string {
	if p.sign == 0 {
		return p.html
	}
	return p.html[:p.count]
}

// linked reads a link or a picture, and gives its HTML and its length; 0 where there is none.
func (r *renderer) linked(text string, depth int) (html string, n int) {
	picture := text[0] == '!'
	begin := 1
	if picture {
		begin = 2
	}
	end := closing(text, begin, '[', ']')
	if end < 0 || end+1 >= len(text) || text[end+1] != '(' || depth >= deepest {
		return "", 0
	}
	last := closing(text, end+2, '(', ')')
	if last < 0 || !picture && hasLink(text[begin:end]) {
		return "", 0
	}
	to, title := strings.TrimSpace(text[end+2:last]), ""
	if at := strings.IndexAny(to, " \n"); at >= 0 {
		rest := strings.TrimSpace(to[at:])
		if len(rest) < 2 || rest[0] != '"' || rest[len(rest)-1] != '"' {
			return "", 0
		}
		to, title = to[:at], ` title="`+Escape(rest[1:len(rest)-1])+`"`
	}
	if strings.HasPrefix(to, "<") && strings.HasSuffix(to, ">") {
		to = to[1 : len(to)-1]
	}
	to = r.address(unescaped(to))
	if picture {
		return `<img src="` + Escape(to) + `" alt="` + Escape(plain(text[begin:end])) + `"` + title + `>`, last + 1
	}
	return `<a href="` + Escape(to) + `"` + title + `>` + r.within(text[begin:end], depth+1) + `</a>`, last + 1
}

// hasLink reports a text with a link in it, which is no link's own text: of two links, one in the other, the inner one is meant.
func hasLink(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			n := run(text, i)
			if end := codeEnd(text, i+n, n); end >= 0 {
				i = end
			}
			i += n - 1
		case '[':
			picture := i > 0 && text[i-1] == '!'
			end := closing(text, i+1, '[', ']')
			if !picture && end >= 0 && end+1 < len(text) && text[end+1] == '(' && closing(text, end+2, '(', ')') >= 0 {
				return true
			}
		}
	}
	return false
}

// closing is where what was opened before i is closed, past code, pairs and what stands behind a backslash; -1 where it is not.
func closing(text string, i int, opens, closes byte) int {
	open := 1
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '`' && opens == '[':
			n := run(text, i)
			if end := codeEnd(text, i+n, n); end >= 0 {
				i = end
			}
			i += n - 1
		case c == opens:
			open++
		case c == closes:
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

// address is where a link leads. What a browser would run, or read of the user's disk, leads nowhere.
func (r *renderer) address(to string) string {
	if r.link != nil {
		mapped, err := r.link(to)
		if err != nil && r.err == nil {
			r.err = err
		}
		to = mapped
	}
	scheme, _, found := strings.Cut(to, ":")
	if found && !strings.ContainsAny(scheme, "/?#") {
		switch strings.ToLower(strings.TrimSpace(scheme)) {
		case "javascript", "vbscript", "file", "data":
			return ""
		}
	}
	return to
}

// bare reads an address that stands for itself, `<https://...>` or without the signs around it.
func (r *renderer) bare(text string) (html string, n int) {
	to := text
	if text[0] == '<' {
		end := strings.IndexAny(text, "> \n")
		if end < 0 || text[end] != '>' {
			return "", 0
		}
		to, n = text[1:end], end+1
	} else {
		if end := strings.IndexAny(text, "<> \n"); end >= 0 {
			to = text[:end]
		}
		to = strings.TrimRight(to, "?!.,:*_~'\"")
		for strings.HasSuffix(to, ")") && strings.Count(to, ")") > strings.Count(to, "(") {
			to = to[:len(to)-1]
		}
		n = len(to)
	}
	rest, ok := strings.CutPrefix(to, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(to, "http://")
	}
	if !ok || rest == "" {
		return "", 0
	}
	return `<a href="` + Escape(r.address(to)) + `">` + Escape(to) + `</a>`, n
}

// entities are the signs that have names here.
var entities = map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "nbsp": "\u00a0"}

// entity reads a sign that is written by its name.
func entity(text string) (sign string, n int) {
	name, _, ok := strings.Cut(text[1:], ";")
	if sign := entities[name]; ok && sign != "" {
		return sign, len(name) + 2
	}
	return "&", 1
}

// unescaped is a text without the backslashes before punctuation.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && punctuation(text[i+1]) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// plain is what a text says, without marks.
func plain(text string) string {
	r := &renderer{given: map[string]int{}}
	var b strings.Builder
	in := false
	for _, c := range r.inline(text) {
		switch {
		case c == '<':
			in = true
		case c == '>':
			in = false
		case !in:
			b.WriteRune(c)
		}
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&").Replace(b.String())
}
