package graph

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the loops of graphs, which are unrolled.

// loopTyping is an unrolled loop while it is typed.
type loopTyping struct {
	*graphChecker
	e    *lang.ForExpr
	loop *typed.GFor
	// each is the type of what the loop's name stands for, and counter its position, where it counts.
	each    typed.GType
	counter *size.Size
	// carried are the types of what the loop carries.
	carried []typed.GType
}

// forExpr types an unrolled loop: over an array, or counted.
func (g *graphChecker) forExpr(e *lang.ForExpr) rules.Operand {
	l := &loopTyping{graphChecker: g, e: e, loop: &typed.GFor{GTyped: typed.GTyped{At: e.Place}}}
	over := l.over()
	started := l.start()
	result := l.body(over, started)
	if !over || !started || result.Mode == rules.Invalid || !l.next(result) {
		return rules.Bad(e.Place)
	}
	switch len(l.carried) {
	case 0:
		l.loop.Type = typed.GType{Kind: typed.GTuple}
		return rules.Operand{Mode: rules.NoValue, At: e.Place, Graph: l.loop}
	case 1:
		l.loop.Type = l.carried[0]
	default:
		l.loop.Type = typed.GType{Kind: typed.GTuple, Elems: l.carried}
	}
	return graphOperand(l.loop)
}

// over types what the loop goes through.
func (l *loopTyping) over() bool {
	a := l.e.Axis
	ok := true
	if a.By != nil {
		l.Errorf(lang.ErrTune, a.By.Span(), "a loop of a graph goes one by one and has no `by`")
		ok = false
	}
	over := rules.Operand{Mode: rules.Invalid}
	if a.Over != nil {
		l.Sizing++
		over = l.expr(a.Over)
		l.Sizing--
	}
	switch {
	case over.Mode == rules.Invalid:
		return false
	case over.Mode == rules.TypedValue && over.Graph.GType().Kind == typed.GArray:
		l.loop.Over, l.each = over.Graph, *over.Graph.GType().Elem
		if a.Range != nil {
			run, runOK := l.arrayRange(over.Graph, a.Range, a.Over.Span().To(a.Range.Place))
			l.loop.Over, ok = run, ok && runOK
		}
		return ok
	case over.Mode == rules.UntypedInt:
		l.each = typed.GType{Kind: typed.GScalar, DType: typed.Concrete(lang.I32)}
		return l.count(over) && ok
	}
	l.Errorf(lang.ErrNotConstant, a.Over.Span(), "a loop of a graph is over an array or a count of dimensions and constants, not over %s", l.describe(over))
	return false
}

// count types the range of a counted loop, and lets proofs use that its counter lies there.
func (l *loopTyping) count(over rules.Operand) bool {
	a, loop, ok := l.e.Axis, l.loop, true
	loop.Lo, loop.Hi = l.toScalar(rules.IntOperand(a.Place, 0), typed.Concrete(lang.I32)).Graph, l.toScalar(over, typed.Concrete(lang.I32)).Graph
	lo, hi := size.Size{}, over.Size
	if a.Range != nil && a.Range.Lo != nil {
		var end typed.GExpr
		if lo, end = l.sliceEnd(a.Range.Lo); end != nil {
			lo, loop.Lo = l.cut(lang.OpMax, lo, end, size.Size{}, loop.Lo, l.sure.NonNegative(lo))
		}
		ok = ok && end != nil
	}
	if a.Range != nil && a.Range.Hi != nil {
		var end typed.GExpr
		if hi, end = l.sliceEnd(a.Range.Hi); end != nil {
			hi, loop.Hi = l.cut(lang.OpMin, hi, end, over.Size, loop.Hi, l.sure.AtMost(hi, over.Size))
		}
		ok = ok && end != nil
	}
	counter := l.NewHidden(a.Name.Name)
	p := size.Of(counter)
	for _, known := range []*size.Prover{l.prover, l.sure} {
		known.Where(counter, p.Sub(lo))
		known.Where(counter, hi.Sub(size.Const(1)).Sub(p))
	}
	l.counter = &p
	return ok
}

// start types what the loop carries into its first step.
func (l *loopTyping) start() bool {
	e := l.e
	init := rules.Operand{Mode: rules.NoValue}
	if e.Init != nil {
		init = l.settled(l.expr(e.Init))
	}
	types, inits, ok := l.spread(init, e.Init)
	if ok && len(types) != len(e.Carried) {
		l.Errorf(lang.ErrValueCount, e.Carried[0].Place.To(e.Carried[len(e.Carried)-1].Place), "the loop carries %s and starts with %s",
			report.Plural(len(e.Carried), "value"), report.Plural(len(types), "value")).LabelAt(init.At, "the start")
		ok = false
	}
	ok = l.values(inits, "a loop carries") && ok
	l.loop.Init, l.carried = inits, types
	return ok
}

// body types the loop's body, in a scope of its own, and gives its value.
func (l *loopTyping) body(over, started bool) rules.Operand {
	g, e, loop := l.graphChecker, l.e, l.loop
	outerScope, outerStmts := g.scope, g.stmts
	g.scope, g.stmts = rules.NewScope(outerScope), &loop.Body
	g.depth++
	name := e.Axis.Name
	if over {
		from := rules.Operand{Linear: l.counter}
		if loop.Over != nil { // any of the elements
			from.Graph = &typed.GElem{GTyped: typed.GTyped{Type: l.each, At: name.Place}, X: loop.Over, Where: typed.Positions{Known: true, From: size.Size{}, To: loop.Over.GType().Len}}
		}
		loop.Var = g.local(name, l.each, from)
	} else {
		g.Declare(g.scope, &rules.Entity{Kind: rules.EntInvalid, Name: name.Name, At: name.Place}, true)
	}
	for i, n := range e.Carried {
		if !started {
			g.Declare(g.scope, &rules.Entity{Kind: rules.EntInvalid, Name: n.Name, At: n.Place}, true)
			continue
		}
		from := rules.Operand{}
		if l.carried[i].Kind == typed.GScalar {
			from.Graph = loop.Init[i]
		}
		loop.Carried = append(loop.Carried, g.local(n, l.carried[i], from))
	}
	result := rules.Operand{Mode: rules.NoValue, At: e.Place}
	if e.Body != nil {
		result = g.settled(g.block(e.Body))
	}
	g.depth--
	g.scope, g.stmts = outerScope, outerStmts
	return result
}

// next checks what a step hands on to the next.
func (l *loopTyping) next(result rules.Operand) bool {
	types, results, ok := l.spread(result, l.e.Body)
	if !ok {
		return false
	}
	if len(types) != len(l.carried) {
		if len(l.carried) == 0 {
			l.Errorf(lang.ErrValueCount, result.At, "the loop's body gives %s, and the loop carries nothing", l.describe(result)).Help("carry it: `for ... with x = start { ... }`")
		} else {
			l.Errorf(lang.ErrValueCount, result.At, "the loop carries %s and its body gives %d", report.Plural(len(l.carried), "value"), len(types)).Help("end the body with the next value of each carried name")
		}
		return false
	}
	for i := range types {
		if !l.sameCarried(l.e.Carried[i], l.carried[i], types[i], results[i].Span()) {
			return false
		}
	}
	if !l.values(results, "a loop carries") {
		return false
	}
	for range results { // a step may hand one value on to the next name
		for i, local := range l.loop.Carried {
			l.dependsOn(local, results[i])
		}
	}
	l.loop.Results = results
	return true
}

// cut keeps the end of a counted loop's range inside the dimension, whose own end
// is given by limit and bound, unless it is proven to lie there.
func (g *graphChecker) cut(op lang.Op, at size.Size, end typed.GExpr, limit size.Size, bound typed.GExpr, inside bool) (size.Size, typed.GExpr) {
	if inside {
		return at, end
	}
	return limit, &typed.GApply{GTyped: typed.GTyped{Type: bound.GType(), At: end.Span()}, Op: op, Args: []typed.GExpr{end, bound}}
}

// spread lists the values of an operand that may be a tuple.
func (g *graphChecker) spread(o rules.Operand, e lang.Node) ([]typed.GType, []typed.GExpr, bool) {
	switch {
	case o.Mode == rules.Invalid:
		return nil, nil, false
	case o.Mode == rules.NoValue:
		return nil, nil, true
	case o.Graph.GType().Kind != typed.GTuple:
		return []typed.GType{o.Graph.GType()}, []typed.GExpr{o.Graph}, true
	}
	t, ok := o.Graph.(*typed.GTupleOf)
	if !ok {
		g.Errorf(lang.ErrValueCount, o.At, "this gives %s at once", o.Graph.GType()).Help("bind them with `let (a, b) = ...` first")
		return nil, nil, false
	}
	return t.Type.Elems, t.Elems, true
}

// sameCarried checks that a value carried by a loop keeps its type.
func (g *graphChecker) sameCarried(n lang.Ident, want, got typed.GType, at lang.Span) bool {
	same := g.sameType(want, got)
	if !same {
		g.Errorf(lang.ErrCarried, at, "%s starts as %s and becomes %s", n.Name, want, got).LabelAt(n.Place, "carried as %s", want)
	}
	return same
}
