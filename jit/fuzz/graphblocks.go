package fuzz

import (
	"fmt"
	"slices"
	"strings"
)

// This file makes the parts of a graph that have blocks: other graphs, choices and loops; and state.

// helper is the call of another graph, made for this one.
func (g *graphMaker) helper(x wholeExpr) wholeExpr {
	inner := &graphMaker{r: g.r, indent: 1, used: g.used, generic: g.chance(60)}
	typed, params, more := x.d.String(), "", ""
	if inner.generic {
		typed, params, more = "T", "<T: "+boundOf(x.d)+">", g.given(x.d)
		if g.chance(50) {
			inner.constant = atomOf{"S", 2}
			params = strings.Replace(params, ">", ", const S: int = 2>", 1)
			if g.chance(60) {
				inner.constant.n = g.r.IntN(4)
				more += fmt.Sprintf(", S = %d", inner.constant.n)
			}
		}
	}
	var shape wholeShape
	for i, e := range x.shape {
		inner.dims = append(inner.dims, atomOf{string(rune('A' + i)), e.n()})
		shape = append(shape, extentOf{inner.dims[i]})
	}
	inner.vars = []wholeExpr{(wholeExpr{d: x.d, shape: shape, dense: true}).named("x")}
	var body []wholeStmt
	for range 1 + g.r.IntN(2) {
		body = append(body, inner.bind(inner.elementwise(pick(g.r, inner.vars...))))
	}
	last := inner.vars[len(inner.vars)-1]
	name := fmt.Sprintf("h%d", len(g.helpers))
	result := last.d.String()
	if inner.generic {
		result = typed
	}
	g.helpers = append(g.helpers, fmt.Sprintf("graph %s%s(x: %s%s) -> y: %s%s {\n%s\n    y = %s\n}", name, params, typed, shape, result, last.shape, strings.Join(inner.lines, "\n"), last.text))
	return wholeExpr{text: fmt.Sprintf("%s(%s%s)", name, x.text, more), d: last.d, shape: x.shape, dense: true, value: func(w world) []int {
		own := world{"x": slices.Clone(x.value(w))}
		for _, run := range body {
			run(own)
		}
		return last.value(own)
	}}
}

// choice is an `if` of something that is known when the graph is bound.
func (g *graphMaker) choice() wholeExpr {
	x := g.elementwise(pick(g.r, g.vars...))
	y := g.elementwise(x)
	if x.d != y.d {
		y.text = fmt.Sprintf("(%s as %s)", y.text, x.d)
	}
	d := pick(g.r, g.dims...)
	limit := g.r.IntN(6)
	text, holds := fmt.Sprintf("%s > %d", d.text, limit), func(world) bool { return d.n > limit }
	if len(g.counter) > 0 && g.chance(70) {
		n := pick(g.r, g.counter...)
		text, holds = n+" % 2 == 0", func(w world) bool { return w[n][0]%2 == 0 }
	}
	return wholeExpr{text: fmt.Sprintf("if %s { %s } else { %s }", text, x.text, y.text), d: x.d, shape: x.shape, value: func(w world) []int {
		if holds(w) {
			return x.value(w)
		}
		return y.value(w)
	}}
}

// loop counts, and carries a tensor whose shape and type stay.
func (g *graphMaker) loop() wholeStmt {
	init := pick(g.r, g.vars...)
	n, carried, result := g.fresh("n"), g.fresh("c"), g.fresh("v")
	steps := 1 + g.r.IntN(3)
	count := fmt.Sprint(steps)
	if g.chance(40) {
		d := pick(g.r, g.dims...)
		count, steps = d.text, d.n
	}
	outer, vars, counters := len(g.lines), len(g.vars), len(g.counter)
	g.indent++
	g.counter = append(g.counter, n)
	g.vars = append(g.vars, init.named(carried))
	g.vars[len(g.vars)-1].dense = false // the first time it may be a part of something
	var body []wholeStmt
	for range g.r.IntN(3) {
		body = append(body, g.statement())
	}
	next := g.elementwise(g.vars[vars])
	if next.d != init.d {
		next.text = fmt.Sprintf("(%s as %s)", next.text, init.d)
	}
	g.line("%s", next.text)
	g.indent--
	inside := slices.Clone(g.lines[outer:])
	g.lines, g.vars, g.counter = g.lines[:outer], g.vars[:vars:vars], g.counter[:counters:counters]
	g.line("let %s = for %s in %s with %s = %s {", result, n, count, carried, init.text)
	g.lines = append(g.lines, inside...)
	g.line("}")
	g.vars = append(g.vars, init.named(result))
	g.vars[len(g.vars)-1].dense = true
	return func(w world) {
		w[carried] = slices.Clone(init.value(w))
		for i := range steps {
			w[n] = []int{i}
			for _, run := range body {
				run(w)
			}
			w[carried] = slices.Clone(next.value(w))
		}
		w[result] = w[carried]
	}
}

// newState declares state of the graph's own.
func (g *graphMaker) newState() wholeStmt {
	x := pick(g.r, g.vars...)
	name := g.fresh("s")
	g.line("inout %s = %s", name, x.text)
	s := x.named(name)
	s.dense = true
	g.state = append(g.state, s)
	return func(w world) { w[name] = slices.Clone(x.value(w)) }
}

// writeState changes state, or a part of its first dimension, in place.
func (g *graphMaker) writeState() wholeStmt {
	s := pick(g.r, g.state...)
	kernel := pick(g.r, "bump", "turn")
	rank := len(s.shape)
	name := fmt.Sprintf("%s%d_%s", kernel, rank, boundOf(s.d))
	g.used[name] = true
	n := s.shape[0].n()
	from, to, text := 0, n, s.text
	if g.chance(60) {
		from = g.r.IntN(n)
		to = from + 1 + g.r.IntN(n-from)
		text = fmt.Sprintf("%s[%d..%d]", s.text, from, to)
	}
	g.line("%s(%s)", name, text)
	return func(w world) {
		row := len(w[s.text]) / n
		for i := from * row; i < to*row; i++ {
			if kernel == "bump" {
				w[s.text][i] = cutTo(w[s.text][i] + 1)
			} else {
				w[s.text][i] = -w[s.text][i]
			}
		}
	}
}
