package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file inlines calls of fns in graphs, on scalars and whole tensors.

// errorf reports an error; inside a fn, with where it was called.
func (g *graphChecker) errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	return labelCalls(g.checker.reportf(code, at, format, args...), g.frames)
}

func (g *graphChecker) value(e lang.Expr) operand {
	o := g.expr(e)
	if o.mode == noValue {
		g.errorf(lang.ErrValueCount, e.Span(), "this gives no value")
		return bad(e.Span())
	}
	return o
}

func (g *graphChecker) adapt(o operand, d typed.DType) operand {
	if o.mode == list {
		return g.listAs(o, d)
	}
	return g.toScalar(o, d)
}

func (g *graphChecker) static(o operand) bool {
	return o.graph.GType().Kind == typed.GScalar && g.runtimeScalar(o.graph) == nil
}

// callFn inlines a call: the arguments are bound, the body is typed in the fn's own file.
func (g *graphChecker) callFn(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.FnDecl)
	if !g.deeper(g, "graph", d, e) {
		return bad(e.Place)
	}
	if ent.refused != nil && countPositional(e) != len(d.Params) {
		wrongCount(g, g.frames, ent, e, len(d.Params))
		return bad(e.Place)
	}
	call, positional, ok := g.newFnCall(g, ent, e)
	args := make([]operand, len(positional))
	functions := make([]*entity, len(positional))
	for i, x := range positional {
		if i < len(d.Params) && !d.Params[i].IsAxis {
			if f, done, argOK := functionArg(g, g.scope, d, d.Params[i], x); done {
				functions[i], ok = f, ok && argOK
				continue
			}
		}
		o := g.element(g.expr(x), x, d.Name.Name)
		if args[i] = o; i < len(d.Params) && d.Params[i].IsAxis && o.mode != invalid {
			g.errorf(lang.ErrAxisAsValue, x.Span(), "%s takes an axis here, and a graph has none", d.Name.Name).label(d.Params[i].Place, "declared here").
				help("call it in a kernel, where axes have names, and call that")
			args[i].mode = invalid
		}
		ok = ok && args[i].mode != invalid
	}
	if info := g.fns[d]; !call.settle(args, positional, ok) || info == nil || info.recursive || d.Body == nil {
		return bad(e.Place)
	}
	for i, p := range d.Params {
		if functions[i] != nil {
			call.scope.names[p.Name.Name] = functions[i]
			continue
		}
		g.bindArg(call.scope, p.Name, args[i])
	}
	g.frames = append(g.frames, frame{d, e.Place})
	g.calls = append(g.calls, frame{d, e.Place})
	o := g.unfold(e, call.scope, d.Body, d, d.Name.Name, d.Name.Place)
	g.frames = g.frames[:len(g.frames)-1]
	g.calls = g.calls[:len(g.calls)-1]
	if o.mode != invalid {
		o = call.resultOf(o)
	}
	if o.mode == invalid {
		return bad(e.Place)
	}
	o.at = e.Place
	return o
}

// bindArg gives the parameter of an inlined call its value.
func (g *graphChecker) bindArg(s *scope, name lang.Ident, o operand) {
	if o.mode == list {
		o = g.settled(o)
	}
	s.names[name.Name] = &entity{kind: entGraphValue, name: name.Name, at: name.Place, value: g.once(o, name)}
}

// unfold types the body of an inlined call in a scope of its own.
func (g *graphChecker) unfold(e *lang.CallExpr, s *scope, body lang.Expr, callee lang.Node, what string, declared lang.Span) operand {
	outer, found := g.scope, g.found
	g.scope = s
	g.active = append(g.active, callee)
	o := g.expr(body)
	g.active = g.active[:len(g.active)-1]
	g.scope = outer
	if o.mode == noValue {
		if g.found == found {
			g.errorf(lang.ErrValueCount, e.Place, "%s gives no value", what).label(declared, "declared here").help("end its body with the value")
		}
		return bad(e.Place)
	}
	return o
}

// callLambda inlines a call of a lambda that a fn was given.
func (g *graphChecker) callLambda(ent *entity, e *lang.CallExpr) operand {
	f := ent.lambda
	if !g.deeper(g, "graph", f, e) {
		return bad(e.Place)
	}
	if len(e.Args) != len(f.Params) {
		wrongCount(g, g.frames, ent, e, len(f.Params))
		return bad(e.Place)
	}
	inner := newScope(ent.scope)
	ok := true
	for i, a := range e.Args {
		if a.Name != nil {
			g.errorf(lang.ErrArgName, a.Name.Place, "a lambda has no argument named %s", a.Name.Name)
			return bad(e.Place)
		}
		if p := f.Params[i]; p.Tuple || len(p.Names) != 1 {
			g.errorf(lang.ErrValueCount, p.Place, "a lambda of tuples is for `reduce` and `scan`, in kernels").help("name each value")
			return bad(e.Place)
		}
		o := g.element(g.expr(a.Value), a.Value, ent.name)
		if o.mode == invalid {
			ok = false
			continue
		}
		g.bindArg(inner, f.Params[i].Names[0], o)
	}
	if !ok {
		return bad(e.Place)
	}
	o := g.unfold(e, inner, f.Body, f, "the lambda", f.Place)
	if o.mode != invalid {
		o.at = e.Place
	}
	return o
}
