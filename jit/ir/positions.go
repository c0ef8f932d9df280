package ir

import "tilec/lang"

// MostPositions is how many positions a loop over an axis goes through at most, where its bounds tell: of `K[c * 128 .. min(n, c * 128 + 128)]`
// 128, whatever c and n are.
func (op *Op) MostPositions() (n int64, known bool) { return distance(op.Args[0], op.Args[1]) }

// distance is how much hi is above lo at most; 0 where hi is below. What wraps around is below.
func distance(lo, hi *Value) (n int64, known bool) {
	if a, ok := lo.IsConst(); ok {
		if b, ok := hi.IsConst(); ok {
			return max(b.Int-a.Int, 0), true
		}
		if op := hi.Def; op != nil && op.Code == lang.OpSize && op.Dim.Known() {
			return max(op.Dim.Value-a.Int, 0), true
		}
	}
	if op := hi.Def; op != nil && op.Code == lang.OpAdd {
		for i, v := range op.Args {
			if by, ok := op.Args[1-i].IsConst(); ok && v == lo {
				return max(by.Int, 0), true
			}
		}
	}
	least := func(lo, hi *Value) {
		if d, ok := distance(lo, hi); ok && (!known || d < n) {
			n, known = d, true
		}
	}
	if op := hi.Def; op != nil && op.Code == lang.OpMin {
		least(lo, op.Args[0])
		least(lo, op.Args[1])
	}
	if op := lo.Def; op != nil && op.Code == lang.OpMax {
		least(op.Args[0], hi)
		least(op.Args[1], hi)
	}
	return n, known
}

// KnownInt is an integer that is a constant, or the size of a dimension that is known.
func KnownInt(v *Value) (int64, bool) {
	if v.Def != nil && v.Def.Code == lang.OpSize && v.Def.Dim.Known() {
		return v.Def.Dim.Value, true
	}
	c, ok := v.IsConst()
	return c.Int, ok
}
