package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types reductions and contractions.

// reduce is `sum(x, over k)`. Without a known operation it is one that lacks its `over`.
func (b *bodyChecker) reduce(op lang.Op, e *lang.CallExpr) operand {
	name := e.Fn.Span().Text()
	if !b.allByPosition(b, e) {
		return bad(e.Place)
	}
	if len(e.Over) == 0 && len(e.Args) > 1 {
		r := b.Errorf(lang.ErrArgCount, e.Place, "%s needs the axes that it reduces over", name)
		if x, ok := e.Args[1].Value.(*lang.NameExpr); ok && len(e.Args) == 2 {
			if ent := b.scope.lookup(x.Name); ent != nil && ent.kind == entAxis {
				return bad(r.before(x.Place, "over ", "write `over %s`", x.Name).At)
			}
		}
		r.help("say over what: `%s(x, over k)`", name)
		return bad(e.Place)
	}
	if len(e.Over) == 0 && b.isFormula { // a name that only it would be over is no axis yet
		b.Errorf(lang.ErrArgCount, e.Place, "%s needs the axes that it reduces over", name).help("say over what: `%s(x, over k)`", name)
		return bad(e.Place)
	}
	ops, _, ok := b.args(e)
	if len(e.Over) == 0 {
		r := b.Errorf(lang.ErrArgCount, e.Place, "%s needs the axes that it reduces over", name)
		if len(ops) == 1 && ops[0].mode == typedValue && len(ops[0].typ().Axes) > 0 {
			axes := ops[0].typ().Axes
			at := e.Args[0].Value.Span()
			r.insertAfter(at, ", over "+axes[len(axes)-1].Name, "say over what: `%s(..., over %s)`", name, axes[len(axes)-1].Name)
		} else {
			r.help("say over what: `%s(x, over k)`", name)
		}
		return bad(e.Place)
	}
	if len(ops) != 1 {
		b.Errorf(lang.ErrArgCount, e.Place, "%s over an axis takes 1 tile, not %d", name, len(ops))
		ok = false
	}
	over, axesOK := b.axesOver(e.Over)
	if !ok || !axesOK {
		return bad(e.Place)
	}
	x := b.settle(ops[0])
	if x.mode != typedValue || !b.has(x, over, e.Over) {
		return bad(e.Place)
	}
	t := x.typ()
	row := op.Row()
	if row.Rule == lang.RuleArg && len(over) != 1 {
		b.Errorf(lang.ErrArgCount, e.Place, "%s gives the position along one axis, not %d", name, len(over))
		return bad(e.Place)
	}
	d, ok := b.rule(row, e.Fn.Span(), t.DType, x)
	if !ok {
		return bad(e.Place)
	}
	o := typedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: typed.WithoutAxes(t.Axes, over)}, At: e.Place}, Op: op, Args: []typed.Expr{x.expr}, Over: over})
	if row.Rule == lang.RuleArg {
		o.lin = b.someOf(over[0], name)
	}
	return o
}

// someOf is one of the positions of an axis, for proofs.
func (b *bodyChecker) someOf(x *typed.Axis, name string) *size.Size {
	p := b.newHidden(name + "(" + x.Name + ")")
	b.varying[p] = true
	s := size.Of(p)
	b.prover.Where(p, s.Sub(x.Lo))
	b.prover.Where(p, x.Lo.Add(x.Length()).Sub(size.Const(1)).Sub(s))
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
func (b *bodyChecker) has(x operand, over []*typed.Axis, names []lang.Ident) bool {
	t := x.typ()
	for i, a := range over {
		if typed.HasAxis(t.Axes, a) {
			continue
		}
		r := b.Errorf(lang.ErrNoAxis, names[i].Place, "the tile %s has no axis %s", t, a.Name).label(x.at, "%s", t)
		if len(t.Axes) == 0 {
			r.help("a scalar has nothing to reduce")
		} else {
			r.help("its axes are %s", typed.AxisNames(t.Axes))
		}
		return false
	}
	return true
}

// factors types the operands of a contraction: tiles of one number type.
func (b *bodyChecker) factors(e *lang.CallExpr, ops []operand, exprs []lang.Expr) (typed.DType, bool) {
	for i, o := range ops {
		if o.mode != typedValue {
			b.Errorf(lang.ErrContraction, exprs[i].Span(), "%s multiplies tiles; this is %s", e.Fn.Span().Text(), b.describeOperand(o))
			return typed.DType{}, false
		}
	}
	d, _, ok := b.common("`"+e.Fn.Span().Text()+"`", e.Fn.Span(), ops, exprs, true)
	if !ok {
		return d, false
	}
	if !typed.IsFloat(d) && !typed.IsInt(d) {
		b.Errorf(lang.ErrOperandType, e.Fn.Span(), "`%s` needs numbers, not %s", e.Fn.Span().Text(), b.describeDType(d)).label(ops[0].at, "%s", d)
		return d, false
	}
	return d, true
}

// dot is `dot(a, b)`: contracted over every common axis, or those named.
func (b *bodyChecker) dot(e *lang.CallExpr) operand {
	if !b.wantArgs(e, 2, 2, "dot(a, b)") || b.lacksOver(e) {
		return bad(e.Place)
	}
	ops, exprs, ok := b.args(e)
	over, axesOK := b.axesOver(e.Over)
	if !ok || !axesOK {
		return bad(e.Place)
	}
	d, ok := b.factors(e, ops, exprs)
	if !ok {
		return bad(e.Place)
	}
	x, y := ops[0].typ(), ops[1].typ()
	if len(e.Over) > 0 {
		if !b.has(ops[0], over, e.Over) || !b.has(ops[1], over, e.Over) {
			return bad(e.Place)
		}
	} else {
		over = commonAxes(x.Axes, y.Axes)
	}
	if len(over) == 0 {
		b.noCommonAxis(e, ops)
		return bad(e.Place)
	}
	acc, ok := b.accumulator("`dot`", e.Fn.Span(), d, ops[0])
	if !ok {
		return bad(e.Place)
	}
	t := typed.Type{DType: acc, Axes: typed.WithoutAxes(typed.UnionAxes(x, y), over)}
	return typedOperand(&typed.Apply{Typed: typed.Typed{Type: t, At: e.Place}, Op: lang.OpDot, Args: []typed.Expr{ops[0].expr, ops[1].expr}, Over: over})
}

func (b *bodyChecker) noCommonAxis(e *lang.CallExpr, ops []operand) {
	b.Errorf(lang.ErrContraction, e.Place, "%s of %s and %s: they share no axis to contract", e.Fn.Span().Text(), ops[0].typ(), ops[1].typ()).
		label(ops[0].at, "%s", ops[0].typ()).label(ops[1].at, "%s", ops[1].typ()).
		help("index both with the same axis along the dimension that is summed; two axes over one dimension are different axes")
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
func (b *bodyChecker) mma(e *lang.CallExpr) operand {
	if !b.wantArgs(e, 3, 3, "mma(a, b, acc)") {
		return bad(e.Place)
	}
	if e.Over != nil {
		b.Errorf(lang.ErrArgName, e.Over[0].Place, "mma takes no `over`: it contracts the axes that both operands have and the accumulator has not")
		return bad(e.Place)
	}
	if b.lacksOver(e) {
		return bad(e.Place)
	}
	ops, exprs, ok := b.args(e)
	if !ok {
		return bad(e.Place)
	}
	d, ok := b.factors(e, ops[:2], exprs[:2])
	if !ok {
		return bad(e.Place)
	}
	want, ok := b.accumulator("`mma`", e.Fn.Span(), d, ops[0])
	if !ok {
		return bad(e.Place)
	}
	acc := b.convert(ops[2], want)
	if acc.mode != typedValue {
		return bad(e.Place)
	}
	x, y, t := ops[0].typ(), ops[1].typ(), acc.typ()
	if t.DType != want {
		b.wrongAccumulator(exprs[2], t, d, want)
		return bad(e.Place)
	}
	over := typed.WithoutAxes(commonAxes(x.Axes, y.Axes), t.Axes)
	if len(over) == 0 {
		if len(commonAxes(x.Axes, y.Axes)) > 0 {
			b.Errorf(lang.ErrContraction, e.Place, "mma of %s and %s into %s: every axis that they share is in the accumulator, and none is contracted", x, y, t).
				label(acc.at, "%s", t).help("the accumulator has not the axis that is summed")
			return bad(e.Place)
		}
		b.noCommonAxis(e, ops[:2])
		return bad(e.Place)
	}
	product := typed.Type{DType: want, Axes: typed.WithoutAxes(typed.UnionAxes(x, y), over)}
	if !typed.SameAxes(product.Axes, t.Axes) {
		r := b.Errorf(lang.ErrContraction, acc.at, "the accumulator is %s, and the product of %s and %s over %s is %s", t, x, y, typed.AxisNames(over), product).
			label(ops[0].at, "%s", x).label(ops[1].at, "%s", y)
		r.help("start it as `%s`", zerosOf(product))
		return bad(e.Place)
	}
	return typedOperand(&typed.Apply{Typed: typed.Typed{Type: t, At: e.Place}, Op: lang.OpMma, Args: []typed.Expr{ops[0].expr, ops[1].expr, acc.expr}, Over: over})
}
