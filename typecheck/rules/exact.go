package rules

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/typed"
)

// This file computes with literals. Their arithmetic is exact: 1 / 3 is a third
// until the place where it stands gives it a type, and is rounded once then.
// Values that no fraction is - inf, nan, pi, and what functions give - are f64.

// maxExactBits bounds the numerator and the denominator of a constant.
const maxExactBits = 1 << 14

// FloatLiteral is a literal with a point or an exponent, as it is written.
func FloatLiteral(e *lang.FloatLit) Operand {
	o := floatOperand(e.Place, e.Value)
	text := strings.ReplaceAll(e.Place.Text(), "_", "")
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	n, err := strconv.Atoi(exponent)
	if len(text) > maxExactBits/4 || exponent != "" && (err != nil || n > 400 || n < -4000) {
		// Longer than any number that matters, or zero: what f64 makes of it.
		o.exact = new(big.Rat)
		o.exact.SetFloat64(e.Value)
		return o
	}
	if r, ok := new(big.Rat).SetString(text); ok {
		o.exact = r
	}
	return o
}

// IntLiteral is a literal without a point.
func IntLiteral(at lang.Span, n uint64) Operand {
	return ratioOperand(at, new(big.Rat).SetInt(new(big.Int).SetUint64(n)))
}

// ratioOperand is what arithmetic of integer literals gives: an integer where it is whole and fits 64 bits with sign.
func ratioOperand(at lang.Span, r *big.Rat) Operand {
	if r.IsInt() && r.Num().IsInt64() {
		return IntOperand(at, r.Num().Int64())
	}
	o := exactOperand(at, r)
	o.ratio = true
	return o
}

func exactOperand(at lang.Span, r *big.Rat) Operand {
	f, _ := r.Float64()
	o := floatOperand(at, f)
	o.exact = r
	return o
}

// isLiteral reports a number that literals made, of which a quotient is exact;
// dimensions and constant parameters are integers, as n: i32 is.
func (o Operand) isLiteral() bool {
	_, isConst := o.Size.Const()
	return o.Mode == UntypedFloat || o.Mode == UntypedInt && isConst && !o.dim
}

// rat is the exact value of a constant; nil where it has none.
func (o Operand) rat() *big.Rat {
	if o.Mode == UntypedFloat {
		return o.exact
	}
	if n, ok := o.Size.Const(); ok && o.Mode == UntypedInt {
		return new(big.Rat).SetInt64(n)
	}
	return nil
}

// ofInts reports a constant that was computed from integers alone.
func (o Operand) ofInts() bool { return o.Mode == UntypedInt || o.ratio }

// IsU64 reports a whole number that only u64 holds.
func (o Operand) IsU64() bool {
	return o.ratio && o.exact.IsInt() && o.exact.Num().IsUint64()
}

// DefaultType is the type of an untyped operand of which nothing asks for another.
func (o Operand) DefaultType() typed.DType {
	switch {
	case o.Mode == UntypedInt:
		return typed.Concrete(lang.I32)
	case o.IsU64():
		return typed.Concrete(lang.U64)
	}
	return typed.Concrete(lang.F32)
}

// foldExact computes with literals, all of which are fractions.
func (c *Checker) foldExact(op lang.Op, at, opAt lang.Span, args []Operand) (Operand, bool) {
	x, y := args[0].rat(), args[len(args)-1].rat()
	ratio := true
	for _, a := range args {
		if a.rat() == nil || !a.isLiteral() {
			return Operand{}, false
		}
		ratio = ratio && a.ofInts()
	}
	r := new(big.Rat)
	switch op {
	case lang.OpAdd:
		r.Add(x, y)
	case lang.OpSub:
		r.Sub(x, y)
	case lang.OpMul:
		r.Mul(x, y)
	case lang.OpNeg:
		if x.Sign() == 0 && !ratio {
			return Operand{}, false // -0.0 is no fraction
		}
		r.Neg(x)
	case lang.OpAbs:
		r.Abs(x)
	case lang.OpMin, lang.OpMax:
		if r = x; (x.Cmp(y) > 0) == (op == lang.OpMin) {
			r = y
		}
	case lang.OpDiv, lang.OpFloorDiv, lang.OpMod:
		if y.Sign() == 0 {
			if ratio {
				c.Errorf(lang.ErrConstantValue, opAt, "division by the constant 0")
				return Bad(at), true
			}
			return Operand{}, false // infinite, or no number
		}
		r = divide(op, x, y)
	case lang.OpPow:
		if !y.IsInt() || x.Sign() == 0 && y.Sign() < 0 {
			return Operand{}, false
		}
		p, ok := power(x, y.Num())
		if !ok {
			return c.tooLong(at), true
		}
		r = p
	default:
		if b, ok := compareRats(op, x, y); ok && len(args) == 2 {
			return BoolOperand(at, b), true
		}
		return Operand{}, false
	}
	if r.Num().BitLen() > maxExactBits || r.Denom().BitLen() > maxExactBits {
		return c.tooLong(at), true
	}
	if ratio {
		return ratioOperand(at, r), true
	}
	return exactOperand(at, r), true
}

func (c *Checker) tooLong(at lang.Span) Operand {
	c.Errorf(lang.ErrConstantValue, at, "the exact value of the constant expression is longer than %d bits", maxExactBits).
		Help("write the number that it is for, as in `1e30`")
	return Bad(at)
}

// divide is x / y, x // y or the remainder with the sign of x; y is not 0.
func divide(op lang.Op, x, y *big.Rat) *big.Rat {
	q := new(big.Rat).Quo(x, y)
	if op == lang.OpDiv {
		return q
	}
	whole := new(big.Int)
	if op == lang.OpFloorDiv { // of positive denominators, Euclid's quotient is the one rounded down
		return q.SetInt(whole.Div(q.Num(), q.Denom()))
	}
	whole.Quo(q.Num(), q.Denom())
	q.SetInt(whole)
	return q.Sub(x, q.Mul(q, y))
}

// power is x to a whole power, unless it is too long.
func power(x *big.Rat, n *big.Int) (*big.Rat, bool) {
	num, denom := x.Num(), x.Denom()
	if n.Sign() < 0 {
		num, denom = denom, num
		if num.Sign() != 0 && denom.Sign() < 0 { // the sign belongs to the numerator
			num, denom = new(big.Int).Neg(num), new(big.Int).Neg(denom)
		}
	}
	e := new(big.Int).Abs(n)
	longest := max(num.BitLen(), denom.BitLen())
	if longest <= 1 { // 0, 1 and -1
		if e.Sign() == 0 || e.Bit(0) == 0 && num.Sign() != 0 {
			return big.NewRat(1, 1), true
		}
		return x, true
	}
	if !e.IsInt64() || e.Int64() > maxExactBits || (int64(longest)-1)*e.Int64() > maxExactBits {
		return nil, false
	}
	return new(big.Rat).SetFrac(new(big.Int).Exp(num, e, nil), new(big.Int).Exp(denom, e, nil)), true
}

func compareRats(op lang.Op, x, y *big.Rat) (value, ok bool) { return lang.Compare(op, x.Cmp(y), 0) }

// rounded is a constant as f64, from which a type of up to 32 bits is rounded
// once more. That second rounding gives what one rounding would unless the first
// ended between two numbers of the narrow type, whose low bits are zero: then the
// value is rounded to odd, which says on which side it is.
func (o Operand) rounded(d typed.DType) float64 {
	if o.exact == nil || d == typed.Concrete(lang.F64) {
		return o.Number
	}
	bits := math.Float64bits(o.Number)
	was := new(big.Rat)
	if bits<<36 != 0 || math.IsInf(o.Number, 0) || was.SetFloat64(o.Number).Cmp(o.exact) == 0 {
		return o.Number
	}
	if was.Abs(was).Cmp(new(big.Rat).Abs(o.exact)) > 0 {
		bits--
	}
	return math.Float64frombits(bits | 1)
}

// overflows reports a finite constant that is infinite in d; of a type parameter, in every type of its bound.
func (o Operand) overflows(d typed.DType) bool {
	if o.exact == nil && math.IsInf(o.Number, 0) {
		return false
	}
	f := o.rounded(d)
	return math.IsInf(f, 0) || d.Param == nil && d.Of.IsFloat() && d.Of.Bits() <= 32 && math.IsInf(float64(d.Of.Round(float32(f))), 0)
}

// Truncated is a fraction as an integer of type d, to which it is converted: cut
// off towards 0, and the nearest that the type has. False for what is no fraction.
func (o Operand) Truncated(d typed.DType) (int64, bool) {
	if o.Mode != UntypedFloat || o.exact == nil || o.IsU64() || d.Param != nil || !d.Of.IsInt() {
		return 0, false
	}
	n := new(big.Int).Quo(o.exact.Num(), o.exact.Denom())
	lo, hi, _ := IntRange(d)
	most := big.NewInt(hi)
	if d.Of == lang.U64 {
		most.SetUint64(math.MaxUint64)
	}
	switch {
	case n.Cmp(big.NewInt(lo)) < 0:
		return lo, true
	case n.Cmp(most) > 0:
		n = most
	}
	if n.Sign() < 0 {
		return n.Int64(), true
	}
	return int64(n.Uint64()), true
}

// convertExact gives a fraction of integers the type of its place, which is no float: there it must be whole.
func (c *Checker) convertExact(o Operand, d typed.DType) Operand {
	t := typed.Typed{Type: typed.Type{DType: d}, At: o.At}
	if !o.exact.IsInt() {
		r := c.Errorf(lang.ErrConstantType, o.At, "the constant %s is no %s: it is not whole", fraction(o.exact), c.DescribeDType(d))
		WholeHelp(r, o)
		return Bad(o.At)
	}
	if d == typed.Concrete(lang.U64) && o.IsU64() {
		return Operand{Mode: TypedValue, At: o.At, Expr: &typed.Const{Typed: t, Int: int64(o.exact.Num().Uint64()), Float: o.Number}}
	}
	lo, hi, _ := IntRange(d)
	r := c.Errorf(lang.ErrConstantType, o.At, "the constant %s does not fit %s", fraction(o.exact), c.DescribeDType(d))
	if d != typed.Concrete(lang.U64) {
		r.Help("%s holds %d to %d", c.DescribeDType(d), lo, hi)
	}
	return Bad(o.At)
}

// fraction shows a constant, as a decimal where that is short.
func fraction(r *big.Rat) string {
	if text := r.RatString(); len(text) <= 40 {
		if digits, exact := r.FloatPrec(); exact && digits <= 9 {
			return r.FloatString(digits)
		}
		return text
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// WholeHelp says how to make an integer of a quotient that is not whole.
func WholeHelp(r report.Draft, o Operand) report.Draft {
	if o.Mode != UntypedFloat || !o.ratio || o.exact.IsInt() {
		return r
	}
	const help = "the quotient of literals is exact; `//` rounds it down"
	if len(o.division) == 2 { // in brackets: elsewhere `//` begins a comment
		return r.Replace(o.At, "("+o.division[0].Span().Text()+" // "+o.division[1].Span().Text()+")", "%s", help)
	}
	return r.Help("%s", help)
}
