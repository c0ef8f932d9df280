package typecheck

import (
	"strings"

	"tilec/lang"
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
		lang.Walk(x.body, func(n lang.Node) bool {
			call, ok := n.(*lang.CallExpr)
			if !ok {
				return true
			}
			for _, name := range called(call) {
				e := x.file.scope.lookup(name.Name)
				if e == nil || all[e.decl] == nil {
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

// called is the function that a call names, and the one that it hands to reduce or scan.
func called(call *lang.CallExpr) []*lang.NameExpr {
	name, ok := call.Fn.(*lang.NameExpr)
	if !ok {
		return nil
	}
	names := []*lang.NameExpr{name}
	if op, _ := lang.OpByName(name.Name); op == lang.OpReduce || op == lang.OpScan {
		for _, a := range call.Args {
			if f, ok := a.Value.(*lang.NameExpr); ok {
				names = append(names, f)
			}
		}
	}
	return names
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
	c.errorf(lang.ErrRecursion, at, "a %s may not call itself: %s", what, strings.Join(names, " -> ")).
		label(name.Place, "%s is declared here", name.Name).help("use a `for` loop, which carries values")
}

// checkFn types the body of a fn with arguments of which nothing is known, so
// that errors show that no argument could mend.
func (c *checker) checkFn(m *module, d *lang.FnDecl) {
	c.attrs(d.Attrs, "a fn", nil)
	info := c.fns[d]
	if info == nil || info.recursive || d.Body == nil {
		return
	}
	b := c.newBody(&Kernel{}, m.scope)
	b.fnGenerics(d, func(g *lang.Generic) *entity {
		if !g.IsConst {
			return &entity{kind: entTypeParam, dtype: DType{Param: &TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Place}}}
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
		b.fnParamType(p)
		b.declare(b.scope, &entity{kind: entInvalid, name: p.Name.Name, at: p.Name.Place, isAxis: p.IsAxis}, true)
	}
	if d.Result != nil {
		b.fnType(d.Result)
	}
	b.frames = []frame{{fn: d}}
	b.fnBody(d)
}

func (b *bodyChecker) fnGenerics(d *lang.FnDecl, entityOf func(*lang.Generic) *entity) {
	for _, g := range d.Generics {
		b.boundOf(g)
		e := entityOf(g)
		e.name, e.at = g.Name.Name, g.Name.Place
		b.declare(b.scope, e, false)
	}
}

// fnParamType resolves the type of a parameter of a fn: an element type, or nothing.
func (b *bodyChecker) fnParamType(p *lang.Param) (DType, bool) {
	if p.Type == nil {
		return DType{}, false
	}
	return b.fnType(p.Type)
}

func (b *bodyChecker) fnType(t *lang.TypeExpr) (DType, bool) {
	if t.HasShape || t.Count != nil || len(t.Args) > 0 {
		b.checker.errorf(lang.ErrDeclType, t.Place, "a fn takes and gives tiles, which have an element type and no shape").
			replace(t.Place, t.Name.Name, "write the element type alone, or leave the type out")
		return DType{}, false
	}
	return b.dtypeNamed(b.scope, t.Name.Name, t.Place)
}

func (b *bodyChecker) fnBody(d *lang.FnDecl) operand {
	if blk, ok := d.Body.(*lang.Block); ok {
		return b.stmtsOf(blk)
	}
	return b.expr(d.Body)
}

// maxInlined bounds the calls that one body unfolds to: a chain of functions that
// each call the next one twice doubles with every link.
const maxInlined = 10000

// callFn inlines a call: the arguments are bound, the body is typed in the fn's own file.
func (b *bodyChecker) callFn(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.FnDecl)
	info := b.fns[d]
	if b.inlined++; b.inlined > maxInlined {
		if b.inlined == maxInlined+1 {
			b.errorf(lang.ErrNesting, e.Place, "the calls of functions in this kernel unfold to more than %d", maxInlined).
				help("bind what is computed twice with `let`: each call is inlined where it stands")
		}
		return bad(e.Place)
	}
	if e.Over != nil {
		b.errorf(lang.ErrArgName, e.Over[0].Place, "%s takes no `over`", d.Name.Name).help("an axis is passed by name: declare a parameter `axis j`")
		return bad(e.Place)
	}
	consts, ok := b.fnConsts(d, e)
	var positional []lang.Expr
	for _, a := range e.Args {
		if a.Name == nil {
			positional = append(positional, a.Value)
		}
	}
	if len(positional) != len(d.Params) {
		b.errorf(lang.ErrArgCount, e.Place, "%s takes %s, not %d", d.Name.Name, plural(len(d.Params), "argument"), len(positional)).
			label(d.Name.Place, "declared here")
		ok = false
	}
	inner := newScope(ent.module.scope)
	bind := make([]func(), 0, len(positional))
	types := map[*TypeParam]DType{}
	where := map[*TypeParam]operand{}
	outer := b.scope
	b.scope = inner
	var params []*TypeParam
	b.muted++ // the declaration itself has been checked
	b.fnGenerics(d, func(g *lang.Generic) *entity {
		if g.IsConst {
			if v, has := consts[g.Name.Name]; has {
				return &entity{kind: entValue, value: v}
			}
			return &entity{kind: entInvalid}
		}
		p := &TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Place}
		params = append(params, p)
		return &entity{kind: entTypeParam, dtype: DType{Param: p}}
	})
	want := make([]DType, len(d.Params))
	typedParam := make([]bool, len(d.Params))
	for i, p := range d.Params {
		want[i], typedParam[i] = b.fnParamType(p)
	}
	var result DType
	hasResult := false
	if d.Result != nil {
		result, hasResult = b.fnType(d.Result)
	}
	b.muted--
	b.scope = outer
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
			bind = append(bind, func() { b.declare(b.scope, e, true) })
			continue
		}
		o := b.expr(x)
		if o.mode == tensorOperand {
			e := &entity{kind: entTensor, name: p.Name.Name, at: p.Name.Place, param: o.param}
			bind = append(bind, func() { b.declare(b.scope, e, true) })
			continue
		}
		o = b.single(o, "argument")
		if o.mode == invalid {
			ok = false
			continue
		}
		if typedParam[i] {
			if o, ok = b.fnArg(d, p, o, x, want[i], types, where, ok); o.mode == invalid {
				continue
			}
		}
		bind = append(bind, func() { b.bindArg(p.Name, o) })
	}
	for _, p := range params {
		if _, bound := types[p]; !bound && ok {
			b.errorf(lang.ErrTypeParam, e.Place, "nothing tells what %s stands for in this call of %s", p.Name, d.Name.Name).
				label(p.At, "declared here").help("give a parameter the type %s", p.Name)
			ok = false
		}
	}
	if !ok || info == nil || info.recursive || d.Body == nil || len(b.frames) > maxInlining {
		return bad(e.Place)
	}
	for _, p := range params { // inside, the parameter is the argument's type
		inner.names[p.Name] = &entity{kind: entTypeParam, name: p.Name, at: p.At, dtype: types[p]}
	}
	b.frames = append(b.frames, frame{d, e.Place})
	inIndex := b.inIndex
	b.inIndex = 0
	found := b.found
	stmts, o := b.within(inner, func() operand {
		for _, f := range bind {
			f()
		}
		return b.fnBody(d)
	})
	b.inIndex = inIndex
	b.frames = b.frames[:len(b.frames)-1]
	if o.mode == axisOperand || o.mode == tensorOperand {
		o = b.single(o, "result")
	}
	if o.mode == invalid {
		return bad(e.Place)
	}
	if o.mode == noValue && b.found > found {
		return bad(e.Place)
	}
	if o.mode == noValue {
		b.errorf(lang.ErrValueCount, e.Place, "%s gives no value", d.Name.Name).label(d.Name.Place, "declared here").help("end its body with the value")
		return bad(e.Place)
	}
	if hasResult {
		if o = b.fnResult(d, o, result, types, e); o.mode == invalid {
			return o
		}
	}
	o.at = e.Place
	if len(stmts) == 0 && o.mode != several {
		return o
	}
	xs := b.results(o, nil)
	if xs == nil {
		return bad(e.Place)
	}
	return inline(stmts, o, xs, e.Place)
}

const maxInlining = 200

// fnConsts evaluates the constant parameters of a call, which are named.
func (b *bodyChecker) fnConsts(d *lang.FnDecl, e *lang.CallExpr) (map[string]operand, bool) {
	ok := true
	given := map[string]operand{}
	var names []string
	for _, g := range d.Generics {
		if g.IsConst {
			names = append(names, g.Name.Name)
		}
	}
	for _, a := range e.Args {
		if a.Name == nil {
			continue
		}
		known := false
		for _, n := range names {
			known = known || n == a.Name.Name
		}
		o := b.value(a.Value)
		switch {
		case !known:
			b.errorf(lang.ErrArgName, a.Name.Place, "%s has no constant parameter %s", d.Name.Name, a.Name.Name).suggest(a.Name.Place, a.Name.Name, names)
			ok = false
		case o.mode == invalid:
			ok = false
		case !o.isUntyped() && !isStatic(o.expr):
			b.errorf(lang.ErrNotConstant, a.Value.Span(), "the constant parameter %s needs a constant", a.Name.Name)
			ok = false
		default:
			given[a.Name.Name] = o
		}
	}
	for _, g := range d.Generics {
		if !g.IsConst {
			continue
		}
		dt, known := lang.ParseDType(constTypeName(g.Bound.Name))
		if _, has := given[g.Name.Name]; has || !known {
			if has && dt != lang.I32 && given[g.Name.Name].isUntyped() {
				given[g.Name.Name] = b.convert(given[g.Name.Name], Concrete(dt))
				ok = ok && given[g.Name.Name].mode != invalid
			}
			continue
		}
		if g.Default == nil && !ok {
			continue // the argument that was meant may be the wrong one
		}
		if g.Default == nil {
			b.errorf(lang.ErrConstParam, e.Place, "the constant parameter %s of %s has no value", g.Name.Name, d.Name.Name).
				label(g.Place, "declared without a default").help("pass it by name: `%s(..., %s = ...)`", d.Name.Name, g.Name.Name)
			ok = false
			continue
		}
		lit, litOK := b.literalOf(b.fns[d].module.scope, g.Default, dt, "the default of "+g.Name.Name)
		if !litOK {
			ok = false
			continue
		}
		given[g.Name.Name] = literalOperand(*lit, g.Default.Span())
	}
	return given, ok
}

// isStatic reports an expression that a specialisation decides.
func isStatic(e Expr) bool {
	switch e := e.(type) {
	case *Const, *ConstRef, *SizeExpr:
		return true
	case *Apply:
		for _, a := range e.Args {
			if !isStatic(a) {
				return false
			}
		}
		return e.Op.Row().Elementwise
	}
	return false
}

func literalOperand(l Literal, at lang.Span) operand {
	switch {
	case l.DType == lang.Bool:
		return boolOperand(at, l.Int != 0)
	case l.DType.IsFloat():
		return floatOperand(at, l.Float)
	}
	return intOperand(at, l.Int)
}

// fnArg checks an argument against the declared type of its parameter.
func (b *bodyChecker) fnArg(d *lang.FnDecl, p *lang.Param, o operand, x lang.Expr, want DType, types map[*TypeParam]DType, where map[*TypeParam]operand, ok bool) (operand, bool) {
	if want.Param == nil {
		o = b.convert(o, want)
		if o.mode == typed && o.typ().DType != want {
			b.errorf(lang.ErrWrongType, x.Span(), "the argument is %s, and %s of %s is %s", o.typ(), p.Name.Name, d.Name.Name, want).
				label(p.Place, "declared here").castFix(x, want)
			return bad(o.at), false
		}
		return o, ok && o.mode != invalid
	}
	got, bound := types[want.Param]
	if o.isUntyped() {
		if bound {
			o = b.convert(o, got)
		} else {
			o = b.settle(o)
		}
	}
	if o.mode != typed {
		return bad(o.at), false
	}
	t := o.typ().DType
	switch {
	case bound && t != got:
		b.errorf(lang.ErrMixedTypes, x.Span(), "the argument is %s, and %s stands for %s in this call of %s", o.typ(), want, got, d.Name.Name).
			label(where[want.Param].at, "by this argument").castFix(x, got)
		return bad(o.at), false
	case !bound && !boundAccepts(want.Param, t):
		b.errorf(lang.ErrTypeParam, x.Span(), "the argument is %s, which %s: %s does not accept", o.typ(), want, want.Param.Bound).
			label(p.Place, "declared here")
		types[want.Param] = t // said once for all arguments of the type
		return bad(o.at), false
	}
	types[want.Param] = t
	where[want.Param] = o
	return o, ok
}

// boundAccepts reports whether every type that d may be is one that p may stand for.
func boundAccepts(p *TypeParam, d DType) bool {
	if d.Param == nil {
		return p.Accepts(d.Of)
	}
	return p.Bound == "any" || p.Bound == d.Param.Bound
}

func (b *bodyChecker) fnResult(d *lang.FnDecl, o operand, want DType, types map[*TypeParam]DType, e *lang.CallExpr) operand {
	if want.Param != nil {
		want = types[want.Param]
	}
	o = b.convert(o, want)
	if o.mode == invalid {
		return o
	}
	if ts := o.valueTypes(); o.mode != typed || ts[0].DType != want {
		b.checker.errorf(lang.ErrWrongType, o.at, "%s gives %s and is declared to give %s", d.Name.Name, b.describeOperand(o), want).
			label(d.Result.Place, "declared here").label(e.Place, "in this call").castAt(o.at, want, "convert the value with `as %s`, or change the declaration", want)
		return bad(e.Place)
	}
	return o
}

// bindArg binds an argument in the fn's scope; what costs nothing to repeat is not bound again.
func (b *bodyChecker) bindArg(name lang.Ident, o operand) {
	switch o.expr.(type) {
	case *LocalRef, *ScalarRef, *Const, *SizeExpr, *ConstRef:
		b.declare(b.scope, &entity{kind: entValue, name: name.Name, at: name.Place, value: o}, true)
		return
	}
	b.bind(name, o, o.at)
}
