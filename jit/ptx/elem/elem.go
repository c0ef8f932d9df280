// Package elem is the PTX code of one element: arithmetic, functions, comparisons, conversions, packing, of every data
// type. It knows registers and data types; it must not know tiles, layouts, kernels or memory.
package elem

import (
	"fmt"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// elem is one elementwise operation to be emitted: its operands, in their
// register classes, and the operand type (of the two values for `where`).
type elem struct {
	*asm.Builder
	d    lang.DType
	args []asm.Reg
	// approx permits the hardware's fast forms.
	approx bool
}

// emitter emits an operation and gives its result.
type emitter func(e elem) asm.Reg

// emitters holds an operation's code by class of element type; nil where the
// type rules allow no such operand. Floats up to 32 bits are computed in f32.
type emitters struct {
	boolean, integer, float emitter
	// rounds: the float result may need rounding to a narrow type.
	rounds bool
}

// Apply emits an operation on one element and gives the register of its result:
// of type d, or a predicate for comparisons and tests. Casts are emitted by Cast and Bitcast.
func Apply(a *asm.Builder, op lang.Op, d lang.DType, args []asm.Reg, approx bool) asm.Reg {
	row := elementTable[op]
	e := elem{Builder: a, d: d, args: args, approx: approx}
	switch {
	case d == lang.Bool && row.boolean != nil:
		return row.boolean(e)
	case d.IsInt() && row.integer != nil:
		r := row.integer(e)
		noteSpan(a, op, d, args, r)
		return r
	case d.IsFloat() && row.float != nil:
		r := row.float(e)
		if row.rounds {
			r = roundTo(a, d, r)
		}
		return r
	}
	panic(fmt.Sprintf("elem: no code for %s of %s", op, d))
}

var elementTable = map[lang.Op]emitters{
	lang.OpAdd:      {integer: wrapped("add"), float: plain("add"), rounds: true},
	lang.OpSub:      {integer: wrapped("sub"), float: plain("sub"), rounds: true},
	lang.OpMul:      {integer: wrapped("mul.lo"), float: plain("mul"), rounds: true},
	lang.OpDiv:      {integer: intDiv, float: floatDiv, rounds: true},
	lang.OpFloorDiv: {integer: intFloorDiv, float: floatFloorDiv, rounds: true},
	lang.OpMod:      {integer: intMod, float: floatMod},
	lang.OpNeg:      {integer: intNeg, float: plain("neg")},
	lang.OpAbs:      {integer: intAbs, float: plain("abs")},
	lang.OpSign:     {integer: intSign, float: floatSign},
	lang.OpMin:      {integer: plain("min"), float: floatExtreme("min")},
	lang.OpMax:      {integer: plain("max"), float: floatExtreme("max")},
	lang.OpClamp:    {integer: clampOf(plain("min"), plain("max")), float: clampOf(floatExtreme("min"), floatExtreme("max"))},
	lang.OpFma:      {float: floatFma},

	lang.OpPow:     {float: mathOp2(flt.powOf), rounds: true},
	lang.OpExp:     {float: mathOp(flt.expOf, approxExp), rounds: true},
	lang.OpExp2:    {float: mathOp(flt.exp2Of, approxBy("ex2.approx.ftz.f32")), rounds: true},
	lang.OpExpm1:   {float: mathOp(flt.expm1Of, nil), rounds: true},
	lang.OpLog:     {float: mathOp(flt.logOf, approxLog), rounds: true},
	lang.OpLog2:    {float: mathOp(flt.log2Of, approxBy("lg2.approx.ftz.f32")), rounds: true},
	lang.OpLog1p:   {float: mathOp(flt.log1pOf, nil), rounds: true},
	lang.OpSqrt:    {float: mathOp(flt.sqrtOf, approxBy("sqrt.approx.ftz.f32")), rounds: true},
	lang.OpRsqrt:   {float: mathOp(flt.rsqrtOf, approxBy("rsqrt.approx.ftz.f32")), rounds: true},
	lang.OpSin:     {float: mathOp(flt.sinOf, approxBy("sin.approx.ftz.f32")), rounds: true},
	lang.OpCos:     {float: mathOp(flt.cosOf, approxBy("cos.approx.ftz.f32")), rounds: true},
	lang.OpTan:     {float: mathOp(flt.tanOf, approxTan), rounds: true},
	lang.OpSinh:    {float: mathOp(flt.sinhOf, nil), rounds: true},
	lang.OpCosh:    {float: mathOp(flt.coshOf, nil), rounds: true},
	lang.OpTanh:    {float: mathOp(flt.tanhOf, approxBy("tanh.approx.f32")), rounds: true},
	lang.OpAtan2:   {float: mathOp2(flt.atan2Of), rounds: true},
	lang.OpErf:     {float: mathOp(flt.erfOf, nil), rounds: true},
	lang.OpSigmoid: {float: mathOp(flt.sigmoidOf, approxSigmoid), rounds: true},

	// Whole numbers next to a narrow float are numbers of its type.
	lang.OpFloor: {float: towards("cvt.rmi")},
	lang.OpCeil:  {float: towards("cvt.rpi")},
	lang.OpTrunc: {float: towards("cvt.rzi")},
	lang.OpRound: {float: towards("cvt.rni")},
	lang.OpIsNaN: {float: isNaN},
	lang.OpIsInf: {float: isInf},

	lang.OpAnd:      {integer: bitwise("and")},
	lang.OpOr:       {integer: bitwise("or")},
	lang.OpXor:      {integer: bitwise("xor")},
	lang.OpNot:      {integer: bitwise("not")},
	lang.OpShl:      {integer: shiftLeft},
	lang.OpShr:      {integer: shiftRight},
	lang.OpPopcount: {integer: popcount},
	lang.OpClz:      {integer: clz},

	lang.OpEq: {boolean: boolEq, integer: compare("eq"), float: compare("eq")},
	lang.OpNe: {boolean: logic("xor"), integer: compare("ne"), float: compare("neu")},
	lang.OpLt: {boolean: boolLess(0, 1), integer: compare("lt"), float: ordered("geu")},
	lang.OpLe: {boolean: boolLessEq(0, 1), integer: compare("le"), float: ordered("gtu")},
	lang.OpGt: {boolean: boolLess(1, 0), integer: compare("gt"), float: ordered("leu")},
	lang.OpGe: {boolean: boolLessEq(1, 0), integer: compare("ge"), float: ordered("ltu")},

	lang.OpLogicAnd: {boolean: logic("and")},
	lang.OpLogicOr:  {boolean: logic("or")},
	lang.OpLogicNot: {boolean: logic("not")},

	lang.OpRandomBits: {integer: randomBits},

	lang.OpWhere: {boolean: boolWhere, integer: where, float: where},
}

// ClassOf is the register class that holds one element of a type: floats up to
// 32 bits in .f32, integers up to 32 bits in .b32 (extended by their sign), 64-bit types
// in their own, bool in a predicate.
func ClassOf(d lang.DType) asm.Class {
	switch {
	case d == lang.Bool:
		return asm.Pred
	case d == lang.F64:
		return asm.F64
	case d.IsFloat():
		return asm.F32
	case d.Bits() == 64:
		return asm.B64
	}
	return asm.B32
}

// Suffix is the type of an instruction on a value of type d: .s32, .u64, .f32 ...
func Suffix(d lang.DType) string {
	switch {
	case d == lang.F64:
		return ".f64"
	case d.IsFloat():
		return ".f32"
	}
	kind := ".u"
	if d.IsSigned() {
		kind = ".s"
	}
	if d.Bits() == 64 {
		return kind + "64"
	}
	return kind + "32"
}

// BitsSuffix is the untyped form of Suffix: .b32 or .b64.
func BitsSuffix(d lang.DType) string {
	if d.Bits() == 64 {
		return ".b64"
	}
	return ".b32"
}

// emit emits one instruction of the operand type on the registers and constants given.
func (e elem) emit(name string, xs ...asm.Operand) asm.Reg {
	return e.Op(ClassOf(e.d), name+Suffix(e.d), xs...)
}

// operands are the arguments as an instruction takes them.
func (e elem) operands() []asm.Operand {
	xs := make([]asm.Operand, len(e.args))
	for i, r := range e.args {
		xs[i] = r
	}
	return xs
}

// plain is one instruction.
func plain(name string) emitter {
	return func(e elem) asm.Reg { return e.emit(name, e.operands()...) }
}

// compare is one setp.
func compare(cond string) emitter {
	return func(e elem) asm.Reg { return e.Op(asm.Pred, "setp."+cond+Suffix(e.d), e.args[0], e.args[1]) }
}

// ordered compares floats by the opposite comparison that is true with NaN, and
// so is false with NaN. The direct way is not to be had: ptxas 12.4 and 13.0 make
// `setp.gt.f32 p, |x|, -1` always true, which it is not for NaN.
func ordered(opposite string) emitter {
	unordered := compare(opposite)
	return func(e elem) asm.Reg { return e.not(unordered(e)) }
}

func where(e elem) asm.Reg {
	s := BitsSuffix(e.d)
	if e.d.IsFloat() {
		s = Suffix(e.d)
	}
	return e.Op(ClassOf(e.d), "selp"+s, e.args[1], e.args[2], e.args[0])
}

// clampOf is min(max(x, lo), hi), of the operand class's own min and max.
func clampOf(min, max emitter) emitter {
	return func(e elem) asm.Reg {
		lower, upper := e, e
		lower.args = e.args[:2]
		upper.args = []asm.Reg{max(lower), e.args[2]}
		return min(upper)
	}
}

// Booleans are predicates.

func logic(name string) emitter {
	return func(e elem) asm.Reg { return e.Op(asm.Pred, name+".pred", e.operands()...) }
}

func (e elem) not(p asm.Reg) asm.Reg { return e.Op(asm.Pred, "not.pred", p) }

func boolEq(e elem) asm.Reg { return e.not(logic("xor")(e)) }

// boolLess is not args[i] and args[j]: false is less than true.
func boolLess(i, j int) emitter {
	return func(e elem) asm.Reg { return e.Op(asm.Pred, "and.pred", e.not(e.args[i]), e.args[j]) }
}

func boolLessEq(i, j int) emitter {
	return func(e elem) asm.Reg { return e.Op(asm.Pred, "or.pred", e.not(e.args[i]), e.args[j]) }
}

func boolWhere(e elem) asm.Reg {
	yes := e.Op(asm.Pred, "and.pred", e.args[0], e.args[1])
	no := e.Op(asm.Pred, "and.pred", e.not(e.args[0]), e.args[2])
	return e.Op(asm.Pred, "or.pred", yes, no)
}
