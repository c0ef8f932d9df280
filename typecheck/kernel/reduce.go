package kernel

import (
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types reductions and contractions.

// reduce is `sum(x, over k)`. Without a known operation it is one that lacks its `over`.
func (b *bodyChecker) reduce(op lang.Op, e *lang.CallExpr) rules.Operand {
	name := e.Fn.Span().Text()
	if !b.AllByPosition(b, e) {
		return rules.Bad(e.Place)
	}
	if len(e.Over) == 0 && len(e.Args) > 1 {
		r := b.Errorf(lang.ErrArgCount, e.Place, "%s needs the axes that it reduces over", name)
		if x, ok := e.Args[1].Value.(*lang.NameExpr); ok && len(e.Args) == 2 {
			if ent := b.scope.Lookup(x.Name); ent != nil && ent.Kind == rules.EntAxis {
				return rules.Bad(r.Before(x.Place, "over ", "write `over %s`", x.Name).At)
			}
		}
		r.Help("say over what: `%s(x, over k)`", name)
		return rules.Bad(e.Place)
	}
	if len(e.Over) == 0 && b.isFormula { // a name that only it would be over is no axis yet
		b.Errorf(lang.ErrArgCount, e.Place, "%s needs the axes that it reduces over", name).Help("say over what: `%s(x, over k)`", name)
		return rules.Bad(e.Place)
	}
	ops, _, ok := b.args(e)
	if len(e.Over) == 0 {
		r := b.Errorf(lang.ErrArgCount, e.Place, "%s needs the axes that it reduces over", name)
		if len(ops) == 1 && ops[0].Mode == rules.TypedValue && len(ops[0].Type().Axes) > 0 {
			axes := ops[0].Type().Axes
			at := e.Args[0].Value.Span()
			r.InsertAfter(at, ", over "+axes[len(axes)-1].Name, "say over what: `%s(..., over %s)`", name, axes[len(axes)-1].Name)
		} else {
			r.Help("say over what: `%s(x, over k)`", name)
		}
		return rules.Bad(e.Place)
	}
	if len(ops) != 1 {
		b.Errorf(lang.ErrArgCount, e.Place, "%s over an axis takes 1 tile, not %d", name, len(ops))
		ok = false
	}
	over, axesOK := b.axesOver(e.Over)
	if !ok || !axesOK {
		return rules.Bad(e.Place)
	}
	x := b.Settle(ops[0])
	if x.Mode != rules.TypedValue || !b.has(x, over, e.Over) {
		return rules.Bad(e.Place)
	}
	t := x.Type()
	row := op.Row()
	if row.Rule == lang.RuleArg && len(over) != 1 {
		b.Errorf(lang.ErrArgCount, e.Place, "%s gives the position along one axis, not %d", name, len(over))
		return rules.Bad(e.Place)
	}
	d, ok := b.ResultType(row, e.Fn.Span(), t.DType, x)
	if !ok {
		return rules.Bad(e.Place)
	}
	o := rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: typed.WithoutAxes(t.Axes, over)}, At: e.Place}, Op: op, Args: []typed.Expr{x.Expr}, Over: over})
	if row.Rule == lang.RuleArg {
		o.Linear = b.someOf(over[0], name)
	}
	return o
}

// someOf is one of the positions of an axis, for proofs.
func (b *bodyChecker) someOf(x *typed.Axis, name string) *size.Size {
	p := b.NewHidden(name + "(" + x.Name + ")")
	b.Varying[p] = true
	s := size.Of(p)
	b.Prover.Where(p, s.Sub(x.Lo))
	b.Prover.Where(p, x.Lo.Add(x.Length()).Sub(size.Const(1)).Sub(s))
	return &s
}

// axesOver resolves the names after `over`.
func (b *bodyChecker) axesOver(names []lang.Ident) ([]*typed.Axis, bool) {
	var axes []*typed.Axis
	ok := true
	for _, n := range names {
		a, found := b.axisNamed(n)
		switch {
		case !found:
			ok = false
		case typed.HasAxis(axes, a):
			b.Errorf(lang.ErrDuplicate, n.Place, "the axis %s stands twice", n.Name)
			ok = false
		default:
			axes = append(axes, a)
		}
	}
	return axes, ok
}

// has checks that a tile has the axes.
func (b *bodyChecker) has(x rules.Operand, over []*typed.Axis, names []lang.Ident) bool {
	t := x.Type()
	for i, a := range over {
		if typed.HasAxis(t.Axes, a) {
			continue
		}
		r := b.Errorf(lang.ErrNoAxis, names[i].Place, "the tile %s has no axis %s", t, a.Name).LabelAt(x.At, "%s", t)
		if len(t.Axes) == 0 {
			r.Help("a scalar has nothing to reduce")
		} else {
			r.Help("its axes are %s", typed.AxisNames(t.Axes))
		}
		return false
	}
	return true
}

// factors types the operands of a contraction: tiles of one number type.
func (b *bodyChecker) factors(e *lang.CallExpr, ops []rules.Operand, exprs []lang.Expr) (typed.DType, bool) {
	for i, o := range ops {
		if o.Mode != rules.TypedValue {
			b.Errorf(lang.ErrContraction, exprs[i].Span(), "%s multiplies tiles; this is %s", e.Fn.Span().Text(), b.DescribeOperand(o))
			return typed.DType{}, false
		}
	}
	d, _, ok := b.CommonType("`"+e.Fn.Span().Text()+"`", e.Fn.Span(), ops, exprs, true)
	if !ok {
		return d, false
	}
	if !typed.IsFloat(d) && !typed.IsInt(d) {
		b.Errorf(lang.ErrOperandType, e.Fn.Span(), "`%s` needs numbers, not %s", e.Fn.Span().Text(), b.DescribeDType(d)).LabelAt(ops[0].At, "%s", d)
		return d, false
	}
	return d, true
}

// dot is `dot(a, b)`: contracted over every common axis, or those named.
func (b *bodyChecker) dot(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 2, 2, "dot(a, b)") || b.lacksOver(e) {
		return rules.Bad(e.Place)
	}
	ops, exprs, ok := b.args(e)
	over, axesOK := b.axesOver(e.Over)
	if !ok || !axesOK {
		return rules.Bad(e.Place)
	}
	d, ok := b.factors(e, ops, exprs)
	if !ok {
		return rules.Bad(e.Place)
	}
	x, y := ops[0].Type(), ops[1].Type()
	if len(e.Over) > 0 {
		if !b.has(ops[0], over, e.Over) || !b.has(ops[1], over, e.Over) {
			return rules.Bad(e.Place)
		}
	} else {
		over = commonAxes(x.Axes, y.Axes)
	}
	if len(over) == 0 {
		b.noCommonAxis(e, ops)
		return rules.Bad(e.Place)
	}
	acc, ok := b.Accumulator("`dot`", e.Fn.Span(), d, ops[0])
	if !ok {
		return rules.Bad(e.Place)
	}
	t := typed.Type{DType: acc, Axes: typed.WithoutAxes(typed.UnionAxes(x, y), over)}
	return rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: t, At: e.Place}, Op: lang.OpDot, Args: []typed.Expr{ops[0].Expr, ops[1].Expr}, Over: over})
}

func (b *bodyChecker) noCommonAxis(e *lang.CallExpr, ops []rules.Operand) {
	b.Errorf(lang.ErrContraction, e.Place, "%s of %s and %s: they share no axis to contract", e.Fn.Span().Text(), ops[0].Type(), ops[1].Type()).
		LabelAt(ops[0].At, "%s", ops[0].Type()).LabelAt(ops[1].At, "%s", ops[1].Type()).
		Help("index both with the same axis along the dimension that is summed; two axes over one dimension are different axes")
}

func commonAxes(x, y []*typed.Axis) []*typed.Axis {
	var both []*typed.Axis
	for _, a := range x {
		if typed.HasAxis(y, a) {
			both = append(both, a)
		}
	}
	return both
}

// mma is `mma(a, b, acc)`: contracted over the common axes that acc has not.
func (b *bodyChecker) mma(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 3, 3, "mma(a, b, acc)") {
		return rules.Bad(e.Place)
	}
	if e.Over != nil {
		b.Errorf(lang.ErrArgName, e.Over[0].Place, "mma takes no `over`: it contracts the axes that both operands have and the accumulator has not")
		return rules.Bad(e.Place)
	}
	if b.lacksOver(e) {
		return rules.Bad(e.Place)
	}
	ops, exprs, ok := b.args(e)
	if !ok {
		return rules.Bad(e.Place)
	}
	d, ok := b.factors(e, ops[:2], exprs[:2])
	if !ok {
		return rules.Bad(e.Place)
	}
	want, ok := b.Accumulator("`mma`", e.Fn.Span(), d, ops[0])
	if !ok {
		return rules.Bad(e.Place)
	}
	acc := b.Convert(ops[2], want)
	if acc.Mode != rules.TypedValue {
		return rules.Bad(e.Place)
	}
	x, y, t := ops[0].Type(), ops[1].Type(), acc.Type()
	if t.DType != want {
		b.wrongAccumulator(exprs[2], t, d, want)
		return rules.Bad(e.Place)
	}
	over := typed.WithoutAxes(commonAxes(x.Axes, y.Axes), t.Axes)
	if len(over) == 0 {
		if len(commonAxes(x.Axes, y.Axes)) > 0 {
			b.Errorf(lang.ErrContraction, e.Place, "mma of %s and %s into %s: every axis that they share is in the accumulator, and none is contracted", x, y, t).
				LabelAt(acc.At, "%s", t).Help("the accumulator has not the axis that is summed")
			return rules.Bad(e.Place)
		}
		b.noCommonAxis(e, ops[:2])
		return rules.Bad(e.Place)
	}
	product := typed.Type{DType: want, Axes: typed.WithoutAxes(typed.UnionAxes(x, y), over)}
	if !typed.SameAxes(product.Axes, t.Axes) {
		r := b.Errorf(lang.ErrContraction, acc.At, "the accumulator is %s, and the product of %s and %s over %s is %s", t, x, y, typed.AxisNames(over), product).
			LabelAt(ops[0].At, "%s", x).LabelAt(ops[1].At, "%s", y)
		r.Help("start it as `%s`", zerosOf(product))
		return rules.Bad(e.Place)
	}
	return rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: t, At: e.Place}, Op: lang.OpMma, Args: []typed.Expr{ops[0].Expr, ops[1].Expr, acc.Expr}, Over: over})
}
