// Package ir is the tile IR: SSA over immutable tiles with structured control
// flow. A tile is an element type over named axes; there is no thread, no
// layout and no mask in it. Which elements of a tile exist follows from its
// axes: the last block of a ragged axis simply has fewer.
package ir

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// Dim is the size of a dimension of a tensor. A known Dim is a constant of the
// kernel's specialisation; an unknown one is passed at every launch.
type Dim struct {
	Name string
	// Value is the size in elements, or -1 when it is only known at launch.
	Value int64
	// Divisor, at least 1, is known to divide the size of an unknown Dim.
	Divisor int64
	// Wide: positions may be beyond NarrowSize, so they and the size are i64. Everywhere else they are i32.
	Wide bool
}

// NarrowSize is the most elements of a dimension whose positions are i32: a
// block that begins inside it ends, with the elements that do not exist, below 2^31.
const NarrowSize = 1<<31 - 1<<24

// MaxRank is how many axes an operation is over at most, and how many dimensions a tensor has: as many as arrays have in
// NumPy 1. Backends take it for granted.
const MaxRank = 32

// Counts is the type of positions along the dimension and of its size.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (d *Dim) Counts() lang.DType {
	if d != nil && d.Wide {
		return lang.I64
	}
	return lang.I32
}

// Known reports whether the size is a constant.
func (d *Dim) Known() bool { return d.Value >= 0 }

// Multiple is a number known to divide the size: the size itself when it is a constant.
func (d *Dim) Multiple() int64 {
	if d.Known() {
		return d.Value
	}
	return max(d.Divisor, 1)
}

// AxisKind says how an axis walks its dimension.
type AxisKind uint8

// The kinds of axis.
const (
	// Grid axes are parallel: each block of the launch has one range of the dimension.
	Grid AxisKind = iota
	// Loop axes are sequential: each step of a `for` has one range.
	Loop
	// Whole axes are the same constant range in every block.
	Whole
)

// String is the kind's name in the text form.
func (k AxisKind) String() string { return [...]string{"grid", "loop", "whole"}[k] }

// Axis is a named axis of tiles. An axis is its declaration: two axes over one
// dimension are different axes, and two *Axis are the same only when equal.
type Axis struct {
	// Name is unique in its Func.
	Name string
	Kind AxisKind
	// Dim is the dimension that the axis walks; nil for a free axis (`axis r in 4`), which is Whole.
	Dim *Dim
	// Lo and Len are the range of a Whole axis: positions Lo to Lo+Len-1.
	Lo, Len int64
	// Scalar axes (`grid b in B`) give a scalar position; no tile has them.
	Scalar bool
	// Tile names the parameter that holds Extent ("BM"); "" when the source pins or implies it.
	Tile string
	// Choices limits Extent, when not empty (a `tune` clause, or one pinned value).
	Choices []int64
	// Edges is, of an axis that stands in a print for one of so many positions, that
	// number: the axis has the first and the last ShownEdge of them. 0 for other axes.
	Edges int64
	// Ranges, of a Grid axis, are the ranges that its blocks go through where these lie in memory; nil where they go through the dimension.
	Ranges *Ranges
	// Split is over how many blocks of a cluster the positions of a Loop or Whole axis are divided; 0 and 1 are none.
	Split int64
	// Extent is how many elements of the dimension a block (Grid) or a step
	// (Loop) handles at once. 0 until planned. 1 for Scalar axes, Len for Whole ones.
	Extent int64
	At     lang.Span
}

// mostParts is how many positions an axis has at most that a thread goes over by itself.
const mostParts = 16

// Few reports an axis of a few positions, as that of parts that are added up: a thread goes over all of them, and shares them with no other.
func (a *Axis) Few() bool { return a.Kind == Whole && a.Len <= mostParts }

// PartOf is how many of n positions each of the blocks has at most that share the axis.
func (a *Axis) PartOf(n int64) int64 { return PartOf(n, a.Extent, max(a.Split, 1)) }

// PartOf is how many of n positions each of so many blocks has at most that share them: whole steps.
func PartOf(n, step, blocks int64) int64 {
	steps := (n + step - 1) / step
	return (steps + blocks - 1) / blocks * step
}

// Undivided reports an axis of the grid of which each block has all positions, as of the columns of a head: nothing of it is to be chosen.
func (a *Axis) Undivided() bool {
	return a.Kind == Grid && len(a.Choices) == 1 && a.Dim.Known() && a.Choices[0] == a.Dim.Value
}

// Divided counts the axes of which blocks have parts; where there are axes, at least one.
func Divided(axes []*Axis) int {
	n := 0
	for _, a := range axes {
		if !a.Undivided() {
			n++
		}
	}
	return max(n, min(len(axes), 1))
}

// Type is the type of a value: an element type over axes. A scalar has no
// axes. The order of the axes has no meaning for the program; it is the order
// in which the text form and the backends list them.
type Type struct {
	DType lang.DType
	Axes  []*Axis
}

// Counts is the type of positions along the axis.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a *Axis) Counts() lang.DType {
	if a == nil { // of a scalar loop
		return lang.I32
	}
	return a.Dim.Counts()
}

// Scalar is the type of a scalar.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func Scalar(d lang.DType) Type { return Type{DType: d} }

// IsScalar reports a type without axes.
func (t Type) IsScalar() bool { return len(t.Axes) == 0 }

// Has reports whether a is one of the type's axes. Copies of it in its callers would take 90 KB of the program.
//
//go:noinline
func (t Type) Has(a *Axis) bool {
	for _, b := range t.Axes {
		if a == b {
			return true
		}
	}
	return false
}

// With is t with another element type.
func (t Type) With(d lang.DType) Type { return Type{DType: d, Axes: t.Axes} }

// Same reports equal element types and equal sets of axes.
func (t Type) Same(u Type) bool {
	if t.DType != u.DType || len(t.Axes) != len(u.Axes) {
		return false
	}
	for _, a := range t.Axes {
		if !u.Has(a) {
			return false
		}
	}
	return true
}

// String is the text form: `f32{i, j}`, or `f32` for a scalar.
func (t Type) String() string {
	if t.IsScalar() {
		return t.DType.String()
	}
	names := make([]string, len(t.Axes))
	for i, a := range t.Axes {
		names[i] = quote(a.Name)
	}
	return fmt.Sprintf("%s{%s}", t.DType, strings.Join(names, ", "))
}

// Union is the axes of all the types, in order of first appearance: the axes of
// an elementwise result.
func Union(types ...Type) []*Axis {
	var u Type
	for _, t := range types {
		for _, a := range t.Axes {
			if !u.Has(a) {
				u.Axes = append(u.Axes, a)
			}
		}
	}
	return u.Axes
}

// Without is the axes that are not in drop.
func Without(axes, drop []*Axis) []*Axis {
	d := Type{Axes: drop}
	var rest []*Axis
	for _, a := range axes {
		if !d.Has(a) {
			rest = append(rest, a)
		}
	}
	return rest
}

// Tensor is a tensor parameter, in global memory.
type Tensor struct {
	Name  string
	DType lang.DType
	Mode  lang.ParamMode
	// Shape is outermost first.
	Shape []*Dim
	// Strides, in elements, outermost first; nil when the tensor is contiguous in row-major order.
	Strides []*Dim
	// Align is a number of bytes that divides the address of element 0.
	Align int64
	// Scratch is memory that each block has for itself; its Mode is InOut. See scratch.go.
	Scratch bool
	// Shared: scratch memory that is shared memory of the block, which its threads have for themselves as long as it runs.
	Shared bool
	// Split, of a Shared tensor: along its last dimension each block of a cluster of so many has its own part of an axis that they divide (Axis.Split), and
	// the dimension is as long as a part. Indices are positions of the axis all the same. 0 and 1 are none.
	Split int64
	// Constant: no launch of the program up to this one writes the tensor, so that its elements are there before the launches before have ended.
	Constant bool
	// Grows is where the launches of the program write a tensor that is no constant; nil where that is anywhere.
	Grows *Grows
	// Starts: the tensor holds where the tensors that grow are written from.
	Starts bool
}

// Grows says of a tensor, as of a cache of keys, that the launches of a program write it behind a start alone: at indices of dimension Dim that are
// not less than the element of the tensor marked Starts at the index that dimension By has. What stands before is there before the program begins.
type Grows struct{ Dim, By int }

// String is how the text form of a tensor says it, "" for nil.
func (g *Grows) String() string {
	if g == nil {
		return ""
	}
	return fmt.Sprintf("grows %d by %d", g.Dim, g.By)
}

// ReadOnly reports a tensor that the kernel never writes: its loads may move freely.
func (t *Tensor) ReadOnly() bool { return t.Mode == lang.In }

// Value is an SSA value.
type Value struct {
	// ID is unique in its Func; the text form prints %ID.
	ID   int
	Type Type
	// Def is the operation that gives the value; nil for scalar parameters and block parameters.
	Def *Op
	// Name is the source's name for it, or "".
	Name string
}

// Const is the payload of a const operation: Float for float types, Int for the others (bool is 0 or 1).
type Const struct {
	Int   int64
	Float float64
}

// Op is an operation. Which attributes are set depends on Code:
//
//	const                Const
//	full                 Axes; one argument, whose axes are among them
//	index start end      Axis; i32, or i64 where its dimension is Wide
//	size                 Dim; the same
//	load                 Tensor, Checked; arguments: one index per dimension, then the else value if any index is checked
//	store                Tensor, Checked; arguments: one index per dimension, then the value
//	atomic_...           the same, Old, Order, Scope; of atomic_cas, the value expected and then the new one
//	sum ... argmin       Over
//	sort                 Over (one axis), Descending; gives positions
//	topk                 Over (one axis), Axis of the results; arguments: the tile, then the values and positions
//	                     over Axis that other elements have given so far, or nothing
//	dot mma              Over; arguments a, b and, for mma, acc; with Fn, then what that takes beside b, see mixed.go
//	reduce scan          Over (one axis), Fn, Reverse; see combine.go
//	print                Text; any arguments
//	assert               Text, Names; arguments: whether it has failed, the position along each name, scalars for the text
//	rename               From, Axis
//	join                 Axis, Fn, Exclusive, Reverse; see join.go
//	take                 Axes, which the tile loses; arguments: the tile, then for each of Axes its positions (of the type that index has)
//	cast                 the result's type
//	for                  Axis (nil for a scalar loop); arguments: lo, hi, initial values; one block
//	                     whose parameters are the position (the type of lo and hi: i32, or i64 where the
//	                     axis's dimension is Wide) and the carried values
//	if                   one bool scalar argument; two blocks without parameters
//
// An index of a load or a store is a scalar or a tile of i32 or i64; the loaded tile
// has the union of their axes.
type Op struct {
	Code    lang.Op
	Args    []*Value
	Results []*Value
	Blocks  []*Block
	// Fn is the function of a reduce, a scan or a join, or what makes a contraction's second factor.
	Fn *Block

	Const   Const
	Axis    *Axis
	From    *Axis
	Dim     *Dim
	Axes    []*Axis
	Over    []*Axis
	Tensor  *Tensor
	Reverse bool // of a scan, a loop over an axis or an exclusive join: from the last position, step or block to the first
	// Exclusive join: of the blocks before alone, see join.go.
	Exclusive bool
	Checked   []bool // by index: whether it may lie outside the tensor
	// Hint says how a load or a store of global memory is to go about it; it changes no result.
	Hint AccessHint
	// Descending is the order of a sort.
	Descending bool
	// Span, of a start or an end of a Grid or Loop axis: the bound is that of the run of so many positions, counted from
	// where the axis begins, in which the block's part lies, and the axis's Extent divides it. 0 is the part itself.
	Span int64
	// Precision of an f32 contraction, or of a sum, which may become one: "" is tf32, else "ieee" or "tf32x3".
	Precision string
	// Coarse: the result reaches nothing but roundings to f16 or bf16, which do not show whether it is off by 2^-n of its value, for the n
	// of the operation's row (lang.OpRow.Coarse): the form of so few digits will do.
	Coarse bool
	// Relative: what a cast to f16 or bf16 rounds are weights of a softmax, or these by their sum, for which the number that is rounded may be the weight by another number
	// of its row: it is off by no more than a rounding.
	Relative bool
	// Old: the atomic gives the elements as they were, 0 for those outside the tensor.
	Old bool
	// Order and Scope of an atomic: "" is lang.OrderRelaxed and lang.ScopeDevice.
	Order, Scope string
	// Text is what a print or an assert says; Names are the axes whose positions an assert gives.
	Text  string
	Names []string
	At    lang.Span
}

// AccessHint is what a source says of one access.
type AccessHint struct {
	// Latency is how many stages a load's pipeline has; 0 where nothing is said.
	Latency int64
	// Cache is evict_first, evict_last, evict_normal or no_allocate; "" where nothing is said.
	Cache string
	// At is where it is said.
	At lang.Span
}

// Given reports that something is said.
func (h AccessHint) Given() bool { return h.Latency > 0 || h.Cache != "" }

// String is the text form: ` latency 4 cache evict_first`.
func (h AccessHint) String() string {
	s := ""
	if h.Latency > 0 {
		s += fmt.Sprintf(" latency %d", h.Latency)
	}
	if h.Cache != "" {
		s += " cache " + h.Cache
	}
	return s
}

// Result is the only result of an operation that has one. Copies of it in its callers would take 25 KB of the program.
//
//go:noinline
func (op *Op) Result() *Value { return op.Results[0] }

// Indices are the index arguments of a load, a store or an atomic.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (op *Op) Indices() []*Value { return op.Args[:len(op.Tensor.Shape)] }

// Else is the else value of a load, nil when it has none.
func (op *Op) Else() *Value {
	if op.Code == lang.OpLoad && len(op.Args) > len(op.Tensor.Shape) {
		return op.Args[len(op.Tensor.Shape)]
	}
	return nil
}

// Stored is the value argument of a store or an atomic, of atomic_cas the one expected.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (op *Op) Stored() *Value { return op.Args[len(op.Tensor.Shape)] }

// AccessAxes is the axes of the indices of an access: it touches one element for each position along them.
func (op *Op) AccessAxes() []*Axis {
	types := make([]Type, len(op.Tensor.Shape))
	for i, v := range op.Indices() {
		types[i] = v.Type
	}
	return Union(types...)
}

// Block is a straight run of operations. Yield is what it hands back: the next
// carried values of a `for`, the results of an `if`, nothing for a Func's body.
type Block struct {
	Params []*Value
	Ops    []*Op
	Yield  []*Value
}

// Func is one kernel, specialised: every element type is concrete, some dimensions are constants.
type Func struct {
	Name    string
	Tensors []*Tensor
	// Scalars are the scalar parameters.
	Scalars []*Value
	// Dims is every dimension in use. Those that are not Known are parameters of the launch, in this order.
	Dims []*Dim
	// Axes is every axis, in order of declaration; grid axes come first, slowest first.
	Axes []*Axis
	Body *Block
	// Hints pins what the planner would decide, by attribute name (warps, stages ...).
	Hints map[string]int64
	// Approx permits the hardware's approximate math (`@approx`).
	Approx bool
	// Spill permits to keep in scratch tensors what is too long for a block and cannot be computed again.
	Spill bool
	// Dependent: the launch may begin before the one before it in its program has ended. Before the kernel reads or writes what is
	// not Constant, it waits for that.
	Dependent bool
	// Timed: blocks note when they begin and end (see TimesBytes).
	Timed bool

	nextID int
}

// Grid is the axes that the launch walks, slowest first.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (f *Func) Grid() []*Axis {
	var g []*Axis
	for _, a := range f.Axes {
		if a.Kind == Grid {
			g = append(g, a)
		}
	}
	return g
}

// Axis finds an axis by name; nil when there is none.
func (f *Func) Axis(name string) *Axis {
	for _, a := range f.Axes {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Tensor finds a tensor by name, nil where there is none.
func (f *Func) Tensor(name string) *Tensor {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// NewValue makes a value with a fresh ID.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (f *Func) NewValue(t Type, def *Op) *Value {
	v := &Value{ID: f.nextID, Type: t, Def: def}
	f.nextID++
	return v
}

// Walk calls visit for every operation, outer before inner, in order; it stops descending where visit gives false.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (f *Func) Walk(visit func(*Op) bool) { f.Body.Walk(visit) }

// Walk calls visit for every operation in b.
func (b *Block) Walk(visit func(*Op) bool) {
	for _, op := range b.Ops {
		if visit(op) {
			for _, inner := range op.Blocks {
				inner.Walk(visit)
			}
		}
	}
}

// Replace puts, in b and everything inside it, for each use of a key of m its value.
func (b *Block) Replace(m map[*Value]*Value) {
	find := func(vs []*Value) {
		for i, v := range vs {
			for n, ok := m[v]; ok; n, ok = m[v] {
				v = n
			}
			vs[i] = v
		}
	}
	b.Walk(func(op *Op) bool {
		find(op.Args)
		for _, inner := range op.Blocks {
			find(inner.Yield)
		}
		return true
	})
	find(b.Yield)
}

// Settle lists the axes of what renames and casts give in the order in which their operands have them, where another operand was put in the place of one with
// another order: a backend may hold the elements of both in one place, in that order.
func (f *Func) Settle() {
	f.Walk(func(op *Op) bool {
		if !op.keepsOrder() {
			return true
		}
		axes := slices.Clone(op.Args[0].Type.Axes)
		if i := slices.Index(axes, op.From); i >= 0 && op.Code == lang.OpRename {
			axes[i] = op.Axis
		}
		if v := op.Result(); !slices.Equal(axes, v.Type.Axes) && (Type{DType: v.Type.DType, Axes: axes}).Same(v.Type) {
			v.Type.Axes = axes
		}
		return true
	})
}

// keepsOrder reports an operation whose result has its axes in the order of its operand's.
func (op *Op) keepsOrder() bool { return op.Code == lang.OpRename || op.Code == lang.OpCast }

// ParamKind is what a launch parameter holds.
type ParamKind uint8

// The kinds of launch parameter.
const (
	// ParamPointer is the address of element 0 of a tensor, 64 bits.
	ParamPointer ParamKind = iota
	// ParamScalar is a scalar parameter, in its own type (bool in 8 bits).
	ParamScalar
	// ParamDim is the size of an unknown dimension, i32 or, where it is Wide, i64.
	ParamDim
	// ParamStride is an unknown stride in elements, i64.
	ParamStride
	// ParamDebug is the address of the memory for what the kernel says, 64 bits.
	ParamDebug
	// ParamScratch is the address of the scratch tensors of the first block of a launch, 64 bits.
	ParamScratch
	// ParamFirst is the number of the first block of a launch, i32: where there is not enough
	// scratch memory for all blocks at once, they run in several launches.
	ParamFirst
	// ParamTimes is the address of the memory for when the launch's blocks began and ended, 64 bits.
	ParamTimes
)

// Param is one parameter of a compiled kernel.
type Param struct {
	Kind   ParamKind
	Tensor *Tensor // ParamPointer
	Scalar *Value  // ParamScalar
	Dim    *Dim    // ParamDim, ParamStride
}

// Bytes is the size of the parameter, of which a launch gives the lowest bytes of a word.
func (p Param) Bytes() int {
	switch p.Kind {
	case ParamScalar:
		return p.Scalar.Type.DType.Size()
	case ParamDim:
		if !p.Dim.Wide {
			return 4
		}
	case ParamFirst:
		return 4
	}
	return 8
}

// Params is the launch interface of every backend: the scalars, the tensors' pointers,
// the unknown dimensions, the unknown strides, each in order, then the
// memory for what the kernel says, where it says something, the scratch
// memory with the number of the first block, where there are scratch tensors, and the memory for times, where it is Timed.
//
// A GPU has parameters in lines of 64 bytes, of which the first touch takes some time. Addresses are used as soon as a block begins, scalars where the
// computation needs them: these stand in the first line, and nobody waits for them.
func (f *Func) Params() []Param {
	var ps []Param
	for _, s := range f.Scalars {
		ps = append(ps, Param{Kind: ParamScalar, Scalar: s})
	}
	for _, t := range f.Tensors {
		if !t.Scratch {
			ps = append(ps, Param{Kind: ParamPointer, Tensor: t})
		}
	}
	for _, d := range f.Dims {
		if !d.Known() {
			ps = append(ps, Param{Kind: ParamDim, Dim: d})
		}
	}
	seen := map[*Dim]bool{}
	for _, t := range f.Tensors {
		for _, s := range t.Strides {
			if !s.Known() && !seen[s] {
				seen[s] = true
				ps = append(ps, Param{Kind: ParamStride, Dim: s})
			}
		}
	}
	if f.HasDebug() {
		ps = append(ps, Param{Kind: ParamDebug})
	}
	if f.ScratchBytes() > 0 {
		ps = append(ps, Param{Kind: ParamScratch}, Param{Kind: ParamFirst})
	}
	if f.Timed {
		ps = append(ps, Param{Kind: ParamTimes})
	}
	return ps
}
