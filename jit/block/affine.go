package block

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// affine is an index expression that is linear in positions along axes:
// the sum of coef * position(axis), of coef * scalar, and of offset.
type affine struct {
	Terms   []AxisTerm
	Scalars []scalarTerm
	Offset  int64
}

// AxisTerm is one axis of a sum, and what its positions are multiplied by.
type AxisTerm struct {
	Axis *ir.Axis
	Coef int64
}

type scalarTerm struct {
	Value *ir.Value
	Coef  int64
}

// coef is the coefficient of the position along a.
func (f affine) coef(a *ir.Axis) int64 {
	var n int64
	for _, t := range f.Terms {
		if t.Axis == a {
			n += t.Coef
		}
	}
	return n
}

func (f affine) scaled(n int64) affine {
	g := affine{Offset: f.Offset * n}
	for _, t := range f.Terms {
		g.Terms = append(g.Terms, AxisTerm{t.Axis, t.Coef * n})
	}
	for _, t := range f.Scalars {
		g.Scalars = append(g.Scalars, scalarTerm{t.Value, t.Coef * n})
	}
	return g
}

func (f affine) plus(g affine) affine {
	return affine{
		Terms:   append(append([]AxisTerm(nil), f.Terms...), g.Terms...),
		Scalars: append(append([]scalarTerm(nil), f.Scalars...), g.Scalars...),
		Offset:  f.Offset + g.Offset,
	}
}

// affineOf reads an index expression; false when it is not affine (a gather).
func affineOf(v *ir.Value) (affine, bool) { return affineWithin(v, 8) }

// affineWithin looks depth operations deep.
func affineWithin(v *ir.Value, depth int) (affine, bool) {
	op := v.Def
	if op != nil && op.Code == lang.OpConst {
		return affine{Offset: op.Const.Int}, true
	}
	if v.Type.IsScalar() {
		if op != nil && depth > 0 && (op.Code == lang.OpAdd || op.Code == lang.OpSub) {
			if f, ok := affineSum(op, depth); ok && len(f.Scalars) < 4 {
				return f, true
			}
		}
		return affine{Scalars: []scalarTerm{{v, 1}}}, true
	}
	if op == nil || depth == 0 {
		return affine{}, false
	}
	switch op.Code {
	case lang.OpIndex:
		if op.Axis.Kind == ir.Whole && op.Axis.Len == 1 && op.Axis.Counts() == lang.I32 {
			return affine{Offset: op.Axis.Lo}, true
		}
		return affine{Terms: []AxisTerm{{op.Axis, 1}}}, true
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
		if len(f.Terms)+len(f.Scalars) == 0 {
			f, g = g, f
		}
		if len(g.Terms)+len(g.Scalars) > 0 || g.Offset > 1<<16 || g.Offset < -1<<16 {
			return affine{}, false
		}
		return f.scaled(g.Offset), true
	case lang.OpCast:
		if op.Args[0].Type.DType == lang.I32 && v.Type.DType == lang.I64 {
			f, ok := affineWithin(op.Args[0], depth-1)
			return f, ok && (f.In64() || f.exact()) // else i32 wraps around where i64 does not
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

// In64 reports an expression with a position or a scalar of 64 bits: its value is computed in 64.
func (f affine) In64() bool {
	for _, t := range f.Terms {
		if t.Axis.Counts().Bits() == 64 {
			return true
		}
	}
	for _, s := range f.Scalars {
		if s.Value.Type.DType.Bits() == 64 {
			return true
		}
	}
	return false
}

// bounds are what the exact value is never below and never above, where positions and scalars have 32 bits. Floats
// hold them: around the limits of 32 bits they are exact, and far from there they do not overflow as i64 does.
func (f affine) bounds() (lo, hi float64) {
	lo, hi = float64(f.Offset), float64(f.Offset)
	widen := func(coef int64, least, most float64) {
		if coef < 0 {
			least, most = most, least
		}
		lo, hi = lo+float64(coef)*least, hi+float64(coef)*most
	}
	for _, t := range f.Terms {
		most := int64(ir.NarrowSize)
		if t.Axis.Kind == ir.Whole {
			most = t.Axis.Lo + t.Axis.Len
		} else if t.Axis.Dim != nil && t.Axis.Dim.Known() {
			most = t.Axis.Dim.Value
		}
		if t.Axis.Kind != ir.Whole {
			most += t.Axis.Extent // padding counts positions beyond the dimension
		}
		widen(t.Coef, 0, float64(most))
	}
	for _, s := range f.Scalars {
		lo, hi := scalarRange(s.Value)
		widen(s.Coef, float64(lo), float64(hi))
	}
	return lo, hi
}

// scalarRange is what a scalar of 32 bits is never below and never above.
func scalarRange(v *ir.Value) (lo, hi int64) { return scalarWithin(v, 12) }

// scalarWithin looks depth operations deep.
func scalarWithin(v *ir.Value, depth int) (lo, hi int64) {
	lo, hi = math.MinInt32, math.MaxInt32
	op := v.Def
	if op == nil || depth == 0 {
		return lo, hi
	}
	switch op.Code {
	case lang.OpConst:
		return op.Const.Int, op.Const.Int
	case lang.OpStart:
		if d := op.Axis.Dim; op.Axis.Kind != ir.Whole && op.Axis.Ranges == nil && d.Known() {
			return 0, d.Value
		}
		return lo, hi
	}
	if len(op.Args) == 0 || !op.Code.Row().Elementwise || slices.ContainsFunc(op.Args, func(x *ir.Value) bool { return x.Type.DType != lang.I32 }) {
		return lo, hi
	}
	from, to := scalarWithin(op.Args[0], depth-1)
	var least, most int64 // of the second argument
	if len(op.Args) == 2 {
		least, most = scalarWithin(op.Args[1], depth-1)
	}
	within := func(from, to int64) (int64, int64) {
		if from < math.MinInt32 || to > math.MaxInt32 { // it may wrap around
			return lo, hi
		}
		return from, to
	}
	switch op.Code {
	case lang.OpNeg:
		return within(-to, -from)
	case lang.OpAdd:
		return within(from+least, to+most)
	case lang.OpSub:
		return within(from-most, to-least)
	case lang.OpMul:
		ends := []int64{from * least, from * most, to * least, to * most}
		return within(slices.Min(ends), slices.Max(ends))
	case lang.OpDiv, lang.OpFloorDiv:
		switch {
		case least > 0 && from >= 0:
			return from / most, to / least
		case least > 0:
			return min(from, 0), max(to, 0)
		}
	case lang.OpMod:
		if least > 0 {
			return max(1-most, min(from, 0)), min(most-1, max(to, 0))
		}
	case lang.OpAnd:
		if least >= 0 {
			return 0, most
		}
	case lang.OpShr:
		if least >= 0 {
			return min(from, 0), max(to, 0)
		}
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
	if f.In64() {
		return true
	}
	if d.Wide {
		return f.exact()
	}
	lo, hi := f.bounds()
	return lo >= math.MinInt32 && hi < 1<<32
}
