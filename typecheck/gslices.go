package typecheck

import (
	"tilec/lang"
)

// This file types what picks a part of a graph value: slices of tensors, elements of arrays.

// index types a slice, an element of an array, or `x.shape[n]`.
func (g *graphChecker) index(e *lang.IndexExpr) operand {
	for _, a := range e.Attrs {
		g.errorf(lang.ErrAttribute, a.Name.Place, "a graph makes no accesses of its own, and takes no @%s", a.Name.Name).
			help("hints belong to the accesses of a kernel")
	}
	if e.Else != nil {
		g.errorf(lang.ErrBounds, e.Else.Span(), "a slice has no `else`").help("read elements that may lie outside in a kernel")
		return bad(e.Place)
	}
	if f, ok := e.X.(*lang.FieldExpr); ok && f.Name.Name == "shape" {
		if x := g.expr(f.X); x.mode == typed && x.graph.GType().Kind == GTensor {
			shape := x.graph.GType().Shape
			if len(e.Indices) == 1 {
				if o := g.expr(e.Indices[0]); o.mode == untypedInt {
					if n, ok := o.size.Const(); ok && n >= 0 && n < int64(len(shape)) {
						return sizeOperand(e.Place, shape[n])
					}
				} else if o.mode == invalid {
					return o
				}
			}
			g.errorf(lang.ErrIndexCount, e.Place, "a shape takes one constant from 0 to %d", len(shape)-1)
			return bad(e.Place)
		} else if x.mode == invalid {
			return bad(e.Place)
		}
	}
	x := g.settled(g.expr(e.X))
	if x.mode == invalid {
		return bad(e.Place)
	}
	if x.mode == typed {
		switch t := x.graph.GType(); t.Kind {
		case GTensor:
			return g.slice(e, x.graph)
		case GArray:
			return g.elem(e, x.graph)
		}
	}
	g.errorf(lang.ErrAxisAsValue, e.X.Span(), "%s cannot be indexed: only tensors and arrays can", g.describe(x))
	return bad(e.Place)
}

// position types an index or an end of a range: an i32 that is known when the graph is bound.
func (g *graphChecker) position(e lang.Expr) operand {
	g.sizing++
	o := g.scalar(e, "an index")
	g.sizing--
	if o.mode == invalid {
		return o
	}
	o = g.toScalar(o, Concrete(lang.I32))
	if o.mode != typed {
		return o
	}
	if t := o.graph.GType(); !isIndexType(t.DType) {
		g.errorf(lang.ErrIndexType, e.Span(), "an index is i32 or i64, not %s", t).castFix(e, Concrete(lang.I32))
		return bad(e.Span())
	}
	if p := g.runtimeScalar(o.graph); p != nil {
		g.errorf(lang.ErrNotConstant, e.Span(), "the index depends on %s, which is only known when the graph runs", p.Name).label(p.At, "a scalar parameter").
			help("pass %s to a kernel, which can index with it", p.Name)
		return bad(e.Span())
	}
	return o
}

// runtimeScalar finds a scalar parameter that an expression depends on.
func (g *graphChecker) runtimeScalar(x GExpr) *GParam {
	switch x := x.(type) {
	case *GParamRef:
		return x.Param
	case *GLocalRef:
		return g.runtime[x.Local]
	case *GApply:
		for _, a := range x.Args {
			if p := g.runtimeScalar(a); p != nil {
				return p
			}
		}
	case *GIf:
		for _, a := range append(append([]GExpr{}, x.Then.Results...), x.Else.Results...) {
			if p := g.runtimeScalar(a); p != nil {
				return p
			}
		}
	}
	return nil
}

func (g *graphChecker) elem(e *lang.IndexExpr, x GExpr) operand {
	t := x.GType()
	if len(e.Indices) != 1 {
		g.errorf(lang.ErrIndexCount, e.Place, "an array takes 1 index, not %d", len(e.Indices))
		return bad(e.Place)
	}
	if r, ok := e.Indices[0].(*lang.RangeExpr); ok {
		g.later(r.Place, "a part of an array")
		return bad(e.Place)
	}
	n := g.position(e.Indices[0])
	if n.mode != typed {
		return bad(e.Place)
	}
	if n.lin != nil && (g.prover.atMost(t.Len, *n.lin) || g.prover.nonNegative(n.lin.Neg().Sub(ConstSize(1)))) {
		g.errorf(lang.ErrSlice, e.Indices[0].Span(), "the index %s is outside the array, which has %s elements", *n.lin, t.Len)
		return bad(e.Place)
	}
	return graphOperand(&GElem{GTyped{*t.Elem, e.Place}, x, n.graph})
}

// slice types `x[.., a .. b, n]`; dimensions that no index names stay whole.
func (g *graphChecker) slice(e *lang.IndexExpr, x GExpr) operand {
	t := x.GType()
	if len(e.Indices) > len(t.Shape) {
		g.errorf(lang.ErrIndexCount, e.Place, "%s has %s and is indexed by %d", t, plural(len(t.Shape), "dimension"), len(e.Indices))
		return bad(e.Place)
	}
	out := &GSlice{GTyped: GTyped{GType{Kind: GTensor, DType: t.DType, Shape: []Size{}}, e.Place}, X: x, Items: make([]GSliceItem, len(t.Shape))}
	ok := true
	one := ConstSize(1)
	for i, dim := range t.Shape {
		if i >= len(e.Indices) {
			out.Type.Shape = append(out.Type.Shape, dim)
			continue
		}
		at := e.Indices[i].Span()
		r, isRange := e.Indices[i].(*lang.RangeExpr)
		if !isRange {
			n := g.position(e.Indices[i])
			if n.mode != typed {
				ok = false
				continue
			}
			if n.lin != nil && (g.prover.atMost(dim, *n.lin) || g.prover.nonNegative(n.lin.Neg().Sub(one))) {
				g.errorf(lang.ErrSlice, at, "the index %s is outside dimension %d of %s, which is %s", *n.lin, i, t, dim)
				ok = false
			}
			out.Items[i].Index = n.graph
			continue
		}
		lo, hi := Size{}, dim
		if r.Lo != nil {
			lo, out.Items[i].Lo = g.sliceEnd(r.Lo)
			ok = ok && out.Items[i].Lo != nil
		}
		if r.Hi != nil {
			hi, out.Items[i].Hi = g.sliceEnd(r.Hi)
			ok = ok && out.Items[i].Hi != nil
		}
		if !ok {
			continue
		}
		n := hi.Sub(lo)
		switch {
		case g.prover.nonNegative(hi.Sub(dim).Sub(one)), g.prover.nonNegative(lo.Neg().Sub(one)), g.prover.nonNegative(n.Neg()):
			g.errorf(lang.ErrSlice, at, "the slice %s .. %s is outside dimension %d of %s, which is %s", lo, hi, i, t, dim)
			ok = false
		case hasHidden(n):
			g.errorf(lang.ErrNotConstant, at, "the length %s of the slice changes from step to step of the loop", n).help("take slices of one length")
			ok = false
		}
		out.Type.Shape = append(out.Type.Shape, n)
	}
	if !ok {
		return bad(e.Place)
	}
	return graphOperand(out)
}

func hasHidden(s Size) bool {
	for _, sym := range s.Symbols() {
		if sym.Kind == positionSymbol {
			return true
		}
	}
	return false
}

// sliceEnd types an end of a slice, which must be a size: the shape of the slice follows from it.
func (g *graphChecker) sliceEnd(e lang.Expr) (Size, GExpr) {
	o := g.position(e)
	if o.mode != typed {
		return Size{}, nil
	}
	if o.lin == nil {
		g.errorf(lang.ErrNotConstant, e.Span(), "the end of a slice is an integer expression over dimensions, constants and loop counters")
		return Size{}, nil
	}
	return *o.lin, o.graph
}
