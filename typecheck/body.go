package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// bodyChecker types the body of one kernel, with the fns that it calls.
type bodyChecker struct {
	*checker
	*facts
	scope *scope
	stmts *[]typed.Stmt // where new statements go
	top   *[]typed.Stmt // the statements of the kernel itself, outside all blocks
	// inIndex: inside the brackets of an access, where an axis stands for its positions.
	inIndex    int
	scalars    map[*typed.Param]*size.Symbol
	loopStarts map[*typed.Axis]typed.Expr // where a loop over a part of its dimension begins, in elements
	// tiles are the extents that the planner binds, by name, with where they first stand.
	tiles map[string]lang.Span
	// inGrid: in the range of an axis of the grid.
	inGrid bool
	// isFormula: the kernel has no grid of its own, but names in its stores.
	isFormula bool
	stored    map[*typed.Param]bool
	inlining
	// storeFailed: a statement that may have been a store has an error.
	storeFailed bool
}

// emit appends a statement to the block being checked.
func (b *bodyChecker) emit(s typed.Stmt) { *b.stmts = append(*b.stmts, s) }

// Errorf reports an error; inside a fn, with where it was called.
func (b *bodyChecker) Errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	return labelCalls(b.checker.log.Errorf(code, at, format, args...), b.frames)
}

// block types a block in a scope of its own.
func (b *bodyChecker) block(blk *lang.Block) ([]typed.Stmt, operand) {
	return b.within(newScope(b.scope), func() operand { return b.stmtsOf(blk) })
}

// within runs check in a scope and collects its statements. A value over an axis declared there may not leave it.
func (b *bodyChecker) within(s *scope, check func() operand) ([]typed.Stmt, operand) {
	outerScope, outerStmts := b.scope, b.stmts
	var stmts []typed.Stmt
	b.scope, b.stmts = s, &stmts
	result := check()
	b.scope, b.stmts = outerScope, outerStmts
	return stmts, b.noEscape(result, s)
}

// noEscape reports a value over an axis whose scope ends here.
func (b *bodyChecker) noEscape(o operand, s *scope) operand {
	for _, t := range o.valueTypes() {
		for _, a := range t.Axes {
			if !typed.HasAxis(s.axes, a) {
				continue
			}
			r := b.Errorf(lang.ErrEscape, o.at, "the value is %s, and the axis %s ends here", t, a.Name).
				label(a.At, "%s is declared here", a.Name)
			if a.Kind == typed.LoopAxis {
				r.help("reduce over %s inside the loop, as in `sum(x, over %s)`, and carry the result", a.Name, a.Name)
			} else {
				r.help("reduce over %s first, or declare the axis outside", a.Name)
			}
			return bad(o.at)
		}
	}
	return o
}

// stmtsOf types statements in the current scope and gives the value of the last.
func (b *bodyChecker) stmtsOf(blk *lang.Block) operand {
	result := operand{mode: noValue, at: blk.Place}
	for i, s := range blk.Stmts {
		last := i == len(blk.Stmts)-1
		found := b.found
		switch s := s.(type) {
		case *lang.LetStmt:
			b.let(s)
		case *lang.AxisStmt:
			b.axisStmt(s.Axis)
		case *lang.AssignStmt:
			b.store(s)
			b.storeFailed = b.storeFailed || b.found > found && !b.isOutput(s.Target)
		case *lang.ExprStmt:
			o := b.expr(s.X)
			b.storeFailed = b.storeFailed || b.found > found
			switch {
			case o.mode == noValue:
				if o.expr != nil {
					b.emit(&typed.Do{X: o.expr})
				}
				if last {
					result = operand{mode: noValue, at: s.Place}
				}
			case last:
				result = o
				if result.mode == invalid {
					return result
				}
			case o.mode != invalid:
				b.unusedValue(s.X, b.describeOperand(o), o).orHelp("bind it with `let`, or remove it")
				b.storeFailed = true
			}
		}
	}
	return result
}

// isOutput reports whether the target of a store is a tensor that may be stored to.
func (b *bodyChecker) isOutput(target lang.Expr) bool {
	if x, ok := target.(*lang.IndexExpr); ok {
		target = x.X
	}
	n, ok := target.(*lang.NameExpr)
	if !ok {
		return false
	}
	e := b.scope.lookup(n.Name)
	return e != nil && e.kind == entTensor && e.param.Mode != lang.In
}

// let binds names.
func (b *bodyChecker) let(s *lang.LetStmt) {
	o := b.expr(s.Value)
	if s.InOut {
		b.Errorf(lang.ErrReadOnly, s.Names[0].Place, "a kernel has no state of its own: %s is bound once", s.Names[0].Name).
			help("bind it with `let`, and carry what changes from step to step: `for ... with %s = ...`", s.Names[0].Name)
		o = bad(s.Place)
	}
	if o.mode == tensorOperand && o.param.Of != nil && len(s.Names) == 1 {
		b.bindView(s.Names[0], o.param)
		return
	}
	if len(s.Names) == 1 {
		b.bind(s.Names[0], b.single(o, "let"), s.Place)
		if e := b.scope.names[s.Names[0].Name]; e != nil {
			e.start = s.Value
		}
		return
	}
	b.bindAll(s.Names, o, s.Place)
}

// single wants exactly one value.
func (b *bodyChecker) single(o operand, what string) operand {
	switch o.mode {
	case noValue:
		if o.old != nil {
			return o.old()
		}
		b.Errorf(lang.ErrValueCount, o.at, "this gives no value")
		return bad(o.at)
	case several:
		if o.expr == nil && len(o.elems) == 1 {
			return o.elems[0]
		}
		if n := len(o.valueTypes()); n != 1 {
			b.Errorf(lang.ErrValueCount, o.at, "this gives %s where one is needed", plural(n, "value")).
				help("bind them with `let (a, b) = ...`")
			return bad(o.at)
		}
		return operand{mode: typedValue, at: o.at, expr: o.expr}
	case axisOperand:
		if b.inIndex == 0 {
			r := b.Errorf(lang.ErrAxisAsValue, o.at, "the axis %s is no value", o.axis.Name)
			if positions := "index(" + o.axis.Name + ")"; takenBehind(o.at.Source.Text[o.at.End:]) { // as in `j[i]`: positions are no tensor either
				r.help("write `%s` for its positions", positions)
			} else {
				r.replace(o.at, positions, "write `%s` for its positions", positions)
			}
			return bad(o.at)
		}
		return b.positionsOf(o.axis, o.at)
	case tensorOperand:
		r := b.Errorf(lang.ErrAxisAsValue, o.at, "the tensor %s is no value: only its elements are", o.param.Name)
		if o.param.Of != nil && o.param.At == o.at {
			r.help("give the view a name, as in `let w = %s`, and index that", o.param.Name)
		} else {
			r.help("index it, as in `%s`", exampleAccess(o.param))
		}
		return bad(o.at)
	}
	return o
}

func exampleAccess(p *typed.Param) string {
	text := p.Name + "["
	for i := range p.Shape {
		if i > 0 {
			text += ", "
		}
		text += string(rune('i' + i))
	}
	return text + "]"
}

// bind gives a name to a value. Constants and sizes keep adapting to their context.
func (b *bodyChecker) bind(name lang.Ident, o operand, at lang.Span) {
	e := &entity{kind: entValue, name: name.Name, at: name.Place, value: o}
	switch o.mode {
	case invalid:
		e.kind = entInvalid
	case typedValue:
		if name.Name == "_" {
			b.emit(&typed.Let{Locals: []*typed.Local{nil}, Value: o.expr, At: at})
			return
		}
		l := &typed.Local{Name: name.Name, Type: o.typ(), At: name.Place}
		b.emit(&typed.Let{Locals: []*typed.Local{l}, Value: o.expr, At: at})
		e.value = operand{mode: typedValue, at: name.Place, expr: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: name.Place}, Local: l}, lin: o.lin}
	}
	b.declare(b.scope, e, true)
}

// bindAll destructures.
func (b *bodyChecker) bindAll(names []lang.Ident, o operand, at lang.Span) {
	refuse := func() {
		for _, n := range names {
			b.declare(b.scope, &entity{kind: entInvalid, name: n.Name, at: n.Place}, true)
		}
	}
	if o.mode == invalid {
		refuse()
		return
	}
	if n := len(o.valueTypes()); n != len(names) || o.mode != several {
		b.Errorf(lang.ErrValueCount, names[0].Place.To(names[len(names)-1].Place), "%s for %s", plural(len(names), "name"), plural(n, "value")).
			label(o.at, "gives %s", plural(n, "value"))
		refuse()
		return
	}
	if o.elems != nil {
		ops := make([]operand, len(o.elems)) // all are computed before any name is bound
		for i, e := range o.elems {
			ops[i] = b.single(e, "let")
		}
		for i, n := range names {
			b.bind(n, ops[i], at)
		}
		return
	}
	let := &typed.Let{Value: o.expr, At: at}
	for i, n := range names {
		if n.Name == "_" {
			let.Locals = append(let.Locals, nil)
			continue
		}
		l := &typed.Local{Name: n.Name, Type: o.types[i], At: n.Place}
		let.Locals = append(let.Locals, l)
		b.declare(b.scope, &entity{kind: entValue, name: n.Name, at: n.Place,
			value: operand{mode: typedValue, at: n.Place, expr: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: n.Place}, Local: l}}}, true)
	}
	b.emit(let)
}

// results are the expressions of a block's value, settled or converted to the types wanted.
func (b *bodyChecker) results(o operand, want []typed.Type) []typed.Expr {
	switch o.mode {
	case typedValue:
		return []typed.Expr{o.expr}
	case untypedInt, untypedFloat:
		if len(want) == 1 {
			if o = b.convert(o, want[0].DType); o.mode == typedValue {
				return []typed.Expr{o.expr}
			}
			return nil
		}
		if o = b.settle(o); o.mode == typedValue {
			return []typed.Expr{o.expr}
		}
	case several:
		if o.elems == nil {
			return []typed.Expr{o.expr}
		}
		var out []typed.Expr
		for _, e := range o.elems {
			n := len(e.valueTypes())
			var w []typed.Type
			if len(want) >= len(out)+n {
				w = want[len(out) : len(out)+n]
			}
			xs := b.results(e, w)
			if xs == nil {
				return nil
			}
			out = append(out, xs...)
		}
		return out
	}
	return nil
}

// inline is a block as an expression. A block that only gives a value is that value.
func inline(stmts []typed.Stmt, o operand, results []typed.Expr, at lang.Span) operand {
	body := &typed.Inline{Body: &typed.Body{Stmts: stmts, Results: results}, At: at}
	return wrap(body, at, o.lin)
}

// wrap makes the operand of an expression that may give any number of values.
func wrap(e typed.Expr, at lang.Span, lin *size.Size) operand {
	types := e.Types()
	switch len(types) {
	case 0:
		return operand{mode: noValue, at: at, expr: e}
	case 1:
		return operand{mode: typedValue, at: at, expr: e, lin: lin}
	}
	return operand{mode: several, at: at, expr: e, types: types}
}

// newBody makes the state for typing expressions in a scope.
func newBody(c *checker, k *typed.Kernel, s *scope) *bodyChecker {
	return &bodyChecker{
		checker: c, facts: newFacts(c.log, &c.hidden, k), scope: newScope(s), stmts: new([]typed.Stmt),
		scalars: map[*typed.Param]*size.Symbol{}, loopStarts: map[*typed.Axis]typed.Expr{}, tiles: map[string]lang.Span{}, stored: map[*typed.Param]bool{},
	}
}

// evaluate types an expression that stands in no kernel: of a constant, or of a shape.
func evaluate(c *checker, s *scope, e lang.Expr) operand {
	return newBody(c, &typed.Kernel{}, s).value(e)
}
