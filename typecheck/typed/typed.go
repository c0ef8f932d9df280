// Package typed is the typed program as data: every name resolved, every
// expression with its element type and axes, every fn inlined where it is
// called. It is still generic: element type parameters, constant parameters and
// dimensions are symbols that a specialisation binds. Package typecheck makes
// it; what reads all of it goes through Walk.
package typed

import (
	"cmp"
	"fmt"
	"slices"

	"tilec/lang"
	"tilec/typecheck/size"
)

// Program is every declaration of a file and of what it imports.
type Program struct {
	// Modules are in order of import, the root last.
	Modules []*lang.Module
	Kernels []*Kernel
	Graphs  []*Graph
	Structs []*Struct
	// Tests are those of the root.
	Tests []*Test
	// Warnings are what there is to say of the root beside errors.
	Warnings lang.Diagnostics
}

// TypeParam is an element type parameter, `T: float`.
type TypeParam struct {
	Name string
	// Bound is "float", "int" or "any". A float parameter stands for the types that accumulate in f32
	// (f32 and narrower), so that the type of a sum does not depend on it.
	Bound string
	At    lang.Span
}

// Accepts reports whether the parameter may stand for d.
func (p *TypeParam) Accepts(d lang.DType) bool {
	switch p.Bound {
	case "float":
		return d.IsFloat() && d != lang.F64
	case "int":
		return d.IsInt()
	}
	return d != lang.Invalid
}

// DType is an element type, or a parameter that stands for one.
type DType struct {
	// Of is the type when Param is nil.
	Of    lang.DType
	Param *TypeParam
}

// Concrete is the DType of a known element type.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func Concrete(d lang.DType) DType { return DType{Of: d} }

// Resolve gives the element type under a specialisation.
func (d DType) Resolve(types map[*TypeParam]lang.DType) lang.DType {
	if d.Param != nil {
		return types[d.Param]
	}
	return d.Of
}

// String is the type as the source spells it.
func (d DType) String() string {
	if d.Param != nil {
		return d.Param.Name
	}
	return d.Of.String()
}

// AxisKind says how an axis walks its dimension.
type AxisKind uint8

// The kinds of axis.
const (
	GridAxis AxisKind = iota
	LoopAxis
	WholeAxis
)

// Axis is a declared axis. Two axes are the same only when the pointers are equal.
type Axis struct {
	Name string
	Kind AxisKind
	// Dim is the dimension walked. A free axis (`axis r in 4`) has the constant extent here and IsFree set.
	Dim    size.Size
	IsFree bool
	// Lo and Len are the range of a WholeAxis.
	Lo, Len size.Size
	// From and To are the range of a GridAxis over a part of its dimension, to which they are cut: i32
	// scalars that a launch computes. Both are nil where it walks all of it.
	From, To Expr
	// Of, of a GridAxis over ranges that lie in memory, is the scalar GridAxis each of whose positions has one: From and To are then
	// elements of tensors at that position, so much further on, or an end of the dimension. A range begins at the earliest where
	// those before it end.
	Of      *Axis
	RangeAt lang.Span // where the source says so
	// Scalar axes (`grid b in B`) give a position and no tile axis.
	Scalar bool
	// Tile is the name of the extent ("BM"); "" without `by`, or for a constant extent.
	Tile string
	// Choices limits the extent: the tune clause, or one constant.
	Choices []int64
	// Span is, where the program uses `.start` or `.end` of a GridAxis or a LoopAxis, the run of positions whose bounds these
	// are: every extent that the axis may have divides it. 0 where the program uses neither.
	Span int64
	// Extent is what the language gives a GridAxis or a LoopAxis, where a result would depend on an extent of which
	// the source says nothing; else 0.
	Extent int64
	At     lang.Span
}

// Type is the type of a tile: an element type over axes; a scalar has no axes.
type Type struct {
	DType DType
	Axes  []*Axis
}

// Param is a parameter or an output of a kernel.
type Param struct {
	Name  string
	Mode  lang.ParamMode
	DType DType
	// IsTensor tells a tensor of rank 0, which has an empty Shape too, from a scalar.
	IsTensor bool
	Shape    []size.Size
	// Of is the input whose memory this is a view of, as elements of DType; nil for what a launch passes.
	Of *Param
	// Default is the value of a scalar that a call leaves out; nil when it must be given.
	Default *lang.Literal
	// Fill, of an output: nothing proves that every element is stored, so a launch first fills it with zeros.
	Fill bool
	// Outside, of an output all of which is stored but for positions along its first dimension that no range of this axis has (Axis.Of): the
	// kernel stores zeros there.
	Outside *Axis
	At      lang.Span
}

// Kernel is a typed kernel.
type Kernel struct {
	Name       string
	Decl       *lang.KernelDecl
	TypeParams []*TypeParam
	Consts     []*size.Symbol
	// Dims are the dimensions, in order of first appearance in the parameters.
	Dims []*size.Symbol
	// Params are the inputs and inouts as declared; Outputs are the outputs (written after `->`, or with `out`).
	Params  []*Param
	Outputs []*Param
	// Axes is every axis declared in the kernel; the grid axes come first, in order.
	Axes []*Axis
	Body *Body
	// Parts are the kernels that a formula is launched as, one after the other, where that is more than one: Axes
	// are then those of all parts, and Body is empty. A part's parameters have the names of the formula's.
	Parts []*Kernel
	// Fixed are sizes that a specialisation must know: shape operations rest on them.
	Fixed []size.Size
	// SizeHints and TypeHints come from @sizes.
	SizeHints map[*size.Symbol]int64
	TypeHints map[*TypeParam]lang.DType
	// Hints pins what the planner would decide: warps, stages, cluster, occupancy. HintAt is where.
	Hints  map[string]int64
	HintAt map[string]lang.Span
	// Targets are the pins that hold for one target alone, in order.
	Targets []TargetPins
	// Splits are the axes that several blocks share.
	Splits []Split
	// Precision of f32 contractions: "" (tf32), "ieee", "tf32x3".
	Precision string
	Approx    bool
	// Assumes are conditions of dimensions, constants and scalars that every launch checks;
	// Divisors are numbers that, by these, divide dimensions.
	Assumes  []*Assume
	Divisors map[*size.Symbol]int64
}

// Assume is a condition that launches must meet; At is where it stands.
type Assume struct {
	Cond Expr
	At   lang.Span
}

// Pin is a choice that the source takes from the planner.
type Pin struct {
	// Name is warps, stages, cluster, occupancy, or the extent of an axis.
	Name  string
	Value int64
	At    lang.Span
}

// TargetPins is `@target(sm_90a, BM = 128)`.
type TargetPins struct {
	Target string
	Pins   []Pin
	At     lang.Span
}

// Split is `@split(k, 4)`: so many blocks share the positions of a sequential or whole axis.
type Split struct {
	Axis   *Axis
	Blocks int64
	At     lang.Span
	// Target is where it holds, as in `@target(sm_90a, split(k, 4))`; "" for every target.
	Target string
}

// String is the split as the source says it.
func (s Split) String() string {
	text := fmt.Sprintf("split(%s, %d)", s.Axis.Name, s.Blocks)
	if s.Target != "" {
		return fmt.Sprintf("@target(%s, %s)", s.Target, text)
	}
	return "@" + text
}

// Launches are the kernels that are launched: the parts of a formula, or the kernel itself.
func (k *Kernel) Launches() []*Kernel {
	if len(k.Parts) > 0 {
		return k.Parts
	}
	return []*Kernel{k}
}

// SplitsOn are the splits that hold on a target: of two for one axis, that for the target alone.
func (k *Kernel) SplitsOn(target string) []Split {
	var on []Split
	for _, s := range k.Splits {
		own := slices.ContainsFunc(k.Splits, func(o Split) bool { return o.Axis == s.Axis && o.Target == target && o.Target != s.Target })
		if s.Target == target || s.Target == "" && !own {
			on = append(on, s)
		}
	}
	return on
}

// AccessHints are the attributes of one access; they change no result.
type AccessHints struct {
	// Latency is how many steps a load runs ahead, in stages of its pipeline; 0 where nothing is said.
	Latency int64
	// Cache is evict_first, evict_last, evict_normal or no_allocate; "" where nothing is said.
	Cache string
	At    lang.Span
}

// Local is a name bound by let, by a loop, or by the inlining of a fn.
type Local struct {
	Name string
	Type Type
	At   lang.Span
}

// Body is a run of statements with the values that it gives.
type Body struct {
	Stmts   []Stmt
	Results []Expr
}

// Stmt is a typed statement.
type Stmt interface{ stmt() }

type (
	// Let binds the values of an expression; a nil Local discards.
	Let struct {
		Locals []*Local
		Value  Expr
		At     lang.Span
	}

	// Store writes elements of a tensor parameter, by OpStore or an atomic.
	Store struct {
		Op      lang.Op
		Param   *Param
		Indices []Expr
		// Checked tells, by index, that it may lie outside: such elements are dropped.
		Checked []bool
		// Needs has, by index, the dimensions without which nothing proves that it lies inside, or meets no other block's:
		// those that must not be 0 in a launch that gets there.
		Needs [][]*size.Symbol
		Value Expr
		// New, of a compare-and-swap, is what an element becomes that is Value.
		New Expr
		// Order and Scope of an atomic, "" where it has none.
		Order, Scope string
		// Old, where something needs them, is bound to the elements as they were;
		// Else, where an index is checked, to what those outside the tensor give.
		Old   *Local
		Else  Expr
		Hints AccessHints
		At    lang.Span
	}

	// Print says Text, with Args in the place of its {}.
	Print struct {
		Text string
		Args []Expr
		At   lang.Span
	}

	// Assert fails the launch with Text unless Cond holds for every element. With
	// Debug it does so in debug builds only.
	Assert struct {
		Cond  Expr
		Text  string
		Args  []Expr
		Debug bool
		At    lang.Span
	}

	// StaticAssert is a condition of constants and dimensions; At is where it stands.
	StaticAssert struct {
		Cond Expr
		Text string
		At   lang.Span
	}

	// Do evaluates an expression for the stores inside it (a `for` or an `if`).
	Do struct{ X Expr }
)

func (*Let) stmt()   {}
func (*Store) stmt() {}
func (*Do) stmt()    {}

func (*Print) stmt()        {}
func (*Assert) stmt()       {}
func (*StaticAssert) stmt() {}

// Expr is a typed expression. Most give one value; For, If, Tuple and Inline may give several, or none.
type Expr interface {
	Types() []Type
	Span() lang.Span
}

// Typed is the type and place that one-valued expressions embed.
type Typed struct {
	Type Type
	At   lang.Span
}

// Types is the one type.
func (t Typed) Types() []Type { return []Type{t.Type} }

// Span is the place in the source.
func (t Typed) Span() lang.Span { return t.At }

type (
	// Const is a literal scalar; its type may be a TypeParam, to which the value is then rounded.
	Const struct {
		Typed
		Int   int64
		Float float64
	}

	// SizeExpr is a dimension or an integer expression over dimensions and constants, as an i32 or i64 scalar.
	SizeExpr struct {
		Typed
		Size size.Size
	}

	// ConstRef is a constant parameter of bool or float type.
	ConstRef struct {
		Typed
		Symbol *size.Symbol
	}

	// ScalarRef is a scalar parameter.
	ScalarRef struct {
		Typed
		Param *Param
	}

	// LocalRef is a bound name.
	LocalRef struct {
		Typed
		Local *Local
	}

	// Apply is an operation of the table, with the attributes of ir.Op: cast
	// (to Type.DType), full (Axes), index, start and end (Axis), reductions and
	// contractions (Over), rename (From to Axis), and every elementwise one.
	Apply struct {
		Typed
		Op         lang.Op
		Args       []Expr
		Axis, From *Axis
		Axes       []*Axis
		Over       []*Axis
	}

	// Load reads a tensor parameter. Else is nil when no index is Checked. Needs is as in Store.
	Load struct {
		Typed
		Param   *Param
		Indices []Expr
		Checked []bool
		Needs   [][]*size.Symbol
		Else    Expr
		Hints   AccessHints
	}

	// Take is X with each of Axes replaced by positions along it (i32 or i64), which
	// lie inside it or, where Checked, may not: Else stands there. Its Type has the
	// axes of Else too. Claims must hold in a specialisation.
	Take struct {
		Typed
		X         Expr
		Axes      []*Axis
		Positions []Expr
		Checked   []bool
		Else      Expr
		Claims    []Claim
	}

	// For is a sequential loop: over Axis, or with a scalar Index when Axis is nil.
	// Lo and Hi are i32 scalars; of an axis loop they are clamped to its dimension.
	For struct {
		Axis    *Axis
		Index   *Local
		Lo, Hi  Expr
		Carried []*Local
		Init    []Expr
		Body    *Body
		At      lang.Span
	}

	// If is a choice by a bool scalar. A condition that is a constant of the
	// specialisation is decided then, and the other branch is not built.
	If struct {
		Cond       Expr
		Then, Else *Body
		At         lang.Span
	}

	// Tuple is several values.
	Tuple struct {
		Elems []Expr
		At    lang.Span
	}

	// Inline is a block, or the body of a fn at a call.
	Inline struct {
		Body *Body
		At   lang.Span
	}
)

// Types are the types of the carried values.
func (f *For) Types() []Type {
	ts := make([]Type, len(f.Carried))
	for i, c := range f.Carried {
		ts[i] = c.Type
	}
	return ts
}

// Span is the place in the source.
func (f *For) Span() lang.Span { return f.At }

// Branch is what runs where the condition has a value; nil for an `else` that is not there.
func (f *If) Branch(cond bool) *Body {
	if cond {
		return f.Then
	}
	return f.Else
}

// Types are those of the first branch, which are those of the other.
func (f *If) Types() []Type { return resultTypes(f.Then.Results) }

// Span is the place in the source.
func (f *If) Span() lang.Span { return f.At }

// Types are those of the elements.
func (t *Tuple) Types() []Type { return resultTypes(t.Elems) }

// Span is the place in the source.
func (t *Tuple) Span() lang.Span { return t.At }

// Types are those of the block's results.
func (b *Inline) Types() []Type { return resultTypes(b.Body.Results) }

// Span is the place in the source.
func (b *Inline) Span() lang.Span { return b.At }

func resultTypes(xs []Expr) []Type {
	var ts []Type
	for _, x := range xs {
		ts = append(ts, x.Types()...)
	}
	return ts
}

// Given reports an axis whose extent the source says: what a part of it gives is a result of the program.
func (a *Axis) Given() bool { return len(a.Choices) == 1 }

// Over is what the axis walks, as the source says it: `N`, or `N[1 .. N - 1]`.
func (a *Axis) Over() string {
	switch {
	case a.RangeAt.IsValid():
		return a.Dim.String() + "[" + a.RangeAt.Text() + "]"
	case a.Kind != WholeAxis || a.Len.Equal(a.Dim):
		return a.Dim.String()
	}
	return a.Dim.String() + "[" + a.Lo.String() + " .. " + a.Lo.Add(a.Len).String() + "]"
}

// Length is how many positions an axis has in all its blocks or steps.
func (x *Axis) Length() size.Size {
	if x.Kind == WholeAxis {
		return x.Len
	}
	return x.Dim
}

// viewText is a view as the source makes it from what a launch passes.
func (p *Param) viewText() string { return "bitcast(" + p.Of.Name + ", " + p.DType.String() + ")" }

// PinsBeside are the names by which extents in other parts of a formula are pinned, and none of one part.
func (k *Kernel) PinsBeside(part *Kernel) map[string]bool {
	others := map[string]bool{}
	for _, a := range k.Axes {
		others[cmp.Or(a.Tile, a.Name)] = true
	}
	for _, a := range part.Axes {
		delete(others, cmp.Or(a.Tile, a.Name))
	}
	return others
}

// IsFloat reports an element type that certainly is a float; a type parameter by its bound.
func IsFloat(d DType) bool {
	if d.Param != nil {
		return d.Param.Bound == "float"
	}
	return d.Of.IsFloat()
}

// IsInt reports an element type that certainly is an integer; a type parameter by its bound.
func IsInt(d DType) bool {
	if d.Param != nil {
		return d.Param.Bound == "int"
	}
	return d.Of.IsInt()
}
