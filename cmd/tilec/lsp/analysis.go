package lsp

import (
	"fmt"

	"tilec/jit/bug"
	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
	"tilec/typecheck/load"
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

// parse is what a text says without its types. Of an open document, and of what files import, what has not changed is not
// parsed again.
func (s *server) parse(d *document) *analysis {
	a := &analysis{doc: d, loader: &load.Loader{Open: s.opened, Tree: s.treeFor}, linesOf: map[*lang.Source]*lines{}, types: &types{}}
	if s.docs[d.uri] == d {
		a.module, a.diags = s.treeFor(d.path, d.lines.text)
	} else {
		a.module, a.diags = parser.Parse(lang.NewSource(d.path, d.lines.text))
	}
	a.linesOf[a.module.Source] = d.lines
	return a
}

func (s *server) analyse(d *document) *analysis {
	return s.typed(s.parse(d))
}

// tree is the tree of a file that is open, or that another imports.
type tree struct {
	*parser.Tree
	module *lang.Module
	// current: nothing has changed since the module was made.
	current bool
}

// treeFor parses a file, as far as it has changed. Until something changes the file is as it was when it was asked for first.
func (s *server) treeFor(path, text string) (*lang.Module, lang.Diagnostics) {
	t := s.trees[path]
	switch {
	case t == nil:
		t = &tree{Tree: parser.NewTree(path, text)}
		s.trees[path] = t
	case !t.current:
		t.Update(text)
	}
	if !t.current {
		t.module, t.current = t.Module(), true
	}
	return t.module, t.Diagnostics()
}

// typed adds the types to what a text says, and the errors of the checker. What does not depend on what has changed since
// the document was checked last is not checked again.
func (s *server) typed(a *analysis) *analysis {
	memory := a.doc.memory
	a.doc.memory = typecheck.Memory{} // a panic leaves nothing
	x, err := check(&memory, a.module, a.loader.Import)
	if err != nil {
		s.log("checking %s: %v", a.doc.path, err)
	}
	a.doc.typed, a.types = newTypes(x, a.doc.typed)
	a.doc.memory = memory
	load.ProposeImports(a.module, x.Errors)
	a.diags = append(append(a.diags, x.Errors...), x.Warnings...).Sort()
	return a
}

// check is Memory.Check for trees that may lack anything: a panic is an error.
func check(mem *typecheck.Memory, m *lang.Module, load typecheck.Loader) (x *typecheck.Checked, err error) {
	defer func() {
		if r := recover(); r != nil {
			b := bug.Recovered("check", r)
			x, err = &typecheck.Checked{}, fmt.Errorf("%w\n%s", b, b.Stack)
		}
	}()
	return mem.Check(m, load), nil
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
