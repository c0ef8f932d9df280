package typecheck

import "tilec/lang"

// This file inlines calls of fns in graphs, on scalars and whole tensors.

// errorf reports an error; inside a fn, with where it was called.
func (g *graphChecker) errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	return labelCalls(g.checker.errorf(code, at, format, args...), g.frames)
}

func (g *graphChecker) value(e lang.Expr) operand {
	o := g.expr(e)
	if o.mode == noValue {
		g.errorf(lang.ErrValueCount, e.Span(), "this gives no value")
		return bad(e.Span())
	}
	return o
}

func (g *graphChecker) adapt(o operand, d DType) operand {
	if o.mode == list {
		return g.listAs(o, d)
	}
	return g.toScalar(o, d)
}

func (g *graphChecker) static(o operand) bool {
	return o.graph.GType().Kind == GScalar && g.runtimeScalar(o.graph) == nil
}

// callFn inlines a call: the arguments are bound, the body is typed in the fn's own file.
func (g *graphChecker) callFn(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.FnDecl)
	if g.inlined++; g.inlined > maxInlined {
		if g.inlined == maxInlined+1 {
			g.errorf(lang.ErrNesting, e.Place, "the calls of functions in this graph unfold to more than %d", maxInlined).
				help("bind what is computed twice with `let`: each call is inlined where it stands")
		}
		return bad(e.Place)
	}
	call, positional, ok := g.newFnCall(g, ent, e)
	args := make([]operand, len(positional))
	for i, x := range positional {
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
		if args[i].mode == list {
			args[i] = g.settled(args[i])
		}
		call.scope.names[p.Name.Name] = &entity{kind: entGraphValue, name: p.Name.Name, at: p.Name.Place, value: g.once(args[i], p.Name)}
	}
	outer, found := g.scope, g.found
	g.scope, g.frames = call.scope, append(g.frames, frame{d, e.Place})
	o := g.expr(d.Body)
	g.scope, g.frames = outer, g.frames[:len(g.frames)-1]
	if o.mode == noValue {
		if g.found == found {
			g.errorf(lang.ErrValueCount, e.Place, "%s gives no value", d.Name.Name).label(d.Name.Place, "declared here").help("end its body with the value")
		}
		return bad(e.Place)
	}
	if o = call.resultOf(o); o.mode == invalid {
		return bad(e.Place)
	}
	o.at = e.Place
	return o
}
