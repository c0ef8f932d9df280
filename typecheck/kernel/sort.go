package kernel

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types sort and topk.

// sort is `sort(x, over v)` or `sort((keys, values), over v, descending = true)`.
func (b *bodyChecker) sort(e *lang.CallExpr) rules.Operand {
	order := &typed.Sort{Op: lang.OpSort, At: e.Place}
	var moved []rules.Operand
	ok, tiles := true, 0
	for _, a := range e.Args {
		switch {
		case a.Name == nil:
			tiles++
			moved = append(moved, b.tupleOf(a.Value)...)
		case a.Name.Name != "descending":
			b.Errorf(lang.ErrArgName, a.Name.Place, "sort has no argument named %s", a.Name.Name).Suggest(a.Name.Place, a.Name.Name, []string{"descending"})
			ok = false
		case order.Descending != nil:
			b.Errorf(lang.ErrArgName, a.Name.Place, "descending is given twice")
			ok = false
		default:
			order.Descending = b.staticBool(a.Value, "descending")
			ok = ok && order.Descending != nil
		}
	}
	if tiles != 1 {
		b.Errorf(lang.ErrArgCount, e.Place, "sort has %s", report.Plural(tiles, "argument")).Help("write `sort(x, over v)`, or `sort((keys, values), over v)` for what moves with the keys")
		return rules.Bad(e.Place)
	}
	over, axisOK := b.sortedAxis(e)
	if !ok || !axisOK {
		return rules.Bad(e.Place)
	}
	for i, o := range moved {
		if o.Mode != rules.TypedValue {
			return rules.Bad(e.Place)
		}
		if !b.has(o, []*typed.Axis{over}, e.Over) || i == 0 && !b.sortedKeys(o, e) {
			return rules.Bad(e.Place)
		}
		order.Args = append(order.Args, o.Expr)
		key := order.Args[0].Types()[0]
		order.Of = append(order.Of, typed.Type{DType: o.Type().DType, Axes: typed.UnionAxes(key, o.Type())})
	}
	order.Over = over
	return wrap(order, e.Place, nil)
}

// topk is `topk(x, r, over v)`.
func (b *bodyChecker) topk(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 2, 2, "topk(x, r, over v)`, with `axis r in 5` for the results") {
		return rules.Bad(e.Place)
	}
	x := b.Settle(b.value(e.Args[0].Value))
	into, ok := b.axisArg(e.Args[1].Value)
	over, axisOK := b.sortedAxis(e)
	if x.Mode != rules.TypedValue || !ok || !axisOK || !b.has(x, []*typed.Axis{over}, e.Over) || !b.sortedKeys(x, e) {
		return rules.Bad(e.Place)
	}
	at := e.Args[1].Value.Span()
	switch {
	case into.Kind != typed.WholeAxis || !into.Lo.Equal(size.Size{}):
		b.Errorf(lang.ErrSort, at, "topk gives its results over an axis that a block has whole, from 0 on, and %s is over %s", into.Name, typed.AxisText(into)).
			LabelAt(into.At, "declared here").Help("declare it as `axis r in 5`, or over a whole dimension")
		return rules.Bad(e.Place)
	case typed.HasAxis(x.Type().Axes, into):
		b.Errorf(lang.ErrSort, at, "the tile %s has the axis %s already", x.Type(), into.Name).Help("declare another one for the results: `axis r in 5`")
		return rules.Bad(e.Place)
	}
	axes := append(typed.WithoutAxes(x.Type().Axes, []*typed.Axis{over}), into)
	return wrap(&typed.Sort{Op: lang.OpTopK, Args: []typed.Expr{x.Expr}, Over: over, Into: into, At: e.Place,
		Of: []typed.Type{{DType: x.Type().DType, Axes: axes}, {DType: typed.Concrete(lang.I32), Axes: axes}}}, e.Place, nil)
}

// sortedAxis is the one axis that a sort or topk is over.
func (b *bodyChecker) sortedAxis(e *lang.CallExpr) (*typed.Axis, bool) {
	name := e.Fn.Span().Text()
	if len(e.Over) != 1 {
		b.Errorf(lang.ErrArgCount, e.Place, "%s is over one axis, not %d", name, len(e.Over)).Help("say over what: `%s(..., over v)`", name)
		return nil, false
	}
	over, ok := b.axesOver(e.Over)
	if !ok {
		return nil, false
	}
	if over[0].Kind != typed.WholeAxis {
		b.Errorf(lang.ErrSort, e.Over[0].Place, "%s is over a whole axis, and %s is cut in parts of %s", name, over[0].Name, over[0].Dim).
			LabelAt(over[0].At, "declared here").Help("declare an axis over the whole dimension: `axis v in %s`", over[0].Dim)
		return nil, false
	}
	return over[0], true
}

// sortedKeys checks that a tile holds numbers.
func (b *bodyChecker) sortedKeys(x rules.Operand, e *lang.CallExpr) bool {
	d := x.Type().DType
	if typed.IsFloat(d) || typed.IsInt(d) {
		return true
	}
	b.Errorf(lang.ErrOperandType, e.Fn.Span(), "`%s` needs numbers, not %s", e.Fn.Span().Text(), b.DescribeDType(d)).LabelAt(x.At, "%s", d).Help("%s", rules.NumberHelp(d))
	return false
}

// tupleOf types an expression that gives one value or several.
func (b *bodyChecker) tupleOf(x lang.Expr) []rules.Operand {
	o := b.expr(x)
	if o.Mode != rules.Several {
		return []rules.Operand{b.Settle(b.single(o, "argument"))}
	}
	var all []rules.Operand
	if o.Elems != nil {
		for _, e := range o.Elems {
			all = append(all, b.Settle(b.single(e, "argument")))
		}
		return all
	}
	let := &typed.Let{Value: o.Expr, At: o.At}
	for i, t := range o.Types {
		l := &typed.Local{Name: "value" + string(rune('0'+i%10)), Type: t, At: o.At}
		let.Locals = append(let.Locals, l)
		all = append(all, rules.TypedOperand(&typed.LocalRef{Typed: typed.Typed{Type: t, At: o.At}, Local: l}))
	}
	b.emit(let)
	return all
}

// staticBool types a bool that a specialisation decides; nil where it is none.
func (b *bodyChecker) staticBool(x lang.Expr, what string) typed.Expr {
	o := b.value(x)
	switch {
	case o.Mode == rules.Invalid:
	case o.Mode != rules.TypedValue || o.Type().DType != typed.Concrete(lang.Bool):
		b.Errorf(lang.ErrCondition, x.Span(), "%s is %s; it must be true or false", what, b.DescribeOperand(o))
	case !isStatic(o.Expr):
		b.Errorf(lang.ErrNotConstant, x.Span(), "%s must be constant", what).Help("write true or false, or a constant parameter of the kernel")
	default:
		return o.Expr
	}
	return nil
}
