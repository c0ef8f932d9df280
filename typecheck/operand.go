package typecheck

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// mode says what an operand is.
type mode uint8

const (
	invalid       mode = iota // already reported: silences what depends on it
	noValue                   // a statement without a value
	typedValue                // one value of a known type
	untypedInt                // an integer constant, or an integer expression over dimensions
	untypedFloat              // a float constant
	several                   // several values: elems, or one expression that gives them
	axisOperand               // a tile axis, by name
	tensorOperand             // a tensor parameter, by name
	list                      // a tensor written out in a graph, whose element type follows from its context
)

// operand is the meaning of an expression of a kernel or fn before its context
// has given it a type.
type operand struct {
	mode mode
	at   lang.Span
	expr typed.Expr // typed, several
	size size.Size  // untypedInt
	num  float64    // untypedFloat, rounded
	// exact is an untypedFloat as it is; nil of inf, nan, pi and what functions give.
	exact *big.Rat
	// ratio: an untypedFloat that integers alone made, and which is whole only where 64 bits with sign do not hold it.
	ratio bool
	// dim: an untypedInt of dimensions and constant parameters, which divide as integers do.
	dim bool
	// division are the operands of the quotient that an untypedFloat is, where it stands written out.
	division []lang.Expr
	// lin is a typed integer as an expression over dimensions and positions; nil when it is none.
	lin   *size.Size
	elems []operand
	types []typed.Type // several: the types of expr
	axis  *typed.Axis
	param *typed.Param
	graph typed.GExpr // typedValue, in a graph
	list  *listed
	// old, of an effect that gives no value unless one is asked for, gives it.
	old func() operand
}

func bad(at lang.Span) operand { return operand{mode: invalid, at: at} }

func (o operand) isUntyped() bool { return o.mode == untypedInt || o.mode == untypedFloat }

func (o operand) typ() typed.Type { return o.expr.Types()[0] }

// dtype is the element type of a typed operand, of a kernel or a graph.
func (o operand) dtype() typed.DType {
	if o.graph != nil {
		return o.graph.GType().DType
	}
	return o.typ().DType
}

// constant is the value of a literal operand.
func (o operand) constant() (float64, bool) {
	switch o.mode {
	case untypedFloat:
		return o.num, true
	case untypedInt:
		n, ok := o.size.Const()
		return float64(n), ok
	}
	return 0, false
}

func typedOperand(e typed.Expr) operand { return operand{mode: typedValue, at: e.Span(), expr: e} }

func intOperand(at lang.Span, n int64) operand {
	return operand{mode: untypedInt, at: at, size: size.Const(n)}
}

func sizeOperand(at lang.Span, s size.Size) operand {
	return operand{mode: untypedInt, at: at, size: s, dim: true}
}

func floatOperand(at lang.Span, f float64) operand {
	return operand{mode: untypedFloat, at: at, num: f}
}

func boolOperand(at lang.Span, b bool) operand {
	n := int64(0)
	if b {
		n = 1
	}
	return typedOperand(&typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.Bool)}, At: at}, Int: n})
}

// position is the integer that an operand is, for proofs; false when nothing is known of it.
func (o operand) position() (size.Size, bool) {
	switch {
	case o.mode == untypedInt:
		return o.size, true
	case o.mode == typedValue && o.lin != nil:
		return *o.lin, true
	}
	return size.Size{}, false
}

// convert gives an untyped operand the element type d; typed operands are returned as they are.
func (c *checker) convert(o operand, d typed.DType) operand {
	switch o.mode {
	case untypedInt:
		return c.convertInt(o, d)
	case untypedFloat:
		t := typed.Typed{Type: typed.Type{DType: d}, At: o.at}
		f := o.rounded(d)
		switch {
		case o.ratio && typed.IsInt(d):
			return c.convertExact(o, d)
		case d.Param != nil && d.Param.Bound != "float", d.Param == nil && !d.Of.IsFloat():
			r := c.Errorf(lang.ErrConstantType, o.at, "the constant %v is no %s", o.num, c.describeDType(d))
			const help = "write an integer, or convert the other operand to a float"
			if n := int64(o.num); typed.IsInt(d) && float64(n) == o.num && o.at.IsValid() {
				r.replace(o.at, strconv.FormatInt(n, 10), help)
			} else {
				r.help(help)
			}
			return bad(o.at)
		case o.overflows(d):
			text := fmt.Sprintf("%g", o.num)
			if o.exact != nil && math.IsInf(o.num, 0) {
				text = fraction(o.exact)
			}
			c.Errorf(lang.ErrConstantType, o.at, "the constant %s is too large for %s", text, c.describeDType(d))
			return bad(o.at)
		}
		c.lossy(o, o.num, d)
		return operand{mode: typedValue, at: o.at, expr: &typed.Const{Typed: t, Float: f, Int: wholeInt(f)}}
	}
	return o
}

func wholeInt(f float64) int64 {
	if f == math.Trunc(f) && math.Abs(f) < 1<<62 {
		return int64(f)
	}
	return 0
}

func (c *checker) convertInt(o operand, d typed.DType) operand {
	if d.Param == nil && d.Of == lang.Bool {
		c.Errorf(lang.ErrConstantType, o.at, "the integer %s is no bool", o.size).help("write true or false, or compare it: `%s != 0`", o.size)
		return bad(o.at)
	}
	size := o.size
	n, isConst := size.Const()
	if isConst {
		if lo, hi, ok := intRange(d); ok && (n < lo || n > hi) {
			c.Errorf(lang.ErrConstantType, o.at, "the constant %d does not fit %s, which holds %d to %d", n, c.describeDType(d), lo, hi).
				help("write a constant in that range, or convert the other operand to a wider type")
			return bad(o.at)
		}
		if d.Param == nil && d.Of.IsFloat() && d.Of.Bits() <= 32 && math.IsInf(float64(d.Of.Round(float32(n))), 0) {
			c.Errorf(lang.ErrConstantType, o.at, "the constant %d is too large for %s", n, d)
			return bad(o.at)
		}
		c.lossy(o, float64(n), d)
		return operand{mode: typedValue, at: o.at, lin: &size, expr: &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: d}, At: o.at}, Int: n, Float: float64(n)}}
	}
	if d == typed.Concrete(lang.I32) || d == typed.Concrete(lang.I64) {
		return operand{mode: typedValue, at: o.at, lin: &size, expr: &typed.SizeExpr{Typed: typed.Typed{Type: typed.Type{DType: d}, At: o.at}, Size: size}}
	}
	i32 := &typed.SizeExpr{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.I32)}, At: o.at}, Size: size}
	return typedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d}, At: o.at}, Op: lang.OpCast, Args: []typed.Expr{i32}})
}

// intRange is the constants that an integer type holds; of a type parameter, that every type it may stand for holds.
func intRange(d typed.DType) (lo, hi int64, ok bool) {
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

// settle gives an untyped operand its default type: i32, f32, or u64 where only that holds an integer.
func (c *checker) settle(o operand) operand {
	if o.isUntyped() {
		return c.convert(o, o.defaultType())
	}
	return o
}

func (c *checker) describeDType(d typed.DType) string {
	if d.Param != nil {
		return d.Param.Name + ": " + d.Param.Bound
	}
	return d.String()
}

// namedConstant is one of the constants of the language.
func namedConstant(name string, at lang.Span) (operand, bool) {
	switch name {
	case "inf":
		return floatOperand(at, math.Inf(1)), true
	case "nan":
		return floatOperand(at, math.NaN()), true
	case "pi":
		return floatOperand(at, math.Pi), true
	}
	return operand{}, false
}

// isIndexType reports the types that positions have.
func isIndexType(d typed.DType) bool {
	return d == typed.Concrete(lang.I32) || d == typed.Concrete(lang.I64)
}

// untypedAt tells which of the n values have no type of their own yet.
func (o operand) untypedAt(n int) []bool {
	out := make([]bool, n)
	switch {
	case o.isUntyped():
		out[0] = true
	case o.mode == several && o.elems != nil:
		at := 0
		for _, e := range o.elems {
			k := len(e.valueTypes())
			copy(out[at:], e.untypedAt(k))
			at += k
		}
	}
	return out
}
