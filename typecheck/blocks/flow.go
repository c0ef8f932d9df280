package blocks

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file is what the abstract interpreters of a body have in common: they follow
// what is known of values, a T for each, from where these are made to where they are
// used. An interpreter has a meaning for some kinds of nodes. What the values of any
// other kind depend on is computed of all its children, so that a kind without a meaning
// is treated with care; and one with a body has to have a meaning, because only the
// interpreter can say what it is that the body may not run, or may run again.

// flow follows what is known of values through a body.
type flow[T any] struct {
	meaning meaning[T]
	of      map[*typed.Local]T
}

// meaning is what an interpreter makes of nodes.
type meaning[T any] interface {
	// stmtMeans follows a statement and binds its names; false where it means no more than its children.
	stmtMeans(s typed.Stmt) bool
	// exprMeans is what is known of each value of an expression; false where that is what its children tell.
	exprMeans(x typed.Expr) ([]T, bool)
	// dependent is what is known of a value that depends on others in a way of which nothing is known.
	dependent(at lang.Span, on []T) T
	// ofType is what is known of a value, once its type is known too.
	ofType(of T, t typed.Type) T
}

// body follows the statements and gives what is known of each result.
func (f *flow[T]) body(body *typed.Body) []T {
	if body == nil {
		return nil
	}
	for _, s := range body.Stmts {
		f.stmt(s)
	}
	var out []T
	for _, x := range body.Results {
		out = append(out, f.expr(x)...)
	}
	return out
}

func (f *flow[T]) stmt(s typed.Stmt) {
	if f.meaning.stmtMeans(s) {
		return
	}
	if let, ok := s.(*typed.Let); ok {
		of := f.expr(let.Value)
		for i, l := range let.Locals {
			if l != nil && i < len(of) {
				f.of[l] = of[i]
			}
		}
		return
	}
	of := f.meaning.dependent(lang.Span{}, f.children(s))
	for _, l := range typed.Binds(s) {
		f.of[l] = of
	}
}

// expr is what is known of each value of an expression.
func (f *flow[T]) expr(x typed.Expr) []T {
	of, ok := f.meaning.exprMeans(x)
	if !ok {
		of = f.plainly(x)
	}
	types := x.Types()
	for i := range of {
		if i < len(types) {
			of[i] = f.meaning.ofType(of[i], types[i])
		}
	}
	return of
}

// plainly is what is known of the values of an expression by its children.
func (f *flow[T]) plainly(x typed.Expr) []T {
	switch x := x.(type) {
	case *typed.LocalRef:
		if of, ok := f.of[x.Local]; ok {
			return alike(x, of)
		}
		return alike(x, f.meaning.dependent(x.At, nil)) // it is bound outside
	case *typed.Tuple:
		var out []T
		for _, e := range x.Elems {
			out = append(out, f.expr(e)...)
		}
		return out
	case *typed.Inline:
		return f.body(x.Body)
	default:
		return alike(x, f.meaning.dependent(x.Span(), f.children(x)))
	}
}

// children is what is known of each expression in a node.
func (f *flow[T]) children(n typed.Node) []T {
	var of []T
	typed.Children(n, func(c typed.Node) {
		x, ok := c.(typed.Expr)
		if !ok { // a body
			panic(typed.Unknown(n))
		}
		of = append(of, f.one(x))
	})
	return of
}

// alike gives every value of an expression the same.
func alike[T any](x typed.Expr, of T) []T {
	out := make([]T, len(x.Types()))
	for i := range out {
		out[i] = of
	}
	return out
}

// one is what is known of an expression of one value; nil is none, and says nothing.
func (f *flow[T]) one(x typed.Expr) T {
	if x == nil {
		return f.meaning.dependent(lang.Span{}, nil)
	}
	of := f.expr(x)
	if len(of) == 1 {
		return of[0]
	}
	return f.meaning.dependent(x.Span(), of)
}

func (f *flow[T]) exprs(xs []typed.Expr) []T {
	out := make([]T, len(xs))
	for i, x := range xs {
		out[i] = f.one(x)
	}
	return out
}
