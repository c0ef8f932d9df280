package typed

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/size"
)

// This file is the typed form of graphs: programs over whole tensors.

// GKind is the kind of a graph value.
type GKind uint8

// The kinds of graph value.
const (
	GTensor GKind = iota
	GScalar
	GStruct
	GArray
	GTuple
)

// GType is the type of a graph value.
type GType struct {
	Kind  GKind
	DType DType       // GTensor, GScalar
	Shape []size.Size // GTensor
	// Struct and Fields describe a GStruct, with the struct's own parameters replaced by those of the graph that uses it.
	Struct *Struct
	Fields []GField
	// Len and Elem describe a GArray.
	Len  size.Size
	Elem *GType
	// Elems describe a GTuple: what a kernel with several outputs, or none, gives.
	Elems []GType
}

// GField is a field of a struct.
type GField struct {
	Name string
	Type GType
	// Names are the texts of @name, of each of the checkpoint's tensors that fill the field, one behind the other along its first dimension: its
	// name, with `{i}` for the index in the enclosing array, and that of the one that it is in checkpoints that tie both
	// (`"lm_head.weight" else "wte.weight"`). Nil without @name.
	Names [][]string
	// Transposed: the checkpoint's tensor has the field's two dimensions in the other order (`@transposed`).
	Transposed bool
	// ScaleOf is the field whose elements this one multiplies, one for all that stand behind an index of its own
	// (`@scale(w)`); "" for none.
	ScaleOf string
	At      lang.Span
}

// Struct is a declared struct. Its dimensions unify by name with those of the graph that uses it.
type Struct struct {
	Name       string
	Decl       *lang.StructDecl
	TypeParams []*TypeParam
	Consts     []*size.Symbol
	Dims       []*size.Symbol
	Fields     []GField
}

// GParam is a parameter or an output of a graph.
type GParam struct {
	Name    string
	Mode    lang.ParamMode
	Type    GType
	Default *lang.Literal
	At      lang.Span
}

// Graph is a typed graph.
type Graph struct {
	Name       string
	Decl       *lang.GraphDecl
	TypeParams []*TypeParam
	Consts     []*size.Symbol
	Dims       []*size.Symbol
	Params     []*GParam
	Outputs    []*GParam
	Body       []GStmt
	// Generate marks a language model (`@generate`); Logits the graph that gives every position's logits (`@logits`).
	Generate, Logits bool
	// Config are the rows of @config, in the order of the source: a default may use what rows before it tell.
	Config []*ConfigRow
	// Require is what must be so of the checkpoint's config.json, by @require.
	Require []*Condition
	// SizeHints and TypeHints come from @sizes.
	SizeHints map[*size.Symbol]int64
	TypeHints map[*TypeParam]lang.DType
}

// ConfigRow is the row of @config that tells a dimension, a constant or a scalar parameter; nil where none does.
func (g *Graph) ConfigRow(name string) *ConfigRow {
	for _, r := range g.Config {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// GLocal is a name bound in a graph.
type GLocal struct {
	Name string
	Type GType
	At   lang.Span
}

// GStmt is a statement of a graph.
type GStmt interface{ gstmt() }

type (
	// GLet binds the values of an expression; a nil GLocal discards.
	GLet struct {
		Locals []*GLocal
		Value  GExpr
		At     lang.Span
	}

	// GAssign gives an output its value.
	GAssign struct {
		Output *GParam
		Value  GExpr
		At     lang.Span
	}

	// GDo evaluates a call for its effect on inout arguments.
	GDo struct{ X GExpr }
)

func (*GLet) gstmt()    {}
func (*GAssign) gstmt() {}
func (*GDo) gstmt()     {}

// GExpr is an expression of a graph.
type GExpr interface {
	GType() GType
	Span() lang.Span
}

// GTyped is the type and place that graph expressions embed.
type GTyped struct {
	Type GType
	At   lang.Span
}

// GType is the expression's type.
func (t GTyped) GType() GType { return t.Type }

// Span is the place in the source.
func (t GTyped) Span() lang.Span { return t.At }

type (
	// GParamRef is a parameter.
	GParamRef struct {
		GTyped
		Param *GParam
	}

	// GLocalRef is a bound name.
	GLocalRef struct {
		GTyped
		Local *GLocal
	}

	// GFieldOf is `x.field`; Index is its place in the struct.
	GFieldOf struct {
		GTyped
		X     GExpr
		Index int
	}

	// GElem is `blocks[n]` of an array of structs.
	GElem struct {
		GTyped
		X, Index GExpr
		Where    Positions
	}

	// GRange is the elements Lo .. Hi of an array of structs; nil for the array's ends.
	GRange struct {
		GTyped
		X      GExpr
		Lo, Hi GExpr
		Where  Positions
	}

	// GView is the same elements in another shape, or their bits as another type of
	// the same width, without a copy.
	GView struct {
		GTyped
		X GExpr
	}

	// GSlice is a part of a tensor, without a copy. Items has one entry a dimension.
	GSlice struct {
		GTyped
		X     GExpr
		Items []GSliceItem
	}

	// GCall runs a kernel. Args follow Kernel.Params; nil takes the parameter's default.
	GCall struct {
		GTyped
		Kernel *Kernel
		Args   []GExpr
		Types  map[*TypeParam]DType
		Consts map[*size.Symbol]GExpr
		// Shapes are shapes of the first output that its parameters do not tell: those
		// of random numbers and the like that the kernel makes.
		Shapes [][]size.Size
	}

	// GInvoke runs a graph.
	GInvoke struct {
		GTyped
		Graph  *Graph
		Args   []GExpr
		Types  map[*TypeParam]DType
		Consts map[*size.Symbol]GExpr
		// State tells which arguments are parts of the caller's state that the
		// graph only reads. A result that is a view of one is copied, by the call in
		// Copies that has its place: what is written to the state later must not show in it.
		State  []bool
		Copies []*GCall
	}

	// GConst is a literal scalar.
	GConst struct {
		GTyped
		Value lang.Literal
	}

	// GSizeOf is an integer expression over dimensions and constants.
	GSizeOf struct {
		GTyped
		Size size.Size
	}

	// GConstRef is a constant parameter of bool or float type.
	GConstRef struct {
		GTyped
		Symbol *size.Symbol
	}

	// GApply is an elementwise operation (or a cast) on scalars.
	GApply struct {
		GTyped
		Op   lang.Op
		Args []GExpr
	}

	// GFor is an unrolled loop: over an array (Over, with Var each element), or Var counts from Lo to Hi.
	GFor struct {
		GTyped
		Over    GExpr
		Lo, Hi  GExpr
		Var     *GLocal
		Carried []*GLocal
		Init    []GExpr
		Body    []GStmt
		Results []GExpr
	}

	// GMake is a tensor that is filled when the graph is bound.
	GMake struct {
		GTyped
		Rule MakeRule
		// Value is the element of MakeFull.
		Value GExpr
		// Elems are the elements of MakeList, row-major.
		Elems []lang.Literal
	}

	// GIf is a choice that is made when the graph is bound.
	GIf struct {
		GTyped
		Cond       GExpr
		Then, Else GBody
	}

	// GTupleOf is several values.
	GTupleOf struct {
		GTyped
		Elems []GExpr
	}
)

// GBody is statements with the values that they give.
type GBody struct {
	Stmts   []GStmt
	Results []GExpr
}

// MakeRule says what the elements of a GMake are.
type MakeRule uint8

// The rules.
const (
	MakeFull  MakeRule = iota // one value
	MakeRange                 // 0, 1, 2 ... in row-major order
	MakeList                  // as listed
)

// GSliceItem is one index of a slice: a single position (Index, which drops the
// dimension), or the range Lo .. Hi, nil for the dimension's ends.
type GSliceItem struct {
	Index  GExpr
	Lo, Hi GExpr
	Where  Positions
}

// String is the type as messages show it.
func (t GType) String() string {
	switch t.Kind {
	case GTensor:
		return ShapeText(t.DType, t.Shape)
	case GScalar:
		return t.DType.String()
	case GStruct:
		return t.Struct.Name
	case GArray:
		return "[" + t.Len.String() + "]" + t.Elem.String()
	}
	if len(t.Elems) == 1 {
		return "1 value"
	}
	return fmt.Sprintf("%d values", len(t.Elems))
}

// Walk visits a type and those inside it.
func (t GType) Walk(visit func(GType)) {
	visit(t)
	for _, f := range t.Fields {
		f.Type.Walk(visit)
	}
	if t.Elem != nil {
		t.Elem.Walk(visit)
	}
	for _, e := range t.Elems {
		e.Walk(visit)
	}
}

// Test is `test "name" { ... }`.
type Test struct {
	Name string
	Decl *lang.TestDecl
	// Graph is what the test does; it has no parameters and no outputs.
	Graph *Graph
}

// GCheck is one `check`: that A and B are alike, element by element (Op is
// lang.OpEq), or compare as another Op says; where B is nil, that A is true
// everywhere. A scalar is compared with every element of a tensor.
type GCheck struct {
	Op   lang.Op
	A, B GExpr
	// An element of A may be off by Abs + Rel * |b| + Ulps units in the last place of b in A's type.
	Abs, Rel, Ulps float64
	// Names are those of A's dimensions, by the kernel that made it; nil where nothing tells.
	Names []string
	// Message is what the test says of the check; "" for nothing.
	Message string
	At      lang.Span
}

func (*GCheck) gstmt() {}
