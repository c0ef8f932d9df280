package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/graph"
	"tilec/typecheck/kernel"
	"tilec/typecheck/rules"
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
	ds := c.check(load)
	return c.Program, ds
}

// check types the file, and gives the errors.
func (c *program) check(load Loader) lang.Diagnostics {
	c.loadAll(c.root, load)
	for _, m := range c.order {
		c.declareModule(m)
	}
	for _, m := range c.order {
		c.importNames(m)
	}
	c.findRecursion()
	c.checkDecls()
	c.unused()
	c.Program.Warnings = c.Independent(c.order[len(c.order)-1].Incomplete)
	return c.Errors.Sort()
}

// checkDecls types every declaration: first what signatures need, then signatures, then bodies.
func (c *program) checkDecls() {
	// What is left of a damaged declaration is typed for its types, not for its errors.
	quietFrom := lang.DamagedHeader
	each := func(visit func(*rules.Module, lang.Decl)) {
		for _, m := range c.order {
			for _, d := range m.Tree.Decls {
				if quiet := d.SyntaxErrors() >= quietFrom; quiet {
					c.Muted++
					visit(m, d)
					c.Muted--
				} else {
					visit(m, d)
				}
			}
		}
	}
	each(func(m *rules.Module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.ConstDecl:
			c.ConstValue(m, d)
		case *lang.StructDecl:
			c.StructOf(m, d)
		}
	})
	each(func(m *rules.Module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.KernelDecl:
			kernel.Signature(c.Checker, m, d)
		case *lang.GraphDecl:
			graph.Signature(c.Checker, m, d)
		}
	})
	c.compare()
	each(func(m *rules.Module, d lang.Decl) {
		if fn, ok := d.(*lang.FnDecl); ok {
			c.part(m, d, func() typed.Node {
				kernel.CheckFn(c.Checker, m, fn)
				return nil
			})
		}
	})
	quietFrom = lang.DamagedBody
	each(func(m *rules.Module, d lang.Decl) {
		switch d := d.(type) {
		case *lang.KernelDecl:
			c.part(m, d, func() typed.Node {
				kernel.CheckBody(c.Checker, m, d)
				return c.Kernels[d]
			})
		case *lang.GraphDecl:
			c.part(m, d, func() typed.Node {
				graph.CheckBody(c.Checker, m, d)
				return c.Graphs[d]
			})
		case *lang.TestDecl:
			if m == c.order[len(c.order)-1] { // those of an imported file are their own matter
				graph.NameTest(c.Checker, d)
				c.part(m, d, func() typed.Node { return graph.CheckTest(c.Checker, m, d) })
			}
		}
	})
}

// program is a file that is checked, with what it imports.
type program struct {
	*rules.Checker
	root    *lang.Module
	modules map[string]*rules.Module // by Source.Path
	order   []*rules.Module          // imported before importing
	again   *again                   // nil where nothing is known from before
}

func newProgram(root *lang.Module) *program {
	c := rules.NewChecker(root)
	c.Evaluate = func(s *rules.Scope, e lang.Expr) rules.Operand { return kernel.Evaluate(c, s, e) }
	return &program{Checker: c, root: root, modules: map[string]*rules.Module{}}
}
