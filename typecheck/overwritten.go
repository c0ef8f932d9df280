package typecheck

import (
	"slices"

	"tilec/lang"
)

// This file warns of stores that are in vain: a later one stores to the same elements, and nothing reads them before.

// overwritten warns of the stores of a body that a later one covers. It goes backwards, with the stores that
// are still to come and that nothing between reads what they write.
func (b *bodyChecker) overwritten(body *Body) { b.storesOf(body, nil) }

// mostLater is how many stores behind one are looked at: the time it takes grows with it for every store.
const mostLater = 100

func (b *bodyChecker) storesOf(body *Body, later []*Store) []*Store {
	for _, x := range body.Results {
		later = b.storesIn(x, later)
	}
	for i := len(body.Stmts) - 1; i >= 0; i-- {
		s, isStore := body.Stmts[i].(*Store)
		switch {
		case !isStore:
		case s.Op == lang.OpStore:
			for _, l := range later {
				if b.coversAll(l, s) {
					b.warnf(lang.SeverityWarning, lang.WarnOverwritten, s.At, "what is stored here is stored over before anything reads it").
						label(l.At, "by this").help("remove one of the two, or store to other elements")
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
		for _, x := range insideStmt(body.Stmts[i]) {
			later = b.storesIn(x, later)
		}
	}
	return later
}

// storesIn goes backwards through an expression.
func (b *bodyChecker) storesIn(e Expr, later []*Store) []*Store {
	exprs, bodies := insideExpr(e)
	switch e := e.(type) {
	case *Load:
		later = without(later, e.Param)
	case *Inline:
		return b.storesOf(e.Body, later)
	case *For: // a later step may read what an earlier one stores
		for p := range loadsOf(e) {
			later = without(later, p)
		}
	}
	kept := later
	for _, body := range bodies {
		inside := b.storesOf(body, slices.Clone(later))
		kept = slices.DeleteFunc(slices.Clone(kept), func(s *Store) bool { return !slices.Contains(inside, s) })
	}
	for _, x := range exprs {
		kept = b.storesIn(x, kept)
	}
	return kept
}

func without(stores []*Store, p *Param) []*Store {
	return slices.DeleteFunc(slices.Clone(stores), func(s *Store) bool { return s.Param == p })
}

// loadsOf is the tensors that an expression reads, atomics included.
func loadsOf(e Expr) map[*Param]bool {
	read := map[*Param]bool{}
	var visit func(e Expr)
	var visitBody func(body *Body)
	visit = func(e Expr) {
		if l, ok := e.(*Load); ok {
			read[l.Param] = true
		}
		exprs, bodies := insideExpr(e)
		for _, x := range exprs {
			visit(x)
		}
		for _, body := range bodies {
			visitBody(body)
		}
	}
	visitBody = func(body *Body) {
		for _, s := range body.Stmts {
			if w, ok := s.(*Store); ok && w.Op != lang.OpStore {
				read[w.Param] = true
			}
			for _, x := range insideStmt(s) {
				visit(x)
			}
		}
		for _, x := range body.Results {
			visit(x)
		}
	}
	visit(e)
	return read
}

// insideStmt is the expressions of a statement, and insideExpr the expressions and the bodies of an expression.
func insideStmt(s Stmt) (exprs []Expr) {
	switch s := s.(type) {
	case *Let:
		exprs = []Expr{s.Value}
	case *Store:
		exprs = append([]Expr{s.Value, s.New, s.Else}, s.Indices...)
	case *Print:
		exprs = s.Args
	case *Assert:
		exprs = append([]Expr{s.Cond}, s.Args...)
	case *StaticAssert:
		exprs = []Expr{s.Cond}
	case *Do:
		exprs = []Expr{s.X}
	}
	return slices.DeleteFunc(slices.Clone(exprs), func(e Expr) bool { return e == nil })
}

func insideExpr(e Expr) (exprs []Expr, bodies []*Body) {
	switch e := e.(type) {
	case *Apply:
		exprs = e.Args
	case *Load:
		exprs = append([]Expr{e.Else}, e.Indices...)
	case *Take:
		exprs = append([]Expr{e.X, e.Else}, e.Positions...)
	case *For:
		exprs, bodies = append([]Expr{e.Lo, e.Hi}, e.Init...), []*Body{e.Body}
	case *If:
		exprs, bodies = []Expr{e.Cond}, []*Body{e.Then, e.Else}
	case *Tuple:
		exprs = e.Elems
	case *Inline:
		bodies = []*Body{e.Body}
	case *Combine:
		exprs, bodies = append(slices.Concat(e.Args, e.Identity), e.Reverse), []*Body{e.Fn}
	case *Order:
		exprs = append(slices.Clone(e.Args), e.Descending)
	}
	exprs = slices.DeleteFunc(slices.Clone(exprs), func(e Expr) bool { return e == nil })
	return exprs, slices.DeleteFunc(bodies, func(b *Body) bool { return b == nil })
}

// coversAll reports that a store writes every element that another does: at each dimension by the same index, or
// by a whole axis over all of the dimension.
func (b *bodyChecker) coversAll(later, s *Store) bool {
	if later.Param != s.Param {
		return false
	}
	for d, x := range later.Indices {
		if sameExpr(x, s.Indices[d]) {
			continue
		}
		at, ok := x.(*Apply)
		if !ok || at.Op != lang.OpIndex || at.Axis.Kind != WholeAxis || later.Checked[d] ||
			!at.Axis.Lo.Equal(Size{}) || !at.Axis.Len.Equal(s.Param.Shape[d]) {
			return false
		}
	}
	return true
}

// sameExpr reports two expressions of one value; false where that is not plain.
func sameExpr(x, y Expr) bool {
	switch x := x.(type) {
	case *Const:
		o, ok := y.(*Const)
		return ok && x.Int == o.Int && x.Float == o.Float
	case *SizeExpr:
		o, ok := y.(*SizeExpr)
		return ok && x.Size.Equal(o.Size)
	case *LocalRef:
		o, ok := y.(*LocalRef)
		return ok && x.Local == o.Local
	case *ScalarRef:
		o, ok := y.(*ScalarRef)
		return ok && x.Param == o.Param
	case *Apply:
		o, ok := y.(*Apply)
		return ok && x.Op == o.Op && x.Axis == o.Axis && x.From == o.From && len(x.Over) == 0 && len(o.Over) == 0 &&
			slices.EqualFunc(x.Args, o.Args, sameExpr)
	}
	return false
}
