package graph

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the loops of graphs, which are unrolled.

// forExpr types an unrolled loop: over an array, or counted.
func (g *graphChecker) forExpr(e *lang.ForExpr) rules.Operand {
	a := e.Axis
	loop := &typed.GFor{GTyped: typed.GTyped{At: e.Place}}
	ok := true
	if a.By != nil {
		g.Errorf(lang.ErrTune, a.By.Span(), "a loop of a graph goes one by one and has no `by`")
		ok = false
	}
	over := rules.Operand{Mode: rules.Invalid}
	if a.Over != nil {
		g.Sizing++
		over = g.expr(a.Over)
		g.Sizing--
	}
	varType := typed.GType{Kind: typed.GScalar, DType: typed.Concrete(lang.I32)}
	var lin *size.Size
	switch {
	case over.Mode == rules.Invalid:
		ok = false
	case over.Mode == rules.TypedValue && over.Graph.GType().Kind == typed.GArray:
		loop.Over = over.Graph
		if a.Range != nil {
			part, partOK := g.arrayRange(over.Graph, a.Range, a.Over.Span().To(a.Range.Place))
			loop.Over, ok = part, ok && partOK
		}
		varType = *over.Graph.GType().Elem
	case over.Mode == rules.UntypedInt:
		loop.Lo, loop.Hi = g.toScalar(rules.IntOperand(a.Place, 0), typed.Concrete(lang.I32)).Graph, g.toScalar(over, typed.Concrete(lang.I32)).Graph
		lo, hi := size.Size{}, over.Size
		if a.Range != nil && a.Range.Lo != nil {
			var end typed.GExpr
			if lo, end = g.sliceEnd(a.Range.Lo); end != nil {
				lo, loop.Lo = g.cut(lang.OpMax, lo, end, size.Size{}, loop.Lo, g.sure.NonNegative(lo))
			}
			ok = ok && end != nil
		}
		if a.Range != nil && a.Range.Hi != nil {
			var end typed.GExpr
			if hi, end = g.sliceEnd(a.Range.Hi); end != nil {
				hi, loop.Hi = g.cut(lang.OpMin, hi, end, over.Size, loop.Hi, g.sure.AtMost(hi, over.Size))
			}
			ok = ok && end != nil
		}
		counter := g.NewHidden(a.Name.Name)
		p := size.Of(counter)
		for _, known := range []*size.Prover{g.prover, g.sure} {
			known.Where(counter, p.Sub(lo))
			known.Where(counter, hi.Sub(size.Const(1)).Sub(p))
		}
		lin = &p
	default:
		g.Errorf(lang.ErrNotConstant, a.Over.Span(), "a loop of a graph is over an array or a count of dimensions and constants, not over %s", g.describe(over))
		ok = false
	}
	init := rules.Operand{Mode: rules.NoValue}
	if e.Init != nil {
		init = g.settled(g.expr(e.Init))
	}
	types, inits, initOK := g.spread(init, e.Init)
	if initOK && len(types) != len(e.Carried) {
		g.Errorf(lang.ErrValueCount, e.Carried[0].Place.To(e.Carried[len(e.Carried)-1].Place), "the loop carries %s and starts with %s",
			report.Plural(len(e.Carried), "value"), report.Plural(len(types), "value")).LabelAt(init.At, "the start")
		initOK = false
	}
	initOK = g.values(inits, "a loop carries") && initOK
	loop.Init = inits

	outerScope, outerStmts := g.scope, g.stmts
	g.scope, g.stmts = rules.NewScope(outerScope), &loop.Body
	g.depth++
	if ok {
		from := rules.Operand{Linear: lin}
		if loop.Over != nil { // any of the elements
			from.Graph = &typed.GElem{GTyped: typed.GTyped{Type: varType, At: a.Name.Place}, X: loop.Over, Where: typed.Positions{Known: true, From: size.Size{}, To: loop.Over.GType().Len}}
		}
		loop.Var = g.local(a.Name, varType, from)
	} else {
		g.Declare(g.scope, &rules.Entity{Kind: rules.EntInvalid, Name: a.Name.Name, At: a.Name.Place}, true)
	}
	for i, n := range e.Carried {
		if !initOK {
			g.Declare(g.scope, &rules.Entity{Kind: rules.EntInvalid, Name: n.Name, At: n.Place}, true)
			continue
		}
		from := rules.Operand{}
		if types[i].Kind == typed.GScalar {
			from.Graph = inits[i]
		}
		loop.Carried = append(loop.Carried, g.local(n, types[i], from))
	}
	result := rules.Operand{Mode: rules.NoValue, At: e.Place}
	if e.Body != nil {
		result = g.settled(g.block(e.Body))
	}
	g.depth--
	g.scope, g.stmts = outerScope, outerStmts
	if !ok || !initOK || result.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	gotTypes, results, resultOK := g.spread(result, e.Body)
	if !resultOK {
		return rules.Bad(e.Place)
	}
	if len(gotTypes) != len(types) {
		if len(types) == 0 {
			g.Errorf(lang.ErrValueCount, result.At, "the loop's body gives %s, and the loop carries nothing", g.describe(result)).Help("carry it: `for ... with x = start { ... }`")
		} else {
			g.Errorf(lang.ErrValueCount, result.At, "the loop carries %s and its body gives %d", report.Plural(len(types), "value"), len(gotTypes)).Help("end the body with the next value of each carried name")
		}
		return rules.Bad(e.Place)
	}
	for i := range types {
		if !g.sameCarried(e.Carried[i], types[i], gotTypes[i], results[i].Span()) {
			return rules.Bad(e.Place)
		}
	}
	if !g.values(results, "a loop carries") {
		return rules.Bad(e.Place)
	}
	for range results { // a step may hand one value on to the next name
		for i, l := range loop.Carried {
			g.dependsOn(l, results[i])
		}
	}
	loop.Results = results
	switch len(types) {
	case 0:
		loop.Type = typed.GType{Kind: typed.GTuple}
		return rules.Operand{Mode: rules.NoValue, At: e.Place, Graph: loop}
	case 1:
		loop.Type = types[0]
	default:
		loop.Type = typed.GType{Kind: typed.GTuple, Elems: types}
	}
	return graphOperand(loop)
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
