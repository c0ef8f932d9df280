// Package markdown makes HTML of Markdown, as far as pages of documentation have it: headings, paragraphs, lists, quotes, blocks of code, tables, and in
// their text code, emphasis, links and pictures, as CommonMark (https://spec.commonmark.org) and GitHub's tables have these. HTML in the text stays text.
// Readers of all of Markdown, in Go, take 0.3 to 0.7 MB of a binary; tests hold this one to what such a reader makes of every page of the repository.
package markdown

import (
	"fmt"
	"strings"
	"unicode"
)

// Section is a heading of the second level: what the table of contents of a page has.
type Section struct {
	// ID is the name by which links lead to the heading, Title its text.
	ID, Title string
}

// Page is a text in HTML.
type Page struct {
	HTML     string
	Sections []Section
}

// Render makes HTML of a text. Link gives the address of each link's and picture's destination, or what is wrong with it, which Render returns; nil leaves them
// as they are.
func Render(text string, link func(to string) (string, error)) (Page, error) {
	r := &renderer{link: link, given: map[string]int{}}
	r.blocks(strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), false, 0)
	return Page{HTML: r.out.String(), Sections: r.sections}, r.err
}

// renderer writes the HTML of a text.
type renderer struct {
	out      strings.Builder
	link     func(to string) (string, error)
	err      error // the first that link gave
	sections []Section
	// given counts the headings of a name.
	given map[string]int
}

// deepest is how deep lists and quotes are in one another at most; what is deeper is text.
const deepest = 32

// blocks writes the blocks that lines make. In a tight list paragraphs are no blocks of their own.
func (r *renderer) blocks(lines []string, tight bool, depth int) {
	for i := 0; i < len(lines); {
		line := lines[i]
		item, isItem := itemOf(line)
		switch {
		case blank(line):
			i++
		case indent(line) > 3:
			i = r.indented(lines, i)
		case fence(line) != "":
			i = r.code(lines, i)
		case heading(line) > 0:
			r.heading(line)
			i++
		case rule(line):
			r.out.WriteString("<hr>\n")
			i++
		case depth < deepest && quoted(line):
			i = r.quote(lines, i, depth)
		case depth < deepest && isItem:
			i = r.list(lines, i, item, depth)
		case i+1 < len(lines) && columns(line, lines[i+1]) != nil:
			i = r.table(lines, i)
		default:
			i = r.paragraph(lines, i, tight, depth)
		}
	}
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

// indent is how many spaces a line begins with.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// fence is what begins and ends a block of code: three of one sign, or more; "" where there is none.
func fence(line string) string {
	text := strings.TrimLeft(line, " ")
	if indent(line) > 3 || text == "" || text[0] != '`' && text[0] != '~' {
		return ""
	}
	n := len(text) - len(strings.TrimLeft(text, text[:1]))
	if n < 3 || text[0] == '`' && strings.Contains(text[n:], "`") {
		return ""
	}
	return text[:n]
}

// code writes a block of code, and gives the line behind it.
func (r *renderer) code(lines []string, i int) int {
	mark, in := fence(lines[i]), indent(lines[i])
	language, _, _ := strings.Cut(strings.TrimSpace(strings.TrimLeft(strings.TrimLeft(lines[i], " "), mark[:1])), " ")
	r.out.WriteString("<pre><code")
	if language != "" {
		fmt.Fprintf(&r.out, ` class="language-%s"`, Escape(language))
	}
	r.out.WriteString(">")
	for i++; i < len(lines); i++ {
		if end := fence(lines[i]); strings.HasPrefix(end, mark) && strings.TrimSpace(lines[i]) == end {
			i++
			break
		}
		r.out.WriteString(Escape(lines[i][min(in, indent(lines[i])):]) + "\n")
	}
	r.out.WriteString("</code></pre>\n")
	return i
}

// indented writes a block of code that stands four spaces in, and gives the line behind it.
func (r *renderer) indented(lines []string, i int) int {
	end := i
	for j := i; j < len(lines) && (blank(lines[j]) || indent(lines[j]) > 3); j++ {
		if !blank(lines[j]) {
			end = j + 1
		}
	}
	r.out.WriteString("<pre><code>")
	for ; i < end; i++ {
		r.out.WriteString(Escape(lines[i][min(4, indent(lines[i])):]) + "\n")
	}
	r.out.WriteString("</code></pre>\n")
	return i
}

// heading is the level of a heading, from 1 to 6; 0 of another line.
func heading(line string) int {
	text := strings.TrimLeft(line, " ")
	n := len(text) - len(strings.TrimLeft(text, "#"))
	if indent(line) > 3 || n > 6 || n < len(text) && text[n] != ' ' {
		return 0
	}
	return n
}

func (r *renderer) heading(line string) {
	level := heading(line)
	text := strings.TrimSpace(strings.TrimSpace(line)[level:])
	if rest := strings.TrimRight(text, "#"); rest == "" || strings.HasSuffix(rest, " ") {
		text = strings.TrimSpace(rest)
	}
	r.headed(level, text)
}

// headed writes a heading.
func (r *renderer) headed(level int, text string) {
	id := r.name(text)
	if level == 2 {
		r.sections = append(r.sections, Section{id, plain(text)})
	}
	fmt.Fprintf(&r.out, "<h%d id=\"%s\">%s</h%d>\n", level, Escape(id), r.inline(text), level)
}

// name is what links call a heading, as on GitHub: its letters, digits, "-" and "_", and a number where the name is given already.
func (r *renderer) name(text string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_':
			b.WriteRune(c)
		case c == ' ':
			b.WriteByte('-')
		}
	}
	name := b.String()
	n := r.given[name]
	r.given[name]++
	if n > 0 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	return name
}

// rule reports a line across the page.
func rule(line string) bool {
	text := strings.ReplaceAll(strings.TrimSpace(line), " ", "")
	return indent(line) < 4 && len(text) > 2 && strings.ContainsRune("-*_", rune(text[0])) && strings.Trim(text, text[:1]) == ""
}

func quoted(line string) bool {
	return indent(line) < 4 && strings.HasPrefix(strings.TrimLeft(line, " "), ">")
}

// quote writes a quote, and gives the line behind it.
func (r *renderer) quote(lines []string, i, depth int) int {
	var inner []string
	for ; i < len(lines) && (quoted(lines[i]) || len(inner) > 0 && continues(lines[i])); i++ {
		line := lines[i]
		if quoted(line) {
			line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(line, " "), ">"), " ")
		}
		inner = append(inner, line)
	}
	r.out.WriteString("<blockquote>\n")
	r.blocks(inner, false, depth+1)
	r.out.WriteString("</blockquote>\n")
	return i
}

// item is the beginning of an item of a list.
type item struct {
	// mark is "-", "*", "+", "." or ")": those of one list are alike. number is that of an ordered one.
	mark   string
	number int
	// text is where the item's text begins.
	text int
}

func (x *item) ordered() bool { return x.mark == "." || x.mark == ")" }

// itemOf reads the beginning of an item; false where a line is none.
func itemOf(line string) (item, bool) {
	in := indent(line)
	text := line[in:]
	if in > 3 || text == "" || rule(line) {
		return item{}, false
	}
	x := item{mark: text[:1], text: in + 1}
	if !strings.Contains("-*+", x.mark) {
		n := 0
		for n < len(text) && n < 9 && text[n] >= '0' && text[n] <= '9' {
			x.number = 10*x.number + int(text[n]-'0')
			n++
		}
		if n == 0 || n == len(text) || text[n] != '.' && text[n] != ')' {
			return item{}, false
		}
		x.mark, x.text = text[n:n+1], in+n+1
	}
	rest := line[x.text:]
	if rest == "" || rest[0] != ' ' || blank(rest) {
		return item{}, false
	}
	if n := indent(rest); n <= 4 {
		x.text += n
	} else {
		x.text++
	}
	return x, true
}

// list writes a list, and gives the line behind it.
func (r *renderer) list(lines []string, i int, first item, depth int) int {
	var items [][]string
	loose, gap := false, false
	for i < len(lines) {
		x, ok := itemOf(lines[i])
		if !ok || x.mark != first.mark {
			break
		}
		loose = loose || gap
		inner := []string{lines[i][x.text:]}
		gap = false
		for i++; i < len(lines); i++ {
			line := lines[i]
			if blank(line) {
				gap = true
				inner = append(inner, "")
				continue
			}
			if indent(line) >= x.text {
				loose, gap = loose || gap, false
				inner = append(inner, line[x.text:])
				continue
			}
			if _, next := itemOf(line); next || gap || !continues(lines[i]) {
				break
			}
			inner = append(inner, strings.TrimLeft(line, " "))
		}
		items = append(items, inner)
	}
	tag, start := "ul", ""
	if first.ordered() {
		if tag = "ol"; first.number != 1 {
			start = fmt.Sprintf(` start="%d"`, first.number)
		}
	}
	r.out.WriteString("<" + tag + start + ">\n")
	for _, inner := range items {
		r.out.WriteString("<li>")
		if loose {
			r.out.WriteString("\n")
		}
		r.blocks(inner, !loose, depth+1)
		r.out.WriteString("</li>\n")
	}
	r.out.WriteString("</" + tag + ">\n")
	return i
}

// continues reports a line that goes on with the paragraph before it, since nothing else begins there.
func continues(line string) bool {
	x, isItem := itemOf(line)
	begins := isItem && (!x.ordered() || x.number == 1)
	return !blank(line) && fence(line) == "" && heading(line) == 0 && !rule(line) && !quoted(line) && !begins
}

// paragraph writes a paragraph, and gives the line behind it.
func (r *renderer) paragraph(lines []string, i int, tight bool, depth int) int {
	text := []string{strings.TrimLeft(lines[i], " ")}
	for i++; i < len(lines) && underlined(lines[i]) == 0 && (continues(lines[i]) || depth >= deepest && !blank(lines[i])) && (i+1 == len(lines) || columns(lines[i], lines[i+1]) == nil); i++ {
		text = append(text, strings.TrimLeft(lines[i], " "))
	}
	if i < len(lines) && underlined(lines[i]) > 0 {
		r.headed(underlined(lines[i]), strings.TrimRight(strings.Join(text, "\n"), " "))
		return i + 1
	}
	body := r.inline(strings.TrimRight(strings.Join(text, "\n"), " "))
	switch {
	case !tight:
		r.out.WriteString("<p>" + body + "</p>\n")
	case i < len(lines) && strings.TrimSpace(strings.Join(lines[i:], "")) != "":
		r.out.WriteString(body + "\n")
	default:
		r.out.WriteString(body)
	}
	return i
}

// underlined is the level of a heading of which a line is what underlines its text; 0 of another line.
func underlined(line string) int {
	text := strings.TrimSpace(line)
	switch {
	case text == "" || indent(line) > 3:
		return 0
	case strings.Trim(text, "=") == "":
		return 1
	case strings.Trim(text, "-") == "":
		return 2
	}
	return 0
}

// columns are the alignments of a table's columns, "" for none, where a line and the one below begin a table; nil elsewhere.
func columns(line, below string) []string {
	if !strings.Contains(line, "|") || !strings.Contains(below, "-") {
		return nil
	}
	var all []string
	for _, c := range cells(below) {
		inner := strings.Trim(c, ":")
		if inner == "" || strings.Trim(inner, "-") != "" {
			return nil
		}
		left, right := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":")
		all = append(all, map[[2]bool]string{{true, true}: "center", {true, false}: "left", {false, true}: "right"}[[2]bool{left, right}])
	}
	if len(all) != len(cells(line)) {
		return nil
	}
	return all
}

// cells are those of a row. A bar behind a backslash is a sign of the text.
func cells(line string) []string {
	text := strings.TrimPrefix(strings.TrimSpace(line), "|")
	var all []string
	begin := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '|':
			all = append(all, cell(text[begin:i]))
			begin = i + 1
		}
	}
	if rest := text[begin:]; !blank(rest) {
		all = append(all, cell(rest))
	}
	return all
}

func cell(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, `\|`, "|")) }

// table writes a table, and gives the line behind it.
func (r *renderer) table(lines []string, i int) int {
	align := columns(lines[i], lines[i+1])
	row := func(line, tag string) {
		r.out.WriteString("<tr>\n")
		all := cells(line)
		for c := range align {
			style, text := "", ""
			if c < len(all) {
				text = r.inline(all[c])
				if align[c] != "" {
					style = ` style="text-align:` + align[c] + `"`
				}
			}
			r.out.WriteString("<" + tag + style + ">" + text + "</" + tag + ">\n")
		}
		r.out.WriteString("</tr>\n")
	}
	r.out.WriteString("<table>\n<thead>\n")
	row(lines[i], "th")
	r.out.WriteString("</thead>\n")
	i += 2
	if i < len(lines) && continues(lines[i]) {
		r.out.WriteString("<tbody>\n")
		for ; i < len(lines) && continues(lines[i]); i++ {
			row(lines[i], "td")
		}
		r.out.WriteString("</tbody>\n")
	}
	r.out.WriteString("</table>\n")
	return i
}
