package typecheck

import (
	"slices"
	"strings"

	"tilec/lang"
)

// This file gives a formula its axes. In a kernel without a grid, the names in
// the index of a store are the grid, over the dimensions at whose places they
// stand, by extents that the planner chooses. A name that a reduction is over is
// an axis over the whole dimension that it indexes, stored by or not: what is
// reduced must be there whole.

// formula declares the axes of a kernel without a grid.
func (b *bodyChecker) formula(d *lang.KernelDecl) bool {
	if d.Body == nil {
		return false
	}
	b.isFormula = true
	reduced := b.reducedNames(d)
	for _, s := range d.Body.Stmts {
		a, ok := s.(*lang.AssignStmt)
		if !ok {
			continue
		}
		if target, ok := a.Target.(*lang.IndexExpr); ok {
			b.gridOf(target, reduced)
		}
	}
	for _, name := range reduced {
		b.reducedOf(d, name)
	}
	if len(b.kernel.Axes) == 0 {
		b.errorf(lang.ErrFormula, d.Name.Place, "nothing tells what the blocks of %s are: it has no grid, and no store by names of axes", d.Name.Name).
			help("write a formula, as in `y[i, j] = ...`, or say what one block computes: `grid i in M by BM`")
		return false
	}
	return true
}

// reducedNames are the names that the body reduces over, or hands to a function as an axis.
func (b *bodyChecker) reducedNames(d *lang.KernelDecl) []lang.Ident {
	var names []lang.Ident
	lang.Walk(d.Body, func(n lang.Node) bool {
		call, ok := n.(*lang.CallExpr)
		if !ok {
			return true
		}
		names = append(names, call.Over...)
		callee, ok := call.Fn.(*lang.NameExpr)
		if !ok {
			return true
		}
		e := b.scope.lookup(callee.Name)
		if e == nil || e.kind != entFn {
			return true
		}
		params := e.decl.(*lang.FnDecl).Params
		for i, arg := range call.Args {
			if x, ok := arg.Value.(*lang.NameExpr); ok && i < len(params) && params[i].IsAxis {
				names = append(names, lang.Ident{At: x.At, Name: x.Name})
			}
		}
		return true
	})
	return names
}

// gridOf declares the axes that a store names.
func (b *bodyChecker) gridOf(target *lang.IndexExpr, reduced []lang.Ident) {
	x, ok := target.X.(*lang.NameExpr)
	if !ok {
		return
	}
	e := b.scope.lookup(x.Name)
	if e == nil || e.kind != entTensor {
		return
	}
	for i, index := range target.Indices {
		name, ok := index.(*lang.NameExpr)
		if !ok || i >= len(e.param.Shape) || name.Name == "_" || b.scope.lookup(name.Name).counts() {
			continue
		}
		if slices.ContainsFunc(reduced, func(r lang.Ident) bool { return r.Name == name.Name }) {
			continue
		}
		tile := "B" + strings.ToUpper(name.Name)
		for b.scope.lookup(tile) != nil {
			tile += "_"
		}
		b.tiles[tile] = name.Place
		dim := e.param.Shape[i]
		b.declareAxis(&Axis{Name: name.Name, Kind: GridAxis, Dim: dim, Len: dim, Tile: tile, At: name.Place})
		b.scope.names[tile] = &entity{kind: entTile, name: tile, at: name.Place}
	}
}

// reducedOf declares the axis that a reduction names, over the dimension that it indexes.
func (b *bodyChecker) reducedOf(d *lang.KernelDecl, name lang.Ident) {
	if b.scope.lookup(name.Name).counts() {
		return
	}
	declared, used := false, false // by an `axis` or a `for` of the body; as a part of an index
	lang.Walk(d.Body, func(n lang.Node) bool {
		if a, ok := n.(*lang.AxisClause); ok && a.Name.Name == name.Name {
			declared = true
		}
		return !declared
	})
	if declared {
		return
	}
	lang.Walk(d.Body, func(n lang.Node) bool {
		access, ok := n.(*lang.IndexExpr)
		if !ok || declared {
			return !declared
		}
		x, ok := access.X.(*lang.NameExpr)
		if !ok {
			return true
		}
		e := b.scope.lookup(x.Name)
		if e == nil || e.kind != entTensor {
			return true
		}
		for i, index := range access.Indices {
			lang.Walk(index, func(n lang.Node) bool {
				part, ok := n.(*lang.NameExpr)
				used = used || ok && part.Name == name.Name
				return true
			})
			if at, ok := index.(*lang.NameExpr); ok && at.Name == name.Name && i < len(e.param.Shape) {
				dim := e.param.Shape[i]
				_, isConst := dim.Const()
				b.declareAxis(&Axis{Name: name.Name, Kind: WholeAxis, Dim: dim, Len: dim, IsFree: isConst, At: at.Place})
				declared = true
				return false
			}
		}
		return true
	})
	if !declared && used {
		b.errorf(lang.ErrUnknownName, name.Place, "nothing tells what %s walks: no dimension has %s alone as its index", name.Name, name.Name).
			help("declare it in the body: `axis %s in ...`, over a dimension or a number", name.Name)
		b.scope.names[name.Name] = &entity{kind: entInvalid, name: name.Name, at: name.Place}
	}
}

// unmentioned is the grid axes of a formula that a store over some axes does
// not mention. In `y[i, j] = ...` and `d[i] = ...`, d is the same for every j:
// one block along j is enough to say it.
func (b *bodyChecker) unmentioned(axes []*Axis) []*Axis {
	if !b.isFormula {
		return nil
	}
	var once []*Axis
	for _, g := range b.kernel.Axes {
		if g.Kind == GridAxis && !slices.Contains(axes, g) {
			once = append(once, g)
		}
	}
	return once
}

// onlyOnce is a store that only the blocks at the first positions of the axes do.
func (b *bodyChecker) onlyOnce(s *Store, axes []*Axis) Stmt {
	if len(axes) == 0 {
		return s
	}
	s.Once = axes
	var first Expr
	for _, g := range axes {
		position, truth := Typed{Type{DType: Concrete(lang.I32)}, s.At}, Typed{Type{DType: Concrete(lang.Bool)}, s.At}
		var at Expr = &Apply{Typed: truth, Op: lang.OpEq, Args: []Expr{
			&Apply{Typed: position, Op: lang.OpStart, Axis: g}, &Const{Typed: position},
		}}
		if first != nil {
			at = &Apply{Typed: truth, Op: lang.OpLogicAnd, Args: []Expr{first, at}}
		}
		first = at
	}
	return &Do{&If{Cond: first, Then: &Body{Stmts: []Stmt{s}}, Else: &Body{}, At: s.At}}
}
