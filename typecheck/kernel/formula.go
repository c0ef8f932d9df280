package kernel

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file gives a formula its axes, part by part (formulalines.go says what is one).
// The names in the index of a store are the grid, over the dimensions at whose
// places they stand, by extents that the planner chooses. A name that a reduction
// is over is an axis over the whole dimension that it indexes, stored by or not:
// what is reduced must be there whole. An axis that the formula itself declares stays
// what it is declared to be.

// formula declares the axes of a part of a formula by the statements that it has. Of what it never indexes with, the
// whole formula tells the dimension.
func (b *bodyChecker) formula(body, whole *lang.Block) {
	reduced := reducedNames(b.scope, body)
	walked := func(name string) bool {
		return !slices.ContainsFunc(reduced, func(r lang.Ident) bool { return r.Name == name })
	}
	own := declaredAxes(body)
	for i, s := range body.Stmts {
		if a, ok := s.(*lang.AssignStmt); ok {
			if target, ok := a.Target.(*lang.IndexExpr); ok {
				b.gridOf(target, func(name string) bool { return walked(name) && !own.before(name, i) })
			}
		}
	}
	for _, name := range reduced {
		b.reducedOf(body, whole, name)
	}
	if body == whole {
		return
	}
	used := freeNames(body) // what other lines say of the names that are left
	for _, name := range reducedNames(b.scope, whole) {
		if used[name.Name] {
			b.reducedOf(body, whole, name)
		}
	}
	own = declaredAxes(whole)
	for i, s := range whole.Stmts {
		if a, ok := s.(*lang.AssignStmt); ok {
			if target, ok := a.Target.(*lang.IndexExpr); ok {
				b.gridOf(target, func(name string) bool { return used[name] && !own.before(name, i) })
			}
		}
	}
}

// ownAxes has, for each name that an `axis` of a formula declares, the first statement that does.
type ownAxes map[string]int

func declaredAxes(body *lang.Block) ownAxes {
	own := ownAxes{}
	for i, s := range body.Stmts {
		if a, ok := s.(*lang.AxisStmt); ok && a.Axis != nil {
			if _, known := own[a.Axis.Name.Name]; !known {
				own[a.Axis.Name.Name] = i
			}
		}
	}
	return own
}

// before reports a name that is declared as an axis before a statement.
func (o ownAxes) before(name string, stmt int) bool {
	at, ok := o[name]
	return ok && at < stmt
}

// reducedNames are the names that the statements reduce over, or hand to a function as an axis; so are those that topk
// gives its results over.
func reducedNames(s *rules.Scope, body lang.Node) []lang.Ident {
	var names []lang.Ident
	lang.Walk(body, func(n lang.Node) bool {
		call, ok := n.(*lang.CallExpr)
		if !ok {
			return true
		}
		names = append(names, call.Over...)
		callee, ok := call.Fn.(*lang.NameExpr)
		if !ok {
			return true
		}
		e := s.Lookup(callee.Name)
		if e == nil && callee.Name == lang.OpTopK.Row().Spelling && len(call.Args) == 2 {
			if x, ok := call.Args[1].Value.(*lang.NameExpr); ok {
				names = append(names, lang.Ident{At: x.At, Name: x.Name})
			}
		}
		if e == nil || e.Kind != rules.EntFn {
			return true
		}
		params := e.Decl.(*lang.FnDecl).Params
		for i, arg := range call.Args {
			if x, ok := arg.Value.(*lang.NameExpr); ok && i < len(params) && params[i].IsAxis {
				names = append(names, lang.Ident{At: x.At, Name: x.Name})
			}
		}
		return true
	})
	return names
}

// storeAxes visits the names in the index of a store that may be axes, with the dimensions at whose places they stand.
func storeAxes(s *rules.Scope, target *lang.IndexExpr, visit func(name lang.Ident, dim size.Size)) {
	x, ok := target.X.(*lang.NameExpr)
	if !ok {
		return
	}
	e := s.Lookup(x.Name)
	if e == nil || e.Kind != rules.EntTensor {
		return
	}
	for i, index := range target.Indices {
		name, ok := index.(*lang.NameExpr)
		if ok && i < len(e.Param.Shape) && name.Name != "_" && !s.Lookup(name.Name).Counts() {
			visit(lang.Ident{At: name.At, Name: name.Name}, e.Param.Shape[i])
		}
	}
}

// gridOf declares the axes that a store names, of those that are walked by the grid.
func (b *bodyChecker) gridOf(target *lang.IndexExpr, walked func(name string) bool) {
	storeAxes(b.scope, target, func(name lang.Ident, dim size.Size) {
		if b.scope.Lookup(name.Name).Counts() || !walked(name.Name) {
			return
		}
		tile := "B" + strings.ToUpper(name.Name)
		for b.scope.Lookup(tile) != nil {
			tile += "_"
		}
		b.tiles[tile] = name.Place
		b.declareAxis(&typed.Axis{Name: name.Name, Kind: typed.GridAxis, Dim: dim, Len: dim, Tile: tile, At: name.Place})
		b.scope.Names[tile] = &rules.Entity{Kind: rules.EntTile, Name: tile, At: name.Place}
	})
}

// reducedOf declares the axis that a reduction names, over the dimension that it indexes.
func (b *bodyChecker) reducedOf(body, whole *lang.Block, name lang.Ident) {
	if b.scope.Lookup(name.Name).Counts() {
		return
	}
	declared := false // by an `axis` or a `for` of the body
	lang.Walk(body, func(n lang.Node) bool {
		if a, ok := n.(*lang.AxisClause); ok && a.Name.Name == name.Name {
			declared = true
		}
		return !declared
	})
	if declared {
		return
	}
	if dim, at, ok := indexedBy(b.scope, name.Name, body, whole); ok {
		_, isConst := dim.Const()
		b.declareAxis(&typed.Axis{Name: name.Name, Kind: typed.WholeAxis, Dim: dim, Len: dim, IsFree: isConst, At: at})
	} else if inIndex(whole, name.Name) {
		b.Errorf(lang.ErrUnknownName, name.Place, "nothing tells what %s walks: no dimension has %s alone as its index", name.Name, name.Name).
			Help("declare it in the body: `axis %s in ...`, over a dimension or a number", name.Name)
		b.scope.Names[name.Name] = &rules.Entity{Kind: rules.EntInvalid, Name: name.Name, At: name.Place}
	}
}

// inIndex reports a name that is a part of an index.
func inIndex(body lang.Node, name string) (found bool) {
	lang.Walk(body, func(n lang.Node) bool {
		if access, ok := n.(*lang.IndexExpr); ok {
			for _, index := range access.Indices {
				found = found || freeNames(index)[name]
			}
		}
		return !found
	})
	return found
}

// indexedBy is the dimension that a name first indexes in the first of some nodes in which it does, and where.
func indexedBy(s *rules.Scope, name string, in ...lang.Node) (dim size.Size, at lang.Span, ok bool) {
	visit := func(n lang.Node) bool {
		access, isAccess := n.(*lang.IndexExpr)
		if !isAccess || ok {
			return !ok
		}
		x, isName := access.X.(*lang.NameExpr)
		if !isName {
			return true
		}
		e := s.Lookup(x.Name)
		if e == nil || e.Kind != rules.EntTensor {
			return true
		}
		for i, index := range access.Indices {
			if n, isName := index.(*lang.NameExpr); isName && n.Name == name && i < len(e.Param.Shape) {
				dim, at, ok = e.Param.Shape[i], n.Place, true
				return false
			}
		}
		return true
	}
	for _, n := range in {
		lang.Walk(n, visit)
	}
	return dim, at, ok
}
