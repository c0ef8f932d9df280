package rules

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Mode says what an operand is.
type Mode uint8

const (
	Invalid       Mode = iota // already reported: silences what depends on it
	NoValue                   // a statement without a value
	TypedValue                // one value of a known type
	UntypedInt                // an integer constant, or an integer expression over dimensions
	UntypedFloat              // a float constant
	Several                   // several values: elems, or one expression that gives them
	AxisOperand               // a tile axis, by name
	TensorOperand             // a tensor parameter, by name
	List                      // a tensor written out in a graph, whose element type follows from its context
)

// Operand is the meaning of an expression of a kernel or fn before its context
// has given it a type.
type Operand struct {
	Mode   Mode
	At     lang.Span
	Expr   typed.Expr // typed, several
	Size   size.Size  // UntypedInt
	Number float64    // UntypedFloat, rounded
	// exact is an UntypedFloat as it is; nil of inf, nan, pi and what functions give.
	exact *big.Rat
	// ratio: an UntypedFloat that integers alone made, and which is whole only where 64 bits with sign do not hold it.
	ratio bool
	// dim: an UntypedInt of dimensions and constant parameters, which divide as integers do.
	dim bool
	// division are the operands of the quotient that an UntypedFloat is, where it stands written out.
	division []lang.Expr
	// Linear is a typed integer as an expression over dimensions and positions; nil when it is none.
	Linear *size.Size
	Elems  []Operand
	Types  []typed.Type // several: the types of expr
	Axis   *typed.Axis
	Param  *typed.Param
	Graph  typed.GExpr // TypedValue, in a graph
	List   *Listed
	// Old, of an effect that gives no value unless one is asked for, gives it.
	Old func() Operand
}

// Bad is what is in error, which has been said. It is called, not copied to hundreds of places: the binary is smaller.
//
//go:noinline
func Bad(at lang.Span) Operand { return Operand{Mode: Invalid, At: at} }

// IsUntyped reports a constant or a size, which adapts to its context.
func (o Operand) IsUntyped() bool { return o.Mode == UntypedInt || o.Mode == UntypedFloat }

// Type is that of one value of a kernel.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (o Operand) Type() typed.Type { return o.Expr.Types()[0] }

// DType is the element type of a typed operand, of a kernel or a graph.
func (o Operand) DType() typed.DType {
	if o.Graph != nil {
		return o.Graph.GType().DType
	}
	return o.Type().DType
}

// Constant is the value of a literal operand.
func (o Operand) Constant() (float64, bool) {
	switch o.Mode {
	case UntypedFloat:
		return o.Number, true
	case UntypedInt:
		n, ok := o.Size.Const()
		return float64(n), ok
	}
	return 0, false
}

// TypedOperand is an expression of a kernel that gives one value.
func TypedOperand(e typed.Expr) Operand { return Operand{Mode: TypedValue, At: e.Span(), Expr: e} }

// IntOperand is an integer constant.
func IntOperand(at lang.Span, n int64) Operand {
	return Operand{Mode: UntypedInt, At: at, Size: size.Const(n)}
}

// SizeOperand is an integer expression over dimensions and constant parameters.
func SizeOperand(at lang.Span, s size.Size) Operand {
	return Operand{Mode: UntypedInt, At: at, Size: s, dim: true}
}

func floatOperand(at lang.Span, f float64) Operand {
	return Operand{Mode: UntypedFloat, At: at, Number: f}
}

// BoolOperand is true or false.
func BoolOperand(at lang.Span, b bool) Operand {
	n := int64(0)
	if b {
		n = 1
	}
	return TypedOperand(&typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.Bool)}, At: at}, Int: n})
}

// Position is the integer that an operand is, for proofs; false when nothing is known of it.
func (o Operand) Position() (size.Size, bool) {
	switch {
	case o.Mode == UntypedInt:
		return o.Size, true
	case o.Mode == TypedValue && o.Linear != nil:
		return *o.Linear, true
	}
	return size.Size{}, false
}

// Convert gives an untyped operand the element type d; typed operands are returned as they are.
func (c *Checker) Convert(o Operand, d typed.DType) Operand {
	switch o.Mode {
	case UntypedInt:
		return c.convertInt(o, d)
	case UntypedFloat:
		t := typed.Typed{Type: typed.Type{DType: d}, At: o.At}
		f := o.rounded(d)
		switch {
		case o.ratio && typed.IsInt(d):
			return c.convertExact(o, d)
		case d.Param != nil && d.Param.Bound != "float", d.Param == nil && !d.Of.IsFloat():
			r := c.Errorf(lang.ErrConstantType, o.At, "the constant %v is no %s", o.Number, c.DescribeDType(d))
			const help = "write an integer, or convert the other operand to a float"
			if n := int64(o.Number); typed.IsInt(d) && float64(n) == o.Number && o.At.IsValid() {
				r.Replace(o.At, strconv.FormatInt(n, 10), help)
			} else {
				r.Help(help)
			}
			return Bad(o.At)
		case o.overflows(d):
			text := fmt.Sprintf("%g", o.Number)
			if o.exact != nil && math.IsInf(o.Number, 0) {
				text = fraction(o.exact)
			}
			c.Errorf(lang.ErrConstantType, o.At, "the constant %s is too large for %s", text, c.DescribeDType(d))
			return Bad(o.At)
		}
		c.lossy(o, o.Number, d)
		return Operand{Mode: TypedValue, At: o.At, Expr: &typed.Const{Typed: t, Float: f, Int: WholeInt(f)}}
	}
	return o
}

// WholeInt is a float as an integer, and 0 where it is none.
func WholeInt(f float64) int64 {
	if f == math.Trunc(f) && math.Abs(f) < 1<<62 {
		return int64(f)
	}
	return 0
}

func (c *Checker) convertInt(o Operand, d typed.DType) Operand {
	if d.Param == nil && d.Of == lang.Bool {
		c.Errorf(lang.ErrConstantType, o.At, "the integer %s is no bool", o.Size).Help("write true or false, or compare it: `%s != 0`", o.Size)
		return Bad(o.At)
	}
	size := o.Size
	n, isConst := size.Const()
	if isConst {
		if lo, hi, ok := IntRange(d); ok && (n < lo || n > hi) {
			c.Errorf(lang.ErrConstantType, o.At, "the constant %d does not fit %s, which holds %d to %d", n, c.DescribeDType(d), lo, hi).
				Help("write a constant in that range, or convert the other operand to a wider type")
			return Bad(o.At)
		}
		if d.Param == nil && d.Of.IsFloat() && d.Of.Bits() <= 32 && math.IsInf(float64(d.Of.Round(float32(n))), 0) {
			c.Errorf(lang.ErrConstantType, o.At, "the constant %d is too large for %s", n, d)
			return Bad(o.At)
		}
		c.lossy(o, float64(n), d)
		return Operand{Mode: TypedValue, At: o.At, Linear: &size, Expr: &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: d}, At: o.At}, Int: n, Float: float64(n)}}
	}
	if d == typed.Concrete(lang.I32) || d == typed.Concrete(lang.I64) {
		return Operand{Mode: TypedValue, At: o.At, Linear: &size, Expr: &typed.SizeExpr{Typed: typed.Typed{Type: typed.Type{DType: d}, At: o.At}, Size: size}}
	}
	i32 := &typed.SizeExpr{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.I32)}, At: o.At}, Size: size}
	return TypedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d}, At: o.At}, Op: lang.OpCast, Args: []typed.Expr{i32}})
}

// IntRange is the constants that an integer type holds; of a type parameter, that every type it may stand for holds.
func IntRange(d typed.DType) (lo, hi int64, ok bool) {
	if d.Param != nil {
		return -128, 255, d.Param.Bound == "int"
	}
	if !d.Of.IsInt() {
		return 0, 0, false
	}
	bits := d.Of.Bits()
	switch {
	case d.Of.IsSigned():
		return -1 << (bits - 1), 1<<(bits-1) - 1, true
	case bits == 64:
		return 0, math.MaxInt64, true
	}
	return 0, 1<<bits - 1, true
}

// Settle gives an untyped operand its default type: i32, f32, or u64 where only that holds an integer.
func (c *Checker) Settle(o Operand) Operand {
	if o.IsUntyped() {
		return c.Convert(o, o.DefaultType())
	}
	return o
}

// DescribeDType names an element type, for messages: of a type parameter, with its bound.
func (c *Checker) DescribeDType(d typed.DType) string {
	if d.Param != nil {
		return d.Param.Name + ": " + d.Param.Bound
	}
	return d.String()
}

// NamedConstant is one of the constants of the language.
func NamedConstant(name string, at lang.Span) (Operand, bool) {
	switch name {
	case "inf":
		return floatOperand(at, math.Inf(1)), true
	case "nan":
		return floatOperand(at, math.NaN()), true
	case "pi":
		return floatOperand(at, math.Pi), true
	}
	return Operand{}, false
}

// IsIndexType reports the types that positions have.
func IsIndexType(d typed.DType) bool {
	return d == typed.Concrete(lang.I32) || d == typed.Concrete(lang.I64)
}

// UntypedAt tells which of the n values have no type of their own yet.
func (o Operand) UntypedAt(n int) []bool {
	out := make([]bool, n)
	switch {
	case o.IsUntyped():
		out[0] = true
	case o.Mode == Several && o.Elems != nil:
		at := 0
		for _, e := range o.Elems {
			k := len(e.ValueTypes())
			copy(out[at:], e.UntypedAt(k))
			at += k
		}
	}
	return out
}
