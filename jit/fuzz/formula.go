package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// This file makes formulas: kernels without a grid, whose axes are the names
// that stores and reductions use.

func (g *generator) formulaKernel() string {
	for _, n := range []string{"M", "N", "K"}[:1+g.r.IntN(3)] {
		g.dims = append(g.dims, n)
	}
	if g.chance(15) {
		g.generic = &elem{"T", pick(g.r, lang.F16, lang.BF16, lang.F32)}
	}
	g.functions()
	for n := range 1 + g.r.IntN(3) {
		a := &axis{name: fmt.Sprintf("i%d", n), dim: pick(g.r, g.dims...), kind: gridAxis}
		g.axes = append(g.axes, a)
		g.tiles = append(g.tiles, "B"+strings.ToUpper(a.name))
	}
	grid := g.gridTiles()
	for n := range g.r.IntN(3) {
		a := &axis{name: fmt.Sprintf("k%d", n), dim: pick(g.r, g.dims...), kind: wholeAxis}
		g.axes, g.wholes = append(g.axes, a), append(g.wholes, a.name)
		// A name that something is reduced over, and that stands alone in an index, is an axis.
		e := g.someNumber()
		x := g.tensor(e, []string{a.dim})
		g.bind(value{fmt.Sprintf("%s(%s[%s], over %s)", pick(g.r, same...).Row().Spelling, x.name, a.name, a.name), e, nil})
	}
	g.anywhere = true
	for range 1 + g.r.IntN(3) {
		if g.chance(20) {
			g.choice()
			continue
		}
		g.bind(g.whole(g.someType(), g.someAxes(widest)))
	}
	g.anywhere = false
	for n := range 1 + g.r.IntN(3) {
		index := g.shuffled(grid)
		if n > 0 && g.chance(50) { // a part of its own
			index = index[:1+g.r.IntN(len(index))]
		}
		if last := g.axes[len(g.axes)-1]; len(g.wholes) > 0 && len(index) < widest && g.chance(30) && !slices.Contains(g.contracted, last) {
			index, g.storedAlong = append(index, last), append(g.storedAlong, last)
		}
		v := g.whole(g.someType(), index)
		if x, ok := g.anyVariable(index); ok && g.chance(70) {
			v = x
		}
		g.define(index, v)
	}
	return g.assemble(nil)
}

// define stores a value at the elements that the names of axes point to.
func (g *generator) define(axes []*axis, v value) {
	var names, dims []string
	for _, a := range axes {
		names, dims = append(names, a.name), append(dims, a.dim)
	}
	t := &tensor{name: g.fresh("y"), e: v.e, dims: dims, mode: lang.Out}
	g.tensors, g.works = append(g.tensors, t), append(g.works, dims)
	g.line("%s[%s] = %s", t.name, strings.Join(names, ", "), v.text)
}
