package kernel

import (
	"tilec/lang"
	"tilec/typecheck/blocks"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// bodyChecker types the body of one kernel, with the fns that it calls.
type bodyChecker struct {
	*rules.Checker
	*blocks.Facts
	scope *rules.Scope
	stmts *[]typed.Stmt // where new statements go
	top   *[]typed.Stmt // the statements of the kernel itself, outside all blocks
	// inIndex: inside the brackets of an access, where an axis stands for its positions.
	inIndex int
	// asIndex is what is typed as an index, and walked the dimension that it is one of.
	asIndex    lang.Expr
	walked     size.Size
	scalars    map[*typed.Param]*size.Symbol
	loads      map[string]*size.Symbol    // of elements of inputs, by tensor and position
	limits     map[*size.Symbol]limits    // of what min, max and clamp give
	loopStarts map[*typed.Axis]typed.Expr // where a loop over a part of its dimension begins, in elements
	// tiles are the extents that the planner binds, by name, with where they first stand.
	tiles map[string]lang.Span
	// inGrid: in the range of an axis of the grid.
	inGrid bool
	// isFormula: the kernel has no grid of its own, but names in its stores.
	isFormula bool
	stored    map[*typed.Param]bool
	rules.Unfolding
	// storeFailed: a statement that may have been a store has an error.
	storeFailed bool
}

// emit appends a statement to the block being checked.
func (b *bodyChecker) emit(s typed.Stmt) { *b.stmts = append(*b.stmts, s) }

// Errorf reports an error; inside a fn, with where it was called.
func (b *bodyChecker) Errorf(code lang.Code, at lang.Span, format string, args ...any) report.Draft {
	return rules.LabelCalls(b.Checker.Log.Errorf(code, at, format, args...), b.Frames)
}

// block types a block in a scope of its own.
func (b *bodyChecker) block(blk *lang.Block) ([]typed.Stmt, rules.Operand) {
	return b.within(rules.NewScope(b.scope), func() rules.Operand { return b.stmtsOf(blk) })
}

// within runs check in a scope and collects its statements. A value over an axis declared there may not leave it.
func (b *bodyChecker) within(s *rules.Scope, check func() rules.Operand) ([]typed.Stmt, rules.Operand) {
	outerScope, outerStmts := b.scope, b.stmts
	var stmts []typed.Stmt
	b.scope, b.stmts = s, &stmts
	result := check()
	b.scope, b.stmts = outerScope, outerStmts
	return stmts, b.noEscape(result, s)
}

// noEscape reports a value over an axis whose scope ends here.
func (b *bodyChecker) noEscape(o rules.Operand, s *rules.Scope) rules.Operand {
	for _, t := range o.ValueTypes() {
		for _, a := range t.Axes {
			if !typed.HasAxis(s.Axes, a) {
				continue
			}
			r := b.Errorf(lang.ErrEscape, o.At, "the value is %s, and the axis %s ends here", t, a.Name).
				LabelAt(a.At, "%s is declared here", a.Name)
			if a.Kind == typed.LoopAxis {
				r.Help("reduce over %s inside the loop, as in `sum(x, over %s)`, and carry the result", a.Name, a.Name)
			} else {
				r.Help("reduce over %s first, or declare the axis outside", a.Name)
			}
			return rules.Bad(o.At)
		}
	}
	return o
}

// stmtsOf types statements in the current scope and gives the value of the last.
func (b *bodyChecker) stmtsOf(blk *lang.Block) rules.Operand {
	result := rules.Operand{Mode: rules.NoValue, At: blk.Place}
	for i, s := range blk.Stmts {
		last := i == len(blk.Stmts)-1
		found := b.Found
		switch s := s.(type) {
		case *lang.LetStmt:
			b.let(s)
		case *lang.AxisStmt:
			b.axisStmt(s.Axis)
		case *lang.AssignStmt:
			b.store(s)
			b.storeFailed = b.storeFailed || b.Found > found && !b.isOutput(s.Target)
		case *lang.ExprStmt:
			o := b.expr(s.X)
			b.storeFailed = b.storeFailed || b.Found > found
			switch {
			case o.Mode == rules.NoValue:
				if o.Expr != nil {
					b.emit(&typed.Do{X: o.Expr})
				}
				if last {
					result = rules.Operand{Mode: rules.NoValue, At: s.Place}
				}
			case last:
				result = o
				if result.Mode == rules.Invalid {
					return result
				}
			case o.Mode != rules.Invalid:
				b.UnusedValue(s.X, b.DescribeOperand(o), o).OrHelp("bind it with `let`, or remove it")
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
	e := b.scope.Lookup(n.Name)
	return e != nil && e.Kind == rules.EntTensor && e.Param.Mode != lang.In
}

// let binds names.
func (b *bodyChecker) let(s *lang.LetStmt) {
	o := b.expr(s.Value)
	if s.InOut {
		b.Errorf(lang.ErrReadOnly, s.Names[0].Place, "a kernel has no state of its own: %s is bound once", s.Names[0].Name).
			Help("bind it with `let`, and carry what changes from step to step: `for ... with %s = ...`", s.Names[0].Name)
		o = rules.Bad(s.Place)
	}
	if o.Mode == rules.TensorOperand && o.Param.Of != nil && len(s.Names) == 1 {
		b.bindView(s.Names[0], o.Param)
		return
	}
	if len(s.Names) == 1 {
		b.bind(s.Names[0], b.single(o, "let"), s.Place)
		if e := b.scope.Names[s.Names[0].Name]; e != nil {
			e.Start = s.Value
		}
		return
	}
	b.bindAll(s.Names, o, s.Place)
}

// single wants exactly one value.
func (b *bodyChecker) single(o rules.Operand, what string) rules.Operand {
	switch o.Mode {
	case rules.NoValue:
		if o.Old != nil {
			return o.Old()
		}
		b.Errorf(lang.ErrValueCount, o.At, "this gives no value")
		return rules.Bad(o.At)
	case rules.Several:
		if o.Expr == nil && len(o.Elems) == 1 {
			return o.Elems[0]
		}
		if n := len(o.ValueTypes()); n != 1 {
			b.Errorf(lang.ErrValueCount, o.At, "this gives %s where one is needed", report.Plural(n, "value")).
				Help("bind them with `let (a, b) = ...`")
			return rules.Bad(o.At)
		}
		return rules.Operand{Mode: rules.TypedValue, At: o.At, Expr: o.Expr}
	case rules.AxisOperand:
		if b.inIndex == 0 {
			r := b.Errorf(lang.ErrAxisAsValue, o.At, "the axis %s is no value", o.Axis.Name)
			if positions := "index(" + o.Axis.Name + ")"; report.TakenBehind(o.At.Source.Text[o.At.End:]) { // as in `j[i]`: positions are no tensor either
				r.Help("write `%s` for its positions", positions)
			} else {
				r.Replace(o.At, positions, "write `%s` for its positions", positions)
			}
			return rules.Bad(o.At)
		}
		return b.positionsOf(o.Axis, o.At)
	case rules.TensorOperand:
		r := b.Errorf(lang.ErrAxisAsValue, o.At, "the tensor %s is no value: only its elements are", o.Param.Name)
		if o.Param.Of != nil && o.Param.At == o.At {
			r.Help("give the view a name, as in `let w = %s`, and index that", o.Param.Name)
		} else {
			r.Help("index it, as in `%s`", exampleAccess(o.Param))
		}
		return rules.Bad(o.At)
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
func (b *bodyChecker) bind(name lang.Ident, o rules.Operand, at lang.Span) {
	e := &rules.Entity{Kind: rules.EntValue, Name: name.Name, At: name.Place, Value: o}
	switch o.Mode {
	case rules.Invalid:
		e.Kind = rules.EntInvalid
	case rules.TypedValue:
		if name.Name == "_" {
			b.emit(&typed.Let{Locals: []*typed.Local{nil}, Value: o.Expr, At: at})
			return
		}
		l := &typed.Local{Name: name.Name, Type: o.Type(), At: name.Place}
		b.emit(&typed.Let{Locals: []*typed.Local{l}, Value: o.Expr, At: at})
		e.Value = rules.Operand{Mode: rules.TypedValue, At: name.Place, Expr: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: name.Place}, Local: l}, Linear: o.Linear}
	}
	b.Declare(b.scope, e, true)
}

// bindAll destructures.
func (b *bodyChecker) bindAll(names []lang.Ident, o rules.Operand, at lang.Span) {
	refuse := func() {
		for _, n := range names {
			b.Declare(b.scope, &rules.Entity{Kind: rules.EntInvalid, Name: n.Name, At: n.Place}, true)
		}
	}
	if o.Mode == rules.Invalid {
		refuse()
		return
	}
	if n := len(o.ValueTypes()); n != len(names) || o.Mode != rules.Several {
		b.Errorf(lang.ErrValueCount, names[0].Place.To(names[len(names)-1].Place), "%s for %s", report.Plural(len(names), "name"), report.Plural(n, "value")).
			LabelAt(o.At, "gives %s", report.Plural(n, "value"))
		refuse()
		return
	}
	if o.Elems != nil {
		ops := make([]rules.Operand, len(o.Elems)) // all are computed before any name is bound
		for i, e := range o.Elems {
			ops[i] = b.single(e, "let")
		}
		for i, n := range names {
			b.bind(n, ops[i], at)
		}
		return
	}
	let := &typed.Let{Value: o.Expr, At: at}
	for i, n := range names {
		if n.Name == "_" {
			let.Locals = append(let.Locals, nil)
			continue
		}
		l := &typed.Local{Name: n.Name, Type: o.Types[i], At: n.Place}
		let.Locals = append(let.Locals, l)
		b.Declare(b.scope, &rules.Entity{Kind: rules.EntValue, Name: n.Name, At: n.Place,
			Value: rules.Operand{Mode: rules.TypedValue, At: n.Place, Expr: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: n.Place}, Local: l}}}, true)
	}
	b.emit(let)
}

// results are the expressions of a block's value, settled or converted to the types wanted.
func (b *bodyChecker) results(o rules.Operand, want []typed.Type) []typed.Expr {
	switch o.Mode {
	case rules.TypedValue:
		return []typed.Expr{o.Expr}
	case rules.UntypedInt, rules.UntypedFloat:
		if len(want) == 1 {
			if o = b.Convert(o, want[0].DType); o.Mode == rules.TypedValue {
				return []typed.Expr{o.Expr}
			}
			return nil
		}
		if o = b.Settle(o); o.Mode == rules.TypedValue {
			return []typed.Expr{o.Expr}
		}
	case rules.Several:
		if o.Elems == nil {
			return []typed.Expr{o.Expr}
		}
		var out []typed.Expr
		for _, e := range o.Elems {
			n := len(e.ValueTypes())
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
func inline(stmts []typed.Stmt, o rules.Operand, results []typed.Expr, at lang.Span) rules.Operand {
	body := &typed.Inline{Body: &typed.Body{Stmts: stmts, Results: results}, At: at}
	return wrap(body, at, o.Linear)
}

// wrap makes the operand of an expression that may give any number of values.
func wrap(e typed.Expr, at lang.Span, lin *size.Size) rules.Operand {
	types := e.Types()
	switch len(types) {
	case 0:
		return rules.Operand{Mode: rules.NoValue, At: at, Expr: e}
	case 1:
		return rules.Operand{Mode: rules.TypedValue, At: at, Expr: e, Linear: lin}
	}
	return rules.Operand{Mode: rules.Several, At: at, Expr: e, Types: types}
}

// newBody makes the state for typing expressions in a scope.
func newBody(c *rules.Checker, k *typed.Kernel, s *rules.Scope) *bodyChecker {
	return &bodyChecker{
		Checker: c, Facts: blocks.NewFacts(c.Log, &c.Hidden, k), scope: rules.NewScope(s), stmts: new([]typed.Stmt),
		loads: map[string]*size.Symbol{}, scalars: map[*typed.Param]*size.Symbol{}, loopStarts: map[*typed.Axis]typed.Expr{}, tiles: map[string]lang.Span{}, stored: map[*typed.Param]bool{},
	}
}

// Evaluate types an expression that stands in no kernel: of a constant, or of a shape.
func Evaluate(c *rules.Checker, s *rules.Scope, e lang.Expr) rules.Operand {
	return newBody(c, &typed.Kernel{}, s).value(e)
}
