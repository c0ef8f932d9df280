package report

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"tilec/editors/playground"
	"tilec/jit/stage"
	"tilec/lang"
)

//go:embed page
var embedded embed.FS

// HTML is the page as one file.
func (p *Page) HTML() []byte {
	w := &writer{sources: p.sources(), costs: map[string]float64{}}
	for _, c := range p.Costs {
		w.costs[fmt.Sprintf("%s:%d", c.File, c.Line)] = c.Part
	}
	for i, s := range w.sources {
		w.source(i, s)
	}
	sources := w.take()
	for _, s := range p.Sections {
		w.printf(`<a href="#%s" role="tab">%s</a>`, s.ID, Escape(s.Title))
	}
	tabs := w.take()
	for _, s := range p.Sections {
		w.section(s)
	}
	sections := w.take()
	return []byte(strings.NewReplacer(
		"{title}", Escape(p.Title), "{for}", Escape(p.For), "{by}", Escape(p.By),
		"{style}", playground.Style()+file("report.css"), "{script}", playground.Colours()+file("report.js"),
		"{sources}", sources, "{tabs}", tabs, "{sections}", sections,
	).Replace(file("report.html")))
}

// file is one of the files of which the page is made.
func file(name string) string {
	text, err := embedded.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// writer writes the lines of a page. A place is a source's number and a line, as in "0:7".
type writer struct {
	strings.Builder
	sources []*lang.Source
	costs   map[string]float64
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// take is what was written since the last one.
func (w *writer) take() string {
	text := w.String()
	w.Reset()
	return text
}

// place is the attribute of a line that comes from a place; "" for one that comes from none.
func (w *writer) place(at lang.Span) string {
	i := slices.Index(w.sources, at.Source)
	if i < 0 || !at.IsValid() {
		return ""
	}
	line, _ := at.Position()
	return fmt.Sprintf(` data-at="%d:%d"`, i, line)
}

// source writes a source with the numbers of its lines, and what these cost.
func (w *writer) source(n int, s *lang.Source) {
	w.printf("<h2>%s</h2>\n<div class=\"program\">", Escape(s.Path))
	for i, line := range strings.Split(strings.TrimSuffix(s.Text, "\n"), "\n") {
		cost := ""
		if part := w.costs[fmt.Sprintf("%s:%d", s.Path, i+1)]; part > 0 {
			cost = fmt.Sprintf(` title="%.1f %% of all instructions" style="--cost:%.3f"`, 100*part, part)
		}
		w.printf(`<div class="line" data-at="%d:%d"><b%s>%d</b><code>%s</code></div>`+"\n", n, i+1, cost, i+1, Escape(line))
	}
	w.printf("</div>\n")
}

func (w *writer) section(s Section) {
	w.printf("<section id=\"%s\" role=\"tabpanel\">\n<p>%s</p>\n", s.ID, Escape(s.About))
	if len(s.Parts) > 1 {
		w.printf("<nav class=\"parts\">")
		for i, part := range s.Parts {
			w.printf("<a href=\"#%s-%d\">%s</a>", s.ID, i+1, Escape(part.Title))
		}
		w.printf("</nav>\n")
	}
	for i, part := range s.Parts {
		if part.Title != "" {
			w.printf("<h2 id=\"%s-%d\">%s</h2>\n", s.ID, i+1, Escape(part.Title))
		}
		if part.Missing != "" {
			w.printf("<p class=\"missing\">%s</p>\n", Escape(part.Missing))
		}
		for _, x := range part.Pictures {
			w.printf("<figure>")
			if x.Title != "" {
				w.printf("<h3>%s</h3>", Escape(x.Title))
			}
			w.printf("%s", x.SVG)
			if x.About != "" {
				w.printf("<figcaption>%s</figcaption>", Escape(x.About))
			}
			w.printf("</figure>\n")
		}
		for _, line := range part.Lines {
			w.line(line, part.Differences)
		}
	}
	w.printf("</section>\n")
}

func (w *writer) line(line lang.ListedLine, differences bool) {
	if title, ok := strings.CutPrefix(line.Text, stage.Title); ok && differences {
		w.printf("<h3>%s</h3>\n", Escape(title))
		return
	}
	class := "line"
	switch {
	case !differences:
	case strings.HasPrefix(line.Text, stage.Added):
		class += " added"
	case strings.HasPrefix(line.Text, stage.Removed):
		class += " removed"
	}
	w.printf(`<div class="%s"%s>%s</div>`+"\n", class, w.place(line.At), Escape(line.Text))
}
