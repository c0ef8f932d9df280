package typecheck

import (
	"math"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file declares axes: what they walk, how far, and what proofs may assume of their positions.

// axisStmt is `axis d in D`, `axis p in D[lo .. hi]`, `axis r in 4`.
func (b *bodyChecker) axisStmt(a *lang.AxisClause) {
	refuse := func() {
		b.declare(b.scope, &entity{kind: entInvalid, name: a.Name.Name, at: a.Name.Place}, false)
	}
	if a.By != nil {
		b.Errorf(lang.ErrTune, a.By.Span(), "an `axis` is the whole of its range at once and has no `by`").
			help("walk it in steps with `for %s in ... by ...`", a.Name.Name)
		refuse()
		return
	}
	dim, ok := b.dimension(a.Over)
	if !ok {
		refuse()
		return
	}
	n, isConst := dim.Const()
	if isConst && n < 1 {
		b.Errorf(lang.ErrTune, a.Over.Span(), "an axis of extent %d has no elements; the least is 1", n)
		refuse()
		return
	}
	if isConst && a.Range == nil && n > math.MaxInt32 {
		b.Errorf(lang.ErrTune, a.Over.Span(), "an axis of its own has at most %d elements, not %d", math.MaxInt32, n)
		refuse()
		return
	}
	x := &typed.Axis{Name: a.Name.Name, Kind: typed.WholeAxis, Dim: dim, Len: dim, IsFree: isConst && a.Range == nil, At: a.Name.Place}
	if a.Range != nil && !b.subRange(x, a) {
		refuse()
		return
	}
	b.declareAxis(x)
}

// subRange sets the constant part of its dimension that a whole axis is.
func (b *bodyChecker) subRange(x *typed.Axis, a *lang.AxisClause) bool {
	hi := x.Dim
	var ok bool
	if a.Range.Lo != nil {
		if x.Lo, ok = b.sizeOf(a.Range.Lo); !ok {
			return false
		}
	}
	if a.Range.Hi != nil {
		if hi, ok = b.sizeOf(a.Range.Hi); !ok {
			return false
		}
	}
	x.Len = hi.Sub(x.Lo)
	switch {
	case !b.prover.NonNegative(x.Lo):
		b.Errorf(lang.ErrSubRange, a.Range.Place, "the range of axis %s begins at %s, which is not proven to be at least 0", x.Name, x.Lo)
	case !b.prover.AtMost(hi, x.Dim):
		b.Errorf(lang.ErrSubRange, a.Range.Place, "the range of axis %s ends at %s, which is not proven to be at most %s", x.Name, hi, x.Dim).
			help("give an end that follows from the dimension, such as `%s / 2`, or walk the range with `for`, which stops at the end of the dimension", x.Dim)
	case !b.prover.NonNegative(x.Len):
		b.Errorf(lang.ErrSubRange, a.Range.Place, "the range of axis %s runs from %s to %s, which is not proven to be forward", x.Name, x.Lo, hi)
	default:
		return true
	}
	return false
}

// dimension is what an axis walks: an integer expression over dimensions and constants.
func (b *bodyChecker) dimension(over lang.Expr) (size.Size, bool) {
	if over == nil {
		return size.Size{}, false
	}
	if n, ok := over.(*lang.NameExpr); ok {
		if e := b.scope.lookup(n.Name); e != nil && e.kind == entTensor && len(e.param.Shape) > 0 {
			b.Errorf(lang.ErrAxisAsValue, n.Place, "an axis walks a dimension, and %s is a tensor", n.Name).
				label(e.at, "%s: %s", n.Name, typed.ShapeText(e.param.DType, e.param.Shape)).
				help("name one of its dimensions, as in `in %s`", e.param.Shape[0])
			return size.Size{}, false
		}
	}
	return b.sizeOf(over)
}

// sizeOf wants an expression over dimensions and constants.
func (b *bodyChecker) sizeOf(e lang.Expr) (size.Size, bool) {
	b.sizing++
	o := b.value(e)
	b.sizing--
	switch o.mode {
	case invalid:
		return size.Size{}, false
	case untypedInt:
		return o.size, true
	}
	b.noDimension(e, o)
	return size.Size{}, false
}

// noDimension reports a value where a dimension is needed.
func (b *bodyChecker) noDimension(e lang.Expr, o operand) {
	what := "this"
	if n, ok := e.(*lang.NameExpr); ok {
		what = n.Name
	}
	r := b.Errorf(lang.ErrNotConstant, e.Span(), "%s is %s, which is no dimension: an integer expression over dimensions and constants is needed", what, b.describeOperand(o))
	wholeHelp(r, o)
	if o.lin != nil {
		r.help("make it a constant parameter, `<const N: int>`, or walk a dimension with `for k in K[.. n]`, whose end may be a value")
	}
}

// declareAxis enters an axis in the current scope and says what is known of its positions.
func (b *bodyChecker) declareAxis(x *typed.Axis) {
	b.kernel.Axes = append(b.kernel.Axes, x)
	b.declare(b.scope, &entity{kind: entAxis, name: x.Name, at: x.At, axis: x}, false)
	b.scope.axes = append(b.scope.axes, x)
	b.prover.Bound(x.Dim)
	if x.Kind != typed.LoopAxis && x.Dim.Symbol() != nil {
		b.prover.Assume(x.Dim) // a constant below 0 is refused at launch
	}
	p := b.newHidden(x.Name)
	b.positions[x], b.varying[p] = p, true
	pos, one := size.Of(p), size.Const(1)
	b.through[p] = throughAll(x.Dim)
	if x.Kind == typed.WholeAxis {
		end := x.Lo.Add(x.Len)
		b.through[p] = walk{lo: &x.Lo, hi: &end}
		b.prover.Where(p, pos.Sub(x.Lo))
		b.prover.Where(p, x.Lo.Add(x.Len).Sub(one).Sub(pos))
		return
	}
	b.prover.Where(p, pos)
	b.prover.Where(p, x.Dim.Sub(one).Sub(pos))
	if x.Scalar {
		return
	}
	s, e := b.newHidden(x.Name+".start"), b.newHidden(x.Name+".end")
	b.starts[x], b.ends[x] = s, e
	b.varying[s], b.varying[e] = true, true
	start, end := size.Of(s), size.Of(e)
	b.prover.Where(s, start)
	b.prover.Where(s, x.Dim.Sub(one).Sub(start))
	b.prover.Where(e, end.Sub(one).Sub(start))
	b.prover.Where(e, x.Dim.Sub(end))
	b.prover.Where(p, pos.Sub(start))
	b.prover.Where(p, end.Sub(one).Sub(pos))
}

// positionsOf is the positions of an axis, as a tile or, of a scalar axis, a scalar.
func (b *bodyChecker) positionsOf(x *typed.Axis, at lang.Span) operand {
	op, t := lang.OpIndex, typed.Type{DType: typed.Concrete(lang.I32), Axes: []*typed.Axis{x}}
	if x.Scalar {
		op, t.Axes = lang.OpStart, nil
	}
	o := typedOperand(&typed.Apply{Typed: typed.Typed{Type: t, At: at}, Op: op, Axis: x})
	if p := b.positions[x]; p != nil {
		s := size.Of(p)
		o.lin = &s
	}
	return o
}

// axisField is `i.start` or `i.end`.
func (b *bodyChecker) axisField(x *typed.Axis, e *lang.FieldExpr) operand {
	var op lang.Op
	var lin size.Size
	switch e.Name.Name {
	case "start":
		op, lin = lang.OpStart, x.Lo
		if s := b.starts[x]; s != nil {
			lin = size.Of(s)
		} else if x.Scalar {
			lin = size.Of(b.positions[x])
		}
	case "end":
		op, lin = lang.OpEnd, x.Lo.Add(x.Len)
		if s := b.ends[x]; s != nil {
			lin = size.Of(s)
		} else if x.Scalar {
			lin = size.Of(b.positions[x]).Add(size.Const(1))
		}
	default:
		b.Errorf(lang.ErrField, e.Name.Place, "an axis has `.start` and `.end`, not .%s", e.Name.Name).
			suggest(e.Name.Place, e.Name.Name, []string{"start", "end"}).
			orHelp("`%s.start` is where the span of this block begins, `%s.end` one past its last position, `index(%s)` the tile of the positions", x.Name, x.Name, x.Name)
		return bad(e.Place)
	}
	if _, known := b.bounds[x]; !known && !x.Scalar && x.Kind != typed.WholeAxis {
		b.bounds[x] = e.Place
	}
	o := typedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.I32)}, At: e.Place}, Op: op, Axis: x})
	o.lin = &lin
	return o
}

// axisNamed resolves the name of a tile axis, as in `over k`.
func (b *bodyChecker) axisNamed(n lang.Ident) (*typed.Axis, bool) {
	e := b.scope.lookup(n.Name)
	switch {
	case e == nil:
		if m := b.scope.file(); (m == nil || !m.incomplete) && !b.ended(n.Name, n.Place) {
			b.Errorf(lang.ErrUnknownName, n.Place, "unknown axis %s", n.Name).suggest(n.Place, n.Name, b.axesInSight()).
				orHelp("declare it: `axis %s in ...`, over a dimension or a number", n.Name)
		}
		return nil, false
	case e.kind == entInvalid || e.kind == entValue && e.value.mode == invalid:
		return nil, false
	case e.kind != entAxis:
		r := b.Errorf(lang.ErrAxisAsValue, n.Place, "%s is %s, not an axis", n.Name, e.describe()).label(e.at, "declared here")
		if e.kind == entValue && e.value.mode == typedValue && len(e.value.typ().Axes) == 0 && typed.IsInt(e.value.typ().DType) {
			r.help("it is a number already: write `%s` where its position is meant", n.Name)
		}
		return nil, false
	case e.axis.Scalar:
		b.Errorf(lang.ErrAxisAsValue, n.Place, "%s is a scalar position: it has no extent, and no tile is over it", n.Name).
			label(e.at, "declared without `by`").help("declare it with `by` to make it an axis of tiles")
		return nil, false
	}
	return e.axis, true
}

func (b *bodyChecker) axesInSight() []string {
	var names []string
	for _, n := range b.proposed(b.scope) {
		if e := b.scope.lookup(n); e.kind == entAxis {
			names = append(names, n)
		}
	}
	return names
}

// axisArg resolves an argument that names an axis.
func (b *bodyChecker) axisArg(e lang.Expr) (*typed.Axis, bool) {
	if n, ok := e.(*lang.NameExpr); ok {
		return b.axisNamed(lang.Ident{At: n.At, Name: n.Name})
	}
	r := b.Errorf(lang.ErrAxisAsValue, e.Span(), "the name of an axis is needed here")
	if lit, ok := e.(*lang.IntLit); ok {
		r.help("declare one of that extent, `axis r in %s`, and name it here", lit.Span().Text())
	}
	return nil, false
}

// extent sets an axis's Tile or its one choice from `by`.
func (b *bodyChecker) extent(x *typed.Axis, by lang.Expr) bool {
	if n, ok := by.(*lang.NameExpr); ok {
		e := b.scope.lookup(n.Name)
		switch {
		case !e.counts(), e.kind == entTile:
			x.Tile = n.Name
			if !e.counts() {
				b.tiles[n.Name] = n.Place
				b.scope.names[n.Name] = &entity{kind: entTile, name: n.Name, at: n.Place}
			}
			return true
		case e.kind == entInvalid:
			return false
		case e.kind != entConst:
			b.Errorf(lang.ErrTune, n.Place, "the extent of axis %s is %s, which is %s", x.Name, n.Name, e.describe()).
				label(e.at, "declared here").help("write a number, the name of a const, or a new name that the planner then binds")
			return false
		}
	}
	o := b.value(by)
	if o.mode == invalid {
		return false
	}
	n, ok := int64(0), false
	if o.mode == untypedInt {
		n, ok = o.size.Const()
	}
	lit, isLit := by.(*lang.IntLit)
	switch {
	case isLit && lit.Value > math.MaxInt32:
		b.Errorf(lang.ErrTune, by.Span(), "the extent of axis %s is %d, more than a position can count; the most is %d", x.Name, lit.Value, math.MaxInt32)
		return false
	case !ok:
		wholeHelp(b.Errorf(lang.ErrTune, by.Span(), "the extent of axis %s is %s, no whole constant", x.Name, b.describeOperand(o)), o).
			orHelp("write a number, or a name that the planner binds and `tune` limits")
		return false
	case n < 1:
		b.Errorf(lang.ErrTune, by.Span(), "the extent of axis %s is %d; the least is 1", x.Name, n)
		return false
	}
	x.Choices = []int64{n}
	return true
}

// ended reports a name that was an axis of this kernel and is no longer in scope.
func (b *bodyChecker) ended(name string, at lang.Span) bool {
	if len(b.frames) > 0 {
		return false
	}
	for i := len(b.kernel.Axes) - 1; i >= 0; i-- {
		if a := b.kernel.Axes[i]; a.Name == name {
			b.Errorf(lang.ErrEscape, at, "the axis %s has ended with the block that declares it", name).label(a.At, "%s is declared here", name).
				help("reduce over %s where it is in scope, or declare an axis here", name)
			return true
		}
	}
	return false
}

// walked is the walk through a range that is cut to a dimension.
func walked(lo, hi operand, dim size.Size) walk {
	w := walk{within: &dim}
	if p, ok := lo.position(); ok {
		w.lo = &p
	}
	if p, ok := hi.position(); ok {
		w.hi = &p
	}
	return w
}
