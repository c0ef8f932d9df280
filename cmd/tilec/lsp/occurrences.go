package lsp

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"tilec/lang"
)

// occurrence is a name where it is written, with what it stands for.
type occurrence struct {
	at   lang.Span
	text string
	kind nameKind
	// defined is where the name is declared; no place for names of the language.
	defined lang.Span
	// declares: the name is declared here. stores: what it names is written here.
	declares, stores bool
	// decl is what a name of the kind declName names.
	decl lang.Decl
	// attribute: the name stands behind an @.
	attribute bool
}

// occurrences lists every name of the file that stands for something, in the order of the text.
func (a *analysis) occurrences() []occurrence {
	var all []occurrence
	for _, d := range a.module.Decls {
		all = append(all, a.occurrencesIn(d)...)
	}
	return all
}

// occurrencesIn lists the names of one declaration, in the order of the text.
func (a *analysis) occurrencesIn(d lang.Decl) []occurrence {
	if all, ok := a.written[d]; ok {
		return all
	}
	all, ok := a.doc.names[d].restore(a)
	if !ok {
		untyped := *a // what a name stands for, the tree tells
		untyped.types = &types{}
		w := writer{analysis: &untyped, texts: map[string]bool{}}
		w.within(d, nil)
		sort.SliceStable(w.all, func(i, j int) bool { return w.all[i].at.Start < w.all[j].at.Start })
		all = w.all
		if a.doc.names == nil {
			a.doc.names = map[lang.Decl]*names{}
		}
		a.doc.names[d] = w.keep()
		if len(a.doc.names) > 2*len(a.module.Decls)+10 { // those of declarations that are no more
			maps.DeleteFunc(a.doc.names, func(d lang.Decl, _ *names) bool { return !slices.Contains(a.module.Decls, d) })
		}
	}
	if a.written == nil {
		a.written = map[lang.Decl][]occurrence{}
	}
	a.written[d] = all
	return all
}

// names are the names of a declaration, kept for when the text around it has changed. They stand for the same as long as
// the names of the file that are written in the declaration do, and all structs, whose fields have types of each other.
type names struct {
	all []occurrence
	at  []spot // of each
	// defined is where each is declared; of no declaration for no place.
	defined []spot
	file    map[string]lang.Node
	structs []lang.Decl
}

// keep takes what was found; nil where a place is in no declaration.
func (w *writer) keep() *names {
	k := &names{all: w.all, file: map[string]lang.Node{}, structs: w.fileNames().structs}
	for text := range w.texts {
		k.file[text] = w.fileNames().byText[text].node
	}
	for _, x := range w.all {
		at, ok := w.spot(x.at)
		if !ok {
			return nil
		}
		defined := spot{}
		if x.defined.IsValid() {
			if defined, ok = w.spot(x.defined); !ok {
				return nil
			}
		}
		k.at, k.defined = append(k.at, at), append(k.defined, defined)
	}
	return k
}

// restore gives the names with their places as they are now, and reports whether they stand for what they stood for.
func (k *names) restore(a *analysis) ([]occurrence, bool) {
	if k == nil || !slices.Equal(k.structs, a.fileNames().structs) {
		return nil, false
	}
	for text, node := range k.file {
		if a.fileNames().byText[text].node != node {
			return nil, false
		}
	}
	all := slices.Clone(k.all)
	for i := range all {
		all[i].at = k.at[i].span()
		if k.defined[i].decl != nil {
			all[i].defined = k.defined[i].span()
		}
	}
	return all, true
}

// span is the place of a spot as it is now.
func (x spot) span() lang.Span {
	in := x.decl.Span()
	return lang.Span{Source: in.Source, Start: in.Start + x.start, End: in.Start + x.end}
}

// spot is the place in its declaration, of the file or of one that it imports.
func (a *analysis) spot(at lang.Span) (spot, bool) { return spotOf(a.fileNames().modules, at) }

// writer collects the names of a declaration.
type writer struct {
	*analysis
	all []occurrence
	// texts are all names that are written, whatever they stand for.
	texts map[string]bool
}

// within takes the names of a node; path are the nodes around it, the outermost first.
func (w *writer) within(n lang.Node, path []lang.Node) {
	path = append(slices.Clip(path), n)
	switch n := n.(type) {
	case *lang.NameExpr:
		w.write(n.Name, n.Place, path)
	case *lang.Ident:
		w.write(n.Name, n.Place, path)
	}
	lang.Walk(n, func(k lang.Node) bool {
		if k == n {
			return true
		}
		w.within(k, path)
		return false
	})
}

func (w *writer) write(text string, at lang.Span, path []lang.Node) {
	if text == "" || text == "_" || !at.IsValid() {
		return
	}
	w.texts[text] = true
	x := occurrence{at: at, text: text}
	parent := path[max(len(path)-2, 0)]
	switch s, ok := w.symbolIn(path, at.Start); {
	case declaresAt(parent, at):
		x.declares, x.defined, x.kind = true, at, declaredKind(parent)
		x.decl, _ = parent.(lang.Decl)
	case !ok || s.at != at:
		return
	default:
		x.kind, x.defined = s.kind, s.defined
		x.declares = s.defined == at
		if n := w.fileNames().byText[text]; n.at == s.defined {
			x.decl, _ = n.node.(lang.Decl)
		}
	}
	x.stores = storesTo(path, at)
	_, x.attribute = parent.(*lang.Attr)
	w.all = append(w.all, x)
}

// declaresAt reports whether a node declares the name at a place.
func declaresAt(n lang.Node, at lang.Span) bool {
	for _, id := range declaredNames(n) {
		if id.Place == at {
			return true
		}
	}
	return false
}

// declaredKind is of the names that a node declares.
func declaredKind(n lang.Node) nameKind {
	switch n := n.(type) {
	case *lang.AxisClause:
		if n.By == nil && scalarWithoutBy(n) {
			return scalarName
		}
		return axisName
	case *lang.Param:
		if n.IsAxis {
			return axisName
		}
		return paramName
	case *lang.Generic:
		if n.IsConst {
			return constParamName
		}
		return typeParamName
	case *lang.Field:
		return fieldName
	case lang.Decl:
		return declName
	}
	return localName
}

// scalarWithoutBy tells `grid b in B` and `for n in 12`, whose names are single positions, from `axis d in D`, which begins with its word.
func scalarWithoutBy(x *lang.AxisClause) bool {
	before := x.Place.Source.Text[:x.Place.Start]
	return !endsWithWord(strings.TrimRight(before, " \t"), "axis")
}

// storesTo reports whether the name at the end of a path is what a store or an atomic writes to.
func storesTo(path []lang.Node, at lang.Span) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if s, ok := path[i].(*lang.AssignStmt); ok {
			target := s.Target
			if x, ok := target.(*lang.IndexExpr); ok {
				target = x.X
			}
			return target != nil && target.Span() == at
		}
	}
	return false
}

// occurrenceAt finds the name around an offset, or the one that ends there.
func (a *analysis) occurrenceAt(offset int) (occurrence, bool) {
	d := a.declAt(offset)
	if d == nil {
		return occurrence{}, false
	}
	all := a.occurrencesIn(d)
	// The first that ends at the offset or behind it; one that begins at the offset comes before one that ends there.
	i := sort.Search(len(all), func(i int) bool { return all[i].at.End >= offset })
	if i+1 < len(all) && all[i+1].at.Start == offset {
		i++
	}
	if i < len(all) && all[i].at.Start <= offset {
		return all[i], true
	}
	return occurrence{}, false
}

// declPlace is a span by the name of its file: each analysis has sources of its own.
type declPlace struct {
	path       string
	start, end int
}

func placeIn(at lang.Span) declPlace {
	if !at.IsValid() {
		return declPlace{}
	}
	return declPlace{at.Source.Path, at.Start, at.End}
}

// occurrencesOf lists the names of the file that stand for what is declared at a place.
func (a *analysis) occurrencesOf(x occurrence) []occurrence {
	var all []occurrence
	want := placeIn(x.defined)
	for _, d := range a.module.Decls {
		if at := d.Span(); !strings.Contains(at.Text(), x.text) {
			continue
		}
		all = append(all, a.of(d, x, want)...)
	}
	return all
}

// of lists the names of a declaration that stand for what is declared at a place.
func (a *analysis) of(d lang.Decl, x occurrence, want declPlace) []occurrence {
	var all []occurrence
	for _, y := range a.occurrencesIn(d) {
		if y.text != x.text {
			continue
		}
		if placeIn(y.defined) == want && (x.defined.IsValid() || y.kind == x.kind) {
			all = append(all, y)
		}
	}
	return all
}
