package typecheck

import (
	"slices"

	"tilec/lang"
)

// This file finds out whether what a loop stores is apart for positions of its
// axis: whether every access to a tensor that the loop writes has one dimension
// whose index is the position, up to what all steps have alike. Then it makes no
// difference which positions one step has.

// touches is what a loop does with a tensor that it writes.
type touches struct {
	// index is the index of that dimension; nil where there is none.
	index Expr
	// count is how many accesses there are.
	count int
	// plain: there is a store that is no atomic.
	plain bool

	all [][]Expr // the indices of each access
}

// touch gathers the accesses to the tensors that the body writes.
func (c *cuts) touch(body *Body) {
	walkAccesses(body, func(p *Param, indices []Expr, s *Store) {
		if s == nil {
			return
		}
		t := c.touched[p]
		if t == nil {
			t = &touches{}
			c.touched[p] = t
		}
		t.plain = t.plain || !s.Op.IsAtomic()
	})
	walkAccesses(body, func(p *Param, indices []Expr, _ *Store) {
		if t := c.touched[p]; t != nil {
			t.count++
			t.all = append(t.all, indices)
		}
	})
	inside := map[*Axis]bool{c.axis: true}
	locals := map[*Local]bool{}
	walkBody(body, func(x Expr) {
		if l, ok := x.(*For); ok && l.Axis != nil {
			inside[l.Axis] = true
		} else if ok {
			locals[l.Index] = true
		}
	}, func(s Stmt) {
		if l, ok := s.(*Let); ok {
			for _, n := range l.Locals {
				locals[n] = true
			}
		}
	})
	fixed := func(x Expr) bool { // the same for all positions and steps
		same := len(x.Types()[0].Axes) == 0
		walkExpr(x, func(y Expr) {
			switch y := y.(type) {
			case *LocalRef:
				same = same && !locals[y.Local]
			case *Apply:
				same = same && !inside[y.Axis]
			case *Const, *SizeExpr, *ConstRef, *ScalarRef:
			default:
				same = false
			}
		}, func(Stmt) { same = false })
		return same
	}
	for _, t := range c.touched {
		for d, x := range t.all[0] {
			tells := func(other []Expr) bool { return sameIndex(x, other[d]) }
			if c.position(x, fixed) && !slices.ContainsFunc(t.all, func(o []Expr) bool { return !tells(o) }) {
				t.index = x
				break
			}
		}
	}
}

// position reports the position along the axis, moved by what is fixed or times a number.
func (c *cuts) position(x Expr, fixed func(Expr) bool) bool {
	a, ok := x.(*Apply)
	switch {
	case !ok:
		return false
	case a.Op == lang.OpIndex:
		return a.Axis == c.axis
	case a.Op == lang.OpAdd:
		return c.position(a.Args[0], fixed) && fixed(a.Args[1]) || c.position(a.Args[1], fixed) && fixed(a.Args[0])
	case a.Op == lang.OpSub:
		return c.position(a.Args[0], fixed) && fixed(a.Args[1])
	case a.Op == lang.OpMul:
		return c.position(a.Args[0], fixed) && isNumber(a.Args[1]) || c.position(a.Args[1], fixed) && isNumber(a.Args[0])
	}
	return false
}

// isNumber reports a literal above 0.
func isNumber(x Expr) bool {
	switch x := x.(type) {
	case *Const:
		return x.Int > 0
	case *SizeExpr:
		n, ok := x.Size.Const()
		return ok && n > 0
	}
	return false
}

// sameIndex reports two indices that are computed alike.
func sameIndex(x, y Expr) bool {
	switch x := x.(type) {
	case *Apply:
		y, ok := y.(*Apply)
		return ok && x.Op == y.Op && x.Axis == y.Axis && slices.EqualFunc(x.Args, y.Args, sameIndex)
	case *SizeExpr:
		y, ok := y.(*SizeExpr)
		return ok && x.Size.Equal(y.Size)
	}
	name := nameOf(x)
	return name != nil && name == nameOf(y)
}

// walkAccesses visits the loads and the stores of a body; s is nil for a load.
func walkAccesses(body *Body, visit func(p *Param, indices []Expr, s *Store)) {
	walkBody(body, func(x Expr) {
		if l, ok := x.(*Load); ok {
			visit(l.Param, l.Indices, nil)
		}
	}, func(s Stmt) {
		if s, ok := s.(*Store); ok {
			visit(s.Param, s.Indices, s)
		}
	})
}

// walkBody visits every statement of a body and every expression in it, at any depth.
func walkBody(body *Body, expr func(Expr), stmt func(Stmt)) {
	if body == nil {
		return
	}
	all := func(xs ...Expr) {
		for _, x := range xs {
			walkExpr(x, expr, stmt)
		}
	}
	for _, s := range body.Stmts {
		stmt(s)
		switch s := s.(type) {
		case *Let:
			all(s.Value)
		case *Store:
			all(s.Indices...)
			all(s.Value, s.New, s.Else)
		case *Print:
			all(s.Args...)
		case *Assert:
			all(s.Cond)
			all(s.Args...)
		case *StaticAssert:
			all(s.Cond)
		case *Do:
			all(s.X)
		}
	}
	all(body.Results...)
}

// walkExpr visits an expression and all that is in it.
func walkExpr(x Expr, expr func(Expr), stmt func(Stmt)) {
	if x == nil {
		return
	}
	expr(x)
	all := func(xs ...Expr) {
		for _, x := range xs {
			walkExpr(x, expr, stmt)
		}
	}
	switch x := x.(type) {
	case *Apply:
		all(x.Args...)
	case *Combine:
		all(x.Args...)
		all(x.Identity...)
		walkBody(x.Fn, expr, stmt)
	case *Load:
		all(x.Indices...)
		all(x.Else)
	case *Take:
		all(x.X, x.Else)
		all(x.Positions...)
	case *Order:
		all(x.Args...)
	case *For:
		all(x.Lo, x.Hi)
		all(x.Init...)
		walkBody(x.Body, expr, stmt)
	case *If:
		all(x.Cond)
		walkBody(x.Then, expr, stmt)
		walkBody(x.Else, expr, stmt)
	case *Tuple:
		all(x.Elems...)
	case *Inline:
		walkBody(x.Body, expr, stmt)
	}
}
