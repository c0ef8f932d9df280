package log

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// span is time that was spent on one thing, and what it was spent on in turn.
type span struct {
	name  string
	count int
	spent time.Duration
	parts []*span
}

// part finds a part by name, or makes it.
func (s *span) part(name string) *span {
	if i := slices.IndexFunc(s.parts, func(p *span) bool { return p.name == name }); i >= 0 {
		return s.parts[i]
	}
	p := &span{name: name}
	s.parts = append(s.parts, p)
	return p
}

// Spent adds time that ends now to the tree of [Logs.Times], and to the spans that are kept: the path names the work from the whole to the part, such as
// compile, linear, passes. It counts for each of the path's parts.
func (l *Logs) Spent(d time.Duration, path ...string) { l.spent(Span{path, time.Now().Add(-d), d, 0}) }

func (l *Logs) spent(s Span) {
	if !l.measures() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keeps {
		l.spans = append(l.spans, s)
	}
	at := &l.times
	for _, name := range s.Path {
		at = at.part(name)
		at.spent += s.Took
	}
	at.count++
}

// A Stopwatch tells what work is spent on, one stage after the other. A nil *Stopwatch measures nothing.
type Stopwatch struct {
	logs   *Logs
	path   []string
	last   time.Time
	number int
}

// Stopwatch begins to measure the work of a path, see [Logs.Spent]; nil where nothing is measured.
func (l *Logs) Stopwatch(path ...string) *Stopwatch {
	if !l.measures() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watches++
	return &Stopwatch{logs: l, path: path, last: time.Now(), number: l.watches}
}

// Lap ends a stage of the work, which began with the stopwatch or the lap before.
func (w *Stopwatch) Lap(stage string) {
	if w == nil || w.logs == nil {
		return
	}
	now := time.Now()
	w.logs.spent(Span{append(slices.Clone(w.path), stage), w.last, now.Sub(w.last), w.number})
	w.last = now
}

// Times prints what the time went to, as a tree with the share of each part in the whole, which took so long, and begins anew. It prints nothing
// where the stage time is off or nothing was measured. Work that several goroutines did at once counts for each of them.
func (l *Logs) Times(whole time.Duration) {
	if !l.On(Time) {
		return
	}
	l.mu.Lock()
	root := l.times
	l.times = span{}
	l.mu.Unlock()
	if len(root.parts) == 0 {
		return
	}
	rest := whole
	for _, p := range root.parts {
		rest -= p.spent
	}
	if rest > 0 {
		root.parts = append(root.parts, &span{name: "the rest", count: 1, spent: rest})
	}
	l.print(Time, milliseconds(whole), func() string {
		var text strings.Builder
		t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
		width := root.width(0)
		for _, p := range root.parts {
			p.write(t, width, 0, whole)
		}
		t.Flush()
		return text.String()
	})
}

// indent is how far a part's name stands to the right of the whole's.
const indent = 2

// width is that of the longest line of names, at a depth of the tree.
func (s *span) width(depth int) int {
	w := 0
	for _, p := range s.parts {
		w = max(w, depth*indent+utf8.RuneCountInString(p.name), p.width(depth+1))
	}
	return w
}

// write prints a part and its parts, the longest first.
func (s *span) write(t *tabwriter.Writer, width, depth int, whole time.Duration) {
	times := ""
	if s.count > 1 {
		times = fmt.Sprintf("%d x", s.count)
	}
	fmt.Fprintf(t, "%-*s\t%s\t%s\t%.1f %%\t\n", width, strings.Repeat(" ", depth*indent)+s.name, times, milliseconds(s.spent), 100*s.spent.Seconds()/max(whole.Seconds(), 1e-9))
	slices.SortStableFunc(s.parts, func(a, b *span) int { return -cmp.Compare(a.spent, b.spent) })
	for _, p := range s.parts {
		p.write(t, width, depth+1, whole)
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.3f ms", d.Seconds()*1e3) }
