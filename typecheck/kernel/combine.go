package kernel

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// This file types reductions and scans by a function of the program.

// combine types `reduce(x, over k, identity, fn)` and `scan(...)`.
func (b *bodyChecker) combine(op lang.Op, e *lang.CallExpr) rules.Operand {
	name := op.Row().Spelling
	usage := fmt.Sprintf("%s(x, over k, 0.0, (a, b) => a + b)", name)
	reverse, args, ok := b.reversed(op, e)
	if len(args) != 3 {
		b.Errorf(lang.ErrArgCount, e.Place, "%s takes the operand, the identity and the function, not %s", name, report.Plural(len(args), "argument")).
			Help("write `%s`; tuples stand in brackets", usage)
		return rules.Bad(e.Place)
	}
	over, overOK := b.along(op, e)
	x, xOK := b.columns(args[0])
	identity, idOK := b.columns(args[1])
	if !ok || !overOK || !xOK || !idOK {
		return rules.Bad(e.Place)
	}
	if len(x) != len(identity) {
		b.Errorf(lang.ErrValueCount, args[1].Span(), "%s, and %s combined: each needs one", report.Plural(len(identity), "identity value"), report.Plural(len(x), "operand")).
			LabelAt(args[0].Span(), "%s", report.Plural(len(x), "operand"))
		return rules.Bad(e.Place)
	}
	c := &typed.Combine{Op: op, Over: over, Reverse: reverse, At: e.Place}
	types := make([]typed.Type, len(x))
	for i := range x {
		_, same, ok := b.CommonType("`"+name+"`", e.Fn.Span(), []rules.Operand{x[i], identity[i]}, []lang.Expr{elementAt(args[0], i), elementAt(args[1], i)}, false)
		if !ok {
			return rules.Bad(e.Place)
		}
		if t := same[1].Type(); len(t.Axes) > 0 {
			b.Errorf(lang.ErrNotScalar, same[1].At, "the identity is the tile %s; a scalar is needed", t)
			return rules.Bad(e.Place)
		}
		types[i] = same[0].Type()
		c.Args, c.Identity = append(c.Args, same[0].Expr), append(c.Identity, same[1].Expr)
	}
	axes := typed.UnionAxes(types...)
	for i, a := range over {
		if typed.HasAxis(axes, a) {
			continue
		}
		r := b.Errorf(lang.ErrNoAxis, e.Over[i].Place, "the operand has no axis %s", a.Name).LabelAt(args[0].Span(), "%s", types[0])
		if len(axes) > 0 {
			r.Help("its axes are %s", typed.AxisNames(axes))
		}
		return rules.Bad(e.Place)
	}
	if op == lang.OpReduce {
		axes = typed.WithoutAxes(axes, over)
	}
	for i, t := range types {
		types[i].Axes = nil
		c.Of = append(c.Of, typed.Type{DType: t.DType, Axes: axes})
	}
	if !b.function(c, args[2], types) {
		return rules.Bad(e.Place)
	}
	return wrap(c, e.Place, nil)
}

// cumulate types `cumsum(x, over k)` and `cumprod(x, over k)`.
func (b *bodyChecker) cumulate(op lang.Op, e *lang.CallExpr) rules.Operand {
	reverse, args, ok := b.reversed(op, e)
	name := op.Row().Spelling
	if len(args) != 1 {
		b.Errorf(lang.ErrArgCount, e.Place, "%s takes 1 tile, not %d", name, len(args)).Help("write `%s(x, over k)`", name)
		return rules.Bad(e.Place)
	}
	over, overOK := b.along(op, e)
	x := b.Settle(b.value(args[0]))
	if !ok || !overOK || x.Mode != rules.TypedValue || !b.has(x, over, e.Over) {
		return rules.Bad(e.Place)
	}
	d, ok := b.ResultType(op.Row(), e.Fn.Span(), x.Type().DType, x)
	if !ok {
		return rules.Bad(e.Place)
	}
	return wrap(&typed.Combine{Op: op, Args: []typed.Expr{x.Expr}, Over: over, Reverse: reverse, Of: []typed.Type{{DType: d, Axes: x.Type().Axes}}, At: e.Place}, e.Place, nil)
}

// reversed takes `reverse = true` from the arguments and gives the others.
func (b *bodyChecker) reversed(op lang.Op, e *lang.CallExpr) (reverse typed.Expr, args []lang.Expr, ok bool) {
	ok = true
	for _, a := range e.Args {
		switch {
		case a.Name == nil:
			args = append(args, a.Value)
		case a.Name.Name != "reverse" || op == lang.OpReduce || reverse != nil:
			b.Errorf(lang.ErrArgName, a.Name.Place, "%s has no argument named %s", op.Row().Spelling, a.Name.Name)
			ok = false
		default:
			o := b.value(a.Value)
			if o.Mode == rules.Invalid {
				ok = false
				continue
			}
			if o.Mode != rules.TypedValue || o.Type().DType != typed.Concrete(lang.Bool) || !isStatic(o.Expr) {
				b.Errorf(lang.ErrNotConstant, a.Value.Span(), "`reverse` is true or false, known when the kernel is compiled, not %s", b.DescribeOperand(o))
				ok = false
				continue
			}
			reverse = o.Expr
		}
	}
	return reverse, args, ok
}

// along resolves the axes of a reduction or the one axis of a scan.
func (b *bodyChecker) along(op lang.Op, e *lang.CallExpr) ([]*typed.Axis, bool) {
	name := op.Row().Spelling
	if len(e.Over) == 0 {
		b.Errorf(lang.ErrArgCount, e.Place, "%s needs the axis that it goes along", name).Help("say over what: `%s(x, over k, ...)`", name)
		return nil, false
	}
	over, ok := b.axesOver(e.Over)
	if !ok || op == lang.OpReduce {
		return over, ok
	}
	if len(over) != 1 {
		b.Errorf(lang.ErrArgCount, e.Over[1].Place, "%s goes along one axis, not %d", name, len(over)).
			Help("scan along one and then along the other")
		return nil, false
	}
	if a := over[0]; a.Kind != typed.WholeAxis && !b.OneBlock(a) {
		what := "each block has a part of it, whose extent the planner chooses"
		if a.Kind == typed.LoopAxis {
			what = "each step of the loop has a part of it, whose extent the planner chooses"
		}
		b.Errorf(lang.ErrPartial, e.Over[0].Place, "%s along %s would begin anew with every part: %s", name, a.Name, what).
			LabelAt(a.At, "%s is declared here", a.Name).
			Help("scan along the whole dimension: declare `axis j in %s` and index with j", a.Dim)
		return nil, false
	}
	return over, true
}

// columns types an operand or a tuple of them.
func (b *bodyChecker) columns(e lang.Expr) ([]rules.Operand, bool) {
	o := b.expr(e)
	switch {
	case o.Mode == rules.Invalid:
		return nil, false
	case o.Mode != rules.Several:
		o = b.single(o, "operand")
		return []rules.Operand{o}, o.Mode != rules.Invalid
	case o.Elems == nil: // a call or a choice that gives several
		let := &typed.Let{Value: o.Expr, At: o.At}
		var out []rules.Operand
		for _, t := range o.Types {
			l := &typed.Local{Type: t, At: o.At}
			let.Locals = append(let.Locals, l)
			out = append(out, rules.TypedOperand(&typed.LocalRef{Typed: typed.Typed{Type: t, At: o.At}, Local: l}))
		}
		b.emit(let)
		return out, true
	}
	var out []rules.Operand
	for _, x := range o.Elems {
		x = b.single(x, "operand")
		if x.Mode == rules.Invalid {
			return nil, false
		}
		out = append(out, x)
	}
	return out, true
}

// elementAt is the source of element i of what may be a tuple.
func elementAt(e lang.Expr, i int) lang.Expr {
	if t, ok := e.(*lang.TupleExpr); ok && i < len(t.Elems) {
		return t.Elems[i]
	}
	return e
}

// combiner declares the parameters of a reduction's function, and gives its body with the scope of that.
func (b *bodyChecker) combiner(c *typed.Combine, e lang.Expr, types []typed.Type) (lang.Expr, *rules.Scope, bool) {
	around := b.scope
	if n, ok := e.(*lang.NameExpr); ok {
		if ent := b.scope.Lookup(n.Name); ent != nil && ent.Kind == rules.EntLambda { // that a fn was given
			e, around = ent.Lambda, ent.Scope
		}
	}
	s := rules.NewScope(around)
	param := func(n lang.Ident, i int) {
		l := &typed.Local{Name: n.Name, Type: types[i%len(types)], At: n.Place}
		c.Params = append(c.Params, l)
		b.Declare(s, &rules.Entity{Kind: rules.EntValue, Name: n.Name, At: n.Place,
			Value: rules.Operand{Mode: rules.TypedValue, At: n.Place, Expr: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: n.Place}, Local: l}}}, false)
	}
	switch f := e.(type) {
	case *lang.LambdaExpr:
		names, ok := b.parameters(f, len(types), c.Op)
		if !ok {
			return nil, nil, false
		}
		for i, n := range names {
			param(n, i)
		}
		return f.Body, s, true
	case *lang.NameExpr:
		// A call of the function by the values, under names that no source can have.
		call := &lang.CallExpr{At: f.At, Fn: f}
		for i := range 2 * len(types) {
			n := lang.Ident{At: f.At, Name: fmt.Sprintf("%s.%d", f.Name, i)}
			param(n, i)
			call.Args = append(call.Args, lang.Arg{At: f.At, Value: &lang.NameExpr{At: f.At, Name: n.Name}})
		}
		return call, s, true
	}
	b.Errorf(lang.ErrCombiner, e.Span(), "the last argument of %s is a function", c.Op.Row().Spelling).
		Help("write a lambda, as in `(a, b) => a + b`, or the name of a fn")
	return nil, nil, false
}

// function types the function of a reduction: a lambda, or the name of a function, on two tuples of scalars.
func (b *bodyChecker) function(c *typed.Combine, e lang.Expr, types []typed.Type) bool {
	body, s, ok := b.combiner(c, e, types)
	if !ok {
		return false
	}
	found := b.Found
	stmts, result := b.within(s, func() rules.Operand { return b.expr(body) })
	if result.Mode == rules.Invalid || result.Mode == rules.NoValue && b.Found > found {
		return false
	}
	got := result.ValueTypes()
	if len(got) != len(types) {
		b.Errorf(lang.ErrCombiner, result.At, "the function gives %s and combines %d", report.Plural(len(got), "value"), len(types))
		return false
	}
	loose := result.UntypedAt(len(got))
	if result.Mode == rules.Several { // values that need be none of their own
		for i, x := range result.Elems {
			result.Elems[i] = b.single(x, "result")
		}
	}
	xs := b.results(result, types)
	if xs == nil {
		return false
	}
	for i, t := range got {
		if loose[i] {
			t.DType = types[i].DType
		}
		switch {
		case len(t.Axes) > 0:
			b.Errorf(lang.ErrCombiner, result.At, "the function gives the tile %s; it combines one element with another and gives one", t).
				Help("use its parameters, constants and scalars alone")
			return false
		case t.DType != types[i].DType:
			b.Errorf(lang.ErrCombiner, result.At, "the function gives %s where it combines %s", t.DType, types[i].DType).
				Help("convert the result with `as %s`, or the operand and the identity with `as %s`", types[i].DType, t.DType)
			return false
		}
	}
	c.Fn = &typed.Body{Stmts: stmts, Results: xs}
	if at, what := impure(c.Fn); what != "" {
		b.Errorf(lang.ErrCombiner, at, "%s inside the function of %s: it combines one element with another, element by element", what, c.Op.Row().Spelling).
			Help("compute it before, and use its parameters, constants and scalars alone")
		return false
	}
	return true
}

func areValues(n int) string {
	if n == 1 {
		return "1 value is"
	}
	return fmt.Sprintf("%d values are", n)
}

// parameters are the names of a lambda's 2n parameters: two, or two tuples.
func (b *bodyChecker) parameters(f *lang.LambdaExpr, n int, op lang.Op) ([]lang.Ident, bool) {
	var names []lang.Ident
	for _, p := range f.Params {
		if len(f.Params) == 2 && len(p.Names) != n {
			r := b.Errorf(lang.ErrCombiner, p.Place, "%s where %s combined", report.Plural(len(p.Names), "name"), areValues(n))
			if n == 1 {
				r.Help("name it, as in `(a, b) => ...`")
			} else {
				r.Help("name each, as in `((a, i), (b, j)) => ...`")
			}
			return nil, false
		}
		names = append(names, p.Names...)
	}
	if len(names) != 2*n {
		b.Errorf(lang.ErrCombiner, f.Place, "the function of %s takes two of what it combines: %s, not %d", op.Row().Spelling, report.Plural(2*n, "value"), len(names)).
			Help("write `(a, b) => ...`, or `((a, i), (b, j)) => ...` for tuples")
		return nil, false
	}
	return names, true
}

// impure finds what a function may not do: anything but elementwise operations on scalars.
func impure(fn *typed.Body) (at lang.Span, what string) {
	typed.Walk(fn, func(n typed.Node) bool {
		if what != "" {
			return false
		}
		switch n := n.(type) {
		case *typed.LocalRef:
			if len(n.Type.Axes) > 0 {
				at, what = n.At, "the tile "+n.Type.String()
			}
		case *typed.Apply:
			switch row := n.Op.Row(); {
			case row.Elementwise, n.Op == lang.OpStart, n.Op == lang.OpEnd:
			case row.Group == lang.GroupReduce:
				at, what = n.At, "a reduction"
			default:
				at, what = n.At, "`"+row.Spelling+"`"
			}
		case *typed.Load:
			at, what = n.At, "a load"
		case *typed.Take:
			at, what = n.At, "`pick`"
		case *typed.Sort:
			at, what = n.At, "`"+n.Op.Row().Spelling+"`"
		case *typed.Combine:
			at, what = n.At, "`"+n.Op.Row().Spelling+"`"
		case *typed.For:
			at, what = n.At, "a loop"
		case *typed.Store:
			at, what = n.At, "a store"
		case *typed.Print:
			at, what = n.At, "`print`"
		case *typed.Assert:
			at, what = n.At, "`assert`"
		case *typed.Const, *typed.SizeExpr, *typed.ConstRef, *typed.ScalarRef, *typed.If, *typed.Tuple, *typed.Inline,
			*typed.Body, *typed.Let, *typed.Do, *typed.StaticAssert: // as pure as what is in it
		default:
			panic(typed.Unknown(n))
		}
		return what == ""
	})
	return at, what
}
