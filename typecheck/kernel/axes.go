package kernel

import (
	"math"

	"tilec/lang"
	"tilec/typecheck/blocks"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file declares axes: what they walk, how far, and what proofs may assume of their positions.

// axisStmt is `axis d in D`, `axis p in D[lo .. hi]`, `axis r in 4`.
func (b *bodyChecker) axisStmt(a *lang.AxisClause) {
	refuse := func() {
		b.Declare(b.scope, &rules.Entity{Kind: rules.EntInvalid, Name: a.Name.Name, At: a.Name.Place}, false)
	}
	if a.By != nil {
		b.Errorf(lang.ErrTune, a.By.Span(), "an `axis` is the whole of its range at once and has no `by`").
			Help("walk it in steps with `for %s in ... by ...`", a.Name.Name)
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
	case !b.Prover.NonNegative(x.Lo):
		b.Errorf(lang.ErrSubRange, a.Range.Place, "the range of axis %s begins at %s, which is not proven to be at least 0", x.Name, x.Lo)
	case !b.Prover.AtMost(hi, x.Dim):
		b.Errorf(lang.ErrSubRange, a.Range.Place, "the range of axis %s ends at %s, which is not proven to be at most %s", x.Name, hi, x.Dim).
			Help("give an end that follows from the dimension, such as `%s / 2`, or walk the range with `for`, which stops at the end of the dimension", x.Dim)
	case !b.Prover.NonNegative(x.Len):
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
		if e := b.scope.Lookup(n.Name); e != nil && e.Kind == rules.EntTensor && len(e.Param.Shape) > 0 {
			b.Errorf(lang.ErrAxisAsValue, n.Place, "an axis walks a dimension, and %s is a tensor", n.Name).
				LabelAt(e.At, "%s: %s", n.Name, typed.ShapeText(e.Param.DType, e.Param.Shape)).
				Help("name one of its dimensions, as in `in %s`", e.Param.Shape[0])
			return size.Size{}, false
		}
	}
	return b.sizeOf(over)
}

// sizeOf wants an expression over dimensions and constants.
func (b *bodyChecker) sizeOf(e lang.Expr) (size.Size, bool) {
	b.Sizing++
	o := b.value(e)
	b.Sizing--
	switch o.Mode {
	case rules.Invalid:
		return size.Size{}, false
	case rules.UntypedInt:
		return o.Size, true
	}
	b.noDimension(e, o)
	return size.Size{}, false
}

// noDimension reports a value where a dimension is needed.
func (b *bodyChecker) noDimension(e lang.Expr, o rules.Operand) {
	what := "this"
	if n, ok := e.(*lang.NameExpr); ok {
		what = n.Name
	}
	r := b.Errorf(lang.ErrNotConstant, e.Span(), "%s is %s, which is no dimension: an integer expression over dimensions and constants is needed", what, b.DescribeOperand(o))
	rules.WholeHelp(r, o)
	if o.Linear != nil {
		r.Help("make it a constant parameter, `<const N: int>`, or walk a dimension with `for k in K[.. n]`, whose end may be a value")
	}
}

// declareAxis enters an axis in the current scope and says what is known of its positions.
func (b *bodyChecker) declareAxis(x *typed.Axis) {
	b.Kernel.Axes = append(b.Kernel.Axes, x)
	b.Declare(b.scope, &rules.Entity{Kind: rules.EntAxis, Name: x.Name, At: x.At, Axis: x}, false)
	b.scope.Axes = append(b.scope.Axes, x)
	b.Prover.Bound(x.Dim)
	b.Prover.Bound(x.Len)
	if x.Kind != typed.LoopAxis && x.Dim.Symbol() != nil {
		b.Prover.Assume(x.Dim) // a constant below 0 is refused at launch
	}
	p := b.NewHidden(x.Name)
	b.Positions[x], b.Varying[p] = p, true
	pos, one := size.Of(p), size.Const(1)
	b.Through[p] = blocks.ThroughAll(x.Dim)
	if x.Kind == typed.WholeAxis {
		end := x.Lo.Add(x.Len)
		b.Through[p] = blocks.Walk{Lo: &x.Lo, Hi: &end}
		b.Prover.Where(p, pos.Sub(x.Lo))
		b.Prover.Where(p, x.Lo.Add(x.Len).Sub(one).Sub(pos))
		return
	}
	b.Prover.Where(p, pos)
	b.Prover.Where(p, x.Dim.Sub(one).Sub(pos))
	if x.Scalar {
		return
	}
	s, e := b.NewHidden(x.Name+".start"), b.NewHidden(x.Name+".end")
	b.Starts[x], b.Ends[x] = s, e
	b.Varying[s], b.Varying[e] = true, true
	start, end := size.Of(s), size.Of(e)
	b.Prover.Where(s, start)
	b.Prover.Where(s, x.Dim.Sub(one).Sub(start))
	b.Prover.Where(e, end.Sub(one).Sub(start))
	b.Prover.Where(e, x.Dim.Sub(end))
	b.Prover.Where(p, pos.Sub(start))
	b.Prover.Where(p, end.Sub(one).Sub(pos))
}

// positionsOf is the positions of an axis, as a tile or, of a scalar axis, a scalar.
func (b *bodyChecker) positionsOf(x *typed.Axis, at lang.Span) rules.Operand {
	op, t := lang.OpIndex, typed.Type{DType: typed.Concrete(lang.I32), Axes: []*typed.Axis{x}}
	if x.Scalar {
		op, t.Axes = lang.OpStart, nil
	}
	o := rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: t, At: at}, Op: op, Axis: x})
	if p := b.Positions[x]; p != nil {
		s := size.Of(p)
		o.Linear = &s
	}
	return o
}

// axisField is `i.start` or `i.end`.
func (b *bodyChecker) axisField(x *typed.Axis, e *lang.FieldExpr) rules.Operand {
	var op lang.Op
	var lin size.Size
	switch e.Name.Name {
	case "start":
		op, lin = lang.OpStart, x.Lo
		if s := b.Starts[x]; s != nil {
			lin = size.Of(s)
		} else if x.Scalar {
			lin = size.Of(b.Positions[x])
		}
	case "end":
		op, lin = lang.OpEnd, x.Lo.Add(x.Len)
		if s := b.Ends[x]; s != nil {
			lin = size.Of(s)
		} else if x.Scalar {
			lin = size.Of(b.Positions[x]).Add(size.Const(1))
		}
	default:
		b.Errorf(lang.ErrField, e.Name.Place, "an axis has `.start` and `.end`, not .%s", e.Name.Name).
			Suggest(e.Name.Place, e.Name.Name, []string{"start", "end"}).
			OrHelp("`%s.start` is where the span of this block begins, `%s.end` one past its last position, `index(%s)` the tile of the positions", x.Name, x.Name, x.Name)
		return rules.Bad(e.Place)
	}
	if _, known := b.Bounds[x]; !known && !x.Scalar && x.Kind != typed.WholeAxis {
		b.Bounds[x] = e.Place
	}
	o := rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.I32)}, At: e.Place}, Op: op, Axis: x})
	o.Linear = &lin
	return o
}

// axisNamed resolves the name of a tile axis, as in `over k`.
func (b *bodyChecker) axisNamed(n lang.Ident) (*typed.Axis, bool) {
	e := b.scope.Lookup(n.Name)
	switch {
	case e == nil:
		if m := b.scope.File(); (m == nil || !m.Incomplete) && !b.ended(n.Name, n.Place) {
			b.Errorf(lang.ErrUnknownName, n.Place, "unknown axis %s", n.Name).Suggest(n.Place, n.Name, b.axesInSight()).
				OrHelp("declare it: `axis %s in ...`, over a dimension or a number", n.Name)
		}
		return nil, false
	case e.Kind == rules.EntInvalid || e.Kind == rules.EntValue && e.Value.Mode == rules.Invalid:
		return nil, false
	case e.Kind != rules.EntAxis:
		r := b.Errorf(lang.ErrAxisAsValue, n.Place, "%s is %s, not an axis", n.Name, e.Describe()).LabelAt(e.At, "declared here")
		if e.Kind == rules.EntValue && e.Value.Mode == rules.TypedValue && len(e.Value.Type().Axes) == 0 && typed.IsInt(e.Value.Type().DType) {
			r.Help("it is a number already: write `%s` where its position is meant", n.Name)
		}
		return nil, false
	case e.Axis.Scalar:
		b.Errorf(lang.ErrAxisAsValue, n.Place, "%s is a scalar position: it has no extent, and no tile is over it", n.Name).
			LabelAt(e.At, "declared without `by`").Help("declare it with `by` to make it an axis of tiles")
		return nil, false
	}
	return e.Axis, true
}

func (b *bodyChecker) axesInSight() []string {
	var names []string
	for _, n := range b.Proposed(b.scope) {
		if e := b.scope.Lookup(n); e.Kind == rules.EntAxis {
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
		r.Help("declare one of that extent, `axis r in %s`, and name it here", lit.Span().Text())
	}
	return nil, false
}

// extent sets an axis's Tile or its one choice from `by`.
func (b *bodyChecker) extent(x *typed.Axis, by lang.Expr) bool {
	if n, ok := by.(*lang.NameExpr); ok {
		e := b.scope.Lookup(n.Name)
		switch {
		case !e.Counts(), e.Kind == rules.EntTile:
			x.Tile = n.Name
			if !e.Counts() {
				b.tiles[n.Name] = n.Place
				b.scope.Names[n.Name] = &rules.Entity{Kind: rules.EntTile, Name: n.Name, At: n.Place}
			}
			return true
		case e.Kind == rules.EntInvalid:
			return false
		case e.Kind != rules.EntConst:
			b.Errorf(lang.ErrTune, n.Place, "the extent of axis %s is %s, which is %s", x.Name, n.Name, e.Describe()).
				LabelAt(e.At, "declared here").Help("write a number, the name of a const, or a new name that the planner then binds")
			return false
		}
	}
	o := b.value(by)
	if o.Mode == rules.Invalid {
		return false
	}
	n, ok := int64(0), false
	if o.Mode == rules.UntypedInt {
		n, ok = o.Size.Const()
	}
	lit, isLit := by.(*lang.IntLit)
	switch {
	case isLit && lit.Value > math.MaxInt32:
		b.Errorf(lang.ErrTune, by.Span(), "the extent of axis %s is %d, more than a position can count; the most is %d", x.Name, lit.Value, math.MaxInt32)
		return false
	case !ok:
		rules.WholeHelp(b.Errorf(lang.ErrTune, by.Span(), "the extent of axis %s is %s, no whole constant", x.Name, b.DescribeOperand(o)), o).
			OrHelp("write a number, or a name that the planner binds and `tune` limits")
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
	if len(b.Frames) > 0 {
		return false
	}
	for i := len(b.Kernel.Axes) - 1; i >= 0; i-- {
		if a := b.Kernel.Axes[i]; a.Name == name {
			b.Errorf(lang.ErrEscape, at, "the axis %s has ended with the block that declares it", name).LabelAt(a.At, "%s is declared here", name).
				Help("reduce over %s where it is in scope, or declare an axis here", name)
			return true
		}
	}
	return false
}

// walked is the walk through a range that is cut to a dimension.
func walked(lo, hi rules.Operand, dim size.Size) blocks.Walk {
	w := blocks.Walk{Within: &dim}
	if p, ok := lo.Position(); ok {
		w.Lo = &p
	}
	if p, ok := hi.Position(); ok {
		w.Hi = &p
	}
	return w
}
