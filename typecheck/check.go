package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Loader gives the file that an import names: a standard file ("std/nn"), or a
// path relative to the importing file. A file that is asked for twice must have
// the same Source.Path both times.
type Loader = func(path string, from *lang.Module, at lang.Span) (*lang.Module, lang.Diagnostics)

// Check types a file and everything that it imports. The program is complete
// when there are no diagnostics; with some, it holds what could be typed. Of a
// file with syntax errors it reports what is wrong in the intact declarations,
// and nothing that follows from what could not be parsed.
func Check(root *lang.Module, load Loader) (*typed.Program, lang.Diagnostics) {
	c := &checker{
		prog:      &typed.Program{},
		log:       newLog(root),
		modules:   map[string]*module{},
		fns:       map[*lang.FnDecl]*fnInfo{},
		structs:   map[*lang.StructDecl]*structInfo{},
		consts:    map[*lang.ConstDecl]*constInfo{},
		kernels:   map[*lang.KernelDecl]*typed.Kernel{},
		graphs:    map[*lang.GraphDecl]*typed.Graph{},
		tests:     map[string]lang.Span{},
		broken:    map[lang.Decl]bool{},
		recursive: map[lang.Decl]bool{},
		sigs:      map[lang.Decl]*signature{},
	}
	c.loadAll(root, load)
	for _, m := range c.order {
		c.declareModule(m)
	}
	for _, m := range c.order {
		c.importNames(m)
	}
	c.findRecursion()
	c.checkDecls()
	c.unused()
	c.prog.Warnings = c.independent(c.order[len(c.order)-1].incomplete)
	return c.prog, c.errors.Sort()
}

// checker is the state of one Check.
type checker struct {
	prog *typed.Program
	*log
	modules map[string]*module // by Source.Path
	order   []*module          // imported before importing
	fns     map[*lang.FnDecl]*fnInfo
	structs map[*lang.StructDecl]*structInfo
	consts  map[*lang.ConstDecl]*constInfo
	kernels map[*lang.KernelDecl]*typed.Kernel
	graphs  map[*lang.GraphDecl]*typed.Graph
	tests   map[string]lang.Span // the first of each name
	hidden  size.Hidden
	// broken are the kernels and graphs whose signature has errors.
	broken map[lang.Decl]bool
	// recursive are the fns and graphs that call themselves.
	recursive map[lang.Decl]bool
	// sigs are the signatures of kernels and graphs.
	sigs map[lang.Decl]*signature
	// sizing counts the places that we are in where a size is needed: shapes, axes, slices.
	sizing int
	// calls are the fn calls being inlined, outermost first, for what is typed by rules of no body.
	calls []frame
}

// checkDecls types every declaration: first what signatures need, then signatures, then bodies.
func (c *checker) checkDecls() {
	// What is left of a damaged declaration is typed for its types, not for its errors.
	quietFrom := lang.DamagedHeader
	each := func(visit func(*module, lang.Decl)) {
		for _, m := range c.order {
			for _, d := range m.tree.Decls {
				if quiet := d.SyntaxErrors() >= quietFrom; quiet {
					c.muted++
					visit(m, d)
					c.muted--
				} else {
					visit(m, d)
				}
			}
		}
	}
	each(func(m *module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.ConstDecl:
			c.constValue(m, d)
		case *lang.StructDecl:
			c.structOf(m, d)
		}
	})
	each(func(m *module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.KernelDecl:
			c.kernelOf(m, d)
		case *lang.GraphDecl:
			c.graphOf(m, d)
		case *lang.FnDecl:
			c.checkFn(m, d)
		}
	})
	quietFrom = lang.DamagedBody
	each(func(m *module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.KernelDecl:
			c.kernelBody(m, d)
		case *lang.GraphDecl:
			c.graphBody(m, d)
		case *lang.TestDecl:
			if m == c.order[len(c.order)-1] { // those of an imported file are its own matter
				c.testBody(m, d)
			}
		}
	})
}

// Errorf reports an error at a place; inside a fn, with where it was called.
func (c *checker) Errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	return labelCalls(c.log.Errorf(code, at, format, args...), c.calls)
}

// newHidden makes a symbol that stands for an integer of the program in proofs.
func (c *checker) newHidden(name string) *size.Symbol {
	return c.hidden.Position(name)
}
