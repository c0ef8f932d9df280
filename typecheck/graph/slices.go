package graph

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types what picks a part of a graph value: slices of tensors, elements and parts of arrays.

// index types a slice, an element of an array, or `x.shape[n]`.
func (g *graphChecker) index(e *lang.IndexExpr) rules.Operand {
	for _, a := range e.Attrs {
		g.Errorf(lang.ErrAttribute, a.Name.Place, "a graph makes no accesses of its own, and takes no @%s", a.Name.Name).
			Help("hints belong to the accesses of a kernel")
	}
	if e.Else != nil {
		g.Errorf(lang.ErrBounds, e.Else.Span(), "a slice has no `else`").Help("read elements that may lie outside in a kernel")
		return rules.Bad(e.Place)
	}
	if f, ok := e.X.(*lang.FieldExpr); ok && f.Name.Name == "shape" {
		if x := g.expr(f.X); x.Mode == rules.TypedValue && x.Graph.GType().Kind == typed.GTensor {
			shape := x.Graph.GType().Shape
			if len(e.Indices) == 1 {
				if o := g.expr(e.Indices[0]); o.Mode == rules.UntypedInt {
					if n, ok := o.Size.Const(); ok && n >= 0 && n < int64(len(shape)) {
						return rules.SizeOperand(e.Place, shape[n])
					}
				} else if o.Mode == rules.Invalid {
					return o
				}
			}
			g.Errorf(lang.ErrIndexCount, e.Place, "a shape takes one constant from 0 to %d", len(shape)-1).
				Help("write `%s[0]` for the first dimension", f.Place.Text())
			return rules.Bad(e.Place)
		} else if x.Mode == rules.Invalid {
			return rules.Bad(e.Place)
		}
	}
	x := g.settled(g.expr(e.X))
	if x.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	if x.Mode == rules.TypedValue {
		switch t := x.Graph.GType(); t.Kind {
		case typed.GTensor:
			return g.slice(e, x.Graph)
		case typed.GArray:
			return g.elem(e, x.Graph)
		}
	}
	g.Errorf(lang.ErrAxisAsValue, e.X.Span(), "%s cannot be indexed: only tensors and arrays can", g.describe(x))
	return rules.Bad(e.Place)
}

// position types an index or an end of a range: an i32 that is known when the graph is bound.
func (g *graphChecker) position(e lang.Expr) rules.Operand {
	g.Sizing++
	o := g.scalar(e, "an index")
	g.Sizing--
	if o.Mode == rules.Invalid {
		return o
	}
	o = g.toScalar(o, typed.Concrete(lang.I32))
	if o.Mode != rules.TypedValue {
		return o
	}
	if t := o.Graph.GType(); !rules.IsIndexType(t.DType) {
		g.Errorf(lang.ErrIndexType, e.Span(), "an index is i32 or i64, not %s", t).CastFix(e, typed.Concrete(lang.I32))
		return rules.Bad(e.Span())
	}
	if p := g.runtimeScalar(o.Graph); p != nil {
		g.Errorf(lang.ErrNotConstant, e.Span(), "the index depends on %s, which is only known when the graph runs", p.Name).LabelAt(p.At, "a scalar parameter").
			Help("pass %s to a kernel, which can index with it", p.Name)
		return rules.Bad(e.Span())
	}
	return o
}

// runtimeScalar finds a scalar parameter that an expression depends on: by itself, or by a name bound to what does.
func (g *graphChecker) runtimeScalar(x typed.GExpr) *typed.GParam {
	var found *typed.GParam
	typed.Walk(x, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.GParamRef:
			if n.Type.Kind == typed.GScalar {
				found = n.Param
			}
		case *typed.GLocalRef:
			if p := g.runtime[n.Local]; p != nil {
				found = p
			}
		case typed.GStmt: // what it binds is among the names
			return false
		}
		return found == nil
	})
	return found
}

// dependsOn notes the scalar parameter that a name depends on, where it is bound to a scalar.
func (g *graphChecker) dependsOn(l *typed.GLocal, x typed.GExpr) {
	if l != nil && l.Type.Kind == typed.GScalar && g.runtime[l] == nil {
		g.runtime[l] = g.runtimeScalar(x)
	}
}

// mayGive is what the i-th of the values that an expression gives may be.
func mayGive(x typed.GExpr, i int) []typed.GExpr {
	switch x := x.(type) {
	case *typed.GTupleOf:
		return []typed.GExpr{x.Elems[i]}
	case *typed.GIf:
		return []typed.GExpr{x.Then.Results[i], x.Else.Results[i]}
	case *typed.GFor:
		return []typed.GExpr{x.Init[i], x.Results[i]}
	}
	return []typed.GExpr{x}
}

// elem types an element of an array of structs, or a part of it.
func (g *graphChecker) elem(e *lang.IndexExpr, x typed.GExpr) rules.Operand {
	t := x.GType()
	if len(e.Indices) != 1 {
		g.Errorf(lang.ErrIndexCount, e.Place, "an array takes 1 index, not %d", len(e.Indices)).
			Help("index what the element has one by one, as in `%s[0].field[...]`", e.X.Span().Text())
		return rules.Bad(e.Place)
	}
	if r, ok := e.Indices[0].(*lang.RangeExpr); ok {
		part, ok := g.arrayRange(x, r, e.Place)
		if !ok || !g.oneLength(part.Type.Len, r.Place, "part") {
			return rules.Bad(e.Place)
		}
		return graphOperand(part)
	}
	n := g.position(e.Indices[0])
	if n.Mode != rules.TypedValue {
		return rules.Bad(e.Place)
	}
	if n.Linear != nil && (g.prover.AtMost(t.Len, *n.Linear) || g.prover.NonNegative(n.Linear.Neg().Sub(size.Const(1)))) {
		g.Errorf(lang.ErrSlice, e.Indices[0].Span(), "the index %s is outside the array, which has %s elements", *n.Linear, t.Len).
			Help("the first is 0 and the last `%s`", t.Len.Sub(size.Const(1)))
		return rules.Bad(e.Place)
	}
	return graphOperand(&typed.GElem{GTyped: typed.GTyped{Type: *t.Elem, At: e.Place}, X: x, Index: n.Graph, Where: typed.OnePosition(n.Linear)})
}

// arrayRange types the range r of an array. Its length may differ from step to step of
// a loop around it, which only a loop over the part can use.
func (g *graphChecker) arrayRange(x typed.GExpr, r *lang.RangeExpr, at lang.Span) (*typed.GRange, bool) {
	t := x.GType()
	n, item, ok := g.ends(r, t.Len, "the part", "the array, which has "+t.Len.String()+" elements")
	t.Len = n
	return &typed.GRange{GTyped: typed.GTyped{Type: t, At: at}, X: x, Lo: item.Lo, Hi: item.Hi, Where: item.Where}, ok
}

// slice types `x[.., a .. b, n]`; dimensions that no index names stay whole.
func (g *graphChecker) slice(e *lang.IndexExpr, x typed.GExpr) rules.Operand {
	t := x.GType()
	if len(e.Indices) > len(t.Shape) {
		g.Errorf(lang.ErrIndexCount, e.Place, "%s has %s and is indexed by %d", t, report.Plural(len(t.Shape), "dimension"), len(e.Indices)).
			Help("leave out the last: a dimension that no index names stays whole")
		return rules.Bad(e.Place)
	}
	out := &typed.GSlice{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: t.DType, Shape: []size.Size{}}, At: e.Place}, X: x, Items: make([]typed.GSliceItem, len(t.Shape))}
	ok := true
	for i, dim := range t.Shape {
		if i >= len(e.Indices) {
			out.Type.Shape = append(out.Type.Shape, dim)
			out.Items[i].Where = typed.Positions{Known: true, From: size.Size{}, To: dim}
			continue
		}
		at := e.Indices[i].Span()
		if r, isRange := e.Indices[i].(*lang.RangeExpr); isRange {
			n, item, endsOK := g.ends(r, dim, "the slice", fmt.Sprintf("dimension %d of %s, which is %s", i, t, dim))
			ok = endsOK && g.oneLength(n, at, "slice") && ok
			out.Items[i] = item
			out.Type.Shape = append(out.Type.Shape, n)
			continue
		}
		n := g.position(e.Indices[i])
		if n.Mode != rules.TypedValue {
			ok = false
			continue
		}
		if n.Linear != nil && (g.prover.AtMost(dim, *n.Linear) || g.prover.NonNegative(n.Linear.Neg().Sub(size.Const(1)))) {
			g.Errorf(lang.ErrSlice, at, "the index %s is outside dimension %d of %s, which is %s", *n.Linear, i, t, dim).
				Help("the first is 0 and the last `%s`", dim.Sub(size.Const(1)))
			ok = false
		}
		out.Items[i].Index, out.Items[i].Where = n.Graph, typed.OnePosition(n.Linear)
	}
	if !ok {
		return rules.Bad(e.Place)
	}
	return graphOperand(out)
}

// ends types the ends of a range of positions from 0 to length, and gives how many
// it has. what is the range and where is what it lies in, for messages.
func (g *graphChecker) ends(r *lang.RangeExpr, length size.Size, what, where string) (size.Size, typed.GSliceItem, bool) {
	lo, hi, item, ok := size.Size{}, length, typed.GSliceItem{}, true
	if r.Lo != nil {
		lo, item.Lo = g.sliceEnd(r.Lo)
		ok = item.Lo != nil
	}
	if r.Hi != nil {
		hi, item.Hi = g.sliceEnd(r.Hi)
		ok = item.Hi != nil && ok
	}
	if !ok {
		return size.Size{}, item, false
	}
	one := size.Const(1)
	switch negative := func(s size.Size) bool { return g.prover.NonNegative(s.Neg().Sub(one)) }; {
	case negative(length.Sub(hi)), negative(lo), negative(hi):
		rep := g.Errorf(lang.ErrSlice, r.Place, "%s %s .. %s is outside %s", what, lo, hi, where)
		switch {
		case r.Hi != nil && negative(hi):
			rep.Help("positions are counted from the start: write `%s`", length.Add(hi))
		case r.Lo != nil && negative(lo):
			rep.Help("positions are counted from the start: write `%s`", length.Add(lo))
		default:
			rep.Help("the end is the first position that is left out, at most `%s`; without an end, the range goes on to it", length)
		}
	case negative(hi.Sub(lo)):
		g.Errorf(lang.ErrSlice, r.Place, "%s %s .. %s ends before it begins", what, lo, hi).
			Help("write the first position, and then the first that is left out")
	default:
		item.Where = typed.Positions{Known: true, From: lo, To: hi}
		return hi.Sub(lo), item, true
	}
	return size.Size{}, item, false
}

// oneLength refuses a length that depends on the step of a loop: a shape with it would have no type.
func (g *graphChecker) oneLength(n size.Size, at lang.Span, what string) bool {
	if !hasHidden(n) {
		return true
	}
	g.Errorf(lang.ErrNotConstant, at, "the length %s of the %s changes from step to step of the loop", n, what).Help("take %ss of one length", what)
	return false
}

func hasHidden(s size.Size) bool {
	for _, sym := range s.Symbols() {
		if sym.Kind == size.PositionSymbol {
			return true
		}
	}
	return false
}

// sliceEnd types an end of a slice, which must be a size: the shape of the slice follows from it.
func (g *graphChecker) sliceEnd(e lang.Expr) (size.Size, typed.GExpr) {
	o := g.position(e)
	if o.Mode != rules.TypedValue {
		return size.Size{}, nil
	}
	if o.Linear == nil {
		g.Errorf(lang.ErrNotConstant, e.Span(), "the end of a slice is an integer expression over dimensions, constants and loop counters")
		return size.Size{}, nil
	}
	return *o.Linear, o.Graph
}
