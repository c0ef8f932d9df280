package blocks

import (
	"math"
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file says what each operation makes of values by how an axis is cut.

// apply is what an operation gives.
func (c *loopFlow) apply(x *typed.Apply) stepwise {
	args := c.exprs(x.Args)
	if x.Axis != nil && x.Op != lang.OpRename { // a position along it
		if x.Axis == c.axis {
			return eachPosition
		}
		return spread(x.At, c.along[x.Axis])
	}
	switch x.Op.Row().Group {
	case lang.GroupReduce:
		return c.reduced(x.At, joinOf[x.Op], x.Over, args...)
	case lang.GroupContract:
		return c.contracted(x, args)
	}
	if c.guards(x, args) {
		kept := args[1]
		if kept.kind == stepSame {
			kept = args[2]
		}
		kept.finite = true
		return kept
	}
	switch op := x.Op; op {
	case lang.OpAdd, lang.OpMax, lang.OpMin, lang.OpAnd, lang.OpOr, lang.OpXor, lang.OpLogicAnd, lang.OpLogicOr:
		return c.joined(x.At, joinOf[op], args[0], args[1])
	case lang.OpSub:
		switch {
		case args[1].kind == stepCarried:
			return fallen(x.At, args[0], args[1])
		case args[0].kind == stepSame && args[1].kind == stepReduced:
			return free(x.At, args...)
		}
		return c.joined(x.At, byAdd, args[0], args[1])
	case lang.OpMul:
		return c.product(x, args[0], args[1])
	case lang.OpDiv:
		switch {
		case args[0].kind == stepEach && args[1].still():
			return args[0]
		case args[1].kind == stepSame && typed.IsFloat(x.Type.DType):
			return scaledOrSpread(x, args)
		}
	case lang.OpExp, lang.OpExp2:
		if k := args[0].kind; k == stepBelow || k == stepRise {
			return raised(x.At, op, args[0])
		}
	case lang.OpNeg:
		if args[0].kind == stepReduced {
			return scaled(x.At, args[0], nil)
		}
	case lang.OpWhere:
		switch {
		case args[0].kind == stepSame:
			return c.either(x.At, args[1], args[2])
		case args[0].still():
			if of := c.either(x.At, args[1], args[2]); of.kind == stepEach || of.kind == stepSame {
				of.kind = stepEach
				return of
			}
		}
	case lang.OpFull, lang.OpRename:
		return args[0]
	case lang.OpCast:
		return c.cast(x, args[0])
	}
	return spread(x.At, args...)
}

// scaledOrSpread is a quotient by what every step has alike.
func scaledOrSpread(x *typed.Apply, args []stepwise) stepwise {
	if args[0].still() {
		return spread(x.At, args...)
	}
	return scaled(x.At, args[0], nil)
}

func (c *loopFlow) cast(x *typed.Apply, from stepwise) stepwise {
	d := x.Args[0].Types()[0].DType
	switch {
	case from.still():
		return from
	case from.kind == stepEach && typed.IsFloat(d) && typed.IsFloat(x.Type.DType):
		return from
	case from.kind == stepReduced:
		if from.by &= keeps(d, x.Type.DType); from.by != 0 {
			return from
		}
	}
	return free(x.At, from)
}

// guards reports `where(m == -inf, 0, m)` for a carried maximum m, or the like.
func (c *loopFlow) guards(x *typed.Apply, args []stepwise) bool {
	if x.Op != lang.OpWhere {
		return false
	}
	test, ok := x.Args[0].(*typed.Apply)
	if !ok || len(test.Args) != 2 || !isConstInf(test.Args[1]) {
		return false
	}
	zero, m := args[1], args[2]
	switch test.Op {
	case lang.OpEq:
	case lang.OpNe, lang.OpGt:
		zero, m = m, zero
	default:
		return false
	}
	of := c.one(test.Args[0])
	return zero.zero() && m.kind == stepCarried && m.by&byMax != 0 && of == m
}

func isConstInf(x typed.Expr) bool {
	k, ok := x.(*typed.Const)
	return ok && math.IsInf(k.Float, -1)
}

// reduced is a reduction of the values over axes, whose results for two tiles are put together as by says.
func (c *loopFlow) reduced(at lang.Span, by joins, over []*typed.Axis, args ...stepwise) stepwise {
	if slices.Contains(over, c.axis) {
		of := allSame
		for _, a := range args {
			if a.kind != stepEach && a.kind != stepSame || len(args) > 1 && a.unit != (unit{}) {
				return free(at, args...)
			}
			of.unit = a.unit
		}
		if of.unit != (unit{}) {
			by &= byAdd
		}
		if by == 0 {
			return free(at)
		}
		return stepwise{kind: stepReduced, by: by, unit: of.unit}
	}
	if len(args) == 1 && args[0].kind == stepReduced {
		of := args[0]
		if of.by &= by; of.by != 0 {
			return of
		}
	}
	return spread(at, args...)
}

// contracted is a product that is summed up, and what it is added to.
func (c *loopFlow) contracted(x *typed.Apply, args []stepwise) stepwise {
	a, b := args[0], args[1]
	of := stepwise{}
	switch {
	case (a.kind == stepEach || a.kind == stepSame) && (b.kind == stepEach || b.kind == stepSame) && (a.unit == unit{} || b.unit == unit{}):
		of = eachPosition
		if a.kind == stepSame && b.kind == stepSame {
			of = allSame
		}
		if of.unit = a.unit; of.unit == (unit{}) {
			of.unit = b.unit
		}
		if slices.Contains(x.Over, c.axis) {
			of.kind, of.by = stepReduced, byAdd
		}
	case a.kind == stepReduced && b.kind == stepSame && a.by&byAdd != 0:
		of = a
	case b.kind == stepReduced && a.kind == stepSame && b.by&byAdd != 0:
		of = b
	default:
		return free(x.At, args...)
	}
	if x.Op != lang.OpMma {
		return of
	}
	if of.kind == stepEach && of.unit != (unit{}) {
		return free(x.At, args...)
	}
	return c.joined(x.At, byAdd, args[2], of)
}
