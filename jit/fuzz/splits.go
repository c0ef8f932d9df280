package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// splitKernel makes a kernel or a formula whose blocks share an axis that something is reduced over.
func (g *generator) splitKernel() string {
	g.dims = []string{"M", "K", "N"}[:2+g.r.IntN(2)]
	if g.chance(15) {
		g.generic = &elem{"T", pick(g.r, lang.F16, lang.BF16, lang.F32)}
	}
	formula := g.chance(30)
	g.functions()
	grid := []string{}
	for n := range 1 + g.r.IntN(2) {
		a := &axis{name: fmt.Sprintf("i%d", n), dim: pick(g.r, g.dims...), kind: gridAxis}
		g.axes = append(g.axes, a)
		if formula {
			g.tiles = append(g.tiles, "B"+strings.ToUpper(a.name))
		} else {
			grid = append(grid, a.name+" in "+a.dim+" by "+g.extent(a, 20))
		}
	}
	index := slices.Clone(g.axes)
	k := &axis{name: "k", dim: pick(g.r, g.dims...), kind: wholeAxis}
	loop := !formula && g.chance(40)
	if !loop {
		g.axes, g.wholes = append(g.axes, k), append(g.wholes, k.name)
		if !formula || g.chance(50) {
			g.line("axis k in %s", k.dim)
		} else { // k alone as an index tells what it walks
			e := g.someNumber()
			g.bind(value{fmt.Sprintf("max(%s[k], over k)", g.tensor(e, []string{k.dim}).name), e, nil})
		}
		for range 1 + g.r.IntN(3) {
			e := g.someNumber()
			g.fuel = exprFuel
			frame := append(slices.Clone(index), k)
			x := g.within(frame, func() value { return g.along(g.expr(e, 1+g.r.IntN(2)), k) })
			g.work(x.axes)
			op, to := pick(g.r, "max", "min"), e
			switch m := g.r.IntN(10); {
			case m < 5 && e.acc() == e:
				op = pick(g.r, "sum", "sum", "prod")
			case m < 7:
				op, to = pick(g.r, "argmax", "argmin"), concrete(lang.I32)
			}
			g.bind(value{fmt.Sprintf("%s(%s, over k)", op, x.text), to, without(x.axes, []*axis{k})})
		}
		if g.chance(60) {
			g.fuel = exprFuel
			e := pick(g.r, concrete(lang.F32), concrete(lang.F32), concrete(lang.I32), concrete(lang.F64))
			g.bind(g.within(index, func() value { return g.contraction(e, 3) }))
		}
	} else {
		g.splitLoop(k, index)
	}
	g.attributes = append(g.attributes, fmt.Sprintf("@split(k, %d)", pick(g.r, 2, 2, 3, 4, 4, 5, 7, 8)))
	vars := slices.Clone(g.vars)
	if len(g.wholes) > 0 && !formula && g.chance(20) { // along the axis again, by what blocks joined
		g.keep(g.whole(g.someNumber(), append(slices.Clone(index), k)), index)
	}
	for _, v := range vars {
		switch {
		case formula:
			g.define(index, v)
		default:
			g.keep(v, index)
		}
	}
	if formula {
		return g.assemble(nil)
	}
	return g.assemble(grid)
}

// splitLoop is a loop over k that carries sums, contractions, and what is largest or least.
func (g *generator) splitLoop(k *axis, index []*axis) {
	k.kind = loopAxis
	by := g.extent(k, 10)
	g.tiles = append(g.tiles, by)
	var init []value
	for range 1 + g.r.IntN(3) {
		e := pick(g.r, concrete(lang.F32), concrete(lang.F32), concrete(lang.I32), concrete(lang.F64), concrete(lang.I64))
		init = append(init, g.start(e, g.shuffled(index)[:g.r.IntN(len(index)+1)]))
	}
	names, texts, next, results := make([]string, len(init)), make([]string, len(init)), make([]string, len(init)), make([]string, len(init))
	for i, v := range init {
		names[i], texts[i] = g.fresh("c"), v.text
	}
	at := len(g.lines)
	g.scope(func() {
		g.axes = append(g.axes, k)
		for i, v := range init {
			next[i] = g.accumulate(value{names[i], v.e, v.axes}, k).text
		}
		g.line("%s", tuple(next))
	})
	body := slices.Clone(g.lines[at:])
	g.lines = g.lines[:at]
	for i, v := range init {
		results[i] = g.fresh("v")
		g.vars = append(g.vars, value{results[i], v.e, v.axes})
	}
	g.line("let %s = for k in %s by %s with %s = %s {", tuple(results), k.dim, by, tuple(names), tuple(texts))
	g.lines = append(g.lines, body...)
	g.line("}")
}
