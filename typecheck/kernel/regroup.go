package kernel

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the operations that change the axes of a tile. All are
// written as takes: elements at positions along some of the axes. split, merge
// and cat count the elements of an axis from 0; slice and pick name positions,
// as index(d) gives them.

// claim holds two sizes to be equal, or the left one to be at most the right one.
// What follows from the source is decided now, the rest when the sizes are known.
func (b *bodyChecker) claim(cs *[]typed.Claim, c typed.Claim) bool {
	x, okX := c.Left.Const()
	y, okY := c.Right.Const()
	switch {
	case c.Left.Equal(c.Right), c.AtMost && b.Prover.AtMost(c.Left, c.Right):
		return true
	case okX && okY && c.Broken(x, y):
		r := b.Errorf(lang.ErrShapeOp, c.At, c.Text, x, y)
		if c.AtMost {
			r.Help("positions are those of the dimension, and the end is the first that is left out")
		} else {
			r.Help("declare axes of as many elements: `axis r in %s`", c.Left)
		}
		return false
	case okX && okY:
		return true
	}
	b.Kernel.Fixed = append(b.Kernel.Fixed, c.Left, c.Right)
	*cs = append(*cs, c)
	return true
}

// arith is an operation on integers, with what is known of its position.
func (b *bodyChecker) arith(op lang.Op, at lang.Span, x, y rules.Operand) rules.Operand {
	o := b.Apply(op, at, at, []rules.Operand{x, y}, nil)
	b.linear(&o, func() (size.Size, bool) { return b.linearOp(op, x, y) })
	return o
}

// plus is x + n without the operation where n is 0.
func (b *bodyChecker) plus(at lang.Span, x rules.Operand, n size.Size) rules.Operand {
	if n.Equal(size.Size{}) {
		return x
	}
	return b.arith(lang.OpAdd, at, x, rules.SizeOperand(at, n))
}

// number is the elements of an axis counted from 0, as a tile over it.
func (b *bodyChecker) number(x *typed.Axis, at lang.Span) rules.Operand {
	return b.plus(at, b.positionsOf(x, at), x.Lo.Neg())
}

// taken is a take: x with each of the axes replaced by positions along it.
func (b *bodyChecker) taken(at lang.Span, x rules.Operand, axes []*typed.Axis, positions []rules.Operand, claims []typed.Claim) rules.Operand {
	t := &typed.Take{X: x.Expr, Axes: axes, Checked: make([]bool, len(axes)), Claims: claims}
	types := make([]typed.Type, len(axes))
	for i, p := range positions {
		p = b.Convert(p, typed.Concrete(lang.I32))
		if p.Mode != rules.TypedValue {
			return rules.Bad(at)
		}
		t.Positions = append(t.Positions, p.Expr)
		types[i] = p.Type()
	}
	t.Typed = typed.Typed{Type: typed.Type{DType: x.Type().DType, Axes: takeAxes(x.Type().Axes, axes, types)}, At: at}
	return rules.TypedOperand(t)
}

// takeAxes is the axes of a take's result: the positions' in place of those taken.
func takeAxes(of, axes []*typed.Axis, positions []typed.Type) []*typed.Axis {
	var parts []typed.Type
	for _, a := range of {
		part := typed.Type{Axes: []*typed.Axis{a}}
		for i, t := range axes {
			if a == t {
				part = positions[i]
			}
		}
		parts = append(parts, part)
	}
	return typed.UnionAxes(parts...)
}

// mapping is `from -> to`, each an axis or a tuple of them; twice: an axis may stand twice in from.
func (b *bodyChecker) mapping(e lang.Expr, usage string, twice bool) (m *lang.MapExpr, from, to []*typed.Axis, ok bool) {
	m, isMap := e.(*lang.MapExpr)
	if !isMap {
		b.Errorf(lang.ErrShapeOp, e.Span(), "this argument says which axes become which").Help("write `%s`", usage)
		return nil, nil, nil, false
	}
	from, ok = b.axisList(m.From, twice)
	to, okTo := b.axisList(m.To, false)
	return m, from, to, ok && okTo
}

// axisList is `d` or `(h, e)`.
func (b *bodyChecker) axisList(e lang.Expr, twice bool) ([]*typed.Axis, bool) {
	t, isTuple := e.(*lang.TupleExpr)
	if !isTuple {
		x, ok := b.axisArg(e)
		return []*typed.Axis{x}, ok
	}
	var axes []*typed.Axis
	ok := true
	for _, elem := range t.Elems {
		x, found := b.axisArg(elem)
		switch {
		case !found:
			ok = false
		case !twice && typed.HasAxis(axes, x):
			b.Errorf(lang.ErrDuplicate, elem.Span(), "the axis %s stands twice", x.Name)
			ok = false
		default:
			axes = append(axes, x)
		}
	}
	return axes, ok
}

// source checks axes that are taken from: the tile has them, whole.
func (b *bodyChecker) source(x rules.Operand, axes []*typed.Axis, at lang.Span) bool {
	for _, a := range axes {
		if !typed.HasAxis(x.Type().Axes, a) {
			b.Errorf(lang.ErrNoAxis, at, "the tile %s has no axis %s", x.Type(), a.Name).LabelAt(x.At, "%s", x.Type())
			return false
		}
		if a.Kind != typed.WholeAxis {
			b.Errorf(lang.ErrShapeOp, at, "a block has only the part of axis %s that the plan gives it, and its elements are wanted by number", a.Name).
				LabelAt(a.At, "%s is walked in parts", a.Name).Help("make it whole: `axis %s in %s`", a.Name, a.Dim)
			return false
		}
	}
	return true
}

// target checks axes that a result gets: the tile has them not yet.
func (b *bodyChecker) target(x rules.Operand, from, to []*typed.Axis, at lang.Span) bool {
	for _, a := range to {
		if typed.HasAxis(x.Type().Axes, a) {
			b.Errorf(lang.ErrShapeOp, at, "the tile %s has an axis %s already", x.Type(), a.Name).LabelAt(x.At, "%s", x.Type()).
				Help("declare another axis for the result")
			return false
		}
	}
	return true
}

// regroup is `split(x, d -> (h, e))` and `merge(x, (h, e) -> d)`: the elements
// are counted along the axes of one side, the last fastest, and found by the
// same count along those of the other.
func (b *bodyChecker) regroup(e *lang.CallExpr) rules.Operand {
	name := e.Fn.Span().Text()
	usage := map[string]string{"split": "split(x, d -> (h, e))", "merge": "merge(x, (h, e) -> d)"}[name]
	if !b.wantArgs(e, 2, 2, usage) {
		return rules.Bad(e.Place)
	}
	x := b.Settle(b.value(e.Args[0].Value))
	m, from, to, ok := b.mapping(e.Args[1].Value, usage, false)
	if !ok || x.Mode != rules.TypedValue {
		return rules.Bad(e.Place)
	}
	if name == "split" && len(from) != 1 || name == "merge" && len(to) != 1 {
		b.Errorf(lang.ErrShapeOp, m.Place, "%s makes of %s %s", name, countAxes(from), countAxes(to)).Help("write `%s`", usage)
		return rules.Bad(e.Place)
	}
	if !b.source(x, from, m.From.Span()) || !b.target(x, from, to, m.To.Span()) {
		return rules.Bad(e.Place)
	}
	var claims []typed.Claim
	text := fmt.Sprintf("%s: %s %%d, and %s %%d", name, have(from), have(to))
	if !b.claim(&claims, typed.Claim{Left: volume(from), Right: volume(to), Text: text, At: m.Place}) {
		return rules.Bad(e.Place)
	}
	at := e.Place
	n := b.number(to[0], at)
	for _, a := range to[1:] {
		n = b.arith(lang.OpAdd, at, b.arith(lang.OpMul, at, n, rules.SizeOperand(at, a.Length())), b.number(a, at))
	}
	positions := make([]rules.Operand, len(from))
	for i := len(from) - 1; i >= 0; i-- {
		digit := n
		if i > 0 {
			size := rules.SizeOperand(at, from[i].Len)
			digit, n = b.arith(lang.OpMod, at, n, size), b.arith(lang.OpDiv, at, n, size)
		}
		positions[i] = b.plus(at, digit, from[i].Lo)
	}
	return b.taken(at, x, from, positions, claims)
}

// countAxes is `the axis d` or `the axes h, e`.
func countAxes(axes []*typed.Axis) string {
	if len(axes) == 1 {
		return "the axis " + axes[0].Name
	}
	return "the axes " + typed.AxisNames(axes)
}

// volume is the product of the axes' lengths.
func volume(axes []*typed.Axis) size.Size {
	n := size.Const(1)
	for _, a := range axes {
		n = n.Mul(a.Length())
	}
	return n
}

// have is how a message begins that counts the elements of axes.
func have(axes []*typed.Axis) string {
	if len(axes) == 1 {
		return countAxes(axes) + " has"
	}
	return countAxes(axes) + " together have"
}

// slice is `slice(x, d[lo .. hi] -> r)`.
func (b *bodyChecker) slice(e *lang.CallExpr) rules.Operand {
	const usage = "slice(x, d[lo .. hi] -> r)"
	if !b.wantArgs(e, 2, 2, usage) {
		return rules.Bad(e.Place)
	}
	x := b.Settle(b.value(e.Args[0].Value))
	m, isMap := e.Args[1].Value.(*lang.MapExpr)
	var part *lang.IndexExpr
	var r *lang.RangeExpr
	if isMap {
		part, _ = m.From.(*lang.IndexExpr)
	}
	if part != nil && len(part.Indices) == 1 && part.Else == nil {
		r, _ = part.Indices[0].(*lang.RangeExpr)
	}
	if r == nil {
		b.Errorf(lang.ErrShapeOp, e.Args[1].Value.Span(), "this argument says which positions of which axis become which axis").Help("write `%s`", usage)
		return rules.Bad(e.Place)
	}
	d, okD := b.axisArg(part.X)
	to, okTo := b.axisArg(m.To)
	lo, hi, okRange := rules.Operand{}, rules.Operand{}, true
	if okD {
		lo, hi = rules.SizeOperand(r.Place, d.Lo), rules.SizeOperand(r.Place, d.Lo.Add(d.Length()))
	}
	for _, end := range []struct {
		e lang.Expr
		o *rules.Operand
	}{{r.Lo, &lo}, {r.Hi, &hi}} {
		if end.e != nil {
			b.Sizing++
			*end.o = b.value(end.e)
			b.Sizing--
			_, known := end.o.Position()
			if end.o.Mode != rules.Invalid && !known {
				b.Errorf(lang.ErrBounds, end.e.Span(), "the end of the slice is not proven to lie in axis %s: its value is only known when the kernel runs", part.X.Span().Text()).
					Help("say what lies outside with `pick(x, %s, index(r) + start) else 0`", part.X.Span().Text())
				return rules.Bad(e.Place)
			}
			okRange = okRange && end.o.Mode != rules.Invalid
		}
	}
	if !okD || !okTo || !okRange || x.Mode != rules.TypedValue {
		return rules.Bad(e.Place)
	}
	if !b.source(x, []*typed.Axis{d}, part.X.Span()) || !b.target(x, []*typed.Axis{d}, []*typed.Axis{to}, m.To.Span()) {
		return rules.Bad(e.Place)
	}
	first, _ := lo.Position()
	last, _ := hi.Position()
	var claims []typed.Claim
	ok := b.sliceInside(&claims, d, first, last, part.Place) &&
		b.sized(&claims, typed.Claim{Left: last.Sub(first), Right: to.Length(), Text: fmt.Sprintf("slice: the part of axis %s has %%d elements, and the axis %s has %%d", d.Name, to.Name), At: m.Place})
	if !ok {
		return rules.Bad(e.Place)
	}
	n := b.number(to, e.Place)
	if !first.Equal(size.Size{}) {
		n = b.arith(lang.OpAdd, e.Place, n, lo)
	}
	return b.taken(e.Place, x, []*typed.Axis{d}, []rules.Operand{n}, claims)
}

// sized is a claim of equality between sizes that may mention positions of the
// kernel: those must cancel out.
func (b *bodyChecker) sized(cs *[]typed.Claim, c typed.Claim) bool {
	if c.Left.Equal(c.Right) {
		return true
	}
	for _, sym := range append(c.Left.Symbols(), c.Right.Symbols()...) {
		if sym.Kind == size.PositionSymbol {
			b.Errorf(lang.ErrShapeOp, c.At, "the part runs over %s elements, which is not proven to be %s", c.Left, c.Right).
				Help("say the length by what the axis has: `[lo .. lo + %s]`", c.Right)
			return false
		}
	}
	return b.claim(cs, c)
}

// sliceInside holds a range to lie in an axis.
func (b *bodyChecker) sliceInside(cs *[]typed.Claim, d *typed.Axis, first, last size.Size, at lang.Span) bool {
	end := d.Lo.Add(d.Len)
	varies := false
	for _, sym := range append(first.Symbols(), last.Symbols()...) {
		varies = varies || sym.Kind == size.PositionSymbol
	}
	if varies {
		if b.Prover.AtMost(d.Lo, first) && b.Prover.AtMost(last, end) {
			return true
		}
		b.Errorf(lang.ErrBounds, at, "the part from %s to %s is not proven to lie in axis %s, which has %s to %s", first, last, d.Name, d.Lo, end).
			Help("say what lies outside with `pick(x, %s, index(r) + start) else 0`", d.Name)
		return false
	}
	return b.claim(cs, typed.Claim{Left: d.Lo, Right: first, AtMost: true, At: at, Text: fmt.Sprintf("slice: the axis %s begins at %%d, and the part at %%d", d.Name)}) &&
		b.claim(cs, typed.Claim{Left: first, Right: last, AtMost: true, At: at, Text: "slice: the part begins at %d and ends at %d"}) &&
		b.claim(cs, typed.Claim{Left: last, Right: end, AtMost: true, At: at, Text: fmt.Sprintf("slice: the part ends at %%d, and the axis %s at %%d", d.Name)})
}
