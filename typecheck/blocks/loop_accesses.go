package blocks

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file finds out whether what a loop stores is apart for positions of its
// axis: whether every access to a tensor that the loop writes has one dimension
// whose index is the position, up to what all steps have alike. Then it makes no
// difference which positions one step has.

// accesses is what a loop does with a tensor that it writes.
type accesses struct {
	// index is the index of that dimension; nil where there is none.
	index typed.Expr
	// count is how many accesses there are.
	count int
	// plain: there is a store that is no atomic.
	plain bool

	all [][]typed.Expr // the indices of each access
}

// gatherAccesses gathers the accesses to the tensors that the loop's body writes.
func (c *loopFlow) gatherAccesses(loop *typed.For) {
	body := loop.Body
	walkAccesses(body, func(p *typed.Param, indices []typed.Expr, s *typed.Store) {
		if s == nil {
			return
		}
		t := c.accessed[p]
		if t == nil {
			t = &accesses{}
			c.accessed[p] = t
		}
		t.plain = t.plain || !s.Op.IsAtomic()
	})
	walkAccesses(body, func(p *typed.Param, indices []typed.Expr, _ *typed.Store) {
		if t := c.accessed[p]; t != nil {
			t.count++
			t.all = append(t.all, indices)
		}
	})
	inside := map[*typed.Axis]bool{}
	locals := map[*typed.Local]bool{}
	typed.Walk(loop, func(n typed.Node) bool {
		if l, ok := n.(*typed.For); ok && l.Axis != nil {
			inside[l.Axis] = true
		}
		for _, l := range typed.Binds(n) {
			locals[l] = true
		}
		return true
	})
	fixed := func(x typed.Expr) bool { // the same for all positions and steps
		return len(x.Types()[0].Axes) == 0 && typed.All(x, func(n typed.Node) bool {
			switch n := n.(type) {
			case *typed.LocalRef:
				return !locals[n.Local]
			case *typed.Apply:
				return !inside[n.Axis]
			case *typed.Const, *typed.SizeExpr, *typed.ConstRef, *typed.ScalarRef:
				return true
			}
			return false
		})
	}
	for _, t := range c.accessed {
		for d, x := range t.all[0] {
			tells := func(other []typed.Expr) bool { return sameIndex(x, other[d]) }
			if c.position(x, fixed) && !slices.ContainsFunc(t.all, func(o []typed.Expr) bool { return !tells(o) }) {
				t.index = x
				break
			}
		}
	}
}

// position reports the position along the axis, moved by what is fixed or times a number.
func (c *loopFlow) position(x typed.Expr, fixed func(typed.Expr) bool) bool {
	a, ok := x.(*typed.Apply)
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
func isNumber(x typed.Expr) bool {
	switch x := x.(type) {
	case *typed.Const:
		return x.Int > 0
	case *typed.SizeExpr:
		n, ok := x.Size.Const()
		return ok && n > 0
	}
	return false
}

// sameIndex reports two indices that are computed alike.
func sameIndex(x, y typed.Expr) bool {
	switch x := x.(type) {
	case *typed.Apply:
		y, ok := y.(*typed.Apply)
		return ok && x.Op == y.Op && x.Axis == y.Axis && slices.EqualFunc(x.Args, y.Args, sameIndex)
	case *typed.SizeExpr:
		y, ok := y.(*typed.SizeExpr)
		return ok && x.Size.Equal(y.Size)
	}
	name := nameOf(x)
	return name != nil && name == nameOf(y)
}

// walkAccesses visits the loads and the stores of a body; s is nil for a load.
func walkAccesses(body *typed.Body, visit func(p *typed.Param, indices []typed.Expr, s *typed.Store)) {
	typed.Walk(body, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.Load:
			visit(n.Param, n.Indices, nil)
		case *typed.Store:
			visit(n.Param, n.Indices, n)
		}
		return true
	})
}
