package typed

// This file says which names a node binds, and what a value of a graph is a part of.

// Binds gives the names that a statement or an expression of a kernel binds itself, those in its bodies left out.
// A name that is `_` is none.
func Binds(n Node) []*Local {
	switch n := n.(type) {
	case *Let:
		return named(n.Locals...)
	case *Store:
		return named(n.Old)
	case *Combine:
		return named(n.Params...)
	case *For:
		return named(append([]*Local{n.Index}, n.Carried...)...)
	}
	return nil
}

// GBinds gives the names that a statement or an expression of a graph binds itself, as Binds does.
func GBinds(n Node) []*GLocal {
	switch n := n.(type) {
	case *GLet:
		return named(n.Locals...)
	case *GFor:
		return named(append([]*GLocal{n.Var}, n.Carried...)...)
	}
	return nil
}

// named is what is not nil.
func named[T any](names ...*T) []*T {
	var all []*T
	for _, n := range names {
		if n != nil {
			all = append(all, n)
		}
	}
	return all
}

// Container gives the value of which an expression of a graph is a part, or another view; false for a value of its own
// and for a name.
func Container(x GExpr) (GExpr, bool) {
	switch x := x.(type) {
	case *GFieldOf:
		return x.X, true
	case *GElem:
		return x.X, true
	case *GRange:
		return x.X, true
	case *GView:
		return x.X, true
	case *GSlice:
		return x.X, true
	case *GParamRef, *GLocalRef, *GCall, *GInvoke, *GMake, *GIf, *GFor, *GTupleOf, *GConst, *GSizeOf, *GConstRef, *GApply:
		return nil, false
	}
	panic(Unknown(x))
}
