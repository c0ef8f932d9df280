package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types calls in graphs: of kernels, graphs, views, and functions of scalars.

func (g *graphChecker) call(e *lang.CallExpr) operand {
	n, ok := e.Fn.(*lang.NameExpr)
	if !ok {
		r := g.errorf(lang.ErrNameKind, e.Fn.Span(), "only a kernel, a graph or a function can be called, by its name")
		if f, isField := e.Fn.(*lang.FieldExpr); isField {
			g.notMethod(r, g.scope, true, f)
		}
		return bad(e.Place)
	}
	if e.Over != nil {
		g.errorf(lang.ErrArgName, e.Over[0].Place, "a graph works on whole tensors and has no axes").help("reduce in a kernel, and call that")
		return bad(e.Place)
	}
	if ent := g.scope.lookup(n.Name); ent != nil {
		switch ent.kind {
		case entInvalid:
			return bad(e.Place)
		case entKernel:
			return g.callKernel(ent, e)
		case entGraph:
			return g.callGraph(ent, e)
		case entFn:
			return g.callFn(ent, e)
		case entLambda:
			return g.callLambda(ent, e)
		case entBuiltin:
			named := *e
			named.Fn = &lang.NameExpr{At: n.At, Name: ent.builtin}
			return g.callBuiltin(ent.builtin, &named)
		}
		g.errorf(lang.ErrNameKind, n.Place, "%s is %s and cannot be called", n.Name, ent.describe()).label(ent.at, "declared here")
		return bad(e.Place)
	}
	return g.callBuiltin(n.Name, e)
}

// callBuiltin types a call of a function of the language.
func (g *graphChecker) callBuiltin(name string, e *lang.CallExpr) operand {
	at := e.Fn.Span()
	if e.Else != nil {
		g.errorf(lang.ErrBounds, e.Else.Span(), "%s reads nothing that may lie outside, and takes no `else`", name).help("remove the `else`")
		return bad(e.Place)
	}
	switch name {
	case "view":
		return g.view(e)
	case "bitcast":
		return g.bitcast(e)
	case "rand", "randn", "random_bits":
		return g.random(name, e)
	}
	if _, ok := makers[name]; ok {
		return g.make(name, e)
	}
	if op, ok := lang.FindOp(name, lang.FormCall); ok && op.Row().Elementwise {
		exprs := make([]lang.Expr, len(e.Args))
		for i, a := range e.Args {
			if a.Name != nil {
				g.unknownArgument(e, a, true)
				return bad(e.Place)
			}
			exprs[i] = a.Value
		}
		return g.elementwise(op, e.Place, at, exprs)
	}
	switch {
	case isBuiltin(name):
		r := g.errorf(lang.ErrNameKind, at, "%s is of tiles, in kernels", name)
		if name == "assert" || name == "all" {
			r.help("in a test, `check c` says that c holds for every element")
		} else {
			r.help("do it in a kernel, and call that")
			r.neighbour(true, name, lang.AsCall)
		}
	default:
		g.unknown(g.scope, name, at, append(functionNames(), "view", "arange", "rand", "randn"), true, calledPlaces...)
		for _, a := range e.Args {
			if lang.FindNeighbour(name, calledPlaces...) == nil && g.isValue(g.scope, a.Value) {
				g.expr(a.Value)
			}
		}
	}
	return bad(e.Place)
}

// view types `view(x, [B, S, H, D])`.
func (g *graphChecker) view(e *lang.CallExpr) operand {
	if len(e.Args) != 2 {
		g.errorf(lang.ErrArgCount, e.Place, "view has %s", plural(len(e.Args), "argument")).help("write `view(x, [B, S, C])`")
		return bad(e.Place)
	}
	x := g.settled(g.expr(e.Args[0].Value))
	shape, ok := g.shapeList(e.Args[1].Value)
	if !ok || x.mode == invalid {
		return bad(e.Place)
	}
	count := size.Const(1)
	for _, s := range shape {
		count = count.Mul(s)
	}
	if x.mode != typedValue || x.graph.GType().Kind != typed.GTensor {
		g.errorf(lang.ErrWrongType, e.Args[0].Value.Span(), "view is of a tensor, not of %s", g.describe(x))
		return bad(e.Place)
	}
	t := x.graph.GType()
	have := size.Const(1)
	for _, s := range t.Shape {
		have = have.Mul(s)
	}
	if g.prover.Different(have, count) {
		g.errorf(lang.ErrView, e.Args[1].Value.Span(), "the view has %s elements, and %s has %s", count, t, have).label(x.at, "%s", t).
			help("a view has as many elements as what it shows")
		return bad(e.Place)
	}
	return graphOperand(&typed.GView{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: t.DType, Shape: shape}, At: e.Place}, X: x.graph})
}

func (g *graphChecker) callKernel(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.KernelDecl)
	k := g.kernelOf(ent.module, d)
	s := g.site(e, k.Name, ent.at, k.Consts, k.TypeParams)
	names, optional, shapes := make([]string, len(k.Params)), make([]bool, len(k.Params)), make([][]size.Size, len(k.Params))
	for i, p := range k.Params {
		names[i], optional[i], shapes[i] = p.Name, p.Default != nil, p.Shape
	}
	if g.broken[d] {
		for _, a := range e.Args {
			g.expr(a.Value)
		}
		return bad(e.Place)
	}
	args, ok := s.match(names, optional)
	if args == nil {
		return bad(e.Place)
	}
	ops := make([]operand, len(args))
	for i, x := range args {
		if x == nil {
			continue
		}
		ops[i] = g.expr(x)
		if ops[i].mode == noValue {
			g.errorf(lang.ErrValueCount, x.Span(), "this gives no value")
			ops[i].mode = invalid
		}
		ok = ok && ops[i].mode != invalid
	}
	if !ok || !s.finish(names, shapes) {
		return bad(e.Place)
	}
	ok = s.listArgs(ops, func(i int) typed.DType { return k.Params[i].DType })
	if !ok {
		return bad(e.Place)
	}
	for i, p := range k.Params { // tensors first: they bind the types that scalars then take
		if !p.IsTensor || args[i] == nil {
			continue
		}
		at := args[i].Span()
		if ops[i].mode != typedValue || ops[i].graph.GType().Kind != typed.GTensor {
			g.errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; the tensor %s is needed", p.Name, k.Name, g.describe(ops[i]), typed.ShapeText(p.DType, p.Shape)).label(p.At, "declared here")
			ok = false
			continue
		}
		t := ops[i].graph.GType()
		converts := args[i]
		if p.Mode == lang.InOut { // a converted copy cannot be written
			converts = nil
		}
		fits := s.bindType(p.DType, t.DType, at, p.Name, converts, false)
		fits = s.bindShape(p.Shape, t.Shape, at, p.Name) && fits
		if fits && p.Mode == lang.InOut {
			fits = s.writable(ops[i].graph, at, p.Name)
		}
		ok = ok && fits
	}
	if !ok {
		return bad(e.Place)
	}
	call := &typed.GCall{Kernel: k, Args: make([]typed.GExpr, len(args)), Types: s.sub.types, Consts: s.given}
	for i, p := range k.Params {
		if args[i] == nil {
			continue
		}
		at := args[i].Span()
		if p.IsTensor {
			ok = s.checkShape(p.Shape, ops[i].graph.GType().Shape, at, p.Name) && ok
			call.Args[i] = ops[i].graph
			continue
		}
		x := s.scalarArg(ops[i], p.DType, p.Name, args[i])
		if x == nil {
			ok = false
			continue
		}
		call.Args[i] = x
	}
	if !ok || !s.inferred(k.TypeParams) || !s.distinct(names, func(i int) bool { return k.Params[i].Mode == lang.InOut }, ops) {
		return bad(e.Place)
	}
	call.GTyped = typed.GTyped{Type: s.result(len(k.Outputs), func(i int) typed.GType {
		return typed.GType{Kind: typed.GTensor, DType: k.Outputs[i].DType, Shape: k.Outputs[i].Shape}
	}), At: e.Place}
	if len(k.Outputs) == 0 {
		return operand{mode: noValue, at: e.Place, graph: call}
	}
	return graphOperand(call)
}

// copyResults prepares copies of the results of a call that reads state.
func (g *graphChecker) copyResults(call *typed.GInvoke) {
	reads := false
	call.State = make([]bool, len(call.Args))
	for i, x := range call.Args {
		if x != nil && call.Graph.Params[i].Mode == lang.In && x.GType().Kind != typed.GScalar {
			call.State[i] = g.isMutable(x)
			reads = reads || call.State[i]
		}
	}
	if !reads {
		return
	}
	types := []typed.GType{call.Type}
	if call.Type.Kind == typed.GTuple {
		types = call.Type.Elems
	}
	for _, t := range types {
		result := &typed.GLocalRef{GTyped: typed.GTyped{Type: t, At: call.At}, Local: &typed.GLocal{Name: "result", Type: t, At: call.At}}
		call.Copies = append(call.Copies, g.copyOf(result).(*typed.GCall))
	}
}

func (g *graphChecker) callGraph(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.GraphDecl)
	callee := g.graphOf(ent.module, d)
	s := g.site(e, callee.Name, ent.at, callee.Consts, callee.TypeParams)
	names, optional, shapes := make([]string, len(callee.Params)), make([]bool, len(callee.Params)), make([][]size.Size, len(callee.Params))
	for i, p := range callee.Params {
		names[i], optional[i], shapes[i] = p.Name, p.Default != nil, p.Type.Shape
	}
	if g.broken[d] || g.recursive[d] {
		for _, a := range e.Args {
			g.expr(a.Value)
		}
		return bad(e.Place)
	}
	args, ok := s.match(names, optional)
	if args == nil {
		return bad(e.Place)
	}
	ops := make([]operand, len(args))
	for i, x := range args {
		if x == nil {
			continue
		}
		ops[i] = g.expr(x)
		if ops[i].mode == noValue {
			g.errorf(lang.ErrValueCount, x.Span(), "this gives no value")
			ops[i].mode = invalid
		}
		ok = ok && ops[i].mode != invalid
	}
	if !ok || !s.finish(names, shapes) {
		return bad(e.Place)
	}
	ok = s.listArgs(ops, func(i int) typed.DType { return callee.Params[i].Type.DType })
	if !ok {
		return bad(e.Place)
	}
	for i, p := range callee.Params {
		if args[i] == nil || p.Type.Kind == typed.GScalar {
			continue
		}
		at := args[i].Span()
		if ops[i].mode != typedValue {
			g.errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", p.Name, callee.Name, g.describe(ops[i]), p.Type).label(p.At, "declared here")
			ok = false
			continue
		}
		converts := args[i]
		if p.Mode == lang.InOut {
			converts = nil
		}
		fits := s.unify(p.Type, ops[i].graph.GType(), at, p.Name, converts)
		if fits && p.Mode == lang.InOut {
			fits = s.writable(ops[i].graph, at, p.Name)
		}
		ok = ok && fits
	}
	if !ok {
		return bad(e.Place)
	}
	call := &typed.GInvoke{Graph: callee, Args: make([]typed.GExpr, len(args)), Types: s.sub.types, Consts: s.given}
	for i, p := range callee.Params {
		if args[i] == nil {
			continue
		}
		if p.Type.Kind != typed.GScalar {
			ok = s.checkAll(p.Type, ops[i].graph.GType(), args[i].Span(), p.Name) && ok
			call.Args[i] = ops[i].graph
			continue
		}
		x := s.scalarArg(ops[i], p.Type.DType, p.Name, args[i])
		if x == nil {
			ok = false
			continue
		}
		call.Args[i] = x
	}
	if !ok || !s.inferred(callee.TypeParams) || !s.distinct(names, func(i int) bool { return callee.Params[i].Mode == lang.InOut }, ops) {
		return bad(e.Place)
	}
	call.GTyped = typed.GTyped{Type: s.result(len(callee.Outputs), func(i int) typed.GType { return callee.Outputs[i].Type }), At: e.Place}
	g.copyResults(call)
	if len(callee.Outputs) == 0 {
		return operand{mode: noValue, at: e.Place, graph: call}
	}
	return graphOperand(call)
}
