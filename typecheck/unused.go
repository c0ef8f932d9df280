package typecheck

import (
	"maps"
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
)

// This file warns of names of the root file that nothing uses: it resolves them once more, in the tree alone, where a
// name stands for what was bound last around it.

// binding is a name with what is known of its use.
type binding struct {
	name lang.Ident
	code lang.Code
	// what is said of it, and whether a `_` may be put before its name where it stands.
	what string
	free bool
	used bool
}

// usage is the names of one declaration.
type usage struct {
	*report.Log
	scopes []map[string]*binding
	all    []*binding
}

// unused warns of what nothing uses.
func (c *program) unused() {
	root := c.order[len(c.order)-1]
	for _, d := range root.Tree.Decls {
		c.ownPart(d, func() { c.unusedIn(d) })
	}
	c.unusedImports(root)
}

// unusedIn warns of the names of one declaration.
func (c *program) unusedIn(d lang.Decl) {
	u := &usage{Log: c.Log}
	u.enter(func() { u.decl(d) })
	for _, b := range u.all {
		if b.used || strings.HasPrefix(b.name.Name, "_") {
			continue
		}
		r := c.Warnf(lang.SeverityWarning, b.code, b.name.Place, "%s %s", b.name.Name, b.what)
		const help = "remove it, or call it `_%s` where it is meant"
		if b.free {
			at := b.name.Place
			at.End = at.Start
			r.Replace(at, "_", help, b.name.Name)
		} else {
			r.Help(help, b.name.Name)
		}
	}
}

// unusedImports warns of imports of which the file uses no name.
func (c *program) unusedImports(root *rules.Module) {
	if len(root.Imports) == 0 {
		return
	}
	used := map[string]bool{}
	for _, d := range root.Tree.Decls {
		if c.again != nil {
			maps.Copy(used, c.again.now.decls[d].reads)
			continue
		}
		lang.Walk(d, func(n lang.Node) bool {
			switch n := n.(type) {
			case *lang.NameExpr:
				used[n.Name] = true
			case *lang.TypeExpr:
				used[n.Name.Name] = true
			}
			return true
		})
	}
	for _, imp := range root.Imports {
		needed := false
		for _, d := range imp.Module.Tree.Decls {
			if _, isTest := d.(*lang.TestDecl); !isTest {
				needed = needed || used[d.DeclName().Name]
			}
		}
		if needed {
			continue
		}
		at := imp.At
		if text := at.Source.Text; at.End < len(text) && text[at.End] == '\n' {
			at.End++
		}
		c.Warnf(lang.SeverityWarning, lang.WarnUnusedImport, imp.At, "nothing of %s is used", strings.TrimSpace(strings.TrimPrefix(imp.At.Text(), "import"))).
			Replace(at, "", "remove the import")
	}
}

func (u *usage) enter(inside func()) {
	u.scopes = append(u.scopes, map[string]*binding{})
	inside()
	u.scopes = u.scopes[:len(u.scopes)-1]
}

// bind enters a name; code is "" of what may well be unused.
func (u *usage) bind(name lang.Ident, code lang.Code, what string, free bool) *binding {
	b := &binding{name: name, code: code, what: what, free: free, used: code == "" || name.Name == ""}
	u.scopes[len(u.scopes)-1][name.Name] = b
	u.all = append(u.all, b)
	return b
}

func (u *usage) use(name string) {
	for i := len(u.scopes) - 1; i >= 0; i-- {
		if b := u.scopes[i][name]; b != nil {
			b.used = true
			return
		}
	}
}

const (
	neverUsed   = "is bound and never used"
	neverRead   = "is carried by the loop, and its body never reads it"
	neverWalked = "is an axis that nothing walks along"
	neverNeeded = "is a parameter that nothing uses"
)

func (u *usage) decl(d lang.Decl) {
	switch d := d.(type) {
	case *lang.ConstDecl:
		u.node(d.Value)
	case *lang.FnDecl:
		u.generics(d.Generics)
		u.params(d.Params, true, lang.WarnUnusedParam)
		u.node(d.Result)
		u.node(d.Body)
	case *lang.KernelDecl:
		u.generics(d.Generics)
		u.params(d.Params, false, lang.WarnUnusedParam)
		u.needed(d.Params, d)
		u.params(d.Outputs, false, "")
		for _, a := range d.Attrs {
			u.node(a)
		}
		for _, a := range d.Grid {
			code := lang.WarnUnusedAxis
			if a.By == nil { // a grid has an axis, if only `grid g in 1`
				code = ""
			}
			u.axis(a, code)
		}
		u.node(d.Body)
	case *lang.GraphDecl:
		code := lang.WarnUnusedParam
		for _, a := range d.Attrs {
			if a.Name.Name == "generate" || a.Name.Name == "logits" { // which say what parameters there are
				code = ""
			}
			u.node(a)
		}
		u.generics(d.Generics)
		u.params(d.Params, false, code)
		u.needed(d.Params, d)
		u.params(d.Outputs, false, "")
		u.node(d.Body)
	case *lang.TestDecl:
		u.node(d.Body)
	}
}

func (u *usage) generics(gs []*lang.Generic) {
	for _, g := range gs {
		u.node(g.Default)
		code := lang.WarnUnusedParam
		if !g.IsConst { // an element type that no tensor has is an error
			code = ""
		}
		u.bind(g.Name, code, neverNeeded, false)
	}
}

func (u *usage) params(ps []*lang.Param, free bool, code lang.Code) {
	for _, p := range ps {
		u.node(p.Type)
		u.node(p.Default)
		of := code
		if p.Mode == lang.Out {
			of = ""
		}
		u.bind(p.Name, of, neverNeeded, free)
	}
}

// needed marks the tensors that alone tell the size of a dimension which something else uses.
func (u *usage) needed(ps []*lang.Param, d lang.Decl) {
	tells := map[string][]*lang.Param{}
	for _, p := range ps {
		if p.Mode == lang.Out || p.Type == nil {
			continue
		}
		seen := map[string]bool{}
		for _, dim := range p.Type.Shape {
			if n, ok := dim.(*lang.NameExpr); ok && !seen[n.Name] {
				seen[n.Name] = true
				tells[n.Name] = append(tells[n.Name], p)
			}
		}
		if !p.Type.HasShape && len(p.Type.Args) > 0 || p.Type.Count != nil { // a struct has dimensions of its own
			u.use(p.Name.Name)
		}
	}
	all := named(d)
	for dim, by := range tells {
		if len(by) == 1 && all[dim] > named(by[0].Type)[dim] {
			u.use(by[0].Name.Name)
		}
	}
}

// named counts where each name is read in a part of the tree.
func named(n lang.Node) map[string]int {
	counts := map[string]int{}
	lang.Walk(n, func(k lang.Node) bool {
		if x, ok := k.(*lang.NameExpr); ok {
			counts[x.Name]++
		}
		return true
	})
	return counts
}

// axis resolves what an axis walks, and binds its name.
func (u *usage) axis(a *lang.AxisClause, code lang.Code) {
	u.node(a.Over)
	u.node(a.Range)
	u.node(a.By)
	u.bind(a.Name, code, neverWalked, true)
}

// node resolves the names of a part of the tree.
func (u *usage) node(n lang.Node) {
	switch n := n.(type) {
	case nil:
		return
	case *lang.Block:
		if n != nil {
			u.enter(func() {
				for _, s := range n.Stmts {
					u.stmt(s)
				}
			})
		}
		return
	case *lang.ForExpr:
		u.loop(n)
		return
	case *lang.LambdaExpr:
		u.enter(func() {
			for _, p := range n.Params {
				for _, name := range p.Names {
					u.bind(name, lang.WarnUnusedParam, neverNeeded, true)
				}
			}
			u.node(n.Body)
		})
		return
	}
	lang.Walk(n, func(k lang.Node) bool {
		switch k := k.(type) {
		case *lang.Block, *lang.ForExpr, *lang.LambdaExpr:
			if k == n {
				return true
			}
			u.node(k)
			return false
		case *lang.NameExpr:
			u.use(k.Name)
		case *lang.TypeExpr:
			u.use(k.Name.Name)
		case *lang.CallExpr:
			for _, over := range k.Over {
				u.use(over.Name)
			}
		}
		return true
	})
}

func (u *usage) loop(e *lang.ForExpr) {
	if e.Init != nil {
		u.node(e.Init)
	}
	u.enter(func() {
		u.node(e.Axis.Over)
		u.node(e.Axis.Range)
		u.node(e.Axis.By)
		code := lang.WarnUnusedAxis
		if e.Axis.By == nil { // a loop that only repeats
			code = ""
		}
		u.bind(e.Axis.Name, code, neverWalked, true)
		for _, name := range e.Carried {
			u.bind(name, lang.WarnUnused, neverRead, true)
		}
		u.node(e.Body)
	})
}

func (u *usage) stmt(s lang.Stmt) {
	switch s := s.(type) {
	case *lang.LetStmt:
		u.node(s.Value)
		for _, name := range s.Names {
			u.bind(name, lang.WarnUnused, neverUsed, true)
		}
	case *lang.AxisStmt:
		u.axis(s.Axis, lang.WarnUnusedAxis)
	default:
		u.node(s)
	}
}
