package typecheck

import (
	"path/filepath"
	"slices"
	"strings"

	"tilec/lang"
)

// loadAll reads the imports of the root, theirs, and so on.
func (c *program) loadAll(root *lang.Module, load Loader) {
	var stack []*module
	var visit func(tree *lang.Module) *module
	visit = func(tree *lang.Module) *module {
		m := &module{tree: tree, incomplete: tree.Partial, loading: true}
		c.modules[tree.Source.Path] = m
		stack = append(stack, m)
		seen := map[*module]bool{}
		for _, imp := range tree.Imports {
			if load == nil {
				c.Errorf(lang.ErrImport, imp.Place, "cannot import %q: imports are not available here", imp.Path)
				m.incomplete = true
				continue
			}
			t, diags := load(imp.Path, tree, imp.Place)
			c.errors = append(c.errors, diags...)
			if t == nil {
				if len(diags) == 0 {
					c.Errorf(lang.ErrImport, imp.Place, "cannot import %q: no such file", imp.Path)
				}
				m.incomplete = true
				continue
			}
			if len(diags) > 0 {
				m.incomplete = true
			}
			dep, ok := c.modules[t.Source.Path]
			if ok && dep.loading {
				c.reportCycle(stack, dep, imp)
				m.incomplete = true
				continue
			}
			if !ok {
				dep = visit(t)
			}
			if dep.incomplete {
				m.incomplete = true
			}
			if !seen[dep] {
				seen[dep] = true
				m.imports = append(m.imports, imported{imp.Place, dep})
			}
		}
		stack, m.loading = stack[:len(stack)-1], false
		c.order = append(c.order, m)
		c.prog.Modules = append(c.prog.Modules, tree)
		return m
	}
	visit(root)
}

// reportCycle reports an import of a file that is being loaded. The stack has the files that are, the root first.
func (c *program) reportCycle(stack []*module, file *module, imp *lang.Import) {
	cycle := stack[slices.Index(stack, file):]
	var names []string
	for _, on := range append(slices.Clone(cycle), file) {
		names = append(names, filepath.Base(on.tree.Source.Path))
	}
	r := c.Errorf(lang.ErrImportCycle, imp.Place, "imports form a cycle: %s", strings.Join(names, " -> "))
	for _, on := range cycle[:len(cycle)-1] {
		for _, other := range on.tree.Imports {
			if other.Place != imp.Place {
				r.label(other.Place, "on the way: imported here")
				break
			}
		}
	}
	r.help("move what the files share into a file that imports none of them")
}

// declareModule enters a file's own declarations.
func (c *program) declareModule(m *module) {
	m.own = newScope(nil)
	for _, d := range m.tree.Decls {
		name := d.DeclName()
		e := &entity{name: name.Name, at: name.Place, module: m, decl: d}
		switch d.(type) {
		case *lang.ConstDecl:
			e.kind = entConst
		case *lang.FnDecl:
			e.kind = entFn
		case *lang.KernelDecl:
			e.kind = entKernel
		case *lang.GraphDecl:
			e.kind = entGraph
		case *lang.StructDecl:
			e.kind = entStruct
		default:
			continue
		}
		if name.Name == "" {
			continue
		}
		if d.SyntaxErrors() == lang.DamagedHeader {
			e.kind = entInvalid
		}
		if isBuiltin(name.Name) {
			c.Errorf(lang.ErrDuplicate, name.Place, "%s is a name of the language and cannot be declared again", name.Name).
				help("choose another name")
			m.own.names[name.Name] = &entity{kind: entInvalid, name: name.Name, at: name.Place} // whoever uses it meant this one
			continue
		}
		if old := m.own.names[name.Name]; old != nil {
			c.Errorf(lang.ErrDuplicate, name.Place, "%s is declared twice", name.Name).
				label(old.at, "first declared here").help("give one of them another name")
			continue
		}
		m.own.names[name.Name] = e
	}
	for _, name := range m.tree.Lost { // known, but not as what
		if m.own.names[name] == nil {
			m.own.names[name] = &entity{kind: entInvalid, name: name, module: m}
		}
	}
}

// importNames makes the names of imported files usable.
func (c *program) importNames(m *module) {
	m.scope = newScope(nil)
	m.scope.module = m
	for name, e := range m.own.names {
		m.scope.names[name] = e
	}
	for _, imp := range m.imports {
		for _, name := range imp.module.tree.Lost {
			if m.scope.names[name] == nil {
				m.scope.names[name] = imp.module.own.names[name]
			}
		}
		for _, d := range imp.module.tree.Decls {
			name := d.DeclName().Name
			e := imp.module.own.names[name]
			if e == nil || e.decl != d {
				continue
			}
			switch old := m.scope.names[name]; {
			case old == nil:
				m.scope.names[name] = e
			case old.module == m:
				c.Errorf(lang.ErrImportedName, old.at, "%s is declared here and in %s, which this file imports", name, imp.module.tree.Source.Path).
					label(e.at, "the other %s", name).help("give this one another name")
			case old != e:
				c.Errorf(lang.ErrImportedName, imp.at, "%s is declared in two imported files, %s and %s", name, old.module.tree.Source.Path, imp.module.tree.Source.Path).
					label(old.at, "one %s", name).label(e.at, "the other %s", name).help("import only one of them, or rename one %s", name)
			}
		}
	}
}
