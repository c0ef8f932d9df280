package lang

// This file is the operation table: one row an operation. The type checker,
// the tile IR, the documentation and the tests read it; each backend has its
// own table from Op to code, and a test fails when a row has no entry there.

// Op names an operation. Its row is in the operation table.
type Op uint16

// The operations.
const (
	OpInvalid Op = iota

	// math
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpFloorDiv
	OpMod
	OpPow
	OpNeg
	OpAbs
	OpSign
	OpMin
	OpMax
	OpFma
	OpExp
	OpExp2
	OpExpm1
	OpLog
	OpLog2
	OpLog1p
	OpSqrt
	OpRsqrt
	OpSin
	OpCos
	OpTan
	OpSinh
	OpCosh
	OpTanh
	OpAtan2
	OpErf
	OpSigmoid
	OpFloor
	OpCeil
	OpTrunc
	OpRound
	OpIsNaN
	OpIsInf

	// bits
	OpAnd
	OpOr
	OpXor
	OpNot
	OpShl
	OpShr
	OpPopcount
	OpClz

	// compare
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe

	// logic
	OpLogicAnd
	OpLogicOr
	OpLogicNot

	// select
	OpWhere
	OpClamp

	// convert
	OpCast
	OpBitcast

	// create
	OpConst
	OpFull
	OpIndex
	OpStart
	OpEnd
	OpSize
	OpRandomBits

	// memory
	OpLoad
	OpStore
	OpAtomicAdd
	OpAtomicMax
	OpAtomicMin
	OpAtomicAnd
	OpAtomicOr
	OpAtomicXor
	OpAtomicXchg
	OpAtomicCas

	// reduce
	OpSum
	OpProd
	OpReduceMax
	OpReduceMin
	OpMean
	OpAny
	OpAll
	OpArgMax
	OpArgMin

	// scan
	OpReduce
	OpScan
	OpCumSum
	OpCumProd
	// sort
	OpSort
	OpTopK

	// contract
	OpDot
	OpMma

	// shape
	OpRename
	OpTake

	// utility
	OpPrint
	OpAssert

	// control
	OpFor
	OpIf
	OpJoin

	numOps
)

// Group is the chapter of the language reference that describes an operation.
type Group string

// The groups.
const (
	GroupMath     Group = "math"
	GroupBits     Group = "bits"
	GroupCompare  Group = "compare"
	GroupLogic    Group = "logic"
	GroupSelect   Group = "select"
	GroupConvert  Group = "convert"
	GroupCreate   Group = "create"
	GroupMemory   Group = "memory"
	GroupReduce   Group = "reduce"
	GroupScan     Group = "scan"
	GroupSort     Group = "sort"
	GroupContract Group = "contract"
	GroupShape    Group = "shape"
	GroupAtomic   Group = "atomic"
	GroupUtility  Group = "utility"
	GroupControl  Group = "control"
)

// Form is how an operation is written.
type Form uint8

// The forms.
const (
	// FormSyntax has syntax of its own: indexing, `as`, `for`, `.start`.
	FormSyntax Form = iota
	// FormInfix is `a + b`.
	FormInfix
	// FormPrefix is `-a`.
	FormPrefix
	// FormCall is `exp(a)`.
	FormCall
	// FormReduce is `sum(a, over k)`.
	FormReduce
)

// Rule says which element types an operation takes and gives.
type Rule uint8

// The type rules. "Same" means that all operands have one element type.
const (
	// RuleSpecial: described in the row's Doc; checked by code of its own.
	RuleSpecial Rule = iota
	// RuleNumeric: same integer or float type, which is the result's.
	RuleNumeric
	// RuleFloat: same float type, which is the result's.
	RuleFloat
	// RuleInt: same integer type, which is the result's.
	RuleInt
	// RuleCompare: same type; gives bool.
	RuleCompare
	// RuleBool: bool operands; gives bool.
	RuleBool
	// RuleTest: a float; gives bool.
	RuleTest
	// RuleSelect: bool, then two of the same type, which is the result's.
	RuleSelect
	// RuleSum: a number; gives the accumulator type (see DType.Accumulator).
	RuleSum
	// RuleSame: a number; gives the same type.
	RuleSame
	// RuleMean: a float; gives the accumulator type.
	RuleMean
	// RuleArg: a number; gives i32, the absolute position along the reduced axis.
	RuleArg
	// RuleBits64: u64 operands; gives u64.
	RuleBits64
	// RuleContract: two operands of one type; gives the accumulator type, or the type of the third.
	RuleContract
)

// Effect says what an operation does beside giving a value.
type Effect uint8

// The effects.
const (
	// Pure operations may be moved, merged and dropped.
	Pure Effect = iota
	// Reads memory: moves freely over read-only tensors only.
	Reads
	// Writes memory: never moved, merged or dropped.
	Writes
	// Region has the effects of the operations inside it.
	Region
)

// OpRow describes one operation.
type OpRow struct {
	// Name is the operation's name in the IR and in `CUTILE_LOGS`: lower case, unique.
	Name string
	// Spelling is the operator or function name in the language. Two rows may share one when their forms differ (max).
	Spelling string
	Group    Group
	Form     Form
	Rule     Rule
	Effect   Effect
	// Operands names the operands, in order; optional ones end in "?". Variadic or structural operations leave it nil.
	Operands []string
	// Elementwise operations give, at each element, a function of the operands
	// at that element; operands broadcast by axis name.
	Elementwise bool
	// Commutative: swapping the first two operands changes nothing.
	Commutative bool
	// Associative: regrouping changes at most the rounding.
	Associative bool
	// Derived operations are written with others when the IR is built: no backend has code for them.
	Derived bool
	// Ulp is the largest error that a backend may have in f32, in units of the last place; 0 is correctly rounded.
	Ulp float64
	// Coarse says, of an operation that a GPU has a cheaper form of for what is rounded to f16 or bf16 (see Numbers in
	// docs/language.md), that the form is off by at most 2^-Coarse of the value; 0 where there is none.
	Coarse int
	Doc    string
	// CuTile is the operation's name in CUDA Tile Python; "" where it has none.
	CuTile string
}

func infix(name, spelling string, g Group, r Rule, commutative, associative bool, doc, cutile string) OpRow {
	return OpRow{Name: name, Spelling: spelling, Group: g, Form: FormInfix, Rule: r, Operands: []string{"a", "b"},
		Elementwise: true, Commutative: commutative, Associative: associative, Doc: doc, CuTile: cutile}
}

func prefix(name, spelling string, g Group, r Rule, doc, cutile string) OpRow {
	return OpRow{Name: name, Spelling: spelling, Group: g, Form: FormPrefix, Rule: r, Operands: []string{"a"}, Elementwise: true, Doc: doc, CuTile: cutile}
}

func call(name string, g Group, r Rule, operands []string, ulp float64, doc, cutile string) OpRow {
	return OpRow{Name: name, Spelling: name, Group: g, Form: FormCall, Rule: r, Operands: operands, Elementwise: true, Ulp: ulp, Doc: doc, CuTile: cutile}
}

// coarse is a row whose operation has a cheaper form within 2^-bits of the value.
func (r OpRow) coarse(bits int) OpRow {
	r.Coarse = bits
	return r
}

func reduce(name, spelling string, r Rule, doc, cutile string) OpRow {
	return OpRow{Name: name, Spelling: spelling, Group: GroupReduce, Form: FormReduce, Rule: r, Operands: []string{"x"},
		Commutative: true, Associative: true, Doc: doc, CuTile: cutile}
}

var (
	one   = []string{"a"}
	two   = []string{"a", "b"}
	three = []string{"a", "b", "c"}
)

// opTable is indexed by Op.
var opTable = [numOps]OpRow{
	OpAdd:      infix("add", "+", GroupMath, RuleNumeric, true, true, "sum; integers wrap", "ct.add"),
	OpSub:      infix("sub", "-", GroupMath, RuleNumeric, false, false, "difference; integers wrap", "ct.sub"),
	OpMul:      infix("mul", "*", GroupMath, RuleNumeric, true, true, "product; integers wrap", "ct.mul"),
	OpDiv:      infix("div", "/", GroupMath, RuleNumeric, false, false, "quotient; integers truncate toward zero, and x / 0 is 0", "ct.truediv").coarse(20),
	OpFloorDiv: infix("floordiv", "//", GroupMath, RuleNumeric, false, false, "quotient rounded down; an integer // 0 is 0", "ct.floordiv"),
	OpMod:      infix("mod", "%", GroupMath, RuleNumeric, false, false, "remainder with the sign of the dividend, as in Go; an integer x % 0 is x", "ct.mod"),
	OpPow:      {Name: "pow", Spelling: "**", Group: GroupMath, Form: FormInfix, Rule: RuleFloat, Operands: two, Elementwise: true, Ulp: 2, Doc: "power", CuTile: "ct.pow"},
	OpNeg:      prefix("neg", "-", GroupMath, RuleNumeric, "negation", "ct.negative"),
	OpAbs:      call("abs", GroupMath, RuleNumeric, one, 0, "absolute value", "ct.abs"),
	OpSign:     call("sign", GroupMath, RuleNumeric, one, 0, "-1, 0 or 1 by the sign; NaN stays NaN", ""),
	OpMin:      {Name: "min", Spelling: "min", Group: GroupMath, Form: FormCall, Rule: RuleNumeric, Operands: two, Elementwise: true, Commutative: true, Associative: true, Doc: "the smaller; NaN when either is NaN", CuTile: "ct.minimum"},
	OpMax:      {Name: "max", Spelling: "max", Group: GroupMath, Form: FormCall, Rule: RuleNumeric, Operands: two, Elementwise: true, Commutative: true, Associative: true, Doc: "the larger; NaN when either is NaN", CuTile: "ct.maximum"},
	OpFma:      call("fma", GroupMath, RuleFloat, three, 0, "a * b + c, rounded once", ""),
	OpExp:      call("exp", GroupMath, RuleFloat, one, 2, "e to the power a", "ct.exp").coarse(17),
	OpExp2:     call("exp2", GroupMath, RuleFloat, one, 3, "2 to the power a", "ct.exp2").coarse(21),
	OpExpm1:    call("expm1", GroupMath, RuleFloat, one, 2, "exp(a) - 1, accurate near 0", ""),
	OpLog:      call("log", GroupMath, RuleFloat, one, 2, "natural logarithm", "ct.log"),
	OpLog2:     call("log2", GroupMath, RuleFloat, one, 2, "logarithm to base 2", "ct.log2"),
	OpLog1p:    call("log1p", GroupMath, RuleFloat, one, 2, "log(1 + a), accurate near 0", ""),
	OpSqrt:     call("sqrt", GroupMath, RuleFloat, one, 0, "square root", "ct.sqrt").coarse(21),
	OpRsqrt:    call("rsqrt", GroupMath, RuleFloat, one, 2, "1 / sqrt(a)", "ct.rsqrt").coarse(21),
	OpSin:      call("sin", GroupMath, RuleFloat, one, 2, "sine", "ct.sin"),
	OpCos:      call("cos", GroupMath, RuleFloat, one, 2, "cosine", "ct.cos"),
	OpTan:      call("tan", GroupMath, RuleFloat, one, 3, "tangent", "ct.tan"),
	OpSinh:     call("sinh", GroupMath, RuleFloat, one, 2, "hyperbolic sine", "ct.sinh"),
	OpCosh:     call("cosh", GroupMath, RuleFloat, one, 2, "hyperbolic cosine", "ct.cosh"),
	OpTanh:     call("tanh", GroupMath, RuleFloat, one, 3, "hyperbolic tangent", "ct.tanh"),
	OpAtan2:    call("atan2", GroupMath, RuleFloat, []string{"y", "x"}, 3, "angle of the point (x, y)", ""),
	OpErf:      call("erf", GroupMath, RuleFloat, one, 3, "error function", ""),
	OpSigmoid:  call("sigmoid", GroupMath, RuleFloat, one, 3, "1 / (1 + exp(-a))", "").coarse(17),
	OpFloor:    call("floor", GroupMath, RuleFloat, one, 0, "largest whole number not above a", "ct.floor"),
	OpCeil:     call("ceil", GroupMath, RuleFloat, one, 0, "smallest whole number not below a", "ct.ceil"),
	OpTrunc:    call("trunc", GroupMath, RuleFloat, one, 0, "a without its fraction: the next whole number towards 0", ""),
	OpRound:    call("round", GroupMath, RuleFloat, one, 0, "nearest whole number, ties to even", ""),
	OpIsNaN:    call("isnan", GroupMath, RuleTest, one, 0, "whether a is NaN", "ct.isnan"),
	OpIsInf:    call("isinf", GroupMath, RuleTest, one, 0, "whether a is infinite", ""),

	OpAnd:      infix("and", "&", GroupBits, RuleInt, true, true, "bitwise and", "ct.bitwise_and"),
	OpOr:       infix("or", "|", GroupBits, RuleInt, true, true, "bitwise or", "ct.bitwise_or"),
	OpXor:      infix("xor", "^", GroupBits, RuleInt, true, true, "bitwise exclusive or", "ct.bitwise_xor"),
	OpNot:      prefix("not", "~", GroupBits, RuleInt, "bitwise complement", "ct.bitwise_not"),
	OpShl:      infix("shl", "<<", GroupBits, RuleInt, false, false, "left shift; a shift by the width or more gives 0", "ct.bitwise_lshift"),
	OpShr:      infix("shr", ">>", GroupBits, RuleInt, false, false, "right shift, arithmetic on signed types; a shift by the width or more gives 0, or -1 for a negative", "ct.bitwise_rshift"),
	OpPopcount: call("popcount", GroupBits, RuleInt, one, 0, "number of one bits", ""),
	OpClz:      call("clz", GroupBits, RuleInt, one, 0, "number of leading zero bits; the width for 0", ""),

	OpEq: infix("eq", "==", GroupCompare, RuleCompare, true, false, "equal; NaN equals nothing", "ct.equal"),
	OpNe: infix("ne", "!=", GroupCompare, RuleCompare, true, false, "not equal; true with NaN", "ct.not_equal"),
	OpLt: infix("lt", "<", GroupCompare, RuleCompare, false, false, "less", "ct.less"),
	OpLe: infix("le", "<=", GroupCompare, RuleCompare, false, false, "less or equal", "ct.less_equal"),
	OpGt: infix("gt", ">", GroupCompare, RuleCompare, false, false, "greater", "ct.greater"),
	OpGe: infix("ge", ">=", GroupCompare, RuleCompare, false, false, "greater or equal", "ct.greater_equal"),

	OpLogicAnd: infix("logic_and", "and", GroupLogic, RuleBool, true, true, "both", ""),
	OpLogicOr:  infix("logic_or", "or", GroupLogic, RuleBool, true, true, "either", ""),
	OpLogicNot: prefix("logic_not", "not", GroupLogic, RuleBool, "the opposite", ""),

	OpWhere: call("where", GroupSelect, RuleSelect, []string{"c", "a", "b"}, 0, "a where c holds, b elsewhere", "ct.where"),
	OpClamp: call("clamp", GroupSelect, RuleNumeric, []string{"x", "lo", "hi"}, 0, "min(max(x, lo), hi)", ""),

	OpCast: {Name: "cast", Spelling: "as", Group: GroupConvert, Rule: RuleSpecial, Operands: one, Elementwise: true,
		Doc: "conversion to another element type: floats round to nearest even; float to integer truncates and saturates, NaN gives 0; integers wrap; to bool, whether it is not 0", CuTile: "ct.astype"},
	OpBitcast: {Name: "bitcast", Spelling: "bitcast", Group: GroupConvert, Form: FormCall, Rule: RuleSpecial, Operands: []string{"a", "type"}, Elementwise: true,
		Doc: "the value that has the same bits in another type of the same width; the bits of NaN are those of the quiet NaN without a sign, whichever it is. Of a tensor, a view of its memory as another type", CuTile: "ct.bitcast"},

	OpConst: {Name: "const", Group: GroupCreate, Rule: RuleSpecial, Doc: "a literal scalar"},
	OpFull:  {Name: "full", Spelling: "full", Group: GroupCreate, Form: FormCall, Rule: RuleSpecial, Operands: []string{"value"}, Doc: "a tile over the axes named, one value everywhere; zeros and ones are short for it", CuTile: "ct.full"},
	OpIndex: {Name: "index", Spelling: "index", Group: GroupCreate, Form: FormCall, Rule: RuleSpecial, Doc: "absolute positions along an axis, i32; `index(i) as i64` for dimensions of any size", CuTile: "ct.arange"},
	OpStart: {Name: "start", Spelling: ".start", Group: GroupCreate, Rule: RuleSpecial, Doc: "where the span of an axis begins that holds this block, i32"},
	OpEnd:   {Name: "end", Spelling: ".end", Group: GroupCreate, Rule: RuleSpecial, Doc: "one past the last valid position of that span, i32"},
	OpSize:  {Name: "size", Group: GroupCreate, Rule: RuleSpecial, Doc: "the size of a dimension, i32", CuTile: "ct.Array.shape"},

	OpRandomBits: {Name: "random_bits", Spelling: "random_bits", Group: GroupCreate, Form: FormCall, Rule: RuleBits64, Operands: []string{"key", "lo", "hi"}, Elementwise: true,
		Doc: "64 random bits for each position: Philox4x32-10 of the seed and of up to four coordinates, each an axis or an integer; `rand(seed, i, j)` and `randn(seed, i, j)` make numbers of them"},

	OpLoad:       {Name: "load", Spelling: "[]", Group: GroupMemory, Rule: RuleSpecial, Effect: Reads, Doc: "elements of a tensor; the result has the axes of its indices", CuTile: "ct.load, ct.gather"},
	OpStore:      {Name: "store", Spelling: "[]=", Group: GroupMemory, Rule: RuleSpecial, Effect: Writes, Doc: "write elements of a tensor; those outside it are dropped", CuTile: "ct.store, ct.scatter"},
	OpAtomicAdd:  atomic("add", "add to elements of a tensor, in any order of blocks", "ct.atomic_add"),
	OpAtomicMax:  atomic("max", "raise elements of a tensor to a value; NaN when either is NaN", "ct.atomic_max"),
	OpAtomicMin:  atomic("min", "lower elements of a tensor to a value; NaN when either is NaN", "ct.atomic_min"),
	OpAtomicAnd:  atomic("and", "bitwise and into elements of a tensor", "ct.atomic_and"),
	OpAtomicOr:   atomic("or", "bitwise or into elements of a tensor", "ct.atomic_or"),
	OpAtomicXor:  atomic("xor", "bitwise exclusive or into elements of a tensor", "ct.atomic_xor"),
	OpAtomicXchg: atomic("xchg", "replace elements of a tensor: any of those that do wins", "ct.atomic_xchg"),
	OpAtomicCas:  atomic("cas", "replace elements of a tensor where their bits are those of a value expected", "ct.atomic_cas"),

	OpSum:       reduce("sum", "sum", RuleSum, "sum over axes; of nothing 0", "ct.sum"),
	OpProd:      reduce("prod", "prod", RuleSum, "product over axes; of nothing 1", "ct.prod"),
	OpReduceMax: reduce("reduce_max", "max", RuleSame, "largest over axes; NaN when any is NaN; of nothing -inf or the type's least", "ct.max"),
	OpReduceMin: reduce("reduce_min", "min", RuleSame, "smallest over axes; NaN when any is NaN; of nothing inf or the type's greatest", "ct.min"),
	OpMean:      reduce("mean", "mean", RuleMean, "sum divided by the number of elements", ""),
	OpAny:       reduce("any", "any", RuleBool, "whether one holds", ""),
	OpAll:       reduce("all", "all", RuleBool, "whether all hold", ""),
	OpArgMax:    reduce("argmax", "argmax", RuleArg, "position of the largest, the first of equals; the first NaN wins", "ct.argmax"),
	OpArgMin:    reduce("argmin", "argmin", RuleArg, "position of the smallest, the first of equals; the first NaN wins", "ct.argmin"),
	OpReduce: {Name: "reduce", Spelling: "reduce", Group: GroupScan, Form: FormCall, Rule: RuleSpecial, Operands: []string{"x", "identity", "fn"}, Associative: true,
		Doc: "elements, or tuples of them, combined in the order of their positions by an associative function, as in `reduce(x, over k, 0.0, (a, b) => a + b)`; of nothing the identity", CuTile: "ct.reduce"},

	OpScan: {Name: "scan", Spelling: "scan", Group: GroupScan, Form: FormCall, Rule: RuleSpecial, Operands: []string{"x", "identity", "fn"}, Associative: true,
		Doc: "at each position along an axis, `reduce` of the elements up to and with it; with `reverse = true` from the last position to the first", CuTile: "ct.scan"},
	OpCumSum:  {Name: "cumsum", Spelling: "cumsum", Group: GroupScan, Form: FormReduce, Rule: RuleSum, Operands: []string{"x"}, Associative: true, Derived: true, Doc: "sum of the elements up to and with each position; `reverse = true` sums from the end", CuTile: "ct.cumsum"},
	OpCumProd: {Name: "cumprod", Spelling: "cumprod", Group: GroupScan, Form: FormReduce, Rule: RuleSum, Operands: []string{"x"}, Associative: true, Derived: true, Doc: "product of the elements up to and with each position; `reverse = true` multiplies from the end", CuTile: "ct.cumprod"},

	OpSort: {Name: "sort", Spelling: "sort", Group: GroupSort, Form: FormCall, Rule: RuleSpecial, Operands: []string{"x"},
		Doc: "a tile in ascending order along a whole axis; in the IR, the positions that put it in order. Equal elements stay in their order, -0 and 0 are equal, NaN is above all numbers; `descending = true` for the other direction; of a tuple, the first is the key and the others move with it"},
	OpTopK: {Name: "topk", Spelling: "topk", Group: GroupSort, Form: FormCall, Rule: RuleSpecial, Operands: []string{"x"},
		Doc: "the largest elements along a whole axis and their positions (i32), as many as the axis r has places, as `sort` with `descending = true` would begin; where there are fewer elements, the least value and position -1"},

	OpDot: {Name: "dot", Spelling: "dot", Group: GroupContract, Form: FormCall, Rule: RuleContract, Operands: two, Doc: "contraction over every axis that both operands have; `over k` names them where some are batch axes", CuTile: "ct.matmul"},
	OpMma: {Name: "mma", Spelling: "mma", Group: GroupContract, Form: FormCall, Rule: RuleContract, Operands: []string{"a", "b", "acc"}, Doc: "acc plus the contraction of a and b over the axes that both have and acc has not", CuTile: "ct.mma"},

	OpRename: {Name: "rename", Spelling: "rename", Group: GroupShape, Form: FormCall, Rule: RuleSpecial, Operands: []string{"x"}, Doc: "the same tile over another axis of the same positions"},
	OpTake:   {Name: "take", Spelling: "pick", Group: GroupShape, Form: FormCall, Rule: RuleSpecial, Operands: []string{"x", "d", "n"}, Doc: "the elements of a tile at positions along one of its axes; the result has the axes of the positions in its place; positions that are not proven inside need `else`", CuTile: "ct.extract"},

	OpPrint:  {Name: "print", Spelling: "print", Group: GroupUtility, Form: FormCall, Rule: RuleSpecial, Effect: Writes, Doc: "say something while the kernel runs: a text with values in the place of each {}", CuTile: "ct.printf"},
	OpAssert: {Name: "assert", Spelling: "assert", Group: GroupUtility, Form: FormCall, Rule: RuleSpecial, Effect: Writes, Doc: "fail the launch, when it is over, unless a condition holds for every element", CuTile: "ct.assert_"},

	OpFor: {Name: "for", Spelling: "for", Group: GroupControl, Rule: RuleSpecial, Effect: Region, Doc: "a sequential loop that carries values"},
	OpIf:  {Name: "if", Spelling: "if", Group: GroupControl, Rule: RuleSpecial, Effect: Region, Doc: "a choice by a scalar"},
	OpJoin: {Name: "join", Spelling: "@split", Group: GroupControl, Rule: RuleSpecial,
		Doc: "what the blocks that share an axis hold of it, combined in the order of the blocks; in the IR, behind a loop over an axis of `@split(k, 4)`"},
}

// Ops lists every operation.
func Ops() []Op {
	all := make([]Op, 0, numOps-1)
	for op := OpInvalid + 1; op < numOps; op++ {
		all = append(all, op)
	}
	return all
}

// Row is the operation's row in the table. It is called, not copied to its hundreds of callers.
//
//go:noinline
func (op Op) Row() *OpRow { return &opTable[op] }

// Rounds reports an elementwise operation whose float result may lie between two
// values of its type. The others give a value that the type has: an operand, its
// negation, a whole number near it.
func (op Op) Rounds() bool {
	switch op {
	case OpNeg, OpAbs, OpSign, OpMin, OpMax, OpClamp, OpWhere, OpFloor, OpCeil, OpTrunc, OpRound:
		return false
	}
	return true
}

// String is the operation's name in the IR.
func (op Op) String() string { return opTable[op].Name }

// FindOp finds an operation by its spelling and form in the language.
func FindOp(spelling string, form Form) (Op, bool) {
	for _, op := range Ops() {
		if r := op.Row(); r.Spelling == spelling && r.Form == form {
			return op, true
		}
	}
	return OpInvalid, false
}

// OpByName finds an operation by its name in the IR.
func OpByName(name string) (Op, bool) {
	for _, op := range Ops() {
		if op.Row().Name == name {
			return op, true
		}
	}
	return OpInvalid, false
}
