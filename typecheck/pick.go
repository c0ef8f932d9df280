package typecheck

import (
	"strconv"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the operations on single positions of an axis: pick, insert,
// and what gives positions their type.

// pickArgs is the tile, the axis and the positions of `pick(x, d, n)` and `insert(x, d, n, v)`.
func (b *bodyChecker) pickArgs(e *lang.CallExpr, n int, usage string) (x operand, d *typed.Axis, at operand, ok bool) {
	if !b.wantArgs(e, n, n, usage) {
		return x, nil, at, false
	}
	x = b.settle(b.value(e.Args[0].Value))
	d, ok = b.axisArg(e.Args[1].Value)
	at = b.value(e.Args[2].Value)
	if !ok || x.mode != typedValue || at.mode == invalid {
		return x, d, at, false
	}
	at, ok = b.positionOperand(at, e.Args[2].Value)
	return x, d, at, ok
}

// positionOperand gives an integer the type of a position: i32, or i64 where 32
// bits may not hold it. What a u64 has beyond i64 becomes negative, which no
// position is.
func (b *bodyChecker) positionOperand(o operand, e lang.Expr) (operand, bool) {
	if o.mode == untypedInt {
		o = b.convert(o, typed.Concrete(lang.I32))
	}
	if o.mode == invalid {
		return o, false
	}
	if o.mode != typedValue || !typed.IsInt(o.typ().DType) {
		r := b.Errorf(lang.ErrIndexType, e.Span(), "an index is an integer, not %s", b.describeOperand(o))
		if o.mode != untypedFloat {
			r.castFix(e, typed.Concrete(lang.I32))
		} else if n := int64(o.num); float64(n) == o.num {
			r.replace(e.Span(), strconv.FormatInt(n, 10), "write an integer")
		} else {
			r.help("write an integer")
		}
		return o, false
	}
	d := o.typ().DType
	switch {
	case isIndexType(d):
	case d.Param == nil && d.Of.Bits() < 32:
		return b.castTo(o, typed.Concrete(lang.I32), o.at), true
	default:
		return b.castTo(o, typed.Concrete(lang.I64), o.at), true
	}
	return o, true
}

// pick is `pick(x, d, n)`, with `else` where n is not proven to be a position of d.
func (b *bodyChecker) pick(e *lang.CallExpr) operand {
	x, d, n, ok := b.pickArgs(e, 3, "pick(x, d, n)")
	var els operand
	if e.Else != nil {
		els = b.value(e.Else)
		ok = ok && els.mode != invalid
	}
	if !ok || !b.source(x, []*typed.Axis{d}, e.Args[1].Value.Span()) {
		return bad(e.Place)
	}
	end := d.Lo.Add(d.Len)
	known := b.prover
	if e.Else != nil { // says what is there where the axis is empty
		known = known.WithZeros()
	}
	proven := n.lin != nil && known.AtMost(d.Lo, *n.lin) && known.AtMost(*n.lin, end.Sub(size.Const(1)))
	if !proven && e.Else == nil {
		what := "its value is only known when the kernel runs"
		if n.lin != nil {
			what = "it is " + n.lin.String() + ", and the axis has " + d.Lo.String() + " to " + end.Sub(size.Const(1)).String()
		}
		b.Errorf(lang.ErrBounds, e.Args[2].Value.Span(), "the position is not proven to lie in axis %s: %s", d.Name, what).
			addElse(e.Place, "add `else 0` to say what a position outside gives")
		return bad(e.Place)
	}
	t := &typed.Take{Typed: typed.Typed{At: e.Place}, X: x.expr, Axes: []*typed.Axis{d}, Positions: []typed.Expr{n.expr}, Checked: []bool{!proven}}
	t.Type = typed.Type{DType: x.typ().DType, Axes: takeAxes(x.typ().Axes, t.Axes, []typed.Type{n.typ()})}
	if e.Else != nil {
		els = b.convert(els, t.Type.DType)
		if els.mode != typedValue {
			return bad(e.Place)
		}
		if got := els.typ(); got.DType != t.Type.DType {
			b.Errorf(lang.ErrWrongType, e.Else.Span(), "the value after `else` is %s, and the tile's elements are %s", got, t.Type.DType).castFix(e.Else, t.Type.DType)
			return bad(e.Place)
		}
		axes := typed.UnionAxes(t.Type, els.typ())
		if !proven || len(axes) > len(t.Type.Axes) {
			t.Else, t.Checked[0] = els.expr, true // whatever could be proven, the result is over its axes
		}
		t.Type.Axes = axes
	}
	return typedOperand(t)
}

// insert is `insert(x, d, n, v)`: v where d stands at n, x elsewhere. A position
// outside d changes nothing.
func (b *bodyChecker) insert(e *lang.CallExpr) operand {
	x, d, n, ok := b.pickArgs(e, 4, "insert(x, d, n, v)")
	var v operand
	if len(e.Args) == 4 {
		v = b.value(e.Args[3].Value)
	}
	if !ok || v.mode == invalid {
		return bad(e.Place)
	}
	if !typed.HasAxis(x.typ().Axes, d) {
		b.Errorf(lang.ErrNoAxis, e.Args[1].Value.Span(), "the tile %s has no axis %s", x.typ(), d.Name).label(x.at, "%s", x.typ())
		return bad(e.Place)
	}
	at := e.Place
	here := b.positionsOf(d, at)
	if n.typ().DType == typed.Concrete(lang.I64) {
		here = b.castTo(here, typed.Concrete(lang.I64), at)
	}
	same := b.apply(lang.OpEq, at, at, []operand{here, n}, nil)
	return b.apply(lang.OpWhere, at, at, []operand{same, v, x}, []lang.Expr{nil, e.Args[3].Value, e.Args[0].Value})
}

// iota is `iota(i)`: the elements of an axis, counted from 0 where the axis begins.
func (b *bodyChecker) iota(e *lang.CallExpr) operand {
	if !b.wantArgs(e, 1, 1, "iota(i)") {
		return bad(e.Place)
	}
	x, ok := b.axisArg(e.Args[0].Value)
	if !ok {
		return bad(e.Place)
	}
	n := b.number(x, e.Place)
	if lo := b.loopStarts[x]; lo != nil {
		n = b.arith(lang.OpSub, e.Place, n, typedOperand(lo))
	}
	return n
}

// broadcast is `broadcast(x, i, j)`: x over these axes too.
func (b *bodyChecker) broadcast(e *lang.CallExpr) operand {
	if !b.wantArgs(e, 2, -1, "broadcast(x, i, j)") {
		return bad(e.Place)
	}
	x := b.settle(b.value(e.Args[0].Value))
	ok := x.mode == typedValue
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
		return bad(e.Place)
	}
	t := x.typ()
	all := typed.UnionAxes(t, typed.Type{Axes: axes})
	if len(all) == len(t.Axes) {
		return x
	}
	return typedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: t.DType, Axes: all}, At: e.Place}, Op: lang.OpFull, Args: []typed.Expr{x.expr}, Axes: all})
}
