package typed

import "tilec/lang"

// FurtherOn reads an index as the position of an axis and a constant: the axis and how much further on it is; false for any other index.
func FurtherOn(x Expr) (a *Axis, plus int64, ok bool) {
	e, isApply := x.(*Apply)
	if !isApply {
		return nil, 0, false
	}
	constant := func(x Expr) (int64, bool) {
		if s, isSize := x.(*SizeExpr); isSize {
			return s.Size.Const()
		}
		c, isConst := x.(*Const)
		if !isConst {
			return 0, false
		}
		return c.Int, true
	}
	switch e.Op {
	case lang.OpStart, lang.OpIndex:
		return e.Axis, 0, true
	case lang.OpAdd, lang.OpSub:
		sign := int64(1)
		if e.Op == lang.OpSub {
			sign = -1
		}
		if n, known := constant(e.Args[1]); known {
			a, plus, ok = FurtherOn(e.Args[0])
			return a, plus + sign*n, ok
		}
		if n, known := constant(e.Args[0]); known && e.Op == lang.OpAdd {
			a, plus, ok = FurtherOn(e.Args[1])
			return a, plus + n, ok
		}
	}
	return nil, 0, false
}
