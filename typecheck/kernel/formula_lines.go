package kernel

import (
	"maps"
	"math"
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
)

// This file cuts a formula into the parts that are launched one after the other.
// A line is a statement that does something, with the `let`s that it needs, and
// its names are its own: what is an axis of the grid in one may be reduced over
// in the next. Lines with the same grid are one part, unless one of them has to
// see what the other stores. A part is typed as the kernel that one would have
// written for its lines.

// formulaLine is a statement of a formula, at a place in its body, with what it needs.
type formulaLine struct {
	at    int
	stmts map[int]bool
	// names are all that it uses, grid those of its own store and reduced those that it reduces over, with their dimensions.
	names         map[string]bool
	grid, reduced map[string]size.Size
	// reads has where it reads each tensor that the kernel may write, stores what it writes.
	reads  map[string][]int
	stores map[string]bool
	// unused: a `let` that nothing needs.
	unused bool
}

// formulaPart is the lines of one launch.
type formulaPart struct {
	lines []*formulaLine
	// body is the statements of the lines, in order.
	body *lang.Block
	// given are the tensors that parts before it store and it does not.
	given map[string]bool
	// unused: nothing needs what it computes; it is typed for its errors and not launched.
	unused bool
}

// formulaCutter finds the lines of a formula and the parts that they make.
type formulaCutter struct {
	*rules.Checker
	scope *rules.Scope
	body  *lang.Block
	stmts []lang.Stmt
	// needs has, for each statement, the definitions that it needs, theirs included.
	needs []map[int]bool
	// axes are the names that lines store by and none reduces over: what uses one belongs to a line that stores by it.
	axes map[string]bool
	// own are the axes that the formula declares.
	own   ownAxes
	parts []*formulaPart
}

// cutFormula gives the parts of a formula, one at least, in the order in which they run; nil after an error.
func cutFormula(c *rules.Checker, d *lang.KernelDecl) []*formulaPart {
	whole := []*formulaPart{{body: d.Body}}
	if d.Body == nil {
		return whole
	}
	f := &formulaCutter{Checker: c, scope: c.Signatures[d].Scope, body: d.Body, stmts: d.Body.Stmts, axes: map[string]bool{}, own: declaredAxes(d.Body)}
	f.define()
	var own, guests []*formulaLine
	everywhere := map[int]bool{}
	needed := map[int]bool{}
	for _, n := range f.needs {
		maps.Copy(needed, n)
	}
	for i, s := range f.stmts {
		switch s := s.(type) {
		case *lang.LetStmt:
			if hasAtomic(s) { // which happens once, and whose value any line may use
				return whole
			}
		case *lang.AxisStmt:
		case *lang.AssignStmt:
			l := f.line(i)
			if f.isForeign(l) {
				guests = append(guests, l)
			} else {
				own = append(own, l)
			}
			continue
		case *lang.ExprStmt:
			if l := f.line(i); !isCondition(s) || f.isForeign(l) {
				guests = append(guests, l)
			} else { // what the proofs of every part may use
				maps.Copy(everywhere, l.stmts)
			}
			continue
		}
		if !needed[i] {
			l := f.line(i)
			l.unused = true
			guests = append(guests, l)
		}
	}
	for _, l := range own {
		if !f.place(l, f.sameGrid) {
			return nil
		}
	}
	for _, l := range guests {
		if !f.place(l, f.hasAxes) {
			return nil
		}
	}
	if len(f.parts) < 2 {
		return whole
	}
	stored := map[string]bool{}
	for _, p := range f.parts {
		p.finish(d.Body, everywhere)
		p.given = maps.Clone(stored)
		for _, l := range p.lines {
			maps.Copy(stored, l.stores)
		}
		maps.DeleteFunc(p.given, func(name string, _ bool) bool { return p.stores(name) })
	}
	return f.parts
}

// define finds what each statement needs, and the axes.
func (f *formulaCutter) define() {
	latest := map[string]int{}
	for i, s := range f.stmts {
		needs := map[int]bool{}
		for name := range freeNames(s) {
			if at, ok := latest[name]; ok {
				needs[at] = true
				maps.Copy(needs, f.needs[at])
			}
		}
		f.needs = append(f.needs, needs)
		switch s := s.(type) {
		case *lang.LetStmt:
			for _, n := range s.Names {
				latest[n.Name] = i
			}
		case *lang.AxisStmt:
			latest[s.Axis.Name.Name] = i
		case *lang.AssignStmt:
			if target, ok := s.Target.(*lang.IndexExpr); ok {
				storeAxes(f.scope, target, func(name lang.Ident, _ size.Size) {
					if !f.own.before(name.Name, i) {
						f.axes[name.Name] = true
					}
				})
			}
		}
	}
	for _, n := range reducedNames(f.scope, f.body) {
		delete(f.axes, n.Name)
	}
}

// line is the statement at a place with what it needs.
func (f *formulaCutter) line(at int) *formulaLine {
	l := &formulaLine{at: at, stmts: maps.Clone(f.needs[at]), names: map[string]bool{}, grid: map[string]size.Size{}, reduced: map[string]size.Size{},
		reads: map[string][]int{}, stores: map[string]bool{}}
	l.stmts[at] = true
	var used []lang.Node
	for _, i := range slices.Sorted(maps.Keys(l.stmts)) {
		used = append(used, f.stmts[i])
		maps.Copy(l.names, freeNames(f.stmts[i]))
		f.touches(l, i)
		for _, n := range reducedNames(f.scope, f.stmts[i]) {
			l.reduced[n.Name] = size.Size{}
		}
	}
	for name := range l.reduced {
		l.reduced[name], _, _ = indexedBy(f.scope, name, append(used, f.body)...)
	}
	if s, ok := f.stmts[at].(*lang.AssignStmt); ok {
		if target, ok := s.Target.(*lang.IndexExpr); ok {
			storeAxes(f.scope, target, func(name lang.Ident, dim size.Size) {
				if _, whole := l.reduced[name.Name]; !whole && !f.own.before(name.Name, at) {
					l.grid[name.Name] = dim
				}
			})
		}
	}
	return l
}

// touches notes which of the tensors that the kernel may write a statement reads and writes.
func (f *formulaCutter) touches(l *formulaLine, at int) {
	written := map[*lang.NameExpr]bool{}
	writes := func(target lang.Node) {
		if x, ok := target.(*lang.IndexExpr); ok {
			if name, ok := x.X.(*lang.NameExpr); ok {
				written[name], l.stores[name.Name] = true, true
			}
		}
	}
	lang.Walk(f.stmts[at], func(n lang.Node) bool {
		switch n := n.(type) {
		case *lang.AssignStmt:
			writes(n.Target)
		case *lang.CallExpr:
			if isAtomic(n) && len(n.Args) > 0 {
				writes(n.Args[0].Value)
			}
		case *lang.NameExpr:
			e := f.scope.Lookup(n.Name)
			if e != nil && e.Kind == rules.EntTensor && e.Param.Mode != lang.In && !written[n] {
				l.reads[n.Name] = append(l.reads[n.Name], at)
			}
		}
		return true
	})
}

// isForeign reports a line that uses an axis of another: a position that its own store does not name.
func (f *formulaCutter) isForeign(l *formulaLine) bool {
	for name := range l.names {
		if _, own := l.grid[name]; f.axes[name] && !own {
			return true
		}
	}
	return false
}

// sameGrid reports a line that runs over the grid of a part and means the same by the names that both reduce over.
func (f *formulaCutter) sameGrid(p *formulaPart, l *formulaLine) bool {
	for _, o := range p.lines {
		if !maps.EqualFunc(o.grid, l.grid, size.Size.Equal) {
			return false
		}
		for name, dim := range l.reduced {
			if other, ok := o.reduced[name]; ok && !other.Equal(dim) {
				return false
			}
		}
	}
	return true
}

// hasAxes reports a part with the axes of the grid that a line uses, which reduces over none of the part's.
func (f *formulaCutter) hasAxes(p *formulaPart, l *formulaLine) bool {
	for name := range l.names {
		_, stores := l.grid[name]
		_, reduces := l.reduced[name]
		_, walked := p.lines[0].grid[name]
		if (f.axes[name] || stores) && !walked || reduces && walked {
			return false
		}
	}
	return true
}

// place puts a line into the first part that it suits, where the order of the
// text allows it, or into one of its own; false after an error.
func (f *formulaCutter) place(l *formulaLine, suits func(*formulaPart, *formulaLine) bool) bool {
	first, alone, last := 0, 0, math.MaxInt // the parts that it may be in, and where one of its own may be
	for i, p := range f.parts {
		for _, o := range p.lines {
			switch {
			case o.at < l.at:
				before, after := ordered(o, l)
				if before {
					first, alone = max(first, i), max(alone, i+1)
				}
				if before && l.sees(o) {
					first = max(first, i+1)
				}
				if after {
					last = min(last, i)
				}
			default:
				before, after := ordered(l, o)
				if before {
					last = min(last, i)
				}
				if before && o.sees(l) {
					last = min(last, i-1)
				}
				if after {
					first, alone = max(first, i), max(alone, i+1)
				}
			}
		}
	}
	for i, p := range f.parts {
		if first <= i && i <= last && suits(p, l) {
			p.lines = append(p.lines, l)
			return true
		}
	}
	at := min(last, len(f.parts))
	if alone > at {
		f.Errorf(lang.ErrInoutRead, f.stmts[l.at].Span(), "this line uses a tensor as it was before an earlier line stored to it, and cannot run before that line").
			Help("move the line before the one that stores, or write two kernels")
		return false
	}
	f.parts = slices.Insert(f.parts, at, &formulaPart{lines: []*formulaLine{l}, unused: l.unused})
	return true
}

// sees reports that a line reads what an earlier one stores.
func (l *formulaLine) sees(earlier *formulaLine) bool {
	for name := range earlier.stores {
		if slices.ContainsFunc(l.reads[name], func(at int) bool { return at > earlier.at }) {
			return true
		}
	}
	return false
}

// ordered says how the second of two lines has to run: not before the first, for
// it sees or replaces what that stores or reads; or not after it, for it reads what
// the first then stores to.
func ordered(first, second *formulaLine) (before, after bool) {
	before = second.sees(first)
	for name := range second.stores {
		before = before || first.stores[name] || len(first.reads[name]) > 0
	}
	for name := range first.stores {
		after = after || slices.ContainsFunc(second.reads[name], func(at int) bool { return at < first.at })
	}
	return before, after
}

// finish makes the part's body of what its lines need, and what every part has.
func (p *formulaPart) finish(of *lang.Block, everywhere map[int]bool) {
	body := *of
	body.Stmts = nil
	for i, s := range of.Stmts {
		if everywhere[i] || slices.ContainsFunc(p.lines, func(l *formulaLine) bool { return l.stmts[i] }) {
			body.Stmts = append(body.Stmts, s)
		}
	}
	p.body = &body
}

// isAtomic reports a call of an atomic.
func isAtomic(call *lang.CallExpr) bool {
	name, ok := call.Fn.(*lang.NameExpr)
	return ok && strings.HasPrefix(name.Name, "atomic_")
}

// hasAtomic reports an atomic anywhere inside.
func hasAtomic(n lang.Node) (found bool) {
	lang.Walk(n, func(n lang.Node) bool {
		call, ok := n.(*lang.CallExpr)
		found = found || ok && isAtomic(call)
		return !found
	})
	return found
}

// isCondition reports `assume(...)` and `static_assert(...)`.
func isCondition(s *lang.ExprStmt) bool {
	call, ok := s.X.(*lang.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fn.(*lang.NameExpr)
	return ok && (name.Name == "assume" || name.Name == "static_assert")
}

// freeNames are the names that a node uses and does not bind itself.
func freeNames(n lang.Node) map[string]bool {
	free := map[string]bool{}
	addFree(free, n, nil)
	return free
}

func addFree(free map[string]bool, n lang.Node, bound []string) {
	with := func(bound []string, names ...lang.Ident) []string {
		bound = slices.Clone(bound)
		for _, name := range names {
			bound = append(bound, name.Name)
		}
		return bound
	}
	use := func(name string) {
		if !slices.Contains(bound, name) {
			free[name] = true
		}
	}
	lang.Walk(n, func(n lang.Node) bool {
		switch n := n.(type) {
		case *lang.NameExpr:
			use(n.Name)
		case *lang.CallExpr:
			for _, name := range n.Over {
				use(name.Name)
			}
		case *lang.LambdaExpr:
			inner := bound
			for _, p := range n.Params {
				inner = with(inner, p.Names...)
			}
			addFree(free, n.Body, inner)
			return false
		case *lang.ForExpr:
			addFree(free, n.Axis, bound)
			addFree(free, n.Init, bound)
			addFree(free, n.Body, with(bound, append(slices.Clone(n.Carried), n.Axis.Name)...))
			return false
		case *lang.Block:
			inner := bound
			for _, s := range n.Stmts {
				addFree(free, s, inner)
				switch s := s.(type) {
				case *lang.LetStmt:
					inner = with(inner, s.Names...)
				case *lang.AxisStmt:
					inner = with(inner, s.Axis.Name)
				}
			}
			return false
		}
		return true
	})
}
