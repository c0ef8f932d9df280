package parser

import (
	"sort"
	"strings"
	"unicode/utf8"

	"tilec/lang"
)

// Tree is the syntax tree of a text that changes. After a change it is what Parse gives of the new text, but what the
// change does not touch is not parsed again: a declaration whose text and doc comment are as they were is the same
// lang.Decl as before, with its places moved.
//
// The text is cut into sections behind declarations without errors: what stands in one section says nothing of another. A
// change is parsed with the declaration before and the one behind, and where the last of these does not come out as it was,
// the whole text is.
type Tree struct {
	src      *lang.Source
	sections []*section
}

// section is some lines of a text, and what stands in them.
type section struct {
	start, end int
	// items are the declarations and the imports, in order.
	items  []*item
	diags  lang.Diagnostics
	losses []loss
	// whole: the section is one declaration or import, which begins in the first column, and has no errors.
	whole bool
	// closed: the section ends behind a declaration or an import that begins in the first column and has no errors.
	closed bool
}

// declares reports a whole section that is a declaration.
func (p *section) declares() bool {
	if !p.whole {
		return false
	}
	_, ok := p.items[0].node.(lang.Decl)
	return ok
}

// item is a declaration or an import.
type item struct {
	node lang.Node
	// places are all that are in the node; nil until they are asked for.
	places []*lang.Span
}

// NewTree parses a text.
func NewTree(path, text string) *Tree {
	t := &Tree{src: lang.NewSource(path, "")}
	t.sections = []*section{{}}
	t.parse(text, 0, 0)
	return t
}

// Module is the tree of the text as it is. Another change makes another, and moves what both have.
func (t *Tree) Module() *lang.Module {
	m := &lang.Module{Source: t.src}
	for _, p := range t.sections {
		for _, it := range p.items {
			switch n := it.node.(type) {
			case *lang.Import:
				m.Imports = append(m.Imports, n)
			case lang.Decl:
				m.Decls = append(m.Decls, n)
			}
		}
		for _, l := range p.losses {
			m.Lost = append(m.Lost, l.names...)
			m.Partial = m.Partial || len(l.names) == 0
		}
	}
	return m
}

// Diagnostics are the syntax errors of the text as it is.
func (t *Tree) Diagnostics() lang.Diagnostics {
	var all lang.Diagnostics
	for _, p := range t.sections {
		all = append(all, p.diags...)
	}
	return all
}

// Text is the text as it is.
func (t *Tree) Text() string { return t.src.Text }

// Update follows a change of the text.
func (t *Tree) Update(text string) {
	old := t.src.Text
	if old == text {
		return
	}
	same := min(len(old), len(text))
	before := 0
	for before < same && old[before] == text[before] {
		before++
	}
	behind := 0
	for behind < same-before && old[len(old)-1-behind] == text[len(text)-1-behind] {
		behind++
	}
	last := len(t.sections) - 1
	from := sort.Search(last, func(i int) bool { return t.sections[i].end >= before })
	to := sort.Search(last, func(i int) bool { return t.sections[i+1].start > len(old)-behind })
	// An error is also of the declaration before it, whatever imports stand between them: see markDamage.
	for from--; from > 0 && !t.sections[from].declares(); from-- {
	}
	for to++; to < last && !t.sections[to].declares(); to++ {
	}
	from, to = max(from, 0), min(to, last)
	if from == 0 && to == last || !t.parse(text, from, to) {
		t.parse(text, 0, last)
	}
}

// parse takes a new text, which differs from the old one in the sections from one to another only, and reports whether that
// can be parsed without the rest of the text. All of it always can.
func (t *Tree) parse(text string, from, to int) bool {
	begin, by := t.sections[from].start, len(text)-len(t.src.Text)
	behind := t.sections[to+1:]
	known := map[string][]*item{}
	for _, p := range t.sections[from : to+1] {
		for _, it := range p.items {
			if intact(it.node) {
				known[it.text()] = append(known[it.text()], it)
			}
		}
	}
	part := t.src
	if from == 0 && len(behind) == 0 {
		*t.src = *lang.NewSource(t.src.Path, text)
	} else {
		part = lang.NewSource(t.src.Path, strings.Clone(text[begin:t.sections[to].end+by])) // names in the tree are pieces of it, and keep it
		was := t.src.Text[begin:t.sections[to].end]
		if !utf8.ValidString(part.Text) || begin > 0 && strings.HasPrefix(part.Text, "\ufeff") || strings.Count(was, "\n") != strings.Count(part.Text, "\n") && countsLines(behind) {
			return false
		}
	}
	mod, ds, losses := parseAt(part, 1+strings.Count(text[:begin], "\n"))
	sections := cut(mod, ds, losses)
	if len(behind) > 0 && !sameEnd(t.sections[to], sections) {
		return false
	}
	for _, p := range sections {
		for i, it := range p.items {
			same := known[it.text()]
			if len(same) == 0 || !intact(it.node) {
				it.move(t.src, begin)
				continue
			}
			known[it.text()] = same[1:]
			same[0].move(t.src, begin+it.node.Span().Start-same[0].node.Span().Start)
			p.items[i] = same[0]
		}
		p.move(t.src, begin)
	}
	for _, p := range behind {
		for _, it := range p.items {
			it.move(t.src, by)
		}
		p.move(t.src, by)
	}
	t.sections = append(append(t.sections[:from:from], sections...), behind...)
	*t.src = *lang.NewSource(t.src.Path, text)
	return true
}

// sameEnd reports whether the last of some sections ends with the declaration that was the section there.
func sameEnd(was *section, sections []*section) bool {
	is := sections[len(sections)-1]
	if !was.whole || !is.closed {
		return false
	}
	old, now := was.items[0], is.items[len(is.items)-1]
	return now.text() == old.text() && is.end-now.node.Span().Start == was.end-old.node.Span().Start
}

// countsLines reports errors whose messages have numbers of lines.
func countsLines(sections []*section) bool {
	for _, p := range sections {
		for _, d := range p.diags {
			if d.Code == lang.ErrUnbalanced {
				return true
			}
		}
	}
	return false
}

// text is all that an item without errors is made from.
func (it *item) text() string {
	doc := ""
	if d, ok := it.node.(lang.Decl); ok {
		doc = d.DocText()
	}
	return doc + "\x00" + it.node.Span().Text()
}

// move takes an item to its place in a source.
func (it *item) move(src *lang.Source, by int) {
	if it.places == nil {
		if by == 0 && it.node.Span().Source == src {
			return
		}
		it.places = lang.Places(it.node)
	}
	moveAll(it.places, src, by)
}

// move takes a section to its place in a source; its items are moved by themselves.
func (p *section) move(src *lang.Source, by int) {
	p.start, p.end = p.start+by, p.end+by
	for i := range p.losses {
		p.losses[i].offset += by
	}
	if len(p.diags) > 0 && (by != 0 || p.diags[0].At.Source != src) {
		moveAll(lang.Places(p.diags), src, by)
	}
}

func moveAll(places []*lang.Span, src *lang.Source, by int) {
	for _, at := range places {
		if at.IsValid() {
			at.Source, at.Start, at.End = src, at.Start+by, at.End+by
		}
	}
}

func intact(n lang.Node) bool {
	d, ok := n.(lang.Decl)
	return !ok || d.SyntaxErrors() == lang.Intact
}

// cut makes the sections of a text that has been parsed. There is one at least.
func cut(mod *lang.Module, ds lang.Diagnostics, losses []loss) []*section {
	text := mod.Source.Text
	var items []*item
	for _, imp := range mod.Imports {
		items = append(items, &item{node: imp})
	}
	for _, d := range mod.Decls {
		items = append(items, &item{node: d})
	}
	sort.SliceStable(items, func(i, j int) bool { return items[i].node.Span().Start < items[j].node.Span().Start })
	var sections []*section
	p := &section{}
	// end closes the section at an offset. Errors at the end of the text are of the last section.
	end := func(at int) {
		p.end = at
		for len(ds) > 0 && (ds[0].At.Start < at || at == len(text)) {
			p.diags, ds = append(p.diags, ds[0]), ds[1:]
		}
		for len(losses) > 0 && (losses[0].offset < at || at == len(text)) {
			p.losses, losses = append(p.losses, losses[0]), losses[1:]
		}
		p.whole = p.whole && len(p.items) == 1 && len(p.diags) == 0 && len(p.losses) == 0
		sections = append(sections, p)
		p = &section{start: at}
	}
	for i, it := range items {
		p.items = append(p.items, it)
		at := it.node.Span()
		column1 := at.Start == 0 || text[at.Start-1] == '\n'
		newline := strings.IndexByte(text[at.End:], '\n')
		behind := at.End + newline + 1
		next := len(text)
		if i+1 < len(items) {
			next = items[i+1].node.Span().Start
		}
		wrong := sort.Search(len(ds), func(i int) bool { return ds[i].At.Start >= at.Start })
		clean := intact(it.node) && column1 && (wrong == len(ds) || ds[wrong].At.Start >= behind)
		if newline >= 0 && behind <= next && clean {
			p.whole, p.closed = true, true
			end(behind)
		}
	}
	if p.start < len(text) || len(sections) == 0 {
		end(len(text))
	}
	last := sections[len(sections)-1]
	if rest := append(last.diags, ds...); len(ds) > 0 || len(losses) > 0 {
		last.diags, last.losses, last.whole, last.closed = rest, append(last.losses, losses...), false, false
	}
	return sections
}
