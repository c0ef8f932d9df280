package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file makes and evaluates operations that change the axes of a tile.

// freeAxis declares an axis of its own, of n elements.
func (g *generator) freeAxis(n int) *axis {
	a := &axis{name: g.fresh("r"), kind: wholeAxis, dim: fmt.Sprint(n), free: true}
	g.axes, g.wholes = append(g.axes, a), append(g.wholes, a.name)
	g.line("axis %s in %d", a.name, n)
	return a
}

// shape binds what a shape operation makes of an expression.
func (g *generator) shape() {
	if len(g.axes) > 9 {
		return
	}
	x, y := pick(g.r, 1, 2, 3, 4, 5), pick(g.r, 1, 2, 3, 4, 7)
	var rest []*axis
	if g.chance(70) {
		rest = g.someAxes(1)
	}
	e := g.someType()
	over := func(axes ...*axis) value {
		all := append(slices.Clone(rest), axes...)
		v := g.whole(e, all)
		var missing []string
		for _, a := range axes {
			if !v.has(a) {
				missing = append(missing, a.name)
			}
		}
		if len(missing) > 0 {
			v.text = fmt.Sprintf("broadcast(%s, %s)", v.text, strings.Join(missing, ", "))
			v.axes = append(slices.Clone(v.axes), without(axes, v.axes)...)
		}
		return v
	}
	give := func(text string, of value, lost []*axis, won ...*axis) {
		axes := append(without(of.axes, lost), won...)
		g.work(axes)
		g.result(value{text, e, axes})
	}
	switch g.r.IntN(6) {
	case 0:
		d := g.freeAxis(x * y)
		v := over(d)
		h, w := g.freeAxis(x), g.freeAxis(y)
		give(fmt.Sprintf("split(%s, %s -> (%s, %s))", v.text, d.name, h.name, w.name), v, []*axis{d}, h, w)
	case 1:
		h, w := g.freeAxis(x), g.freeAxis(y)
		v := over(h, w)
		d := g.freeAxis(x * y)
		give(fmt.Sprintf("merge(%s, (%s, %s) -> %s)", v.text, h.name, w.name, d.name), v, []*axis{h, w}, d)
	case 2:
		d := g.freeAxis(x + y)
		v := over(d)
		r, lo := g.freeAxis(x), g.r.IntN(y+1)
		give(fmt.Sprintf("slice(%s, %s[%d .. %d] -> %s)", v.text, d.name, lo, lo+x, r.name), v, []*axis{d}, r)
	case 3:
		h, w := g.freeAxis(x), g.freeAxis(y)
		a, b := over(h), over(w)
		d := g.freeAxis(x + y)
		text := fmt.Sprintf("cat(%s, %s, (%s, %s) -> %s)", a.text, b.text, h.name, w.name, d.name)
		give(text, value{axes: union(a, b)}, []*axis{h, w}, d)
	case 4:
		d := g.freeAxis(x + y)
		v := over(d)
		n := g.whole(concrete(lang.I32), append(slices.Clone(rest), g.freeAxis(1+g.r.IntN(8))))
		axes := union(value{axes: without(v.axes, []*axis{d})}, n)
		g.work(axes)
		g.result(value{fmt.Sprintf("(pick(%s, %s, %s) else %s)", v.text, d.name, n.text, g.literal(e)), e, axes})
	default:
		d := g.freeAxis(x + y)
		v := over(d)
		n := g.whole(concrete(pick(g.r, lang.I32, lang.I64, lang.U8)), rest)
		u := g.whole(e, rest)
		g.result(value{fmt.Sprintf("insert(%s, %s, %s, %s)", v.text, d.name, n.text, u.text), e, union(v, n, u)})
	}
}

// result binds a value and, outside loops, mostly stores it too.
func (g *generator) result(v value) {
	g.bind(v)
	if g.indent == 1 && g.chance(70) {
		g.keep(g.vars[len(g.vars)-1], g.gridTiles())
	}
}

// take reads a tile at positions along some of its axes.
func (m *machine) take(op *ir.Op) *tile {
	args := m.args(op)
	x, r := args[0], m.make(op.Result().Type)
	steps := make([][]int, len(args))
	for j, a := range args {
		steps[j] = a.steps(r.axes)
	}
	along := x.steps(op.Axes) // of the tile, along the axes that are taken
	for i, a := range r.axes {
		if slices.Contains(op.Axes, a) { // it comes back with the positions
			steps[0][i] = 0
		}
	}
	i := 0
	walk(r.sizes, steps, func(at []int) {
		from, known := at[0], true
		for j, a := range op.Axes {
			n := args[j+1].n[at[j+1]]
			if !n.ok {
				known = false
				continue
			}
			if n.v < a.Lo || n.v >= a.Lo+a.Len {
				m.fail(op, "position %d along %s, which has %d to %d", n.v, a.Name, a.Lo, a.Lo+a.Len-1)
			}
			from += int(n.v-a.Lo) * along[j]
		}
		switch {
		case known:
			r.copy(i, x, from)
		case r.f != nil:
			r.f[i] = unknown
		default:
			r.n[i] = whole{}
		}
		i++
	})
	return r
}
