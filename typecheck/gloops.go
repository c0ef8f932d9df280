package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the loops of graphs, which are unrolled.

// forExpr types an unrolled loop: over an array, or counted.
func (g *graphChecker) forExpr(e *lang.ForExpr) operand {
	a := e.Axis
	loop := &typed.GFor{GTyped: typed.GTyped{At: e.Place}}
	ok := true
	if a.By != nil {
		g.Errorf(lang.ErrTune, a.By.Span(), "a loop of a graph goes one by one and has no `by`")
		ok = false
	}
	over := operand{mode: invalid}
	if a.Over != nil {
		g.sizing++
		over = g.expr(a.Over)
		g.sizing--
	}
	varType := typed.GType{Kind: typed.GScalar, DType: typed.Concrete(lang.I32)}
	var lin *size.Size
	switch {
	case over.mode == invalid:
		ok = false
	case over.mode == typedValue && over.graph.GType().Kind == typed.GArray:
		loop.Over = over.graph
		if a.Range != nil {
			part, partOK := g.part(over.graph, a.Range, a.Over.Span().To(a.Range.Place))
			loop.Over, ok = part, ok && partOK
		}
		varType = *over.graph.GType().Elem
	case over.mode == untypedInt:
		loop.Lo, loop.Hi = g.toScalar(intOperand(a.Place, 0), typed.Concrete(lang.I32)).graph, g.toScalar(over, typed.Concrete(lang.I32)).graph
		lo, hi := size.Size{}, over.size
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
				hi, loop.Hi = g.cut(lang.OpMin, hi, end, over.size, loop.Hi, g.sure.AtMost(hi, over.size))
			}
			ok = ok && end != nil
		}
		counter := g.newHidden(a.Name.Name)
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
	init := operand{mode: noValue}
	if e.Init != nil {
		init = g.settled(g.expr(e.Init))
	}
	types, inits, initOK := g.spread(init, e.Init)
	if initOK && len(types) != len(e.Carried) {
		g.Errorf(lang.ErrValueCount, e.Carried[0].Place.To(e.Carried[len(e.Carried)-1].Place), "the loop carries %s and starts with %s",
			plural(len(e.Carried), "value"), plural(len(types), "value")).label(init.at, "the start")
		initOK = false
	}
	initOK = g.values(inits, "a loop carries") && initOK
	loop.Init = inits

	outerScope, outerStmts := g.scope, g.stmts
	g.scope, g.stmts = newScope(outerScope), &loop.Body
	g.depth++
	if ok {
		from := operand{lin: lin}
		if loop.Over != nil { // any of the elements
			from.graph = &typed.GElem{GTyped: typed.GTyped{Type: varType, At: a.Name.Place}, X: loop.Over, Where: typed.Positions{Known: true, From: size.Size{}, To: loop.Over.GType().Len}}
		}
		loop.Var = g.local(a.Name, varType, from)
	} else {
		g.declare(g.scope, &entity{kind: entInvalid, name: a.Name.Name, at: a.Name.Place}, true)
	}
	for i, n := range e.Carried {
		if !initOK {
			g.declare(g.scope, &entity{kind: entInvalid, name: n.Name, at: n.Place}, true)
			continue
		}
		from := operand{}
		if types[i].Kind == typed.GScalar {
			from.graph = inits[i]
		}
		loop.Carried = append(loop.Carried, g.local(n, types[i], from))
	}
	result := operand{mode: noValue, at: e.Place}
	if e.Body != nil {
		result = g.settled(g.block(e.Body))
	}
	g.depth--
	g.scope, g.stmts = outerScope, outerStmts
	if !ok || !initOK || result.mode == invalid {
		return bad(e.Place)
	}
	gotTypes, results, resultOK := g.spread(result, e.Body)
	if !resultOK {
		return bad(e.Place)
	}
	if len(gotTypes) != len(types) {
		if len(types) == 0 {
			g.Errorf(lang.ErrValueCount, result.at, "the loop's body gives %s, and the loop carries nothing", g.describe(result)).help("carry it: `for ... with x = start { ... }`")
		} else {
			g.Errorf(lang.ErrValueCount, result.at, "the loop carries %s and its body gives %d", plural(len(types), "value"), len(gotTypes)).help("end the body with the next value of each carried name")
		}
		return bad(e.Place)
	}
	for i := range types {
		if !g.sameCarried(e.Carried[i], types[i], gotTypes[i], results[i].Span()) {
			return bad(e.Place)
		}
	}
	if !g.values(results, "a loop carries") {
		return bad(e.Place)
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
		return operand{mode: noValue, at: e.Place, graph: loop}
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
func (g *graphChecker) spread(o operand, e lang.Node) ([]typed.GType, []typed.GExpr, bool) {
	switch {
	case o.mode == invalid:
		return nil, nil, false
	case o.mode == noValue:
		return nil, nil, true
	case o.graph.GType().Kind != typed.GTuple:
		return []typed.GType{o.graph.GType()}, []typed.GExpr{o.graph}, true
	}
	t, ok := o.graph.(*typed.GTupleOf)
	if !ok {
		g.Errorf(lang.ErrValueCount, o.at, "this gives %s at once", o.graph.GType()).help("bind them with `let (a, b) = ...` first")
		return nil, nil, false
	}
	return t.Type.Elems, t.Elems, true
}

// sameCarried checks that a value carried by a loop keeps its type.
func (g *graphChecker) sameCarried(n lang.Ident, want, got typed.GType, at lang.Span) bool {
	same := g.sameType(want, got)
	if !same {
		g.Errorf(lang.ErrCarried, at, "%s starts as %s and becomes %s", n.Name, want, got).label(n.Place, "carried as %s", want)
	}
	return same
}
