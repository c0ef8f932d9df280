package rules

import (
	"math"
	"math/bits"
	"slices"

	"tilec/lang"
	"tilec/lang/elementary"
	"tilec/typecheck/size"
)

// This file computes with constants and dimensions, which have no element type yet.

// unaryFolds are the functions of a float constant.
var unaryFolds = map[lang.Op]func(float64) float64{
	lang.OpSqrt: math.Sqrt, lang.OpExp: elementary.Exp, lang.OpExp2: elementary.Exp2, lang.OpExpm1: elementary.Expm1,
	lang.OpLog: elementary.Log, lang.OpLog2: elementary.Log2, lang.OpLog1p: elementary.Log1p,
	lang.OpSin: elementary.Sin, lang.OpCos: elementary.Cos, lang.OpTan: elementary.Tan,
	lang.OpSinh: elementary.Sinh, lang.OpCosh: elementary.Cosh, lang.OpTanh: elementary.Tanh, lang.OpErf: elementary.Erf,
	lang.OpFloor: math.Floor, lang.OpCeil: math.Ceil, lang.OpTrunc: math.Trunc, lang.OpRound: math.RoundToEven,
	lang.OpRsqrt:   func(x float64) float64 { return 1 / math.Sqrt(x) },
	lang.OpSigmoid: elementary.Sigmoid,
}

// fold evaluates an operation on untyped operands, when its result is untyped too.
func (c *Checker) fold(op lang.Op, at, opAt lang.Span, args []Operand) (Operand, bool) {
	floats := false
	for _, a := range args {
		if !a.IsUntyped() {
			return Operand{}, false
		}
		floats = floats || a.Mode == UntypedFloat
	}
	if f := unaryFolds[op]; f != nil {
		x, ok := args[0].Constant()
		return floatOperand(at, f(x)), ok
	}
	if o, ok := c.foldExact(op, at, opAt, args); ok {
		return o, true
	}
	if !floats {
		o, ok := c.foldInts(op, at, opAt, args)
		o.dim = slices.ContainsFunc(args, func(a Operand) bool { return a.dim })
		return o, ok
	}
	vals := make([]float64, len(args))
	for i, a := range args {
		v, ok := a.Constant()
		if !ok {
			return Operand{}, false
		}
		vals[i] = v
	}
	x, y := vals[0], vals[len(vals)-1]
	switch op {
	case lang.OpAdd:
		return floatOperand(at, x+y), true
	case lang.OpSub:
		return floatOperand(at, x-y), true
	case lang.OpMul:
		return floatOperand(at, x*y), true
	case lang.OpDiv:
		return floatOperand(at, x/y), true
	case lang.OpFloorDiv:
		return floatOperand(at, math.Floor(x/y)), true
	case lang.OpMod:
		return floatOperand(at, math.Mod(x, y)), true
	case lang.OpPow:
		return floatOperand(at, elementary.Pow(x, y)), true
	case lang.OpNeg:
		return floatOperand(at, -x), true
	case lang.OpAbs:
		return floatOperand(at, math.Abs(x)), true
	case lang.OpMax, lang.OpMin:
		if math.IsNaN(x) || math.IsNaN(y) {
			return floatOperand(at, math.NaN()), true
		}
		if op == lang.OpMax {
			return floatOperand(at, math.Max(x, y)), true
		}
		return floatOperand(at, math.Min(x, y)), true
	}
	if b, ok := lang.Compare(op, x, y); ok {
		return BoolOperand(at, b), true
	}
	return Operand{}, false
}

// foldInts computes with integers and dimensions. What cannot be kept as a size
// (a quotient that may be negative, a shift of a dimension) is left to run time.
func (c *Checker) foldInts(op lang.Op, at, opAt lang.Span, args []Operand) (Operand, bool) {
	x, y := args[0].Size, args[len(args)-1].Size
	a, aConst := x.Const()
	b, bConst := y.Const()
	divides := op == lang.OpDiv || op == lang.OpFloorDiv || op == lang.OpMod
	switch {
	case op == lang.OpNeg:
		return SizeOperand(at, x.Neg()), true
	case divides && bConst && b == 0:
		c.Errorf(lang.ErrConstantValue, opAt, "division by the constant 0")
		return Bad(at), true
	case !aConst || !bConst:
		return c.foldSizes(op, at, x, y)
	case op == lang.OpPow && (b < 0 || b >= 64):
		return floatOperand(at, elementary.Pow(float64(a), float64(b))), true
	}
	if r, ok := lang.Compare(op, a, b); ok && len(args) == 2 {
		return BoolOperand(at, r), true
	}
	n, known, fits := foldNumbers(op, a, b)
	switch {
	case !known:
		return Operand{}, false
	case !fits:
		c.Errorf(lang.ErrConstantValue, at, "the constant expression does not fit 64 bits")
		return Bad(at), true
	}
	return IntOperand(at, n), true
}

// foldSizes computes with integers of which one at least is no number.
func (c *Checker) foldSizes(op lang.Op, at lang.Span, x, y size.Size) (Operand, bool) {
	switch op {
	case lang.OpAdd:
		return c.boundedSize(at, x.Add(y)), true
	case lang.OpSub:
		return c.boundedSize(at, x.Sub(y)), true
	case lang.OpMul:
		return c.boundedSize(at, x.Mul(y)), true
	case lang.OpDiv, lang.OpFloorDiv, lang.OpMod:
		// As sizes, quotients round down and remainders are not negative: the same for operands that are not negative.
		// Where a size is needed, a constant parameter is one: binding it to less than makes sense fails then. A quotient that is
		// rounded down is the same whatever the sign of what is divided.
		if c.Sizing == 0 && (!size.NonNegative(y.Sub(size.Const(1))) || op != lang.OpFloorDiv && !size.NonNegative(x)) {
			return Operand{}, false
		}
		if op == lang.OpMod {
			return c.boundedSize(at, x.Mod(y)), true
		}
		return c.boundedSize(at, x.FloorDiv(y)), true
	}
	return Operand{}, false
}

// foldNumbers computes with numbers, where an operation does, and reports whether the result fits 64 bits. No divisor is 0,
// and no exponent below 0 or above 63.
func foldNumbers(op lang.Op, a, b int64) (n int64, known, fits bool) {
	fits = true
	switch op {
	case lang.OpAdd, lang.OpSub:
		n, fits = addInts(a, b, op == lang.OpSub)
	case lang.OpMul:
		n, fits = mulInts(a, b)
	case lang.OpDiv:
		n = a / b
	case lang.OpMod:
		n = a % b
	case lang.OpFloorDiv:
		n = size.FloorDiv(a, b)
	case lang.OpPow:
		n = 1
		for i := int64(0); fits && i < b; i++ {
			n, fits = mulInts(n, a)
		}
	case lang.OpAnd:
		n = a & b
	case lang.OpOr:
		n = a | b
	case lang.OpXor:
		n = a ^ b
	case lang.OpShl:
		if fits = b >= 0 && b <= 62 && a<<b>>b == a; fits {
			n = a << b
		}
	case lang.OpShr:
		n = a >> min(uint64(b), 63)
	case lang.OpMin:
		n = min(a, b)
	case lang.OpMax:
		n = max(a, b)
	case lang.OpAbs:
		n = max(a, -a)
	default:
		return 0, false, false
	}
	return n, true, fits
}

// boundedSize is a size as an operand, or the error that it has too many parts.
func (c *Checker) boundedSize(at lang.Span, s size.Size) Operand {
	if s.Large() {
		c.Errorf(lang.ErrLimit, at, "this size has more than %d parts, multiplied out", size.MaxLength).
			Help("give an input a dimension of this size, and use its name")
		return Bad(at)
	}
	return SizeOperand(at, s)
}

func addInts(a, b int64, negate bool) (int64, bool) {
	if negate {
		if b == math.MinInt64 {
			return 0, false
		}
		b = -b
	}
	s := a + b
	return s, (s > a) == (b > 0)
}

func mulInts(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(abs64(a), abs64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	return a * b, true
}

func abs64(n int64) uint64 {
	if n < 0 {
		return uint64(-n)
	}
	return uint64(n)
}
