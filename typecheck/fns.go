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
	c.errorf(lang.ErrRecursion, at, "a %s may not call itself: %s", what, strings.Join(names, " -> ")).
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
			c.errorf(lang.ErrDuplicate, p.Name.Place, "the parameter %s is declared twice", p.Name.Name).label(old, "first declared here")
			continue
		}
		seen[p.Name.Name] = p.Name.Place
		c.fnType(b.scope, p.Type)
		b.declare(b.scope, &entity{kind: entInvalid, name: p.Name.Name, at: p.Name.Place, isAxis: p.IsAxis}, true)
	}
	c.fnType(b.scope, d.Result)
	b.frames = []frame{{fn: d}}
	b.fnBody(d)
}

func (b *bodyChecker) fnBody(d *lang.FnDecl) operand {
	if blk, ok := d.Body.(*lang.Block); ok {
		return b.stmtsOf(blk)
	}
	return b.expr(d.Body)
}

// callFn inlines a call: the arguments are bound, the body is typed in the fn's own file.
func (b *bodyChecker) callFn(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.FnDecl)
	info := b.fns[d]
	if !b.deeper(b, "kernel", d, e) {
		return bad(e.Place)
	}
	if e.Over != nil {
		b.errorf(lang.ErrArgName, e.Over[0].Place, "%s takes no `over`", d.Name.Name).help("an axis is passed by name: declare a parameter `axis j`")
		return bad(e.Place)
	}
	if ent.refused != nil && countPositional(e) != len(d.Params) {
		wrongCount(b, b.frames, ent, e, len(d.Params))
		return bad(e.Place)
	}
	call, positional, ok := b.newFnCall(b, ent, e)
	bind := make([]func(), len(positional))
	args := make([]operand, len(positional))
	for i, x := range positional {
		if i >= len(d.Params) {
			b.expr(x)
			continue
		}
		p := d.Params[i]
		if p.IsAxis {
			n, isName := x.(*lang.NameExpr)
			e := &entity{kind: entInvalid}
			if isName {
				if old := b.scope.lookup(n.Name); old != nil && old.kind == entAxis {
					e = &entity{kind: entAxis, axis: old.axis}
				} else if _, axisOK := b.axisArg(x); !axisOK {
					ok = false
				}
			} else if _, axisOK := b.axisArg(x); !axisOK {
				ok = false
			}
			if e.kind == entInvalid {
				ok = false
			}
			e.name, e.at = p.Name.Name, p.Name.Place
			bind[i] = func() { b.declare(b.scope, e, true) }
			continue
		}
		if ent, done, argOK := functionArg(b, b.scope, d, p, x); done {
			if ok = ok && argOK; argOK {
				bind[i] = func() { b.declare(b.scope, ent, true) }
			}
			continue
		}
		o := b.expr(x)
		if o.mode == tensorOperand {
			e := &entity{kind: entTensor, name: p.Name.Name, at: p.Name.Place, param: o.param}
			bind[i] = func() { b.declare(b.scope, e, true) }
			continue
		}
		args[i] = b.single(o, "argument")
		ok = ok && args[i].mode != invalid
		bind[i] = func() { b.bindArg(p.Name, args[i]) }
	}
	if !call.settle(args, positional, ok) || info == nil || info.recursive || d.Body == nil {
		return bad(e.Place)
	}
	b.frames = append(b.frames, frame{d, e.Place})
	b.calls = append(b.calls, frame{d, e.Place})
	stmts, o := b.unfold(e, call.scope, func() operand {
		for _, f := range bind {
			f()
		}
		return b.fnBody(d)
	}, d, d.Name.Name, d.Name.Place)
	b.frames = b.frames[:len(b.frames)-1]
	b.calls = b.calls[:len(b.calls)-1]
	if o.mode != invalid {
		o = call.resultOf(o)
	}
	return b.asExpr(o, stmts, e.Place)
}

// isStatic reports an expression that a specialisation decides.
func isStatic(x typed.Expr) bool {
	return typed.All(x, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.Const, *typed.ConstRef, *typed.SizeExpr:
			return true
		case *typed.Apply:
			return n.Op.Row().Elementwise
		}
		return false
	})
}

// bindArg binds an argument in the fn's scope; what costs nothing to repeat is not bound again.
func (b *bodyChecker) bindArg(name lang.Ident, o operand) {
	switch o.expr.(type) {
	case *typed.LocalRef, *typed.ScalarRef, *typed.Const, *typed.SizeExpr, *typed.ConstRef:
		b.declare(b.scope, &entity{kind: entValue, name: name.Name, at: name.Place, value: o}, true)
		return
	}
	b.bind(name, o, o.at)
}
