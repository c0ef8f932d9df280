package typecheck

import (
	"path/filepath"
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/rules"
)

// loadAll reads the imports of the root, theirs, and so on.
func (c *program) loadAll(root *lang.Module, load Loader) {
	var stack []*rules.Module
	var visit func(tree *lang.Module) *rules.Module
	visit = func(tree *lang.Module) *rules.Module {
		m := &rules.Module{Tree: tree, Incomplete: tree.Partial, Loading: true}
		c.modules[tree.Source.Path] = m
		stack = append(stack, m)
		seen := map[*rules.Module]bool{}
		for _, imp := range tree.Imports {
			if load == nil {
				c.Errorf(lang.ErrImport, imp.Place, "cannot import %q: imports are not available here", imp.Path)
				m.Incomplete = true
				continue
			}
			t, diags := load(imp.Path, tree, imp.Place)
			c.Errors = append(c.Errors, diags...)
			if t == nil {
				if len(diags) == 0 {
					c.Errorf(lang.ErrImport, imp.Place, "cannot import %q: no such file", imp.Path)
				}
				m.Incomplete = true
				continue
			}
			if len(diags) > 0 {
				m.Incomplete = true
			}
			dep, ok := c.modules[t.Source.Path]
			if ok && dep.Loading {
				c.reportCycle(stack, dep, imp)
				m.Incomplete = true
				continue
			}
			if !ok {
				dep = visit(t)
			}
			if dep.Incomplete {
				m.Incomplete = true
			}
			if !seen[dep] {
				seen[dep] = true
				m.Imports = append(m.Imports, rules.Imported{At: imp.Place, Module: dep})
			}
		}
		stack, m.Loading = stack[:len(stack)-1], false
		c.order = append(c.order, m)
		c.Program.Modules = append(c.Program.Modules, tree)
		return m
	}
	visit(root)
}

// reportCycle reports an import of a file that is being loaded. The stack has the files that are, the root first.
func (c *program) reportCycle(stack []*rules.Module, file *rules.Module, imp *lang.Import) {
	cycle := stack[slices.Index(stack, file):]
	var names []string
	for _, on := range append(slices.Clone(cycle), file) {
		names = append(names, filepath.Base(on.Tree.Source.Path))
	}
	r := c.Errorf(lang.ErrImportCycle, imp.Place, "imports form a cycle: %s", strings.Join(names, " -> "))
	for _, on := range cycle[:len(cycle)-1] {
		for _, other := range on.Tree.Imports {
			if other.Place != imp.Place {
				r.LabelAt(other.Place, "on the way: imported here")
				break
			}
		}
	}
	r.Help("move what the files share into a file that imports none of them")
}

// declareModule enters a file's own declarations.
func (c *program) declareModule(m *rules.Module) {
	m.Own = rules.NewScope(nil)
	for _, d := range m.Tree.Decls {
		name := d.DeclName()
		e := &rules.Entity{Name: name.Name, At: name.Place, Module: m, Decl: d}
		switch d.(type) {
		case *lang.ConstDecl:
			e.Kind = rules.EntConst
		case *lang.FnDecl:
			e.Kind = rules.EntFn
		case *lang.KernelDecl:
			e.Kind = rules.EntKernel
		case *lang.GraphDecl:
			e.Kind = rules.EntGraph
		case *lang.StructDecl:
			e.Kind = rules.EntStruct
		default:
			continue
		}
		if name.Name == "" {
			continue
		}
		if d.SyntaxErrors() == lang.DamagedHeader {
			e.Kind = rules.EntInvalid
		}
		if rules.IsBuiltin(name.Name) {
			c.Errorf(lang.ErrDuplicate, name.Place, "%s is a name of the language and cannot be declared again", name.Name).
				Help("choose another name")
			m.Own.Names[name.Name] = &rules.Entity{Kind: rules.EntInvalid, Name: name.Name, At: name.Place} // whoever uses it meant this one
			continue
		}
		if old := m.Own.Names[name.Name]; old != nil {
			c.Errorf(lang.ErrDuplicate, name.Place, "%s is declared twice", name.Name).
				LabelAt(old.At, "first declared here").Help("give one of them another name")
			continue
		}
		m.Own.Names[name.Name] = e
	}
	for _, name := range m.Tree.Lost { // known, but not as what
		if m.Own.Names[name] == nil {
			m.Own.Names[name] = &rules.Entity{Kind: rules.EntInvalid, Name: name, Module: m}
		}
	}
}

// importNames makes the names of imported files usable.
func (c *program) importNames(m *rules.Module) {
	m.Scope = rules.NewScope(nil)
	m.Scope.Module = m
	for name, e := range m.Own.Names {
		m.Scope.Names[name] = e
	}
	for _, imp := range m.Imports {
		for _, name := range imp.Module.Tree.Lost {
			if m.Scope.Names[name] == nil {
				m.Scope.Names[name] = imp.Module.Own.Names[name]
			}
		}
		for _, d := range imp.Module.Tree.Decls {
			name := d.DeclName().Name
			e := imp.Module.Own.Names[name]
			if e == nil || e.Decl != d {
				continue
			}
			switch old := m.Scope.Names[name]; {
			case old == nil:
				m.Scope.Names[name] = e
			case old.Module == m:
				c.Errorf(lang.ErrImportedName, old.At, "%s is declared here and in %s, which this file imports", name, imp.Module.Tree.Source.Path).
					LabelAt(e.At, "the other %s", name).Help("give this one another name")
			case old != e:
				c.Errorf(lang.ErrImportedName, imp.At, "%s is declared in two imported files, %s and %s", name, old.Module.Tree.Source.Path, imp.Module.Tree.Source.Path).
					LabelAt(old.At, "one %s", name).LabelAt(e.At, "the other %s", name).Help("import only one of them, or rename one %s", name)
			}
		}
	}
}
