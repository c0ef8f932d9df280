package typecheck

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/rules"
)

// callable is a declaration that may call others: a fn or a graph.
type callable struct {
	decl lang.Decl
	body lang.Node
	file *rules.Module
}

// findRecursion reports each cycle of fns, and of graphs, once, and marks those in it.
func (c *program) findRecursion() {
	all := map[lang.Decl]*callable{}
	var order []*callable
	for _, m := range c.order {
		for _, d := range m.Tree.Decls {
			x := &callable{decl: d, file: m}
			switch d := d.(type) {
			case *lang.FnDecl:
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
				e := x.file.Scope.Lookup(name.Name)
				if e == nil || all[e.Decl] == nil || own[name.Name] {
					continue
				}
				switch y := all[e.Decl]; state[y] {
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

func (c *program) reportRecursion(stack []*callable, y *callable, at lang.Span) {
	var names []string
	for i, x := range stack {
		if x != y {
			continue
		}
		for _, on := range stack[i:] {
			names = append(names, on.decl.DeclName().Name)
			c.Recursive[on.decl] = true
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
		LabelAt(name.Place, "%s is declared here", name.Name).Help("use a `for` loop, which carries values")
}
