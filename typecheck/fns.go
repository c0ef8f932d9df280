package typecheck

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// fnInfo is what is known of a fn before any call.
type fnInfo struct {
	module    *module
	recursive bool
}

// callable is a declaration that may call others: a fn or a graph.
type callable struct {
	decl lang.Decl
	body lang.Node
	file *module
}

// findRecursion reports each cycle of fns, and of graphs, once, and marks those in it.
func (c *checker) findRecursion() {
	all := map[lang.Decl]*callable{}
	var order []*callable
	for _, m := range c.order {
		for _, d := range m.tree.Decls {
			x := &callable{decl: d, file: m}
			switch d := d.(type) {
			case *lang.FnDecl:
				c.fns[d] = &fnInfo{module: m}
				x.body = d.Body
			case *lang.GraphDecl:
				x.body = d.Body
			default:
				continue
			}
			all[d] = x
			order = append(order, x)
		}
	}
	const visiting, visited = 1, 2
	state := map[*callable]int{}
	var stack []*callable
	var visit func(x *callable)
	visit = func(x *callable) {
		state[x] = visiting
		stack = append(stack, x)
		own := boundIn(x.decl)
		lang.Walk(x.body, func(n lang.Node) bool {
			call, ok := n.(*lang.CallExpr)
			if !ok {
				return true
			}
			for _, name := range called(call) {
				e := x.file.scope.lookup(name.Name)
				if e == nil || all[e.decl] == nil || own[name.Name] {
					continue
				}
				switch y := all[e.decl]; state[y] {
				case visiting:
					c.reportRecursion(stack, y, name.Place)
				case 0:
					visit(y)
				}
			}
			return true
		})
		stack = stack[:len(stack)-1]
		state[x] = visited
	}
	for _, x := range order {
		if state[x] == 0 {
			visit(x)
		}
	}
}

// called is the function that a call names, and those that it hands on.
func called(call *lang.CallExpr) []*lang.NameExpr {
	name, ok := call.Fn.(*lang.NameExpr)
	if !ok {
		return nil
	}
	names := []*lang.NameExpr{name}
	for _, a := range call.Args {
		if f, ok := a.Value.(*lang.NameExpr); ok {
			names = append(names, f)
		}
	}
	return names
}

// boundIn is the names that a declaration gives a meaning of its own: parameters, and what its body binds.
func boundIn(d lang.Decl) map[string]bool {
	own := map[string]bool{}
	add := func(names ...lang.Ident) {
		for _, n := range names {
			own[n.Name] = true
		}
	}
	lang.Walk(d, func(n lang.Node) bool {
		switch n := n.(type) {
		case *lang.Param:
			add(n.Name)
		case *lang.LetStmt:
			add(n.Names...)
		case *lang.AxisClause:
			add(n.Name)
		case *lang.ForExpr:
			add(n.Carried...)
		case *lang.LambdaExpr:
			for _, p := range n.Params {
				add(p.Names...)
			}
		}
		return true
	})
	return own
}

func (c *checker) reportRecursion(stack []*callable, y *callable, at lang.Span) {
	var names []string
	for i, x := range stack {
		if x != y {
			continue
		}
		for _, on := range stack[i:] {
			names = append(names, on.decl.DeclName().Name)
			c.recursive[on.decl] = true
			if f, ok := on.decl.(*lang.FnDecl); ok {
				c.fns[f].recursive = true
			}
		}
	}
	name := y.decl.DeclName()
	names = append(names, name.Name)
	what := "fn"
	if _, ok := y.decl.(*lang.GraphDecl); ok {
		what = "graph"
	}
	if few := 8; len(names) > few {
		names = append(append(names[:few/2:few/2], "..."), names[len(names)-few/2:]...)
	}
	c.Errorf(lang.ErrRecursion, at, "a %s may not call itself: %s", what, strings.Join(names, " -> ")).
		label(name.Place, "%s is declared here", name.Name).help("use a `for` loop, which carries values")
}

// checkFn types the body of a fn with arguments of which nothing is known, so
// that errors show that no argument could mend.
func (c *checker) checkFn(m *module, d *lang.FnDecl) {
	c.attrs(d.Attrs, "a fn", lang.Nowhere, nil)
	info := c.fns[d]
	if info == nil || info.recursive || d.Body == nil {
		return
	}
	b := c.newBody(&typed.Kernel{}, m.scope)
	c.fnGenerics(b.scope, d, func(g *lang.Generic) *entity {
		if !g.IsConst {
			return &entity{kind: entTypeParam, dtype: typed.DType{Param: &typed.TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Place}}}
		}
		return &entity{kind: entInvalid}
	})
	seen := map[string]lang.Span{}
	for _, p := range d.Params {
		if old, dup := seen[p.Name.Name]; dup && p.Name.Name != "_" {
			c.Errorf(lang.ErrDuplicate, p.Name.Place, "the parameter %s is declared twice", p.Name.Name).label(old, "first declared here")
			continue
		}
		seen[p.Name.Name] = p.Name.Place
		c.fnType(b.scope, p.Type)
		b.declare(b.scope, &entity{kind: entInvalid, name: p.Name.Name, at: p.Name.Place, isAxis: p.IsAxis}, true)
	}
	c.fnType(b.scope, d.Result)
	b.frames = []frame{{fn: d}}
	b.FnBody(d.Body)
}

// fnGenerics declares the parameters of a fn between `<` and `>`.
func (c *checker) fnGenerics(s *scope, d *lang.FnDecl, entityOf func(*lang.Generic) *entity) {
	for _, g := range d.Generics {
		c.boundOf(g)
		e := entityOf(g)
		e.name, e.at = g.Name.Name, g.Name.Place
		c.declare(s, e, false)
	}
}

// fnType resolves the type of a parameter or of the value of a fn: an element
// type, or the zero DType for none.
func (c *checker) fnType(s *scope, t *lang.TypeExpr) typed.DType {
	if t == nil {
		return typed.DType{}
	}
	if t.HasShape || t.Count != nil || len(t.Args) > 0 {
		c.Errorf(lang.ErrDeclType, t.Place, "a fn takes and gives tiles, which have an element type and no shape").
			replace(t.Place, t.Name.Name, "write the element type alone, or leave the type out")
		return typed.DType{}
	}
	d, ok := c.dtypeNamed(s, t.Name.Name, t.Place)
	if !ok {
		return typed.DType{}
	}
	return d
}
