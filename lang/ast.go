package lang

import "sort"

// This file is the syntax tree: what the parser makes of a source, before any
// name is resolved. Every node knows its span.

// Node is anything with a place in a source.
type Node interface{ Span() Span }

// At carries the span of a node; nodes embed it.
type At struct{ Place Span }

// Span is the node's place.
func (a At) Span() Span { return a.Place }

// Ident is a name where it is written.
type Ident struct {
	At
	Name string
}

// Module is one parsed file.
type Module struct {
	Source  *Source
	Imports []*Import
	Decls   []Decl // in source order, imports left out
	// Lost are the names of declarations that could not be parsed. Partial: there
	// may be others, so that a name which nothing declares proves nothing.
	Lost    []string
	Partial bool
}

// DeclAt is the declaration around an offset, or the one that ends there; nil when there is none.
func (m *Module) DeclAt(offset int) Decl {
	i := sort.Search(len(m.Decls), func(i int) bool { return m.Decls[i].Span().End >= offset })
	if i < len(m.Decls) && m.Decls[i].Span().Start <= offset {
		return m.Decls[i]
	}
	return nil
}

// Import is `import "path"`.
type Import struct {
	At
	Path string
}

// Decl is a named declaration at the top of a file.
type Decl interface {
	Node
	// DeclName is the declared name.
	DeclName() Ident
	// DocText is the text of the `///` lines above, without the slashes.
	DocText() string
	// SyntaxErrors tells where the declaration lacks what could not be parsed.
	SyntaxErrors() Damage
}

// Damage says which part of a declaration has syntax errors: what is left of
// that part says nothing for certain.
type Damage uint8

// The parts. A damaged header is a damaged declaration.
const (
	Intact Damage = iota
	DamagedBody
	DamagedHeader
)

// Head is what every declaration has; declarations embed it.
type Head struct {
	At
	Doc   string
	Attrs []*Attr
	Name  Ident
	// Damage is set by the parser.
	Damage Damage
}

// SyntaxErrors tells where the declaration lacks what could not be parsed.
func (h *Head) SyntaxErrors() Damage { return h.Damage }

// MarkDamage notes a syntax error.
func (h *Head) MarkDamage(d Damage) { h.Damage = max(h.Damage, d) }

// DeclName is the declared name.
func (h Head) DeclName() Ident { return h.Name }

// DocText is the doc comment.
func (h Head) DocText() string { return h.Doc }

// Attr is `@name` or `@name(args)`: before a declaration, or after a field or an access.
type Attr struct {
	At
	Name Ident
	Args []Arg
}

type (
	// ConstDecl is `const NAME = value`.
	ConstDecl struct {
		Head
		Value Expr
	}

	// FnDecl is a pure function. Body is a *Block or, after `=`, any expression.
	FnDecl struct {
		Head
		Generics []*Generic
		Params   []*Param // types may be missing
		Result   *TypeExpr
		Body     Expr
	}

	// KernelDecl is a kernel. A formula kernel has no Grid.
	KernelDecl struct {
		Head
		Generics []*Generic
		Params   []*Param
		Outputs  []*Param
		Tunes    []*Tune
		Grid     []*AxisClause
		Body     *Block
	}

	// StructDecl is a struct of tensors, structs and arrays of structs.
	StructDecl struct {
		Head
		Generics []*Generic
		Fields   []*Field
	}

	// GraphDecl is a whole-tensor program.
	GraphDecl struct {
		Head
		Generics []*Generic
		Params   []*Param
		Outputs  []*Param
		Body     *Block
	}

	// TestDecl is `test "name" { ... }`; its DeclName is the name's text.
	TestDecl struct {
		Head
		Body *Block
	}
)

// Generic is one parameter between `<` and `>`: `T: float` or `const C: int = 4`.
type Generic struct {
	At
	Name    Ident
	IsConst bool
	// Bound is the class of a dtype parameter (`float`, `int`, `any`) or the type of a constant (`int`, `bool`, `f32` ...).
	Bound   Ident
	Default Expr // nil when there is none; constants only
}

// ParamMode says what a kernel or graph may do with a parameter.
type ParamMode uint8

// The modes.
const (
	In ParamMode = iota
	Out
	InOut
)

// String is the mode's keyword.
func (m ParamMode) String() string { return [...]string{"in", "out", "inout"}[m] }

// Param is a parameter or an output. In a fn, Type may be nil and IsAxis may be set.
type Param struct {
	At
	Mode    ParamMode
	IsAxis  bool
	Name    Ident
	Type    *TypeExpr
	Default Expr
}

// Field is a field of a struct.
type Field struct {
	At
	Doc   string
	Name  Ident
	Type  *TypeExpr
	Attrs []*Attr
}

// TypeExpr is a type as written: `f32`, `T[M, K]`, `Block<T>`, `[L]Block<T>`.
type TypeExpr struct {
	At
	Count    Expr // of an array `[L]Elem`; nil otherwise
	Name     Ident
	Args     []*TypeExpr
	HasShape bool
	Shape    []Expr
}

// Tune is one item of a tune clause: `BM in {64, 128}` or `BM = 128`.
type Tune struct {
	At
	Name    Ident
	Choices []Expr // one when fixed by `=`
	Fixed   bool
}

// AxisClause is `i in N`, `i in N by B`, `k in K[lo .. hi] by BK`: the header
// of a grid axis, an `axis` statement or a `for`.
type AxisClause struct {
	At
	Name Ident
	// Over is the dimension, a constant count, or (in a graph) a struct array.
	Over Expr
	// Range is the part in brackets; nil when there is none.
	Range *RangeExpr
	By    Expr // nil when there is none: a name that the planner binds, or a constant
}

// Stmt is a statement.
type Stmt interface{ Node }

type (
	// LetStmt is `let x = e` or `let (a, b) = e`; in a graph or a test also `inout x = e`.
	LetStmt struct {
		At
		InOut bool
		Names []Ident // "_" discards
		Value Expr
	}

	// AxisStmt is `axis d in D`, `axis p in D[lo .. hi]`, `axis r in 4`.
	AxisStmt struct {
		At
		Axis *AxisClause
	}

	// AssignStmt is a store `y[i, j] = e` (Target is an *IndexExpr), or in a
	// graph the binding of an output `y = e` (Target is a *NameExpr).
	AssignStmt struct {
		At
		Target Expr
		Value  Expr
	}

	// ExprStmt is an expression for its effect, or the last value of a block.
	ExprStmt struct {
		At
		X Expr
	}
)

// Expr is an expression.
type Expr interface{ Node }

type (
	// NameExpr is a name in use.
	NameExpr struct {
		At
		Name string
	}

	// IntLit is an integer literal. Value is exact up to 64 bits unsigned.
	IntLit struct {
		At
		Value uint64
	}

	// FloatLit is a float literal; `inf`, `nan` and `pi` are names, not literals.
	FloatLit struct {
		At
		Value float64
	}

	// StringLit is a string literal, unquoted.
	StringLit struct {
		At
		Value string
	}

	// BoolLit is `true` or `false`.
	BoolLit struct {
		At
		Value bool
	}

	// UnaryExpr is an operator before its operand: `-` `~` `not`.
	UnaryExpr struct {
		At
		Op   string
		OpAt Span
		X    Expr
	}

	// BinaryExpr is an operator between operands, spelled as in the source: `+`, `//`, `and`, `<=` ...
	BinaryExpr struct {
		At
		Op   string
		OpAt Span
		X, Y Expr
	}

	// CallExpr is `f(a, name = b, over (i, j)) else e`. Over is nil without an over clause.
	CallExpr struct {
		At
		Fn   Expr
		Args []Arg
		Over []Ident
		Else Expr // nil without an else
	}

	// IndexExpr is `x[a, b] else e`. An index may be a *RangeExpr (slices).
	IndexExpr struct {
		At
		X       Expr
		Indices []Expr
		Else    Expr    // nil without an else
		Attrs   []*Attr // hints: @latency(4) @evict_first
	}

	// RangeExpr is `lo .. hi`; either end may be nil.
	RangeExpr struct {
		At
		Lo, Hi Expr
	}

	// FieldExpr is `x.name`.
	FieldExpr struct {
		At
		X    Expr
		Name Ident
	}

	// CastExpr is `x as f32`.
	CastExpr struct {
		At
		X    Expr
		Type *TypeExpr
	}

	// IfExpr is `if c { a } else { b }`. Else is a *Block, an *IfExpr, or nil.
	IfExpr struct {
		At
		Cond Expr
		Then *Block
		Else Expr
	}

	// ForExpr is `for axis with names = init { body }`; its value is that of the carried names after the last step.
	ForExpr struct {
		At
		Axis    *AxisClause
		Carried []Ident // nil without a with clause
		Init    Expr    // one value, or a *TupleExpr of as many as Carried
		Body    *Block
	}

	// TupleExpr is `(a, b)`.
	TupleExpr struct {
		At
		Elems []Expr
	}

	// ListExpr is `[a, b]`: the shape in `view(x, [B, S])`.
	ListExpr struct {
		At
		Elems []Expr
	}

	// LambdaExpr is `(a, b) => e`, or `((a, i), (b, j)) => e` of tuples.
	LambdaExpr struct {
		At
		Params []Pattern
		Body   Expr
	}

	// MapExpr is `from -> to` as an argument: `d -> (h, e)`, `i -> j`, `d[lo..hi] -> r`.
	MapExpr struct {
		At
		From, To Expr
	}

	// Block is `{ statements }`. Its value is that of its last statement when that is an *ExprStmt.
	Block struct {
		At
		Stmts []Stmt
	}
)

// Pattern is a parameter of a lambda: a name, or names in brackets for the elements of a tuple.
type Pattern struct {
	At
	Names []Ident
	Tuple bool
}

// Arg is an argument, named (`reverse = true`) or not.
type Arg struct {
	At
	Name  *Ident
	Value Expr
}
