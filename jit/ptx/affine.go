package ptx

import (
	"math"

	"tilec/jit/ir"
	"tilec/lang"
)

// affine is an index expression that is linear in positions along axes:
// the sum of coef * position(axis), of coef * scalar, and of offset.
type affine struct {
	terms   []axisTerm
	scalars []scalarTerm
	offset  int64
}

type axisTerm struct {
	axis *ir.Axis
	coef int64
}

type scalarTerm struct {
	value *ir.Value
	coef  int64
}

// coef is the coefficient of the position along a.
func (f affine) coef(a *ir.Axis) int64 {
	var n int64
	for _, t := range f.terms {
		if t.axis == a {
			n += t.coef
		}
	}
	return n
}

func (f affine) scaled(n int64) affine {
	g := affine{offset: f.offset * n}
	for _, t := range f.terms {
		g.terms = append(g.terms, axisTerm{t.axis, t.coef * n})
	}
	for _, t := range f.scalars {
		g.scalars = append(g.scalars, scalarTerm{t.value, t.coef * n})
	}
	return g
}

func (f affine) plus(g affine) affine {
	return affine{
		terms:   append(append([]axisTerm(nil), f.terms...), g.terms...),
		scalars: append(append([]scalarTerm(nil), f.scalars...), g.scalars...),
		offset:  f.offset + g.offset,
	}
}

// affineOf reads an index expression; false when it is not affine (a gather).
func affineOf(v *ir.Value) (affine, bool) { return affineWithin(v, 8) }

// affineWithin looks depth operations deep.
func affineWithin(v *ir.Value, depth int) (affine, bool) {
	op := v.Def
	if op != nil && op.Code == lang.OpConst {
		return affine{offset: op.Const.Int}, true
	}
	if v.Type.IsScalar() {
		if op != nil && depth > 0 && (op.Code == lang.OpAdd || op.Code == lang.OpSub) {
			if f, ok := affineSum(op, depth); ok && len(f.scalars) < 4 {
				return f, true
			}
		}
		return affine{scalars: []scalarTerm{{v, 1}}}, true
	}
	if op == nil || depth == 0 {
		return affine{}, false
	}
	switch op.Code {
	case lang.OpIndex:
		return affine{terms: []axisTerm{{op.Axis, 1}}}, true
	case lang.OpFull:
		return affineWithin(op.Args[0], depth-1)
	case lang.OpAdd, lang.OpSub:
		return affineSum(op, depth)
	case lang.OpMul:
		f, ok1 := affineWithin(op.Args[0], depth-1)
		g, ok2 := affineWithin(op.Args[1], depth-1)
		if !ok1 || !ok2 {
			return affine{}, false
		}
		if len(f.terms)+len(f.scalars) == 0 {
			f, g = g, f
		}
		if len(g.terms)+len(g.scalars) > 0 || g.offset > 1<<16 || g.offset < -1<<16 {
			return affine{}, false
		}
		return f.scaled(g.offset), true
	case lang.OpCast:
		if op.Args[0].Type.DType == lang.I32 && v.Type.DType == lang.I64 {
			f, ok := affineWithin(op.Args[0], depth-1)
			return f, ok && (f.in64() || f.exact()) // else i32 wraps around where i64 does not
		}
	}
	return affine{}, false
}

func affineSum(op *ir.Op, depth int) (affine, bool) {
	f, ok1 := affineWithin(op.Args[0], depth-1)
	g, ok2 := affineWithin(op.Args[1], depth-1)
	if !ok1 || !ok2 {
		return affine{}, false
	}
	if op.Code == lang.OpSub {
		g = g.scaled(-1)
	}
	return f.plus(g), true
}

// in64 reports an expression with a position or a scalar of 64 bits: its value is computed in 64.
func (f affine) in64() bool {
	for _, t := range f.terms {
		if t.axis.Counts().Bits() == 64 {
			return true
		}
	}
	for _, s := range f.scalars {
		if s.value.Type.DType.Bits() == 64 {
			return true
		}
	}
	return false
}

// bounds are what the exact value is never below and never above, where positions and scalars have 32 bits. Floats
// hold them: around the limits of 32 bits they are exact, and far from there they do not overflow as i64 does.
func (f affine) bounds() (lo, hi float64) {
	lo, hi = float64(f.offset), float64(f.offset)
	widen := func(coef int64, least, most float64) {
		if coef < 0 {
			least, most = most, least
		}
		lo, hi = lo+float64(coef)*least, hi+float64(coef)*most
	}
	for _, t := range f.terms {
		most := int64(ir.NarrowSize)
		if t.axis.Kind == ir.Whole {
			most = t.axis.Lo + t.axis.Len
		} else if t.axis.Dim != nil && t.axis.Dim.Known() {
			most = t.axis.Dim.Value
		}
		if t.axis.Kind != ir.Whole {
			most += t.axis.Extent // padding counts positions beyond the dimension
		}
		widen(t.coef, 0, float64(most))
	}
	for _, s := range f.scalars {
		widen(s.coef, math.MinInt32, math.MaxInt32)
	}
	return lo, hi
}

// exact reports an expression of 32 bits whose value fits them, so that it is the same in 64.
func (f affine) exact() bool {
	lo, hi := f.bounds()
	return lo >= math.MinInt32 && hi <= math.MaxInt32
}

// fits reports an expression whose value, where it does not fit 32 bits, does not
// wrap around to a number from 0 on either: comparing the low 32 bits with the
// size of a dimension then says whether the exact value is inside. Of a wide
// dimension nothing may wrap at all, for 32 bits are extended before they are compared.
func (f affine) fits(d *ir.Dim) bool {
	if f.in64() {
		return true
	}
	if d.Wide {
		return f.exact()
	}
	lo, hi := f.bounds()
	return lo >= math.MinInt32 && hi < 1<<32
}
