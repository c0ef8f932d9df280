package typed

import "fmt"

// Node is a part of a typed program that has other parts in it: a *Program,
// *Kernel, *Graph, *Test, *Body, *GBody, Stmt, Expr, GStmt or GExpr.
type Node any

// Walk visits a node and, where visit returns true, all that is in it, each
// before what is in it, in the order of evaluation. A kernel or graph that is
// called is not in the call: Walk of a *Program visits each once.
func Walk(n Node, visit func(Node) bool) {
	if visit(n) {
		Children(n, func(c Node) { Walk(c, visit) })
	}
}

// Find gives the first node of type T, in the order of Walk, for which match
// holds; false where there is none.
func Find[T Node](n Node, match func(T) bool) (T, bool) {
	var found T
	done := false
	Walk(n, func(n Node) bool {
		if x, ok := n.(T); ok && !done && match(x) {
			found, done = x, true
		}
		return !done
	})
	return found, done
}

// All reports that ok holds for a node and for all that is in it.
func All(n Node, ok func(Node) bool) bool {
	_, found := Find(n, func(n Node) bool { return !ok(n) })
	return !found
}

// Unknown is what to panic with where a kind of node has no case: whoever added the kind forgot the place.
func Unknown(n Node) error { return fmt.Errorf("no case for a node of the kind %T", n) }

// Children gives each node directly in another, in the order of evaluation, to
// child. It is the one place that knows what each kind of node is made of; what
// treats some kinds in a way of its own handles these and leaves the rest to Children.
// It panics with Unknown for a kind that it does not know.
func Children(n Node, child func(Node)) {
	c := childVisitor(child)
	switch n := n.(type) {
	case *Program:
		for _, k := range n.Kernels {
			child(k)
		}
		for _, g := range n.Graphs {
			child(g)
		}
		for _, t := range n.Tests {
			child(t)
		}
	case *Kernel:
		c.kernel(n)
	case *Graph:
		c.gstmts(n.Body)
	case *Test:
		child(n.Graph)
	case *Body:
		for _, s := range n.Stmts {
			child(s)
		}
		c.exprs(n.Results...)
	case *GBody:
		c.gstmts(n.Stmts)
		c.gexprs(n.Results...)
	case Stmt:
		c.stmt(n)
	case Expr:
		c.expr(n)
	case GStmt:
		c.gstmt(n)
	case GExpr:
		c.gexpr(n)
	default:
		panic(Unknown(n))
	}
}

// childVisitor is what is called for each child that there is: what is nil is none.
type childVisitor func(Node)

func (c childVisitor) body(b *Body) {
	if b != nil {
		c(b)
	}
}

func (c childVisitor) exprs(xs ...Expr) {
	for _, x := range xs {
		if x != nil {
			c(x)
		}
	}
}

func (c childVisitor) gexprs(xs ...GExpr) {
	for _, x := range xs {
		if x != nil {
			c(x)
		}
	}
}

func (c childVisitor) gstmts(ss []GStmt) {
	for _, s := range ss {
		c(s)
	}
}

// kernel visits the ends of grid axes, what is assumed, and the body. A formula
// that is launched in parts has its axes and its body in these.
func (c childVisitor) kernel(k *Kernel) {
	for _, a := range k.Assumes {
		c.exprs(a.Cond)
	}
	if len(k.Parts) > 0 {
		for _, p := range k.Parts {
			c(p)
		}
		return
	}
	for _, a := range k.Axes {
		c.exprs(a.From, a.To)
	}
	c.body(k.Body)
}

func (c childVisitor) stmt(s Stmt) {
	switch s := s.(type) {
	case *Let:
		c.exprs(s.Value)
	case *Store:
		c.exprs(s.Indices...)
		c.exprs(s.Value, s.New, s.Else)
	case *Print:
		c.exprs(s.Args...)
	case *Assert:
		c.exprs(s.Cond)
		c.exprs(s.Args...)
	case *StaticAssert:
		c.exprs(s.Cond)
	case *Do:
		c.exprs(s.X)
	default:
		panic(Unknown(s))
	}
}

func (c childVisitor) expr(x Expr) {
	switch x := x.(type) {
	case *Const, *SizeExpr, *ConstRef, *ScalarRef, *LocalRef:
	case *Apply:
		c.exprs(x.Args...)
	case *Load:
		c.exprs(x.Indices...)
		c.exprs(x.Else)
	case *Take:
		c.exprs(x.X)
		c.exprs(x.Positions...)
		c.exprs(x.Else)
	case *Combine:
		c.exprs(x.Args...)
		c.exprs(x.Identity...)
		c.exprs(x.Reverse)
		c.body(x.Fn)
	case *Sort:
		c.exprs(x.Args...)
		c.exprs(x.Descending)
	case *For:
		c.exprs(x.Lo, x.Hi)
		c.exprs(x.Init...)
		c.body(x.Body)
	case *If:
		c.exprs(x.Cond)
		c.body(x.Then)
		c.body(x.Else)
	case *Tuple:
		c.exprs(x.Elems...)
	case *Inline:
		c.body(x.Body)
	default:
		panic(Unknown(x))
	}
}

func (c childVisitor) gstmt(s GStmt) {
	switch s := s.(type) {
	case *GLet:
		c.gexprs(s.Value)
	case *GAssign:
		c.gexprs(s.Value)
	case *GDo:
		c.gexprs(s.X)
	case *GCheck:
		c.gexprs(s.A, s.B)
	default:
		panic(Unknown(s))
	}
}

func (c childVisitor) gexpr(x GExpr) {
	switch x := x.(type) {
	case *GParamRef, *GLocalRef, *GConst, *GSizeOf, *GConstRef:
	case *GFieldOf:
		c.gexprs(x.X)
	case *GElem:
		c.gexprs(x.X, x.Index)
	case *GRange:
		c.gexprs(x.X, x.Lo, x.Hi)
	case *GView:
		c.gexprs(x.X)
	case *GSlice:
		c.gexprs(x.X)
		for _, item := range x.Items {
			c.gexprs(item.Index, item.Lo, item.Hi)
		}
	case *GCall:
		c.gexprs(x.Args...)
		for _, s := range x.Kernel.Consts {
			c.gexprs(x.Consts[s])
		}
	case *GInvoke:
		c.gexprs(x.Args...)
		for _, s := range x.Graph.Consts {
			c.gexprs(x.Consts[s])
		}
		for _, copied := range x.Copies {
			if copied != nil {
				c(copied)
			}
		}
	case *GApply:
		c.gexprs(x.Args...)
	case *GFor:
		c.gexprs(x.Over, x.Lo, x.Hi)
		c.gexprs(x.Init...)
		c.gstmts(x.Body)
		c.gexprs(x.Results...)
	case *GMake:
		c.gexprs(x.Value)
	case *GIf:
		c.gexprs(x.Cond)
		c(&x.Then)
		c(&x.Else)
	case *GTupleOf:
		c.gexprs(x.Elems...)
	default:
		panic(Unknown(x))
	}
}
