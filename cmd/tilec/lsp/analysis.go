package lsp

import (
	"fmt"

	"tilec/jit/bug"
	"tilec/lang"
	"tilec/typecheck"
	"tilec/typecheck/load"
	"tilec/typecheck/typed"
)

// analysis is all that is known of one text. A text with syntax errors has a
// tree of what could be parsed, and the types of that.
type analysis struct {
	doc    *document
	module *lang.Module
	diags  lang.Diagnostics
	types  *types
	loader *load.Loader
	// linesOf has the lines of the sources that were needed so far.
	linesOf map[*lang.Source]*lines
	// declared and written are made when they are first asked for: see fileNames and occurrencesIn.
	declared *fileNames
	written  map[lang.Decl][]occurrence
}

// parse is what a text says without its types.
func (s *server) parse(d *document) *analysis {
	a := &analysis{doc: d, loader: &load.Loader{Open: s.opened}, linesOf: map[*lang.Source]*lines{}, types: newTypes()}
	a.module, a.diags = a.loader.Parse(d.path, []byte(d.lines.text))
	a.linesOf[a.module.Source] = d.lines
	return a
}

func (s *server) analyse(d *document) *analysis {
	return s.typed(s.parse(d))
}

// typed adds the types to what a text says, and the errors of the checker.
func (s *server) typed(a *analysis) *analysis {
	program, ds, err := check(a.module, a.loader.Import)
	if err != nil {
		s.log("checking %s: %v", a.doc.path, err)
	}
	a.types.add(program)
	load.ProposeImports(a.module, ds)
	a.diags = append(append(a.diags, ds...), program.Warnings...).Sort()
	return a
}

// check is typecheck.Check for trees that may lack anything: a panic is an error.
func check(m *lang.Module, load typecheck.Loader) (p *typed.Program, ds lang.Diagnostics, err error) {
	defer func() {
		if r := recover(); r != nil {
			b := bug.Recovered("check", r)
			p, ds, err = &typed.Program{}, nil, fmt.Errorf("%w\n%s", b, b.Stack)
		}
	}()
	p, ds = typecheck.Check(m, load)
	return p, ds, nil
}

// imports are the files that this one imports, and whose names it can use.
func (a *analysis) imports() []*lang.Module {
	var all []*lang.Module
	for _, imp := range a.module.Imports {
		if m, _ := a.loader.Import(imp.Path, a.module, imp.Place); m != nil {
			all = append(all, m)
		}
	}
	return all
}

// lines are those of a source.
func (a *analysis) lines(src *lang.Source) *lines {
	l := a.linesOf[src]
	if l == nil {
		l = newLines(src.Text)
		a.linesOf[src] = l
	}
	return l
}
