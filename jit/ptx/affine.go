package ptx

import (
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
func affineOf(v *ir.Value) (affine, bool) {
	op := v.Def
	if op != nil && op.Code == lang.OpConst {
		return affine{offset: op.Const.Int}, true
	}
	if v.Type.IsScalar() {
		if op != nil && (op.Code == lang.OpAdd || op.Code == lang.OpSub) {
			if f, ok := affineSum(op); ok && len(f.scalars) < 4 {
				return f, true
			}
		}
		return affine{scalars: []scalarTerm{{v, 1}}}, true
	}
	if op == nil {
		return affine{}, false
	}
	switch op.Code {
	case lang.OpIndex:
		return affine{terms: []axisTerm{{op.Axis, 1}}}, true
	case lang.OpFull:
		return affineOf(op.Args[0])
	case lang.OpAdd, lang.OpSub:
		return affineSum(op)
	case lang.OpMul:
		f, ok1 := affineOf(op.Args[0])
		g, ok2 := affineOf(op.Args[1])
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
			return affineOf(op.Args[0])
		}
	}
	return affine{}, false
}

func affineSum(op *ir.Op) (affine, bool) {
	f, ok1 := affineOf(op.Args[0])
	g, ok2 := affineOf(op.Args[1])
	if !ok1 || !ok2 {
		return affine{}, false
	}
	if op.Code == lang.OpSub {
		g = g.scaled(-1)
	}
	return f.plus(g), true
}
