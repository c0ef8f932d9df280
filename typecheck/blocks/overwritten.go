package blocks

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file warns of stores that are in vain: a later one stores to the same elements, and nothing reads them before.

// overwritten warns of the stores of a body that a later one covers. It goes backwards, with the stores that
// are still to come and that nothing between reads what they write.
func (b *Facts) overwritten(body *typed.Body) { b.storesOf(body, nil) }

// mostLater is how many stores behind one are looked at: the time it takes grows with it for every store.
const mostLater = 100

func (b *Facts) storesOf(body *typed.Body, later []*typed.Store) []*typed.Store {
	for _, x := range body.Results {
		later = b.storesIn(x, later)
	}
	for i := len(body.Stmts) - 1; i >= 0; i-- {
		s, isStore := body.Stmts[i].(*typed.Store)
		switch {
		case !isStore:
		case s.Op == lang.OpStore:
			for _, l := range later {
				if b.coversAll(l, s) {
					b.log.Warnf(lang.SeverityWarning, lang.WarnOverwritten, s.At, "what is stored here is stored over before anything reads it").
						LabelAt(l.At, "by this").Help("remove one of the two, or store to other elements")
					break
				}
			}
			if len(later) >= mostLater {
				later = later[1:]
			}
			later = append(slices.Clone(later), s)
		default: // an atomic reads
			later = without(later, s.Param)
		}
		for _, x := range childrenOf[typed.Expr](body.Stmts[i]) {
			later = b.storesIn(x, later)
		}
	}
	return later
}

// storesIn goes backwards through an expression.
func (b *Facts) storesIn(e typed.Expr, later []*typed.Store) []*typed.Store {
	switch e := e.(type) {
	case *typed.Load:
		later = without(later, e.Param)
	case *typed.Inline:
		return b.storesOf(e.Body, later)
	case *typed.For: // a later step may read what an earlier one stores
		for p := range tensorsRead(e) {
			later = without(later, p)
		}
	}
	kept := later
	for _, body := range childrenOf[*typed.Body](e) {
		inside := b.storesOf(body, slices.Clone(later))
		kept = slices.DeleteFunc(slices.Clone(kept), func(s *typed.Store) bool { return !slices.Contains(inside, s) })
	}
	for _, x := range childrenOf[typed.Expr](e) {
		kept = b.storesIn(x, kept)
	}
	return kept
}

// childrenOf is what stands directly in a node, of one kind.
func childrenOf[T typed.Node](n typed.Node) (all []T) {
	typed.Children(n, func(c typed.Node) {
		if x, ok := c.(T); ok {
			all = append(all, x)
		}
	})
	return all
}

func without(stores []*typed.Store, p *typed.Param) []*typed.Store {
	return slices.DeleteFunc(slices.Clone(stores), func(s *typed.Store) bool { return s.Param == p })
}

// tensorsRead is what an expression reads, atomics included.
func tensorsRead(e typed.Expr) map[*typed.Param]bool {
	read := map[*typed.Param]bool{}
	typed.Walk(e, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.Load:
			read[n.Param] = true
		case *typed.Store:
			if n.Op != lang.OpStore {
				read[n.Param] = true
			}
		}
		return true
	})
	return read
}

// coversAll reports that a store writes every element that another does: at each dimension by the same index, or
// by a whole axis over all of the dimension.
func (b *Facts) coversAll(later, s *typed.Store) bool {
	if later.Param != s.Param {
		return false
	}
	for d, x := range later.Indices {
		if sameExpr(x, s.Indices[d]) {
			continue
		}
		at, ok := x.(*typed.Apply)
		if !ok || at.Op != lang.OpIndex || at.Axis.Kind != typed.WholeAxis || later.Checked[d] ||
			!at.Axis.Lo.Equal(size.Size{}) || !at.Axis.Len.Equal(s.Param.Shape[d]) {
			return false
		}
	}
	return true
}

// sameExpr reports two expressions of one value; false where that is not plain.
func sameExpr(x, y typed.Expr) bool {
	switch x := x.(type) {
	case *typed.Const:
		o, ok := y.(*typed.Const)
		return ok && x.Int == o.Int && x.Float == o.Float
	case *typed.SizeExpr:
		o, ok := y.(*typed.SizeExpr)
		return ok && x.Size.Equal(o.Size)
	case *typed.LocalRef:
		o, ok := y.(*typed.LocalRef)
		return ok && x.Local == o.Local
	case *typed.ScalarRef:
		o, ok := y.(*typed.ScalarRef)
		return ok && x.Param == o.Param
	case *typed.Apply:
		o, ok := y.(*typed.Apply)
		return ok && x.Op == o.Op && x.Axis == o.Axis && x.From == o.From && len(x.Over) == 0 && len(o.Over) == 0 &&
			slices.EqualFunc(x.Args, o.Args, sameExpr)
	}
	return false
}
