package typecheck

import (
	"tilec/lang"
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
	c := newProgram(root)
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

// checkDecls types every declaration: first what signatures need, then signatures, then bodies.
func (c *program) checkDecls() {
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
			kernelOf(c.checker, m, d)
		case *lang.GraphDecl:
			graphOf(c.checker, m, d)
		case *lang.FnDecl:
			checkFn(c.checker, m, d)
		}
	})
	quietFrom = lang.DamagedBody
	each(func(m *module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.KernelDecl:
			kernelBody(c.checker, m, d)
		case *lang.GraphDecl:
			graphBody(c.checker, m, d)
		case *lang.TestDecl:
			if m == c.order[len(c.order)-1] { // those of an imported file are its own matter
				testBody(c.checker, m, d)
			}
		}
	})
}

// program is a file that is checked, with what it imports.
type program struct {
	*checker
	modules map[string]*module // by Source.Path
	order   []*module          // imported before importing
}

func newProgram(root *lang.Module) *program {
	c := newChecker(root)
	c.evaluate = func(s *scope, e lang.Expr) operand { return evaluate(c, s, e) }
	return &program{checker: c, modules: map[string]*module{}}
}
