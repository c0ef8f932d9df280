package ir

import (
	"fmt"
	"slices"

	"tilec/lang"
)

// Builder appends operations to a block of a Func and gives their results
// their types. It panics on an operation that the type rules refuse: those come
// from a mistake in the compiler, never from the user's program, which
// typecheck has accepted.
type Builder struct {
	Func  *Func
	Block *Block
	// At is the place in the source that new operations belong to.
	At lang.Span
}

// Emit types the operation, appends it and gives its results.
func (b *Builder) Emit(op *Op) []*Value {
	if !op.At.IsValid() {
		op.At = b.At
	}
	types, err := Infer(op)
	if err != nil {
		panic(fmt.Sprintf("ir: %s: %v", op.Code, err))
	}
	for _, t := range types {
		op.Results = append(op.Results, b.Func.NewValue(t, op))
	}
	b.Block.Ops = append(b.Block.Ops, op)
	return op.Results
}

// Op emits an operation that its arguments describe wholly, and gives its result. Copies of it in its 300 callers would take 40 KB of the program.
//
//go:noinline
func (b *Builder) Op(code lang.Op, args ...*Value) *Value {
	return b.Emit(&Op{Code: code, Args: args})[0]
}

// Const emits a constant: of an integer or bool type from Int, of a float type from Float.
func (b *Builder) Const(d lang.DType, c Const) *Value {
	if d.IsFloat() { // the text has the one alone
		c.Int = 0
	} else {
		c.Float = 0
	}
	op := &Op{Code: lang.OpConst, Const: c, At: b.At}
	v := b.Func.NewValue(Scalar(d), op)
	op.Results = []*Value{v}
	b.Block.Ops = append(b.Block.Ops, op)
	return v
}

// Int emits an i32 constant.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (b *Builder) Int(n int64) *Value { return b.Const(lang.I32, Const{Int: n}) }

// Position emits a constant position along an axis.
func (b *Builder) Position(a *Axis, n int64) *Value { return b.Const(a.Counts(), Const{Int: n}) }

// Cast emits a conversion; a value that has the type already is given back as it is.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (b *Builder) Cast(x *Value, d lang.DType) *Value {
	if x.Type.DType == d {
		return x
	}
	op := &Op{Code: lang.OpCast, Args: []*Value{x}, At: b.At}
	v := b.Func.NewValue(x.Type.With(d), op)
	op.Results = []*Value{v}
	b.Block.Ops = append(b.Block.Ops, op)
	return v
}

// Infer gives the types of an operation's results from its arguments and
// attributes. Constants and casts, whose types are their own, must have their
// result already.
func Infer(op *Op) ([]Type, error) {
	row := op.Code.Row()
	types := make([]Type, len(op.Args))
	for i, a := range op.Args {
		if a == nil {
			return nil, fmt.Errorf("argument %d is missing", i)
		}
		types[i] = a.Type
	}
	if row.Elementwise && !op.HasOwnType() {
		d, err := elementwiseDType(row, types)
		if err != nil {
			return nil, err
		}
		return []Type{{DType: d, Axes: Union(types...)}}, nil
	}
	if op.Combines() {
		return inferCombine(op, types)
	}
	if row.Group == lang.GroupReduce {
		return inferReduce(op, row, types)
	}
	if op.Code.IsAtomic() {
		return inferAtomic(op, types)
	}
	switch op.Code {
	case lang.OpConst, lang.OpCast, lang.OpBitcast:
		if len(op.Results) != 1 {
			return nil, fmt.Errorf("needs its result given")
		}
		if op.Code == lang.OpBitcast {
			return inferBitcast(types[0], op.Results[0].Type.DType)
		}
		if op.Code == lang.OpCast {
			return []Type{types[0].With(op.Results[0].Type.DType)}, nil
		}
		return []Type{Scalar(op.Results[0].Type.DType)}, nil
	case lang.OpFull:
		if len(types) != 1 {
			return nil, fmt.Errorf("needs one value")
		}
		if rest := Without(types[0].Axes, op.Axes); len(rest) > 0 {
			return nil, fmt.Errorf("loses axis %s of its value", rest[0].Name)
		}
		return []Type{{DType: types[0].DType, Axes: op.Axes}}, nil
	case lang.OpIndex:
		if op.Axis == nil || op.Axis.Scalar {
			return nil, fmt.Errorf("needs an axis with an extent")
		}
		return []Type{{DType: op.Axis.Counts(), Axes: []*Axis{op.Axis}}}, nil
	case lang.OpStart, lang.OpEnd:
		if op.Axis == nil {
			return nil, fmt.Errorf("needs an axis")
		}
		return []Type{Scalar(op.Axis.Counts())}, nil
	case lang.OpSize:
		if op.Dim == nil {
			return nil, fmt.Errorf("needs a dimension")
		}
		return []Type{Scalar(op.Dim.Counts())}, nil
	case lang.OpLoad:
		return inferLoad(op, types)
	case lang.OpStore:
		return nil, checkStore(op, types)
	case lang.OpPrint, lang.OpAssert:
		return nil, checkDebug(op, types)
	case lang.OpDot, lang.OpMma:
		return inferContract(op, types)
	case lang.OpRename:
		return inferRename(op, types)
	case lang.OpTake:
		return inferTake(op, types)
	case lang.OpSort:
		return inferSort(op, types)
	case lang.OpTopK:
		return inferTopK(op, types)
	case lang.OpFor:
		return inferFor(op, types)
	case lang.OpIf:
		return inferIf(op, types)
	case lang.OpJoin:
		return inferJoin(op, types)
	}
	return nil, fmt.Errorf("has no type rule")
}

func elementwiseDType(row *lang.OpRow, types []Type) (lang.DType, error) {
	if len(types) != len(row.Operands) {
		return 0, fmt.Errorf("has %d arguments, needs %d", len(types), len(row.Operands))
	}
	operands := types
	if row.Rule == lang.RuleSelect {
		if types[0].DType != lang.Bool {
			return 0, fmt.Errorf("chooses by %s, needs bool", types[0].DType)
		}
		operands = types[1:]
	}
	d := operands[0].DType
	for _, t := range operands {
		if t.DType != d {
			return 0, fmt.Errorf("mixes %s and %s", d, t.DType)
		}
	}
	need := func(ok bool, what string) (lang.DType, error) {
		if !ok {
			return 0, fmt.Errorf("has %s operands, needs %s", d, what)
		}
		return d, nil
	}
	switch row.Rule {
	case lang.RuleNumeric:
		return need(d.IsFloat() || d.IsInt(), "numbers")
	case lang.RuleFloat:
		return need(d.IsFloat(), "floats")
	case lang.RuleInt:
		return need(d.IsInt(), "integers")
	case lang.RuleBool:
		return need(d == lang.Bool, "bool")
	case lang.RuleSelect:
		return d, nil
	case lang.RuleBits64:
		return need(d == lang.U64, "u64")
	case lang.RuleCompare:
		return lang.Bool, nil
	case lang.RuleTest:
		_, err := need(d.IsFloat(), "floats")
		return lang.Bool, err
	}
	return 0, fmt.Errorf("has no elementwise rule")
}

func inferReduce(op *Op, row *lang.OpRow, types []Type) ([]Type, error) {
	if len(types) != 1 || len(op.Over) == 0 {
		return nil, fmt.Errorf("needs one tile and at least one axis")
	}
	x := types[0]
	for _, a := range op.Over {
		if !x.Has(a) {
			return nil, fmt.Errorf("reduces over %s, which %s has not", a.Name, x)
		}
	}
	t := Type{DType: x.DType, Axes: Without(x.Axes, op.Over)}
	switch row.Rule {
	case lang.RuleSum, lang.RuleMean:
		t.DType = x.DType.Accumulator()
	case lang.RuleArg:
		if len(op.Over) != 1 {
			return nil, fmt.Errorf("needs exactly one axis")
		}
		t.DType = op.Over[0].Counts()
	}
	return []Type{t}, nil
}

func checkIndices(op *Op, types []Type) error {
	rank := len(op.Tensor.Shape)
	if len(types) < rank || len(op.Checked) != rank {
		return fmt.Errorf("%s has %d dimensions: %d arguments, %d checks", op.Tensor.Name, rank, len(types), len(op.Checked))
	}
	for _, t := range types[:rank] {
		if t.DType != lang.I32 && t.DType != lang.I64 {
			return fmt.Errorf("index of type %s", t)
		}
	}
	return nil
}

func anyChecked(op *Op) bool {
	for _, c := range op.Checked {
		if c {
			return true
		}
	}
	return false
}

func inferLoad(op *Op, types []Type) ([]Type, error) {
	if err := checkIndices(op, types); err != nil {
		return nil, err
	}
	if hasElse := len(types) == len(op.Tensor.Shape)+1; hasElse != anyChecked(op) {
		return nil, fmt.Errorf("a load has an else value exactly when an index is checked")
	}
	if e := op.Else(); e != nil && e.Type.DType != op.Tensor.DType {
		return nil, fmt.Errorf("else value is %s, the tensor %s", e.Type.DType, op.Tensor.DType)
	}
	return []Type{{DType: op.Tensor.DType, Axes: Union(types...)}}, nil
}

func checkStore(op *Op, types []Type) error {
	if err := checkIndices(op, types); err != nil {
		return err
	}
	rank := len(op.Tensor.Shape)
	values := 1
	if op.Code.IsAtomic() {
		values = op.Code.AtomicValues()
	}
	if len(types) != rank+values {
		return fmt.Errorf("needs %d indices and %d values, has %d arguments", rank, values, len(types))
	}
	if op.Tensor.Mode == lang.In {
		return fmt.Errorf("writes %s, which is read-only", op.Tensor.Name)
	}
	for _, v := range types[rank:] {
		if v.DType != op.Tensor.DType {
			return fmt.Errorf("stores %s into %s of %s", v, op.Tensor.Name, op.Tensor.DType)
		} else if rest := Without(v.Axes, Union(types[:rank]...)); len(rest) > 0 {
			return fmt.Errorf("value has axis %s, which no index has", rest[0].Name)
		}
	}
	return nil
}

func inferAtomic(op *Op, types []Type) ([]Type, error) {
	if err := checkStore(op, types); err != nil {
		return nil, err
	}
	d := op.Tensor.DType
	switch {
	case !op.Code.AtomicAccepts(d):
		return nil, fmt.Errorf("does not work on elements of %s", d)
	case op.Order != "" && !slices.Contains(lang.AtomicOrders, op.Order):
		return nil, fmt.Errorf("order %q is not one of %v", op.Order, lang.AtomicOrders)
	case op.Scope != "" && !slices.Contains(lang.AtomicScopes, op.Scope):
		return nil, fmt.Errorf("scope %q is not one of %v", op.Scope, lang.AtomicScopes)
	case !op.Old:
		return nil, nil
	}
	return []Type{{DType: d, Axes: op.AccessAxes()}}, nil
}

func inferContract(op *Op, types []Type) ([]Type, error) {
	if n := len(op.Code.Row().Operands); len(types) < n || len(types) > n && op.Fn == nil {
		return nil, fmt.Errorf("has %d arguments", len(types))
	}
	a, b := types[0], types[1]
	if op.Fn != nil {
		if err := inferFactor(op, types); err != nil {
			return nil, err
		}
		b = b.With(a.DType)
	}
	byte := func(t Type) bool { return t.DType.IsInt() && t.DType.Bits() == 8 }
	if a.DType != b.DType && !(byte(a) && byte(b)) && !Mixes(a.DType, b.DType) { // an i8 and a u8 are multiplied as they are
		return nil, fmt.Errorf("mixes %s and %s", a.DType, b.DType)
	}
	for _, x := range op.Over {
		if !a.Has(x) || !b.Has(x) {
			return nil, fmt.Errorf("contracts %s, which an operand has not", x.Name)
		}
	}
	t := Type{DType: a.DType.Accumulator(), Axes: Without(Union(a, b), op.Over)}
	if op.Code == lang.OpMma {
		acc := types[2]
		if len(Without(t.Axes, acc.Axes)) > 0 || len(Without(acc.Axes, t.Axes)) > 0 {
			return nil, fmt.Errorf("accumulator is %s, the product %s", acc, t)
		}
		t = acc
	}
	return []Type{t}, nil
}

func inferRename(op *Op, types []Type) ([]Type, error) {
	if len(types) != 1 || op.From == nil || op.Axis == nil || !types[0].Has(op.From) || types[0].Has(op.Axis) {
		return nil, fmt.Errorf("needs a tile, an axis of it and an axis that it has not")
	}
	t := Type{DType: types[0].DType}
	for _, a := range types[0].Axes {
		if a == op.From {
			a = op.Axis
		}
		t.Axes = append(t.Axes, a)
	}
	return []Type{t}, nil
}

func inferFor(op *Op, types []Type) ([]Type, error) {
	if len(types) < 2 || len(op.Blocks) != 1 {
		return nil, fmt.Errorf("needs lo, hi and a body")
	}
	for _, t := range types[:2] {
		if !t.Same(Scalar(op.Axis.Counts())) {
			return nil, fmt.Errorf("bound of type %s, needs %s", t, op.Axis.Counts())
		}
	}
	inits, body := types[2:], op.Blocks[0]
	if len(body.Params) != len(inits)+1 || len(body.Yield) != len(inits) {
		return nil, fmt.Errorf("%d initial values, %d parameters, %d yielded", len(inits), len(body.Params), len(body.Yield))
	}
	out := make([]Type, len(inits))
	for i := range inits {
		out[i] = body.Params[i+1].Type
		if !inits[i].Same(out[i]) || !body.Yield[i].Type.Same(out[i]) {
			return nil, fmt.Errorf("carried value %d is %s, starts as %s and becomes %s", i, out[i], inits[i], body.Yield[i].Type)
		}
	}
	return out, nil
}

func inferIf(op *Op, types []Type) ([]Type, error) {
	if len(types) != 1 || !types[0].Same(Scalar(lang.Bool)) || len(op.Blocks) != 2 {
		return nil, fmt.Errorf("needs one bool scalar and two blocks")
	}
	then, other := op.Blocks[0].Yield, op.Blocks[1].Yield
	if len(then) != len(other) {
		return nil, fmt.Errorf("yields %d and %d values", len(then), len(other))
	}
	out := make([]Type, len(then))
	for i := range then {
		out[i] = then[i].Type
		if !out[i].Same(other[i].Type) {
			return nil, fmt.Errorf("value %d is %s or %s", i, out[i], other[i].Type)
		}
	}
	return out, nil
}
