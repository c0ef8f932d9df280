package pass

import (
	"math"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

var fold = Pass{
	Name:  "fold",
	Doc:   "computes what is constant, and drops operations that change nothing",
	Cheap: true,
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		return rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			for _, simplify := range simplifications {
				if v := simplify(b, op); v != nil {
					return []*ir.Value{v}, true
				}
			}
			return foldRegion(b, op)
		}), nil
	},
	Before: `kernel @k {
  dim N = 8
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis i : grid N by B = ?
body:
  %0 = index i : i32{i}
  %1 = load %x[%0] : f32{i}
  %2 = const 2 : f32
  %3 = const 0.5 : f32
  %4 = mul %2, %3 : f32
  %5 = mul %1, %4 : f32{i}
  store %y[%0] = %5
}
`,
	After: `kernel @k {
  dim N = 8
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis i : grid N by B = ?
body:
  %0 = index i : i32{i}
  %1 = load %x[%0] : f32{i}
  %2 = const 2 : f32
  %3 = const 0.5 : f32
  %6 = const 1 : f32
  store %y[%0] = %1
}
`,
}

// simplifications give a value that stands for the operation's result, or nil.
var simplifications = []func(*ir.Builder, *ir.Op) *ir.Value{
	foldSize, foldWhole, foldConstants, foldIdentity, foldNegation, foldPower, foldQuotient, foldSelf, foldDigits, foldTwice, foldWhere, foldCast, foldFull, foldChecks,
}

// constant emits a constant of the type, spread over its axes.
func constant(b *ir.Builder, t ir.Type, c ir.Const) *ir.Value {
	if t.DType.HasInfinity() && math.IsInf(c.Float, 0) {
		// Rounding would saturate; this one comes of an operation that does not round.
		c = ir.Const{Float: c.Float}
	} else if t.DType.IsFloat() {
		c = ir.Const{Float: eval.Round(c.Float, t.DType)}
	} else {
		c = ir.Const{Int: eval.Wrap(c.Int, t.DType)}
	}
	v := b.Const(t.DType, c)
	if !t.IsScalar() {
		v = b.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{v}, Axes: t.Axes})[0]
	}
	return v
}

func foldSize(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code == lang.OpSize && op.Dim.Known() {
		return b.Const(op.Dim.Counts(), ir.Const{Int: op.Dim.Value})
	}
	return nil
}

// foldConstants evaluates operations whose arguments are all constant, and
// rounds literals to the type that they have.
// foldWhole knows where a whole axis starts and ends.
func foldWhole(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Axis == nil || op.Axis.Kind != ir.Whole {
		return nil
	}
	switch op.Code {
	case lang.OpStart:
		return constant(b, op.Result().Type, ir.Const{Int: op.Axis.Lo})
	case lang.OpEnd:
		return constant(b, op.Result().Type, ir.Const{Int: op.Axis.Lo + op.Axis.Len})
	}
	return nil
}

// foldNegation gives an integer's negation its one form, which backends know.
func foldNegation(b *ir.Builder, op *ir.Op) *ir.Value {
	if len(op.Args) != 2 || !op.Args[0].Type.DType.IsInt() {
		return nil
	}
	x := (*ir.Value)(nil)
	left, leftConst := op.Args[0].IsConst()
	right, rightConst := op.Args[1].IsConst()
	minusOne := eval.Wrap(-1, op.Args[0].Type.DType)
	switch {
	case op.Code == lang.OpSub && leftConst && left.Int == 0, op.Code == lang.OpMul && leftConst && left.Int == minusOne:
		x = op.Args[1]
	case op.Code == lang.OpMul && rightConst && right.Int == minusOne:
		x = op.Args[0]
	}
	if x == nil || !x.Type.Same(op.Result().Type) {
		return nil
	}
	return b.Op(lang.OpNeg, x)
}

// foldPower makes products of small whole powers, which take tens of instructions as functions: x ** 2 is the same number, and x ** 3 and
// x ** 4, of two and three roundings, stay within the bound of powers. Of narrow floats these would round at their own width.
func foldPower(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpPow {
		return nil
	}
	c, ok := op.Args[1].IsConst()
	x, d := op.Args[0], op.Args[0].Type.DType
	if !ok || !x.Type.Same(op.Result().Type) {
		return nil
	}
	switch wide := d.Bits() >= 32; {
	case c.Float == 2:
		return b.Op(lang.OpMul, x, x)
	case c.Float == 3 && wide:
		return b.Op(lang.OpMul, b.Op(lang.OpMul, x, x), x)
	case c.Float == 4 && wide:
		square := b.Op(lang.OpMul, x, x)
		return b.Op(lang.OpMul, square, square)
	case c.Float == -1:
		return b.Op(lang.OpDiv, b.Const(d, ir.Const{Float: 1}), x)
	}
	return nil
}

// foldQuotient multiplies by the inverse of a power of two, which gives the same bits.
func foldQuotient(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpDiv || !op.Result().Type.DType.IsFloat() {
		return nil
	}
	c, ok := op.Args[1].IsConst()
	x, d := op.Args[0], op.Result().Type.DType
	inverse := 1 / c.Float
	if mantissa, _ := math.Frexp(math.Abs(c.Float)); !ok || mantissa != 0.5 || !x.Type.Same(op.Result().Type) || eval.Round(inverse, d) != inverse {
		return nil
	}
	return b.Op(lang.OpMul, x, b.Const(d, ir.Const{Float: inverse}))
}

func foldConstants(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code == lang.OpConst {
		t := op.Result().Type
		c := op.Const
		switch d := t.DType; {
		case d.HasInfinity() && math.IsInf(c.Float, 0): // the identity of a reduction: see first
		case d.IsFloat() && (c.Float != c.Float || eval.Round(c.Float, d) == c.Float):
		case !d.IsFloat() && eval.Wrap(c.Int, d) == c.Int:
		default:
			return constant(b, t, c)
		}
		return nil
	}
	if !op.Code.Row().Elementwise {
		return nil
	}
	args := make([]ir.Const, len(op.Args))
	for i, a := range op.Args {
		c, ok := a.IsConst()
		if !ok {
			return nil
		}
		args[i] = c
	}
	t, d := op.Result().Type, op.Args[len(op.Args)-1].Type.DType
	switch op.Code {
	case lang.OpCast:
		return constant(b, t, eval.Cast(args[0], d, t.DType))
	case lang.OpBitcast:
		return constant(b, t, eval.Bitcast(args[0], d, t.DType))
	}
	return constant(b, t, eval.Apply(op.Code, d, args...))
}

// identity says that an operation with the constant on a side gives the other
// operand, or, where absorbs is set, the constant itself.
type identity struct {
	code        lang.Op
	left, right bool // the sides on which the constant may be
	float       bool // for floats; else for integers
	is          func(c ir.Const, d lang.DType) bool
	absorbs     bool
}

func intIs(n int64) func(ir.Const, lang.DType) bool {
	return func(c ir.Const, d lang.DType) bool { return c.Int == eval.Wrap(n, d) }
}

// floatIs compares bits: -0 is not 0.
func floatIs(v float64) func(ir.Const, lang.DType) bool {
	return func(c ir.Const, _ lang.DType) bool { return math.Float64bits(c.Float) == math.Float64bits(v) }
}

var negativeZero = math.Copysign(0, -1)

// What is not here is not true of every value: x + 0 is 0 for -0, and x * 0 is
// not 0 for infinities, NaN and negatives.
var identities = []identity{
	{lang.OpAdd, true, true, true, floatIs(negativeZero), false},
	{lang.OpSub, false, true, true, floatIs(0), false},
	{lang.OpMul, true, true, true, floatIs(1), false},
	{lang.OpDiv, false, true, true, floatIs(1), false},
	{lang.OpMax, true, true, true, floatIs(math.Inf(-1)), false},
	{lang.OpMin, true, true, true, floatIs(math.Inf(1)), false},
	{lang.OpPow, false, true, true, floatIs(1), false},

	{lang.OpAdd, true, true, false, intIs(0), false},
	{lang.OpSub, false, true, false, intIs(0), false},
	{lang.OpMul, true, true, false, intIs(1), false},
	{lang.OpMul, true, true, false, intIs(0), true},
	{lang.OpDiv, false, true, false, intIs(1), false},
	{lang.OpFloorDiv, false, true, false, intIs(1), false},
	{lang.OpDiv, true, true, false, intIs(0), true}, // x / 0 is 0
	{lang.OpFloorDiv, true, true, false, intIs(0), true},
	{lang.OpMod, true, false, false, intIs(0), true},
	{lang.OpMod, false, true, false, intIs(0), false}, // x % 0 is x
	{lang.OpAnd, true, true, false, intIs(-1), false},
	{lang.OpAnd, true, true, false, intIs(0), true},
	{lang.OpOr, true, true, false, intIs(0), false},
	{lang.OpOr, true, true, false, intIs(-1), true},
	{lang.OpXor, true, true, false, intIs(0), false},
	{lang.OpShl, false, true, false, intIs(0), false},
	{lang.OpShr, false, true, false, intIs(0), false},
	{lang.OpLogicAnd, true, true, false, intIs(1), false},
	{lang.OpLogicAnd, true, true, false, intIs(0), true},
	{lang.OpLogicOr, true, true, false, intIs(0), false},
	{lang.OpLogicOr, true, true, false, intIs(1), true},
}

func foldIdentity(b *ir.Builder, op *ir.Op) *ir.Value {
	if len(op.Args) != 2 || len(op.Results) != 1 {
		return nil
	}
	t, d := op.Result().Type, op.Args[0].Type.DType
	for side, v := range op.Args {
		c, ok := v.IsConst()
		if !ok {
			continue
		}
		other := op.Args[1-side]
		for _, id := range identities {
			if id.code != op.Code || id.float != d.IsFloat() || !(side == 0 && id.left || side == 1 && id.right) || !id.is(c, d) {
				continue
			}
			if id.absorbs {
				return constant(b, t, c)
			}
			if other.Type.Same(t) {
				return other
			}
		}
	}
	return nil
}

// foldSelf knows operations of a value with itself.
func foldSelf(b *ir.Builder, op *ir.Op) *ir.Value {
	if len(op.Args) != 2 || op.Args[0] != op.Args[1] {
		return nil
	}
	switch op.Code {
	case lang.OpAnd, lang.OpOr, lang.OpMin, lang.OpMax, lang.OpLogicAnd, lang.OpLogicOr:
		return op.Args[0]
	case lang.OpSub, lang.OpXor:
		if t := op.Result().Type; t.DType.IsInt() {
			return constant(b, t, ir.Const{})
		}
	}
	return nil
}

// foldTwice drops operations that undo themselves.
func foldTwice(_ *ir.Builder, op *ir.Op) *ir.Value {
	switch op.Code {
	case lang.OpNeg, lang.OpNot, lang.OpLogicNot:
		if inner := op.Args[0].Def; inner != nil && inner.Code == op.Code {
			return inner.Args[0]
		}
	}
	return nil
}

func foldWhere(_ *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpWhere {
		return nil
	}
	chosen := op.Args[1]
	if c, ok := op.Args[0].IsConst(); ok && c.Int == 0 {
		chosen = op.Args[2]
	} else if !ok && op.Args[1] != op.Args[2] {
		return nil
	}
	if chosen.Type.Same(op.Result().Type) {
		return chosen
	}
	return nil
}

// foldCast drops a cast to the same type, and goes past a widening cast in between.
func foldCast(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpCast {
		return nil
	}
	x, to := op.Args[0], op.Result().Type.DType
	if x.Type.DType == to {
		return x
	}
	inner := x.Def
	if inner == nil || inner.Code != lang.OpCast {
		return nil
	}
	from, via := inner.Args[0].Type.DType, x.Type.DType
	// From an integer by way of a float to an integer saturates, directly it wraps.
	saturates := from.IsInt() && via.IsFloat() && to.IsInt() && !to.Holds(from)
	if !via.Holds(from) || saturates {
		return nil
	}
	return b.Cast(inner.Args[0], to)
}

func foldFull(_ *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code == lang.OpFull && len(op.Axes) == 0 {
		return op.Args[0]
	}
	return nil
}

// foldRegion resolves an `if` by a constant and a `for` without a step.
func foldRegion(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
	switch op.Code {
	case lang.OpIf:
		c, ok := op.Args[0].IsConst()
		if !ok {
			return nil, false
		}
		chosen := op.Blocks[0]
		if c.Int == 0 {
			chosen = op.Blocks[1]
		}
		b.Block.Ops = append(b.Block.Ops, chosen.Ops...)
		return chosen.Yield, true
	case lang.OpFor:
		lo, okLo := op.Args[0].IsConst()
		hi, okHi := op.Args[1].IsConst()
		if okLo && okHi && lo.Int >= hi.Int {
			return op.Args[2:], true
		}
	}
	return nil, false
}
