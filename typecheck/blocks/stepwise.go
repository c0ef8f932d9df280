package blocks

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file says what a value inside `for k in K by BK` has to do with how K is
// cut: the same at every step, of one position, of a step's positions, or of all
// positions so far. What a loop carries does not depend on the cut where each step
// joins to it what its positions give, by an operation that forgets where they were
// cut: `acc + sum(...)`, `max(m, max(...))`. An online softmax does too, though it
// rescales: see unit.

// stepKind is what a value depends on.
type stepKind uint8

const (
	// stepSame: the same at every step.
	stepSame stepKind = iota
	// stepEach: at each position what that position gives.
	stepEach
	// stepReduced: of the positions of a step, to be put together as by says.
	stepReduced
	// stepCarried: what the steps so far have carried, and what this step has joined to it.
	stepCarried
	// stepBelow: of each position, how far it is below a carried maximum.
	stepBelow
	// stepRise: how far the maximum before this step is below the one with it.
	stepRise
	// stepRate: what values in the unit of the maximum before become in that of the one with this step.
	stepRate
	// stepFree: anything else.
	stepFree
)

// stepwise is what one value has to do with how an axis is cut.
type stepwise struct {
	kind stepKind
	// by is the operations that put the values of two tiles together to that of both.
	by joins
	// of is the local that is carried; of a rise, a rate or what is below a maximum, the maximum.
	of *typed.Local
	// level tells apart the values of a carried maximum; 0 is the one before the step.
	level int
	// finite: the maximum was made a number before it was taken off, so that -inf - -inf is nowhere.
	finite bool
	// factor is what a maximum, or a distance from it, was multiplied by; nil for 1.
	factor any
	// unit is what a sum is in.
	unit unit
	// at is, of a free value, where it became one.
	at lang.Span
	// infinite: it became one for want of a finite maximum.
	infinite bool
}

// unit is exp(-m), for a carried maximum m as it is at a level. What an online softmax adds up is in the unit of the
// maximum so far: a step multiplies by exp(m - m2) what it carries, and adds terms in the unit of m2.
type unit struct {
	exp    lang.Op
	of     *typed.Local
	level  int
	factor any
}

var (
	allSame      = stepwise{kind: stepSame, by: idempotent}
	allZero      = stepwise{kind: stepSame, by: idempotent | byAdd | byXor}
	eachPosition = stepwise{kind: stepEach}
)

// still reports what does not depend on a step or on those before it.
func (c stepwise) still() bool {
	return c.kind == stepSame || c.kind == stepEach && c.unit == unit{}
}

// zero reports the constant 0, which is so many of any unit.
func (c stepwise) zero() bool { return c.kind == stepSame && c.by&byAdd != 0 }

// free is a value that depends on where the axis is cut.
func free(at lang.Span, from ...stepwise) stepwise {
	for _, c := range from {
		if c.kind == stepFree {
			return c
		}
	}
	return stepwise{kind: stepFree, at: at}
}

// spread is what an operation gives at each position of what does not depend on the steps.
func spread(at lang.Span, cs ...stepwise) stepwise {
	out := allSame
	for _, c := range cs {
		switch {
		case !c.still():
			return free(at, cs...)
		case c.kind == stepEach:
			out = eachPosition
		}
	}
	return out
}

// joined is two values put together by one of the operations.
func (c *loopFlow) joined(at lang.Span, by joins, a, b stepwise) stepwise {
	if a.still() && b.still() {
		return spread(at, a, b)
	}
	if b.kind == stepCarried || a.kind == stepSame {
		a, b = b, a
	}
	okLeft := a.kind == stepReduced || a.kind == stepCarried
	okRight := b.kind == stepReduced || b.kind == stepSame
	by &= a.by & b.by
	if !okLeft || !okRight || by == 0 || a.unit != b.unit && !b.zero() {
		return free(at, a, b)
	}
	a.by = by
	if a.kind == stepCarried {
		c.levels++
		a.level = c.levels
	}
	return a
}

// either is a value that is one of two, as something that every step has alike decides.
func (c *loopFlow) either(at lang.Span, a, b stepwise) stepwise {
	switch {
	case a == b:
		return a
	case a.still() && b.still():
		return spread(at, a, b)
	case a.zero():
		a, b = b, a
	}
	switch {
	case a.kind == stepEach && b.zero():
		return a
	case a.kind == stepReduced && (b.kind == stepReduced || b.kind == stepSame) && (a.unit == b.unit || b.zero()),
		a.kind == stepCarried && b.kind == stepCarried && a.of == b.of && a.unit == b.unit:
		a.by, a.finite = a.by&b.by, a.finite && b.finite
		if a.level != b.level {
			c.levels++
			a.level = c.levels
		}
		if a.by != 0 {
			return a
		}
	}
	return free(at, a, b)
}

// scaled is a value times a factor that every step has alike.
func scaled(at lang.Span, c stepwise, factor typed.Expr) stepwise {
	switch c.kind {
	case stepReduced:
		c.by &= byAdd
		if c.by != 0 {
			return c
		}
	case stepBelow, stepRise:
		if name := nameOf(factor); name != nil && c.factor == nil {
			c.factor = name
			return c
		}
	case stepCarried: // a maximum, from which distances may be taken as they are multiplied
		if name := nameOf(factor); name != nil && c.factor == nil && c.by&byMax != 0 && c.unit == (unit{}) {
			c.factor, c.by = name, 0
			return c
		}
	}
	return free(at, c)
}

// nameOf tells factors apart; nil for one that is more than a name or a number.
func nameOf(x typed.Expr) any {
	switch x := x.(type) {
	case *typed.Const:
		return lang.Literal{DType: x.Type.DType.Of, Int: x.Int, Float: x.Float}
	case *typed.SizeExpr:
		return x.Size.String()
	case *typed.ConstRef:
		return x.Symbol
	case *typed.ScalarRef:
		return x.Param
	case *typed.LocalRef:
		return x.Local
	}
	return nil
}

// fallen is how far a value is below a carried maximum.
func fallen(at lang.Span, a, m stepwise) stepwise {
	out := stepwise{of: m.of, level: m.level, finite: m.finite, factor: m.factor}
	switch {
	case m.kind != stepCarried || m.by&byMax == 0 && m.factor == nil || m.unit != unit{}:
	case a.still() && a.kind == stepEach && m.level > 0:
		out.kind = stepBelow
		return out
	case a.kind == stepCarried && a.of == m.of && a.factor == m.factor && a.unit == unit{} && a.level == 0 && m.level > 0:
		out.kind = stepRise
		return out
	}
	return free(at, a, m)
}

// raised is e to the power of a distance from a maximum, or 2 to it.
func raised(at lang.Span, op lang.Op, c stepwise) stepwise {
	u := unit{op, c.of, c.level, c.factor}
	switch {
	case !c.finite && (c.kind == stepBelow || c.kind == stepRise): // while all is -inf, -inf - -inf is NaN, and when that ends depends on the cut
		return stepwise{kind: stepFree, at: at, infinite: true}
	case c.kind == stepBelow:
		return stepwise{kind: stepEach, unit: u}
	case c.kind == stepRise:
		return stepwise{kind: stepRate, of: c.of, level: c.level, unit: u}
	}
	return free(at, c)
}

// product is what a multiplication makes of cuts.
func (c *loopFlow) product(x *typed.Apply, a, b stepwise) stepwise {
	if a.kind == stepSame && b.kind != stepSame || b.kind == stepCarried {
		a, b = b, a
		x = &typed.Apply{Typed: x.Typed, Op: x.Op, Args: []typed.Expr{x.Args[1], x.Args[0]}}
	}
	switch {
	case a.still() && b.still():
		return spread(x.At, a, b)
	case a.kind == stepEach && b.still():
		return a
	case a.still() && b.kind == stepEach:
		return b
	case a.kind == stepCarried && b.kind == stepRate && a.level == 0 && a.unit == unit{}:
		a.unit = b.unit
		a.by &= byAdd
		return a
	case b.kind == stepSame:
		return scaled(x.At, a, x.Args[1])
	case a.kind == stepReduced && b.still() && !isTileOver(x.Args[1], x.Args[0]): // where a span begins, which all of the step is in
		return scaled(x.At, a, x.Args[1])
	}
	return c.joined(x.At, byMul, a, b)
}

// isTileOver reports a value with an axis that another has not.
func isTileOver(x, other typed.Expr) bool {
	return len(typed.WithoutAxes(x.Types()[0].Axes, other.Types()[0].Axes)) > 0
}
