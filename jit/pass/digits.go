package pass

import (
	"math"

	"tilec/jit/ir"
	"tilec/lang"
)

// foldDigits puts together what was taken apart: p / n * n + p % n is p, and of
// p * n + q with q below n, the quotient by n is p and the remainder q. Axes that
// are split and merged again leave such positions.
func foldDigits(_ *ir.Builder, op *ir.Op) *ir.Value {
	if len(op.Args) != 2 || !op.Args[0].Type.DType.IsInt() {
		return nil
	}
	var v *ir.Value
	switch op.Code {
	case lang.OpAdd:
		for i, product := range op.Args {
			q, n, ok := timesConst(product)
			if ok && q.Def != nil && q.Def.Code == lang.OpDiv && isConst(q.Def.Args[1], n) {
				if r := op.Args[1-i].Def; r != nil && r.Code == lang.OpMod && r.Args[0] == q.Def.Args[0] && isConst(r.Args[1], n) {
					v = r.Args[0]
				}
			}
		}
	case lang.OpDiv, lang.OpMod:
		n, ok := op.Args[1].IsConst()
		sum := op.Args[0].Def
		if !ok || n.Int <= 0 || sum == nil || sum.Code != lang.OpAdd {
			return nil
		}
		for i, product := range sum.Args {
			p, m, ok := timesConst(product)
			q := sum.Args[1-i]
			if !ok || m != n.Int || !spans(q, 0, n.Int-1) || !spans(p, 0, math.MaxInt32/n.Int-1) {
				continue
			}
			if op.Code == lang.OpDiv {
				v = p
			} else {
				v = q
			}
		}
	}
	if v == nil || !v.Type.Same(op.Result().Type) {
		return nil
	}
	return v
}

// timesConst reads v as x * n.
func timesConst(v *ir.Value) (x *ir.Value, n int64, ok bool) {
	if v.Def == nil || v.Def.Code != lang.OpMul {
		return nil, 0, false
	}
	for i, a := range v.Def.Args {
		if c, isConst := a.IsConst(); isConst {
			return v.Def.Args[1-i], c.Int, true
		}
	}
	return nil, 0, false
}

func isConst(v *ir.Value, n int64) bool {
	c, ok := v.IsConst()
	return ok && c.Int == n
}

// spans reports an integer that lies in lo to hi whatever runs.
func spans(v *ir.Value, lo, hi int64) bool {
	l, h, ok := span(v, maxPosition)
	return ok && l >= lo && h <= hi
}

// span bounds a position; it gives up where 32 bits may not hold it.
func span(v *ir.Value, depth int) (lo, hi int64, ok bool) {
	if c, isConst := v.IsConst(); isConst {
		return c.Int, c.Int, true
	}
	def := v.Def
	if def == nil || depth == 0 {
		return 0, 0, false
	}
	fits := func(lo, hi int64) (int64, int64, bool) { return lo, hi, lo >= math.MinInt32 && hi <= math.MaxInt32 }
	switch def.Code {
	case lang.OpIndex, lang.OpStart:
		switch a := def.Axis; {
		case a.Kind == ir.Whole:
			return fits(a.Lo, a.Lo+max(a.Len, 1)-1)
		case a.Dim.Known():
			return fits(0, max(a.Dim.Value, 1)-1)
		}
		return 0, math.MaxInt32, !def.Axis.Dim.Wide
	case lang.OpCast:
		return castSpan(def, depth-1)
	case lang.OpAdd, lang.OpSub, lang.OpMul, lang.OpDiv, lang.OpMod, lang.OpMin, lang.OpMax:
	default:
		return 0, 0, false
	}
	a, b, okX := span(def.Args[0], depth-1)
	c, d, okY := span(def.Args[1], depth-1)
	if !okX || !okY {
		return 0, 0, false
	}
	switch def.Code {
	case lang.OpAdd:
		return fits(a+c, b+d)
	case lang.OpSub:
		return fits(a-d, b-c)
	case lang.OpMul:
		return fits(min(a*c, a*d, b*c, b*d), max(a*c, a*d, b*c, b*d))
	case lang.OpMin:
		return min(a, c), min(b, d), true
	case lang.OpMax:
		return max(a, c), max(b, d), true
	case lang.OpDiv:
		if a >= 0 && c > 0 {
			return a / d, b / c, true
		}
	case lang.OpMod:
		if a >= 0 && c > 0 {
			return 0, min(b, d-1), true
		}
	}
	return 0, 0, false
}
