package lang

import "fmt"

// Walk calls visit for a node and everything below it, parents first, in
// source order. It does not go below a node for which visit gives false.
func Walk(n Node, visit func(Node) bool) {
	w := walker{visit: visit}
	w.walk(n)
}

// walker is a walk under way. All children that wait to be visited are in one list, which is made once.
type walker struct {
	visit   func(Node) bool
	waiting family
}

func (w *walker) walk(n Node) {
	if isNil(n) || !w.visit(n) {
		return
	}
	from := len(w.waiting)
	w.waiting.children(n)
	for i, to := from, len(w.waiting); i < to; i++ {
		w.walk(w.waiting[i])
	}
	w.waiting = w.waiting[:from]
}

// isNil reports whether n is nothing, or the nil of an optional part.
func isNil(n Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *TypeExpr:
		return n == nil
	case *RangeExpr:
		return n == nil
	case *Block:
		return n == nil
	case *AxisClause:
		return n == nil
	case *Ident:
		return n == nil
	}
	return false
}

// family collects the children of a node.
type family []Node

// add puts children behind the others. Copies of it for each field of each node would take 20 KB of the program.
//
//go:noinline
func (f *family) add(ns ...Node) { *f = append(*f, ns...) }

func addAll[T Node](f *family, ns []T) {
	for _, n := range ns {
		f.add(n)
	}
}

func (f *family) head(h *Head) {
	addAll(f, h.Attrs)
	f.add(&h.Name)
}

func (f *family) idents(names []Ident) {
	for i := range names {
		f.add(&names[i])
	}
}

func (f *family) args(args []Arg) {
	for i := range args {
		f.add(&args[i])
	}
}

// children adds what is directly in a node. It panics for a kind that it does not know.
func (f *family) children(n Node) {
	switch n := n.(type) {
	case *Ident, *Import, *Pattern, *NameExpr, *IntLit, *FloatLit, *StringLit, *BoolLit:
	case *Attr:
		f.add(&n.Name)
		f.args(n.Args)
	case *Arg:
		f.add(n.Name, n.Value)
	case *ConstDecl:
		f.head(&n.Head)
		f.add(n.Value)
	case *FnDecl:
		f.head(&n.Head)
		addAll(f, n.Generics)
		addAll(f, n.Params)
		f.add(n.Result, n.Body)
	case *KernelDecl:
		f.head(&n.Head)
		addAll(f, n.Generics)
		addAll(f, n.Params)
		addAll(f, n.Outputs)
		addAll(f, n.Tunes)
		addAll(f, n.Grid)
		f.add(n.Body)
	case *StructDecl:
		f.head(&n.Head)
		addAll(f, n.Generics)
		addAll(f, n.Fields)
	case *GraphDecl:
		f.head(&n.Head)
		addAll(f, n.Generics)
		addAll(f, n.Params)
		addAll(f, n.Outputs)
		f.add(n.Body)
	case *TestDecl:
		f.head(&n.Head)
		f.add(n.Body)
	case *Generic:
		f.add(&n.Name, &n.Bound, n.Default)
	case *Param:
		f.add(&n.Name, n.Type, n.Default)
	case *Field:
		f.add(&n.Name, n.Type)
		addAll(f, n.Attrs)
	case *TypeExpr:
		f.add(n.Count, &n.Name)
		addAll(f, n.Args)
		addAll(f, n.Shape)
	case *Tune:
		f.add(&n.Name)
		addAll(f, n.Choices)
	case *AxisClause:
		f.add(&n.Name, n.Over, n.Range, n.By)
	case *LetStmt:
		f.idents(n.Names)
		f.add(n.Value)
	case *AxisStmt:
		f.add(n.Axis)
	case *AssignStmt:
		f.add(n.Target, n.Value)
	case *ExprStmt:
		f.add(n.X)
	case *UnaryExpr:
		f.add(n.X)
	case *BinaryExpr:
		f.add(n.X, n.Y)
	case *CallExpr:
		f.add(n.Fn)
		f.args(n.Args)
		f.idents(n.Over)
		f.add(n.Else)
	case *IndexExpr:
		f.add(n.X)
		addAll(f, n.Indices)
		addAll(f, n.Attrs)
		f.add(n.Else)
	case *RangeExpr:
		f.add(n.Lo, n.Hi)
	case *FieldExpr:
		f.add(n.X, &n.Name)
	case *CastExpr:
		f.add(n.X, n.Type)
	case *IfExpr:
		f.add(n.Cond, n.Then, n.Else)
	case *ForExpr:
		f.add(n.Axis)
		f.idents(n.Carried)
		f.add(n.Init, n.Body)
	case *TupleExpr:
		addAll(f, n.Elems)
	case *ListExpr:
		addAll(f, n.Elems)
	case *LambdaExpr:
		for _, p := range n.Params {
			f.idents(p.Names)
		}
		f.add(n.Body)
	case *MapExpr:
		f.add(n.From, n.To)
	case *Block:
		addAll(f, n.Stmts)
	default:
		panic(fmt.Sprintf("no case for a node of the kind %T", n))
	}
}
