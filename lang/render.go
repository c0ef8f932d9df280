package lang

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostShown is how many diagnostics Render writes in full: nobody reads on, and a text that is no program has thousands.
const mostShown = 50

// RenderOptions says how Render writes.
type RenderOptions struct {
	// Color uses ANSI escapes.
	Color bool
}

// Render writes diagnostics for people: each with its source line, carets
// under the place, the other places involved, notes and what to do; then
// their number. It writes nothing when there are none, and of more than mostShown the first.
func Render(w io.Writer, ds Diagnostics, opts RenderOptions) error {
	out := bufio.NewWriter(w)
	r := renderer{out, opts}
	for _, d := range ds[:min(len(ds), mostShown)] {
		r.diagnostic(d)
		fmt.Fprintln(out)
	}
	if len(ds) > 0 {
		fmt.Fprint(out, counted(ds))
		if len(ds) > mostShown {
			fmt.Fprintf(out, ", of which the first %d are shown; %d more", mostShown, len(ds)-mostShown)
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// counted is the number of diagnostics of each severity: "1 error", "2 errors, 1 warning".
func counted(ds Diagnostics) string {
	var counts [SeverityNote + 1]int
	for _, d := range ds {
		counts[d.Severity]++
	}
	var words []string
	for s, n := range counts {
		switch {
		case n == 1:
			words = append(words, fmt.Sprintf("1 %s", Severity(s)))
		case n > 1:
			words = append(words, fmt.Sprintf("%d %ss", n, Severity(s)))
		}
	}
	return strings.Join(words, ", ")
}

type renderer struct {
	out  *bufio.Writer
	opts RenderOptions
}

type style string

// colours are those of the severities.
var colours = map[Severity]style{SeverityError: red, SeverityWarning: yellow, SeverityNote: blue}

const (
	bold    style = "\x1b[1m"
	red     style = "\x1b[1;31m"
	yellow  style = "\x1b[1;33m"
	blue    style = "\x1b[1;34m"
	regular style = "\x1b[0m"
)

func (r renderer) paint(s style, text string) string {
	if !r.opts.Color || text == "" {
		return text
	}
	return string(s) + text + string(regular)
}

// mark is a place to underline on one line.
type mark struct {
	line       int
	start, end int // bytes of the line
	text       string
	primary    bool
}

func (r renderer) diagnostic(d *Diagnostic) {
	fmt.Fprintf(r.out, "%s%s\n", r.paint(colours[d.Severity], fmt.Sprintf("%s[%s]", d.Severity, d.Code)), r.paint(bold, ": "+shorten(d.Message)))
	groups := groupBySource(d)
	gutter := 1
	for _, g := range groups {
		for _, m := range g.marks {
			gutter = max(gutter, len(fmt.Sprint(m.line)))
		}
	}
	for i, g := range groups {
		arrow := "-->"
		if i > 0 {
			arrow = ":::"
			r.bar(gutter, "")
		}
		line, col := g.source.Position(g.offset)
		fmt.Fprintf(r.out, "%*s%s %s:%d:%d\n", gutter+1, "", r.paint(blue, arrow), g.source.Path, line, col)
		r.bar(gutter, "")
		r.snippet(g, gutter)
	}
	if len(groups) > 0 && (len(d.Notes) > 0 || d.Fix != nil) {
		r.bar(gutter, "")
	}
	for _, n := range d.Notes {
		r.remark(gutter, "note", n)
	}
	if d.Fix != nil {
		r.remark(gutter, "help", d.Fix.Message)
	}
}

func (r renderer) remark(gutter int, kind, text string) {
	text = strings.ReplaceAll(shorten(text), "\n", "\n"+strings.Repeat(" ", gutter+len(kind)+6))
	fmt.Fprintf(r.out, "%*s %s %s: %s\n", gutter+1, "", r.paint(blue, "="), r.paint(bold, kind), text)
}

// shorten cuts words that no person reads to their end: a name or a number of a thousand letters.
func shorten(text string) string {
	const longest, kept = 200, 40
	if len(text) <= longest {
		return text
	}
	return longWord.ReplaceAllStringFunc(text, func(word string) string {
		runes := []rune(word)
		if len(runes) <= longest {
			return word
		}
		return string(runes[:kept]) + "..." + string(runes[len(runes)-kept:])
	})
}

var longWord = regexp.MustCompile(`\S{200,}`)

// bar writes a line that is not in the source.
func (r renderer) bar(gutter int, text string) {
	line := fmt.Sprintf("%*s %s", gutter+1, "", r.paint(blue, "|"))
	if text != "" {
		line += " " + text
	}
	fmt.Fprintln(r.out, line)
}

// places is the marks in one source; offset is where its arrow points.
type places struct {
	source *Source
	offset int
	marks  []mark
}

// groupBySource collects the places of a diagnostic, those of its own source first.
func groupBySource(d *Diagnostic) []places {
	var groups []places
	add := func(at Span, text string, primary bool) {
		if !at.IsValid() {
			return
		}
		i := 0
		for i < len(groups) && groups[i].source != at.Source {
			i++
		}
		if i == len(groups) {
			groups = append(groups, places{source: at.Source, offset: at.Start})
		}
		groups[i].marks = append(groups[i].marks, newMark(at, shorten(text), primary))
	}
	add(d.At, d.Label, true)
	for _, l := range d.Labels {
		add(l.At, l.Text, false)
	}
	for _, g := range groups {
		sort.SliceStable(g.marks, func(i, j int) bool {
			a, b := g.marks[i], g.marks[j]
			if a.line != b.line {
				return a.line < b.line
			}
			return a.start < b.start
		})
	}
	return groups
}

// newMark places a span on its first line.
func newMark(at Span, text string, primary bool) mark {
	line, _ := at.Source.Position(at.Start)
	first := at.Source.lines[line-1]
	length := len(at.Source.Line(line))
	start := min(max(at.Start-first, 0), length)
	end := min(max(at.End-first, start), length)
	return mark{line, start, end, text, primary}
}

// snippet writes the lines with marks, in order, and what is short between them.
func (r renderer) snippet(g places, gutter int) {
	shown := 0
	for i := 0; i < len(g.marks); {
		line := g.marks[i].line
		next := i
		for next < len(g.marks) && g.marks[next].line == line {
			next++
		}
		switch {
		case shown == 0 || line == shown+1:
		case line == shown+2:
			text, _ := display(g.source.Line(line-1), nil)
			r.source(gutter, line-1, text)
		default:
			fmt.Fprintln(r.out, r.paint(blue, "..."))
		}
		text, marks := display(g.source.Line(line), g.marks[i:next])
		r.source(gutter, line, text)
		r.underline(gutter, marks)
		shown, i = line, next
	}
}

func (r renderer) source(gutter, line int, text string) {
	number := r.paint(blue, fmt.Sprintf(" %*d |", gutter, line))
	fmt.Fprintln(r.out, strings.TrimRight(number+" "+text, " "))
}

const (
	tabWidth = 4
	// longLine is the length in bytes from which only the part around the first mark is shown.
	longLine = 400
	// contextBytes is how much of a long line is shown on each side of its mark.
	contextBytes = 80
)

// display makes a line fit for a terminal, and turns the places of its marks
// from bytes of the line into columns of the text.
func display(line string, marks []mark) (string, []mark) {
	from, to := 0, len(line)
	if len(line) > longLine {
		if len(marks) > 0 {
			from = max(marks[0].start-contextBytes, 0)
		}
		to = min(from+2*contextBytes, len(line))
		for from > 0 && !utf8.RuneStart(line[from]) {
			from--
		}
		for to < len(line) && !utf8.RuneStart(line[to]) {
			to++
		}
	}
	placed := append([]mark(nil), marks...)
	var b strings.Builder
	column := 0
	put := func(s string, n int) {
		b.WriteString(s)
		column += n
	}
	if from > 0 {
		put("...", 3)
	}
	settle := func(offset, end int) {
		for i, m := range marks {
			if c := min(max(m.start, from), to); offset <= c && c < end {
				placed[i].start = column
			}
			if c := min(max(m.end, from), to); offset <= c && c < end {
				placed[i].end = column
			}
		}
	}
	for i := from; i < to; {
		c, n := utf8.DecodeRuneInString(line[i:])
		settle(i, i+n)
		switch {
		case c == '\t':
			put(strings.Repeat(" ", tabWidth), tabWidth)
		case c == utf8.RuneError || unicode.IsControl(c):
			put("\ufffd", 1)
		default:
			put(line[i:i+n], columns(c))
		}
		i += n
	}
	settle(to, to+1)
	if to < len(line) {
		put("...", 3)
	}
	for i := range placed {
		placed[i].end = max(placed[i].end, placed[i].start+1)
	}
	return b.String(), placed
}

// underline writes the carets below a line, with the text of the last mark
// beside them and those of the others below, each hanging from its mark.
func (r renderer) underline(gutter int, marks []mark) {
	row := newRow()
	drawn := append([]mark(nil), marks...)
	sort.SliceStable(drawn, func(i, j int) bool { // the shorter on top
		return drawn[i].end-drawn[i].start > drawn[j].end-drawn[j].start
	})
	for _, m := range drawn {
		sign := "-"
		if m.primary {
			sign = "^"
		}
		for c := m.start; c < m.end; c++ {
			row.set(c, sign, styleOf(m))
		}
	}
	hanging := append([]mark(nil), marks...)
	last := hanging[len(hanging)-1]
	beside := true
	for _, m := range hanging[:len(hanging)-1] {
		beside = beside && m.end <= last.start
	}
	if beside {
		hanging = hanging[:len(hanging)-1]
		if last.text != "" {
			row.write(last.end+1, last.text, styleOf(last))
		}
	}
	r.bar(gutter, row.render(r))
	for n := len(hanging) - 1; n >= 0; n-- {
		if hanging[n].text == "" {
			continue
		}
		row := newRow()
		for _, m := range hanging[:n] {
			if m.text != "" {
				row.set(m.start, "|", styleOf(m))
			}
		}
		row.write(hanging[n].start, hanging[n].text, styleOf(hanging[n]))
		r.bar(gutter, row.render(r))
	}
}

func styleOf(m mark) style {
	if m.primary {
		return red
	}
	return blue
}

// row is a line of text built by column.
type row struct {
	cells  []string
	styles []style
}

func newRow() *row { return &row{} }

func (w *row) set(column int, text string, s style) {
	for len(w.cells) <= column {
		w.cells = append(w.cells, " ")
		w.styles = append(w.styles, "")
	}
	w.cells[column], w.styles[column] = text, s
}

// write puts a text at a column; it is the last of its row.
func (w *row) write(column int, text string, s style) {
	w.set(column, text, s)
	w.cells, w.styles = w.cells[:column+1], w.styles[:column+1]
}

func (w *row) render(r renderer) string {
	var b strings.Builder
	for i := 0; i < len(w.cells); {
		j := i
		for j < len(w.cells) && w.styles[j] == w.styles[i] {
			j++
		}
		text := strings.Join(w.cells[i:j], "")
		if w.styles[i] != "" {
			text = r.paint(w.styles[i], text)
		}
		b.WriteString(text)
		i = j
	}
	return b.String()
}
