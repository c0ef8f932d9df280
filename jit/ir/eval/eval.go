// Package eval evaluates elementwise operations on scalar constants: one table
// from operation to function, exact where the language says so and correctly
// rounded from f64 elsewhere. Folding uses it, and it is a reference that the
// backends are tested against.
package eval

import (
	"fmt"
	"math"
	"math/bits"

	"tilec/jit/ir"
	"tilec/lang"
	"tilec/lang/elementary"
)

// row evaluates one operation. A float result is rounded to the element type by
// the caller, an integer result wrapped to it; integers are given as their
// value, u64 as its bits.
type row struct {
	float     func(a [3]float64) float64
	int       func(d lang.DType, a [3]int64) int64
	floatTest func(a [3]float64) bool
	intTest   func(d lang.DType, a [3]int64) bool
}

func f1(f func(float64) float64) func([3]float64) float64 {
	return func(a [3]float64) float64 { return f(a[0]) }
}

func f2(f func(a, b float64) float64) func([3]float64) float64 {
	return func(a [3]float64) float64 { return f(a[0], a[1]) }
}

func i1(f func(d lang.DType, a int64) int64) func(lang.DType, [3]int64) int64 {
	return func(d lang.DType, a [3]int64) int64 { return f(d, a[0]) }
}

func i2(f func(d lang.DType, a, b int64) int64) func(lang.DType, [3]int64) int64 {
	return func(d lang.DType, a [3]int64) int64 { return f(d, a[0], a[1]) }
}

func compare(f func(sign int) bool, nan bool) row {
	return row{
		floatTest: func(a [3]float64) bool {
			switch {
			case a[0] < a[1]:
				return f(-1)
			case a[0] > a[1]:
				return f(1)
			case a[0] == a[1]:
				return f(0)
			}
			return nan
		},
		intTest: func(d lang.DType, a [3]int64) bool { return f(compareInts(d, a[0], a[1])) },
	}
}

func logic(f func(a, b bool) bool) row {
	return row{intTest: func(_ lang.DType, a [3]int64) bool { return f(a[0] != 0, a[1] != 0) }}
}

// compareInts compares integers: -1, 0 or 1.
func compareInts(d lang.DType, a, b int64) int {
	if d == lang.U64 {
		a, b = a^math.MinInt64, b^math.MinInt64
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func least(d lang.DType, a, b int64) int64 {
	if compareInts(d, b, a) < 0 {
		return b
	}
	return a
}

func greatest(d lang.DType, a, b int64) int64 {
	if compareInts(d, b, a) > 0 {
		return b
	}
	return a
}

func quotient(d lang.DType, a, b int64) int64 {
	switch {
	case b == 0:
		return 0
	case d == lang.U64:
		return int64(uint64(a) / uint64(b))
	}
	return a / b
}

func remainder(d lang.DType, a, b int64) int64 {
	switch {
	case b == 0:
		return a
	case d == lang.U64:
		return int64(uint64(a) % uint64(b))
	}
	return a % b
}

func floorQuotient(d lang.DType, a, b int64) int64 {
	q := quotient(d, a, b)
	if d.IsSigned() && b != 0 && a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func signOf(d lang.DType, a int64) int64 { return int64(compareInts(d, a, 0)) }

func magnitude(d lang.DType, a int64) int64 {
	if d.IsSigned() && a < 0 {
		return -a
	}
	return a
}

func shiftLeft(d lang.DType, a, n int64) int64 {
	if n < 0 || n >= int64(d.Bits()) {
		return 0
	}
	return a << n
}

func shiftRight(d lang.DType, a, n int64) int64 {
	if n < 0 || n >= int64(d.Bits()) {
		n = 63
		if !d.IsSigned() {
			return 0
		}
	}
	if d == lang.U64 {
		return int64(uint64(a) >> n)
	}
	return a >> n
}

// mask is a's bits in the type's width.
func mask(d lang.DType, a int64) uint64 { return uint64(a) << (64 - d.Bits()) >> (64 - d.Bits()) }

func sign(a float64) float64 {
	switch {
	case a > 0:
		return 1
	case a < 0:
		return -1
	}
	return a // zeros keep their sign, NaN stays NaN
}

// table has one row for each elementwise operation but cast and where, which Cast and Apply know.
var table = map[lang.Op]row{
	lang.OpAdd:      {float: f2(func(a, b float64) float64 { return a + b }), int: i2(func(_ lang.DType, a, b int64) int64 { return a + b })},
	lang.OpSub:      {float: f2(func(a, b float64) float64 { return a - b }), int: i2(func(_ lang.DType, a, b int64) int64 { return a - b })},
	lang.OpMul:      {float: f2(func(a, b float64) float64 { return a * b }), int: i2(func(_ lang.DType, a, b int64) int64 { return a * b })},
	lang.OpDiv:      {float: f2(func(a, b float64) float64 { return a / b }), int: i2(quotient)},
	lang.OpFloorDiv: {int: i2(floorQuotient)}, // of floats: the rounded quotient's floor, in Apply
	lang.OpMod:      {float: f2(math.Mod), int: i2(remainder)},
	lang.OpPow:      {float: f2(elementary.Pow)},
	lang.OpNeg:      {float: f1(func(a float64) float64 { return -a }), int: i1(func(_ lang.DType, a int64) int64 { return -a })},
	lang.OpAbs:      {float: f1(math.Abs), int: i1(magnitude)},
	lang.OpSign:     {float: f1(sign), int: i1(signOf)},
	lang.OpMin:      {float: f2(minimum), int: i2(least)},
	lang.OpMax:      {float: f2(maximum), int: i2(greatest)},
	lang.OpFma:      {float: func(a [3]float64) float64 { return math.FMA(a[0], a[1], a[2]) }}, // narrower than f64: fusedOdd, in Apply

	lang.OpExp:     {float: f1(elementary.Exp)},
	lang.OpExp2:    {float: f1(elementary.Exp2)},
	lang.OpExpm1:   {float: f1(elementary.Expm1)},
	lang.OpLog:     {float: f1(elementary.Log)},
	lang.OpLog2:    {float: f1(elementary.Log2)},
	lang.OpLog1p:   {float: f1(elementary.Log1p)},
	lang.OpSqrt:    {float: f1(math.Sqrt)},
	lang.OpRsqrt:   {float: f1(func(a float64) float64 { return 1 / math.Sqrt(a) })},
	lang.OpSin:     {float: f1(elementary.Sin)},
	lang.OpCos:     {float: f1(elementary.Cos)},
	lang.OpTan:     {float: f1(elementary.Tan)},
	lang.OpSinh:    {float: f1(elementary.Sinh)},
	lang.OpCosh:    {float: f1(elementary.Cosh)},
	lang.OpTanh:    {float: f1(elementary.Tanh)},
	lang.OpAtan2:   {float: f2(elementary.Atan2)},
	lang.OpErf:     {float: f1(elementary.Erf)},
	lang.OpSigmoid: {float: f1(elementary.Sigmoid)},
	lang.OpFloor:   {float: f1(math.Floor)},
	lang.OpCeil:    {float: f1(math.Ceil)},
	lang.OpTrunc:   {float: f1(math.Trunc)},
	lang.OpRound:   {float: f1(math.RoundToEven)},
	lang.OpIsNaN:   {floatTest: func(a [3]float64) bool { return math.IsNaN(a[0]) }},
	lang.OpIsInf:   {floatTest: func(a [3]float64) bool { return math.IsInf(a[0], 0) }},

	lang.OpAnd:      {int: i2(func(_ lang.DType, a, b int64) int64 { return a & b })},
	lang.OpOr:       {int: i2(func(_ lang.DType, a, b int64) int64 { return a | b })},
	lang.OpXor:      {int: i2(func(_ lang.DType, a, b int64) int64 { return a ^ b })},
	lang.OpNot:      {int: i1(func(_ lang.DType, a int64) int64 { return ^a })},
	lang.OpShl:      {int: i2(shiftLeft)},
	lang.OpShr:      {int: i2(shiftRight)},
	lang.OpPopcount: {int: i1(func(d lang.DType, a int64) int64 { return int64(bits.OnesCount64(mask(d, a))) })},
	lang.OpClz:      {int: i1(func(d lang.DType, a int64) int64 { return int64(bits.LeadingZeros64(mask(d, a)) - 64 + d.Bits()) })},

	lang.OpEq: compare(func(s int) bool { return s == 0 }, false),
	lang.OpNe: compare(func(s int) bool { return s != 0 }, true),
	lang.OpLt: compare(func(s int) bool { return s < 0 }, false),
	lang.OpLe: compare(func(s int) bool { return s <= 0 }, false),
	lang.OpGt: compare(func(s int) bool { return s > 0 }, false),
	lang.OpGe: compare(func(s int) bool { return s >= 0 }, false),

	lang.OpLogicAnd: logic(func(a, b bool) bool { return a && b }),
	lang.OpLogicOr:  logic(func(a, b bool) bool { return a || b }),
	lang.OpLogicNot: logic(func(a, _ bool) bool { return !a }),

	lang.OpRandomBits: {int: func(_ lang.DType, a [3]int64) int64 {
		return int64(RandomBits(uint64(a[0]), uint64(a[1]), uint64(a[2])))
	}},

	lang.OpClamp: {float: func(a [3]float64) float64 { return minimum(maximum(a[0], a[1]), a[2]) },
		int: func(d lang.DType, a [3]int64) int64 { return least(d, greatest(d, a[0], a[1]), a[2]) }},
}

// minimum and maximum give NaN when either is NaN, also beside an infinity,
// where math.Min and math.Max do not; -0 is less than 0.
func minimum(a, b float64) float64 {
	if a != a || b != b {
		return math.NaN()
	}
	return math.Min(a, b)
}

func maximum(a, b float64) float64 {
	if a != a || b != b {
		return math.NaN()
	}
	return math.Max(a, b)
}

// Has reports whether Apply evaluates the operation.
func Has(code lang.Op) bool {
	_, ok := table[code]
	return ok || code == lang.OpWhere
}

// Apply evaluates an elementwise operation other than cast on scalars of
// element type d (of `where`, the type of the values chosen from). The result
// has type d, or bool for comparisons, tests and logic. It panics on an
// operation that the type rules refuse.
func Apply(code lang.Op, d lang.DType, args ...ir.Const) ir.Const {
	if code == lang.OpWhere {
		if args[0].Int != 0 {
			return args[1]
		}
		return args[2]
	}
	r, ok := table[code]
	if !ok {
		panic(fmt.Sprintf("eval: %s is not elementwise", code))
	}
	if d.IsFloat() {
		var a [3]float64
		for i, c := range args {
			a[i] = c.Float
		}
		switch {
		case r.floatTest != nil:
			return truth(r.floatTest(a))
		case code == lang.OpFloorDiv:
			// The quotient is rounded as arithmetic on d is carried out: in f32 for narrower types.
			return ir.Const{Float: Round(math.Floor(Round(a[0]/a[1], d.Accumulator())), d)}
		case code == lang.OpFma && d != lang.F64:
			return ir.Const{Float: Round(fusedOdd(a[0], a[1], a[2]), d)}
		case r.float != nil && !code.Rounds():
			return ir.Const{Float: r.float(a)}
		case r.float != nil:
			return ir.Const{Float: Round(r.float(a), d)}
		}
	} else {
		var a [3]int64
		for i, c := range args {
			a[i] = c.Int
		}
		switch {
		case r.intTest != nil:
			return truth(r.intTest(d, a))
		case r.int != nil:
			return ir.Const{Int: Wrap(r.int(d, a), d)}
		}
	}
	panic(fmt.Sprintf("eval: %s of %s", code, d))
}

func truth(b bool) ir.Const {
	if b {
		return ir.Const{Int: 1}
	}
	return ir.Const{}
}
