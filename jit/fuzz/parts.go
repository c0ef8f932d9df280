package fuzz

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// partsFormula makes a formula of several lines over different axes, of which later ones read what earlier ones store.
// A line's axes are its own: a name may be the grid's in one line and reduced over in the next.
func (g *generator) partsFormula() string {
	g.dims = []string{"M", "N", "K"}[:2+g.r.IntN(2)]
	if g.chance(20) {
		g.generic = &elem{"T", pick(g.r, lang.F16, lang.BF16, lang.F32)}
	}
	g.functions()
	names := []string{"i", "j", "k"}[:len(g.dims)]
	for _, n := range names {
		g.tiles = append(g.tiles, "B"+strings.ToUpper(n))
	}
	lines := 2 + g.r.IntN(3)
	for n := range lines {
		var all []*axis
		for i, name := range names {
			all = append(all, &axis{name: name, dim: g.dims[i], kind: gridAxis})
		}
		g.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		index := all[:1+g.r.IntN(len(all)-1)]
		if n == lines-1 {
			index = all
		}
		g.axes, g.vars, g.wholes = nil, nil, nil
		g.axes = append(g.axes, index...)
		if len(index) < len(all) {
			over := all[len(index)]
			over.kind = wholeAxis
			g.axes, g.wholes = append(g.axes, over), append(g.wholes, over.name)
			// What a line reduces is most of what it does.
			e := pick(g.r, concrete(lang.F32), concrete(lang.F32), concrete(lang.I32), concrete(lang.F64))
			g.fuel = exprFuel
			frame := append(g.axes[:0:0], g.axes...)
			x := g.within(frame, func() value { return g.along(g.expr(e, 1+g.r.IntN(3)), over) })
			op := pick(g.r, "sum", "max", "min", "mean")
			if !e.d.IsFloat() && op == "mean" {
				op = "max"
			}
			g.work(x.axes)
			r := value{fmt.Sprintf("%s(%s, over %s)", op, x.text, over.name), e, without(x.axes, []*axis{over})}
			if g.chance(50) {
				y := g.whole(e, index)
				r = value{apply(pick(g.r, lang.OpAdd, lang.OpMul, lang.OpMax), r.text, y.text), e, union(r, y)}
			}
			g.define(index, r)
		} else {
			g.define(index, g.whole(g.someType(), index))
		}
		g.stored = append(g.stored, g.tensors[len(g.tensors)-1])
	}
	return g.assemble(nil)
}
