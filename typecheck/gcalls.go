package typecheck

import (
	"strings"

	"tilec/lang"
)

// This file types calls in graphs: of kernels, graphs, views, and functions of scalars.

func (g *graphChecker) call(e *lang.CallExpr) operand {
	n, ok := e.Fn.(*lang.NameExpr)
	if !ok {
		g.errorf(lang.ErrNameKind, e.Fn.Span(), "only a kernel, a graph or a function can be called, by its name")
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
		}
		g.errorf(lang.ErrNameKind, n.Place, "%s is %s and cannot be called", n.Name, ent.describe()).label(ent.at, "declared here")
		return bad(e.Place)
	}
	if n.Name == "view" {
		return g.view(e)
	}
	if op, ok := lang.FindOp(n.Name, lang.FormCall); ok && op.Row().Elementwise {
		exprs := make([]lang.Expr, len(e.Args))
		for i, a := range e.Args {
			if a.Name != nil {
				g.errorf(lang.ErrArgName, a.Name.Place, "%s has no argument named %s", n.Name, a.Name.Name)
				return bad(e.Place)
			}
			exprs[i] = a.Value
		}
		return g.scalarOp(op, e.Place, n.Place, exprs)
	}
	switch {
	case laterFunctions[n.Name]:
		g.later(n.Place, "`"+n.Name+"`")
	case isBuiltin(n.Name):
		g.errorf(lang.ErrNameKind, n.Place, "%s is of tiles, in kernels", n.Name).help("do it in a kernel, and call that")
	default:
		g.unknown(g.scope, n.Name, n.Place, append(functionNames(), "view"))
		for _, a := range e.Args {
			g.expr(a.Value)
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
	x := g.expr(e.Args[0].Value)
	list, ok := e.Args[1].Value.(*lang.ListExpr)
	if !ok {
		g.errorf(lang.ErrView, e.Args[1].Value.Span(), "the second argument of view is a shape, as in `[B, S, C]`")
		return bad(e.Place)
	}
	var shape []Size
	count := ConstSize(1)
	for _, s := range list.Elems {
		g.sizing++
		o := g.expr(s)
		g.sizing--
		switch {
		case o.mode == invalid:
			ok = false
		case o.mode == untypedInt:
			if n, isConst := o.size.Const(); isConst && n < 1 {
				g.errorf(lang.ErrView, s.Span(), "a dimension of size %d; the least is 1", n)
				ok = false
			}
			shape = append(shape, o.size)
			count = count.Mul(o.size)
		default:
			g.errorf(lang.ErrNotConstant, s.Span(), "a dimension is an integer expression over dimensions and constants, not %s", g.describe(o))
			ok = false
		}
	}
	if !ok || x.mode == invalid {
		return bad(e.Place)
	}
	if x.mode != typed || x.graph.GType().Kind != GTensor {
		g.errorf(lang.ErrWrongType, e.Args[0].Value.Span(), "view is of a tensor, not of %s", g.describe(x))
		return bad(e.Place)
	}
	t := x.graph.GType()
	have := ConstSize(1)
	for _, s := range t.Shape {
		have = have.Mul(s)
	}
	if g.prover.different(have, count) {
		g.errorf(lang.ErrView, list.Place, "the view has %s elements, and %s has %s", count, t, have).label(x.at, "%s", t).
			help("a view has as many elements as what it shows")
		return bad(e.Place)
	}
	return graphOperand(&GView{GTyped{GType{Kind: GTensor, DType: t.DType, Shape: shape}, e.Place}, x.graph})
}

// callFn inlines a function of scalars.
func (g *graphChecker) callFn(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.FnDecl)
	if info := g.fns[d]; info == nil || info.recursive || d.Body == nil || g.calls > maxInlining {
		return bad(e.Place)
	}
	if len(e.Args) != len(d.Params) {
		g.errorf(lang.ErrArgCount, e.Place, "%s takes %s, not %d", d.Name.Name, plural(len(d.Params), "argument"), len(e.Args)).label(d.Name.Place, "declared here")
		return bad(e.Place)
	}
	inner := newScope(ent.module.scope)
	ok := len(d.Generics) == 0
	if !ok {
		g.later(e.Fn.Span(), "a call of a generic fn in a graph")
	}
	for i, a := range e.Args {
		o := g.scalar(a.Value, d.Name.Name)
		if o.mode == invalid {
			ok = false
			continue
		}
		p := d.Params[i]
		if p.IsAxis {
			g.errorf(lang.ErrAxisAsValue, a.Place, "%s takes an axis here, and a graph has none", d.Name.Name).label(p.Place, "declared here")
			ok = false
			continue
		}
		if p.Type != nil {
			if dt, known := lang.ParseDType(p.Type.Name.Name); known {
				o = g.toScalar(o, Concrete(dt))
				if o.mode == typed && o.graph.GType().DType != Concrete(dt) {
					g.errorf(lang.ErrWrongType, a.Value.Span(), "the argument is %s, and %s of %s is %s", g.describe(o), p.Name.Name, d.Name.Name, dt).
						label(p.Place, "declared here").castFix(a.Value, Concrete(dt))
					o.mode = invalid
				}
			}
		}
		if o.mode == invalid {
			ok = false
			continue
		}
		ent := &entity{kind: entGraphValue, name: p.Name.Name, at: p.Name.Place, value: o, graph: nil}
		inner.names[p.Name.Name] = ent
	}
	if !ok {
		return bad(e.Place)
	}
	outer := g.scope
	g.scope = inner
	g.calls++
	o := g.expr(d.Body)
	g.calls--
	g.scope = outer
	if o.mode == noValue {
		g.errorf(lang.ErrValueCount, e.Place, "%s gives no value", d.Name.Name).label(d.Name.Place, "declared here")
		return bad(e.Place)
	}
	o.at = e.Place
	return o
}

// callSite is the matching of a call's arguments with the parameters of a kernel or a graph.
type callSite struct {
	*graphChecker
	call   *lang.CallExpr
	name   string
	decl   lang.Span
	consts []*Symbol
	sub    substitution
	// from tells which argument bound a dimension or a type, for messages.
	dimFrom  map[*Symbol]lang.Span
	typeFrom map[*TypeParam]lang.Span
	given    map[*Symbol]GExpr
}

func (g *graphChecker) site(e *lang.CallExpr, name string, decl lang.Span, consts []*Symbol) *callSite {
	return &callSite{graphChecker: g, call: e, name: name, decl: decl, consts: consts,
		sub:     substitution{map[*TypeParam]DType{}, map[*Symbol]Size{}},
		dimFrom: map[*Symbol]lang.Span{}, typeFrom: map[*TypeParam]lang.Span{}, given: map[*Symbol]GExpr{}}
}

// match assigns the arguments to parameters: by position, or by name, which may be that of a constant parameter.
func (s *callSite) match(params []string, optional []bool) ([]lang.Expr, bool) {
	out := make([]lang.Expr, len(params))
	at, ok := 0, true
	for _, a := range s.call.Args {
		if a.Name == nil {
			if at >= len(params) {
				s.errorf(lang.ErrArgCount, s.call.Place, "%s takes %s, and more are given", s.name, plural(len(params), "argument")).
					label(s.decl, "declared here").label(a.Value.Span(), "one too many")
				return nil, false
			}
			out[at] = a.Value
			at++
			continue
		}
		if !s.namedArg(a, params, out) {
			ok = false
		}
	}
	var missing []string
	for i, x := range out {
		if x == nil && !optional[i] {
			missing = append(missing, params[i])
		}
	}
	if len(missing) > 0 && ok {
		s.errorf(lang.ErrArgCount, s.call.Place, "the call of %s lacks %s", s.name, strings.Join(missing, ", ")).label(s.decl, "declared here")
		return nil, false
	}
	return out, ok
}

func (s *callSite) namedArg(a lang.Arg, params []string, out []lang.Expr) bool {
	name := a.Name.Name
	for i, p := range params {
		if p != name {
			continue
		}
		if out[i] != nil {
			s.errorf(lang.ErrArgName, a.Name.Place, "the argument %s is given twice", name).label(out[i].Span(), "first given here")
			return false
		}
		out[i] = a.Value
		return true
	}
	names := append([]string{}, params...)
	for _, c := range s.consts {
		if c.Name == name {
			return s.constArg(c, a)
		}
		names = append(names, c.Name)
	}
	s.errorf(lang.ErrArgName, a.Name.Place, "%s has no parameter %s", s.name, name).label(s.decl, "declared here").suggest(a.Name.Place, name, names)
	s.expr(a.Value)
	return false
}

// constArg binds a constant parameter.
func (s *callSite) constArg(c *Symbol, a lang.Arg) bool {
	if _, twice := s.given[c]; twice {
		s.errorf(lang.ErrArgName, a.Name.Place, "the constant parameter %s is given twice", c.Name)
		return false
	}
	o := s.scalar(a.Value, "a constant parameter")
	if o.mode == invalid {
		return false
	}
	if c.DType == lang.I32 {
		if o.mode != untypedInt {
			s.errorf(lang.ErrConstParam, a.Value.Span(), "the constant parameter %s is an int, and %s is no integer over dimensions and constants", c.Name, s.describe(o)).label(c.At, "declared here")
			return false
		}
		s.sub.syms[c] = o.size
		s.given[c] = s.toScalar(o, Concrete(lang.I32)).graph
		return true
	}
	o = s.toScalar(o, Concrete(c.DType))
	if o.mode == invalid {
		return false
	}
	if o.graph.GType().DType != Concrete(c.DType) {
		s.errorf(lang.ErrConstParam, a.Value.Span(), "the constant parameter %s is %s, not %s", c.Name, c.DType, s.describe(o)).label(c.At, "declared here")
		return false
	}
	if p := runtimeScalar(o.graph); p != nil {
		s.errorf(lang.ErrNotConstant, a.Value.Span(), "the constant parameter %s depends on %s, which is only known when the graph runs", c.Name, p.Name).label(p.At, "a scalar parameter")
		return false
	}
	s.given[c] = o.graph
	return true
}

// finish checks that every constant parameter has a value.
func (s *callSite) finish() bool {
	for _, c := range s.consts {
		if _, ok := s.given[c]; ok {
			continue
		}
		if c.Default == nil {
			s.errorf(lang.ErrConstParam, s.call.Place, "the constant parameter %s of %s has no value", c.Name, s.name).label(c.At, "declared without a default").
				help("pass it by name: `%s(..., %s = ...)`", s.name, c.Name)
			return false
		}
		if c.DType == lang.I32 {
			s.sub.syms[c] = ConstSize(c.Default.Int)
		}
	}
	return true
}

// bindType matches an element type as declared with that of an argument.
func (s *callSite) bindType(want, got DType, at lang.Span, param string, x lang.Expr, scalar bool) bool {
	if want.Param == nil {
		if want != got {
			if scalar {
				s.errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", param, s.name, got, want).label(s.decl, "declared here").castFix(x, want)
			} else {
				s.errorf(lang.ErrWrongType, at, "the argument for %s of %s has elements of %s; %s is needed", param, s.name, got, want).label(s.decl, "declared here")
			}
			return false
		}
		return true
	}
	if old, ok := s.sub.types[want.Param]; ok {
		if old != got {
			r := s.errorf(lang.ErrMixedTypes, at, "the argument for %s of %s has elements of %s, and %s is %s in this call", param, s.name, got, want, old).
				label(s.typeFrom[want.Param], "%s is %s by this argument", want, old)
			if scalar {
				r.castFix(x, old)
			}
			return false
		}
		return true
	}
	if !boundAccepts(want.Param, got) {
		s.errorf(lang.ErrTypeParam, at, "the argument for %s of %s has elements of %s, which %s: %s does not accept", param, s.name, s.describeDType(got), want, want.Param.Bound).
			label(want.Param.At, "declared here")
		return false
	}
	s.sub.types[want.Param] = got
	s.typeFrom[want.Param] = at
	return true
}

// bindShape binds the dimensions that stand alone in a declared shape.
func (s *callSite) bindShape(want, got []Size, at lang.Span, param string) bool {
	if len(want) != len(got) {
		s.errorf(lang.ErrShape, at, "the argument for %s of %s has %s; %s has %d", param, s.name, plural(len(got), "dimension"), param, len(want)).
			label(s.decl, "%s is declared with the shape %s", param, sizesText(want)).here("has the shape %s", sizesText(got))
		return false
	}
	for i, w := range want {
		sym := w.Symbol()
		if sym == nil || sym.Kind != DimSymbol {
			continue
		}
		if old, ok := s.sub.syms[sym]; !ok {
			s.sub.syms[sym], s.dimFrom[sym] = got[i], at
		} else if s.prover.different(old, got[i]) {
			s.errorf(lang.ErrShape, at, "dimension %d of the argument for %s of %s is %s, and %s is %s in this call", i, param, s.name, got[i], sym.Name, old).
				label(s.dimFrom[sym], "%s is %s by this argument", sym.Name, old).here("has the shape %s", sizesText(got))
			return false
		}
	}
	return true
}

// checkShape checks the dimensions that are expressions of others.
func (s *callSite) checkShape(want, got []Size, at lang.Span, param string) bool {
	for i, w := range want {
		if n := s.sub.size(w); s.prover.different(n, got[i]) {
			s.errorf(lang.ErrShape, at, "dimension %d of the argument for %s of %s is %s; %s is needed, which is %s in this call", i, param, s.name, got[i], w, n).
				label(s.decl, "declared here").here("has the shape %s", sizesText(got))
			return false
		}
	}
	return true
}

func sizesText(sizes []Size) string {
	parts := make([]string, len(sizes))
	for i, s := range sizes {
		parts[i] = s.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// inferred checks that every type parameter is bound.
func (s *callSite) inferred(params []*TypeParam) bool {
	for _, p := range params {
		if _, ok := s.sub.types[p]; !ok {
			s.errorf(lang.ErrTypeParam, s.call.Place, "nothing tells what %s of %s stands for in this call", p.Name, s.name).label(p.At, "declared here")
			return false
		}
	}
	return true
}

// writable checks an inout argument.
func (s *callSite) writable(x GExpr, at lang.Span, param string) bool {
	if s.isMutable(x) {
		return true
	}
	s.errorf(lang.ErrNotMutable, at, "%s writes its parameter %s, and this argument is no part of an inout parameter", s.name, param).label(s.decl, "declared here").
		help("declare the tensor as an `inout` parameter of the graph")
	return false
}

func (g *graphChecker) callKernel(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.KernelDecl)
	k := g.kernelOf(ent.module, d)
	s := g.site(e, k.Name, ent.at, k.Consts)
	names, optional := make([]string, len(k.Params)), make([]bool, len(k.Params))
	for i, p := range k.Params {
		names[i], optional[i] = p.Name, p.Default != nil
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
	if !ok || !s.finish() {
		return bad(e.Place)
	}
	for i, p := range k.Params { // tensors first: they bind the types that scalars then take
		if !p.IsTensor || args[i] == nil {
			continue
		}
		at := args[i].Span()
		if ops[i].mode != typed || ops[i].graph.GType().Kind != GTensor {
			g.errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; the tensor %s is needed", p.Name, k.Name, g.describe(ops[i]), shapeText(p.DType, p.Shape)).label(p.At, "declared here")
			ok = false
			continue
		}
		t := ops[i].graph.GType()
		ok = s.bindType(p.DType, t.DType, at, p.Name, args[i], false) && ok
		ok = s.bindShape(p.Shape, t.Shape, at, p.Name) && ok
		if p.Mode == lang.InOut {
			ok = s.writable(ops[i].graph, at, p.Name) && ok
		}
	}
	if !ok {
		return bad(e.Place)
	}
	call := &GCall{Kernel: k, Args: make([]GExpr, len(args)), Types: s.sub.types, Consts: s.given}
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
	if !ok || !s.inferred(k.TypeParams) || !s.distinct(k, ops) {
		return bad(e.Place)
	}
	call.GTyped = GTyped{s.result(len(k.Outputs), func(i int) GType {
		return GType{Kind: GTensor, DType: k.Outputs[i].DType, Shape: k.Outputs[i].Shape}
	}), e.Place}
	if len(k.Outputs) == 0 {
		return operand{mode: noValue, at: e.Place, graph: call}
	}
	return graphOperand(call)
}

// result is the type of a call's outputs.
func (s *callSite) result(n int, output func(int) GType) GType {
	types := make([]GType, n)
	for i := range types {
		types[i] = s.sub.gtype(output(i))
	}
	if n == 1 {
		return types[0]
	}
	return GType{Kind: GTuple, Elems: types}
}

// scalarArg types the argument of a scalar parameter; nil after an error.
func (s *callSite) scalarArg(o operand, want DType, param string, x lang.Expr) GExpr {
	if o.isUntyped() {
		to := want
		if want.Param != nil {
			bound, ok := s.sub.types[want.Param]
			if !ok {
				o = s.settled(o)
			}
			to = bound
		}
		if o.isUntyped() {
			o = s.toScalar(o, to)
		}
	}
	if o.mode != typed {
		return nil
	}
	t := o.graph.GType()
	if t.Kind != GScalar {
		s.errorf(lang.ErrWrongType, x.Span(), "the argument for %s of %s is %s; a scalar %s is needed", param, s.name, t, want).label(s.decl, "declared here")
		return nil
	}
	if !s.bindType(want, t.DType, x.Span(), param, x, true) {
		return nil
	}
	return o.graph
}

// distinct refuses a tensor that a kernel writes and is also given as another argument.
func (s *callSite) distinct(k *Kernel, ops []operand) bool {
	for i, p := range k.Params {
		if p.Mode != lang.InOut || ops[i].graph == nil {
			continue
		}
		for j, other := range ops {
			if j != i && other.graph != nil && overlap(ops[i].graph, other.graph) {
				s.errorf(lang.ErrNotMutable, other.at, "%s writes %s, and this argument is a part of the same tensor", s.name, p.Name).
					label(ops[i].at, "written by the call").help("pass a copy, or another part of it")
				return false
			}
		}
	}
	return true
}

// overlap reports that two expressions may name elements of one tensor: the same root, through the same fields.
func overlap(x, y GExpr) bool {
	rx, px := path(x)
	ry, py := path(y)
	if rx == nil || rx != ry {
		return false
	}
	for i := 0; i < len(px) && i < len(py); i++ {
		if px[i] != py[i] {
			return false
		}
	}
	return true
}

// path is the parameter or local that an expression is a part of, and the fields on the way.
func path(x GExpr) (root any, fields []int) {
	switch x := x.(type) {
	case *GParamRef:
		return x.Param, nil
	case *GLocalRef:
		if x.Type.Kind == GScalar {
			return nil, nil
		}
		return x.Local, nil
	case *GFieldOf:
		root, fields = path(x.X)
		return root, append(fields, x.Index)
	case *GElem:
		return path(x.X)
	case *GSlice:
		return path(x.X)
	case *GView:
		return path(x.X)
	}
	return nil, nil
}

func (g *graphChecker) callGraph(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.GraphDecl)
	callee := g.graphOf(ent.module, d)
	s := g.site(e, callee.Name, ent.at, callee.Consts)
	names, optional := make([]string, len(callee.Params)), make([]bool, len(callee.Params))
	for i, p := range callee.Params {
		names[i], optional[i] = p.Name, p.Default != nil
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
	if !ok || !s.finish() {
		return bad(e.Place)
	}
	for i, p := range callee.Params {
		if args[i] == nil || p.Type.Kind == GScalar {
			continue
		}
		at := args[i].Span()
		if ops[i].mode != typed {
			g.errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", p.Name, callee.Name, g.describe(ops[i]), p.Type).label(p.At, "declared here")
			ok = false
			continue
		}
		ok = s.unify(p.Type, ops[i].graph.GType(), at, p.Name, args[i]) && ok
		if p.Mode == lang.InOut {
			ok = s.writable(ops[i].graph, at, p.Name) && ok
		}
	}
	if !ok {
		return bad(e.Place)
	}
	call := &GInvoke{Graph: callee, Args: make([]GExpr, len(args)), Types: s.sub.types, Consts: s.given}
	for i, p := range callee.Params {
		if args[i] == nil {
			continue
		}
		if p.Type.Kind != GScalar {
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
	if !ok || !s.inferred(callee.TypeParams) {
		return bad(e.Place)
	}
	call.GTyped = GTyped{s.result(len(callee.Outputs), func(i int) GType { return callee.Outputs[i].Type }), e.Place}
	if len(callee.Outputs) == 0 {
		return operand{mode: noValue, at: e.Place, graph: call}
	}
	return graphOperand(call)
}

// unify matches the type of a graph's parameter with that of an argument, and binds what stands alone in it.
func (s *callSite) unify(want, got GType, at lang.Span, param string, x lang.Expr) bool {
	if want.Kind != got.Kind || want.Kind == GStruct && want.Struct != got.Struct {
		s.errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", param, s.name, got, want).label(s.decl, "declared here")
		return false
	}
	switch want.Kind {
	case GTensor:
		return s.bindType(want.DType, got.DType, at, param, x, false) && s.bindShape(want.Shape, got.Shape, at, param)
	case GStruct:
		for i, f := range want.Fields {
			if !s.unify(f.Type, got.Fields[i].Type, at, param+"."+f.Name, x) {
				return false
			}
		}
	case GArray:
		return s.bindShape([]Size{want.Len}, []Size{got.Len}, at, "the length of "+param) && s.unify(*want.Elem, *got.Elem, at, param+"[i]", x)
	}
	return true
}

// checkAll checks the dimensions that are expressions of others, in every part of a type.
func (s *callSite) checkAll(want, got GType, at lang.Span, param string) bool {
	switch want.Kind {
	case GTensor:
		return s.checkShape(want.Shape, got.Shape, at, param)
	case GStruct:
		for i, f := range want.Fields {
			if !s.checkAll(f.Type, got.Fields[i].Type, at, param+"."+f.Name) {
				return false
			}
		}
	case GArray:
		return s.checkAll(*want.Elem, *got.Elem, at, param+"[i]")
	}
	return true
}
