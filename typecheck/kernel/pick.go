package kernel

import (
	"strconv"

	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the operations on single positions of an axis: pick, insert,
// and what gives positions their type.

// pickArgs is the tile, the axis and the positions of `pick(x, d, n)` and `insert(x, d, n, v)`.
func (b *bodyChecker) pickArgs(e *lang.CallExpr, n int, usage string) (x rules.Operand, d *typed.Axis, at rules.Operand, ok bool) {
	if !b.wantArgs(e, n, n, usage) {
		return x, nil, at, false
	}
	x = b.Settle(b.value(e.Args[0].Value))
	d, ok = b.axisArg(e.Args[1].Value)
	at = b.value(e.Args[2].Value)
	if !ok || x.Mode != rules.TypedValue || at.Mode == rules.Invalid {
		return x, d, at, false
	}
	at, ok = b.positionOperand(at, e.Args[2].Value)
	return x, d, at, ok
}

// positionOperand gives an integer the type of a position: i32, or i64 where 32
// bits may not hold it. What a u64 has beyond i64 becomes negative, which no
// position is.
func (b *bodyChecker) positionOperand(o rules.Operand, e lang.Expr) (rules.Operand, bool) {
	if o.Mode == rules.UntypedInt {
		o = b.Convert(o, typed.Concrete(lang.I32))
	}
	if o.Mode == rules.Invalid {
		return o, false
	}
	if o.Mode != rules.TypedValue || !typed.IsInt(o.Type().DType) {
		r := b.Errorf(lang.ErrIndexType, e.Span(), "an index is an integer, not %s", b.DescribeOperand(o))
		if o.Mode != rules.UntypedFloat {
			r.CastFix(e, typed.Concrete(lang.I32))
		} else if n := int64(o.Number); float64(n) == o.Number {
			r.Replace(e.Span(), strconv.FormatInt(n, 10), "write an integer")
		} else {
			r.Help("write an integer")
		}
		return o, false
	}
	d := o.Type().DType
	switch {
	case rules.IsIndexType(d):
	case d.Param == nil && d.Of.Bits() < 32:
		return b.castTo(o, typed.Concrete(lang.I32), o.At), true
	default:
		return b.castTo(o, typed.Concrete(lang.I64), o.At), true
	}
	return o, true
}

// pick is `pick(x, d, n)`, with `else` where n is not proven to be a position of d.
func (b *bodyChecker) pick(e *lang.CallExpr) rules.Operand {
	x, d, n, ok := b.pickArgs(e, 3, "pick(x, d, n)")
	var els rules.Operand
	if e.Else != nil {
		els = b.value(e.Else)
		ok = ok && els.Mode != rules.Invalid
	}
	if !ok || !b.source(x, []*typed.Axis{d}, e.Args[1].Value.Span()) {
		return rules.Bad(e.Place)
	}
	end := d.Lo.Add(d.Len)
	known := b.Prover
	if e.Else != nil { // says what is there where the axis is empty
		known = known.WithZeros()
	}
	proven := n.Linear != nil && known.AtMost(d.Lo, *n.Linear) && known.AtMost(*n.Linear, end.Sub(size.Const(1)))
	if !proven && e.Else == nil {
		what := "its value is only known when the kernel runs"
		if n.Linear != nil {
			what = "it is " + n.Linear.String() + ", and the axis has " + d.Lo.String() + " to " + end.Sub(size.Const(1)).String()
		}
		b.Errorf(lang.ErrBounds, e.Args[2].Value.Span(), "the position is not proven to lie in axis %s: %s", d.Name, what).
			AddElse(e.Place, "add `else 0` to say what a position outside gives")
		return rules.Bad(e.Place)
	}
	t := &typed.Take{Typed: typed.Typed{At: e.Place}, X: x.Expr, Axes: []*typed.Axis{d}, Positions: []typed.Expr{n.Expr}, Checked: []bool{!proven}}
	t.Type = typed.Type{DType: x.Type().DType, Axes: takeAxes(x.Type().Axes, t.Axes, []typed.Type{n.Type()})}
	if e.Else != nil {
		els = b.Convert(els, t.Type.DType)
		if els.Mode != rules.TypedValue {
			return rules.Bad(e.Place)
		}
		if got := els.Type(); got.DType != t.Type.DType {
			b.Errorf(lang.ErrWrongType, e.Else.Span(), "the value after `else` is %s, and the tile's elements are %s", got, t.Type.DType).CastFix(e.Else, t.Type.DType)
			return rules.Bad(e.Place)
		}
		axes := typed.UnionAxes(t.Type, els.Type())
		if !proven || len(axes) > len(t.Type.Axes) {
			t.Else, t.Checked[0] = els.Expr, true // whatever could be proven, the result is over its axes
		}
		t.Type.Axes = axes
	}
	return rules.TypedOperand(t)
}

// insert is `insert(x, d, n, v)`: v where d stands at n, x elsewhere. A position
// outside d changes nothing.
func (b *bodyChecker) insert(e *lang.CallExpr) rules.Operand {
	x, d, n, ok := b.pickArgs(e, 4, "insert(x, d, n, v)")
	var v rules.Operand
	if len(e.Args) == 4 {
		v = b.value(e.Args[3].Value)
	}
	if !ok || v.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	if !typed.HasAxis(x.Type().Axes, d) {
		b.Errorf(lang.ErrNoAxis, e.Args[1].Value.Span(), "the tile %s has no axis %s", x.Type(), d.Name).LabelAt(x.At, "%s", x.Type())
		return rules.Bad(e.Place)
	}
	at := e.Place
	here := b.positionsOf(d, at)
	if n.Type().DType == typed.Concrete(lang.I64) {
		here = b.castTo(here, typed.Concrete(lang.I64), at)
	}
	same := b.Apply(lang.OpEq, at, at, []rules.Operand{here, n}, nil)
	return b.Apply(lang.OpWhere, at, at, []rules.Operand{same, v, x}, []lang.Expr{nil, e.Args[3].Value, e.Args[0].Value})
}

// iota is `iota(i)`: the elements of an axis, counted from 0 where the axis begins.
func (b *bodyChecker) iota(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 1, 1, "iota(i)") {
		return rules.Bad(e.Place)
	}
	x, ok := b.axisArg(e.Args[0].Value)
	if !ok {
		return rules.Bad(e.Place)
	}
	n := b.number(x, e.Place)
	if lo := b.loopStarts[x]; lo != nil {
		n = b.arith(lang.OpSub, e.Place, n, rules.TypedOperand(lo))
	}
	return n
}

// broadcast is `broadcast(x, i, j)`: x over these axes too.
func (b *bodyChecker) broadcast(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 2, -1, "broadcast(x, i, j)") {
		return rules.Bad(e.Place)
	}
	x := b.Settle(b.value(e.Args[0].Value))
	ok := x.Mode == rules.TypedValue
	var axes []*typed.Axis
	for _, a := range e.Args[1:] {
		d, found := b.axisArg(a.Value)
		switch {
		case !found:
			ok = false
		case typed.HasAxis(axes, d):
			b.Errorf(lang.ErrDuplicate, a.Place, "the axis %s stands twice", d.Name)
			ok = false
		default:
			axes = append(axes, d)
		}
	}
	if !ok {
		return rules.Bad(e.Place)
	}
	t := x.Type()
	all := typed.UnionAxes(t, typed.Type{Axes: axes})
	if len(all) == len(t.Axes) {
		return x
	}
	return rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: t.DType, Axes: all}, At: e.Place}, Op: lang.OpFull, Args: []typed.Expr{x.Expr}, Axes: all})
}
