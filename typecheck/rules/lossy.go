package rules

import (
	"math"
	"regexp"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file warns of constants that mean something else than they say.

// wholeNumber is a float that is written as an integer is: people count on such to be exact.
var wholeNumber = regexp.MustCompile(`^[0-9_]+\.[0_]*$`)

// roughest is the relative error from which a rounded constant is another number: the coarsest type's rounding is an eighth.
const roughest = 0.13

// lossy warns of a constant that its element type cannot hold nearly: an integer that is rounded, a number that
// becomes 0 or is cut off.
func (c *Checker) lossy(o Operand, n float64, d typed.DType) {
	of := d.Of
	if d.Param != nil { // the widest that it may stand for
		of = lang.F32
	}
	if !of.IsFloat() || n == 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return
	}
	got := n
	if of.Bits() <= 32 {
		got = float64(of.Round(float32(n)))
	}
	exact := got == n
	size, isInt := o.Size.Const()
	if o.Mode == UntypedInt && isInt {
		exact = got < math.MaxInt64 && int64(got) == size
	}
	whole := o.Mode == UntypedInt || wholeNumber.MatchString(o.At.Text())
	if exact || !whole && math.Abs(got-n) <= roughest*math.Abs(n) {
		return
	}
	text := o.At.Text()
	if o.Mode == UntypedInt {
		text = o.Size.String()
	}
	r := c.Warnf(lang.SeverityWarning, lang.WarnLossy, o.At, "the constant %s is %v in %s", text, shortest(got, of), d)
	if got == 0 {
		r.Help("the least above 0 is about %.0e; scale what it is used with, or compute in a wider type", least(of))
	} else {
		r.Help("write the number that is meant, or compute in a wider type")
	}
}

// shortest is a number with no more digits than its type tells apart.
func shortest(f float64, of lang.DType) any {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	if of.Bits() <= 32 {
		return float32(f)
	}
	return f
}

// least is the smallest positive number of a float type.
func least(of lang.DType) float64 {
	least := 1.0
	for x := 1.0; x > 0; x /= 2 {
		got := x
		if of.Bits() <= 32 {
			got = float64(of.Round(float32(x)))
		}
		if got == 0 {
			break
		}
		least = x
	}
	return least
}

// isNaN reports a constant that is no number.
func (o Operand) isNaN() bool {
	if o.Mode == UntypedFloat {
		return math.IsNaN(o.Number)
	}
	if o.Mode != TypedValue || o.Expr == nil {
		return false
	}
	k, ok := o.Expr.(*typed.Const)
	return ok && math.IsNaN(k.Float)
}

// comparedToNaN warns of a comparison that is the same for every operand.
func (c *Checker) comparedToNaN(op lang.Op, at lang.Span, args []Operand, exprs []lang.Expr) {
	for i, a := range args {
		if !a.isNaN() {
			continue
		}
		always := "false"
		if op == lang.OpNe {
			always = "true"
		}
		r := c.Warnf(lang.SeverityWarning, lang.WarnNaN, at, "`%s` with nan is always %s", op.Row().Spelling, always)
		other := exprAt(exprs, 1-i)
		switch {
		case op != lang.OpEq && op != lang.OpNe:
			r.Help("nothing is ordered beside nan; `isnan(x)` asks for it")
		case other == nil || args[1-i].isNaN():
			r.Help("write `isnan(x)`")
		default:
			text := "isnan(" + other.Span().Text() + ")"
			if op == lang.OpNe {
				text = "(not " + text + ")"
			}
			r.Replace(at, text, "write `%s`", text)
		}
		return
	}
}
