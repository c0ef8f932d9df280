package build

import (
	"math"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file reads integers that are linear in positions along axes, and numbers modulo another.

// inverse is the number that a number is multiplied by to give 1 modulo by; 0 where there is none.
func inverse(n, by int64) int64 {
	for i := int64(1); i < by; i++ {
		if residueOf(n*i, by) == 1 {
			return i
		}
	}
	return 0
}

// residueOf is what a number is modulo by, from 0 on.
func residueOf(n, by int64) int64 { return (n%by + by) % by }

// linear is a sum of positions along axes, each times a number, and a number.
type linear struct {
	of     map[*ir.Axis]int64
	offset int64
}

// linearIn gives an integer as such a sum.
func linearIn(v *ir.Value) (linear, bool) {
	l := linear{of: map[*ir.Axis]int64{}}
	return l, addLinear(&l, v, 1, 12)
}

// addLinear adds a value so many times, and looks depth operations deep.
func addLinear(l *linear, v *ir.Value, times int64, depth int) bool {
	if n, ok := ir.KnownInt(v); ok {
		l.offset += n * times
		return true
	}
	op := v.Def
	if op == nil || depth == 0 || op.Result().Type.DType != lang.I32 {
		return false
	}
	switch op.Code {
	case lang.OpIndex:
		if l.of[op.Axis] += times; l.of[op.Axis] == 0 {
			delete(l.of, op.Axis)
		}
		return true
	case lang.OpFull:
		return addLinear(l, op.Args[0], times, depth-1)
	case lang.OpAdd:
		return addLinear(l, op.Args[0], times, depth-1) && addLinear(l, op.Args[1], times, depth-1)
	case lang.OpSub:
		return addLinear(l, op.Args[0], times, depth-1) && addLinear(l, op.Args[1], -times, depth-1)
	case lang.OpMul:
		for i, x := range op.Args {
			if n, ok := ir.KnownInt(x); ok && n > -1<<15 && n < 1<<15 {
				return addLinear(l, op.Args[1-i], times*n, depth-1)
			}
		}
	}
	return false
}

// isZero reports the number 0, for all positions, and not the negative one of floats.
func isZero(v *ir.Value) bool {
	for v.Def != nil && v.Def.Code == lang.OpFull {
		v = v.Def.Args[0]
	}
	c, ok := v.IsConst()
	return ok && c == (ir.Const{}) && !math.Signbit(c.Float)
}
