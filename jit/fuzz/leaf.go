package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// literal is a constant that takes the type of its place.
func (g *generator) literal(e elem) string {
	switch {
	case e.d == lang.Bool:
		return pick(g.r, "true", "false")
	case e.d.IsFloat():
		if g.chance(4) {
			return pick(g.r, "inf", "(-inf)", "nan")
		}
		return pick(g.r, "0", "1", "2", "0.5", "(-1)", "(-1.5)", "3", "0.1", "0.001", "100", "pi", "0.0", "1.0")
	case e.d.IsSigned() && g.chance(25):
		return pick(g.r, "(-1)", "(-2)", "(-7)", "(-128)")
	}
	return pick(g.r, "0", "1", "2", "3", "5", "7", "8", "31", "32", "64", "127")
}

func (g *generator) typedLiteral(e elem) value {
	if e.d == lang.Bool {
		return value{text: g.literal(e), e: e}
	}
	return value{text: "(" + g.literal(e) + " as " + e.name + ")", e: e}
}

// leaf is an expression that is no operation on others.
func (g *generator) leaf(e elem) value {
	switch k := g.r.IntN(100); {
	case k < 35:
		if v, ok := g.variable(e); ok {
			return v
		}
	case k < 42:
		return g.typedLiteral(e)
	case k < 48:
		return g.scalar(e)
	case k < 56 && e.d != lang.Bool:
		return g.position(e)
	case k < 58 && (e.name == "f32" || e.name == "u64"):
		return g.random(e)
	}
	n := min(len(g.frame), 1+g.r.IntN(2))
	return g.load(e, g.shuffled(g.frame)[:n])
}

// variable is a value in scope over axes of the frame.
func (g *generator) variable(e elem) (value, bool) {
	var fits []value
	for _, v := range g.vars {
		if v.e == e && len(without(v.axes, g.frame)) == 0 {
			fits = append(fits, v)
		}
	}
	if len(fits) == 0 {
		return value{}, false
	}
	return fits[len(fits)-1-g.r.IntN(min(len(fits), 4))], true
}

// scalar is a scalar parameter.
func (g *generator) scalar(e elem) value {
	for _, s := range g.scalars {
		if s.e == e && g.chance(60) {
			return s
		}
	}
	if len(g.scalars) >= 3 {
		return g.typedLiteral(e)
	}
	s := value{text: g.fresh("s"), e: e}
	g.scalars = append(g.scalars, s)
	return s
}

// position is the positions of an axis, a bound of one, or a size.
func (g *generator) position(e elem) value {
	text, axes := pick(g.r, g.dims...), []*axis(nil)
	if len(g.consts) > 0 && g.chance(50) {
		return value{"(" + pick(g.r, g.consts...).name + " as " + e.name + ")", e, nil}
	}
	if t := g.tensors; len(t) > 0 && g.chance(4) {
		t := pick(g.r, t...)
		text = fmt.Sprintf("%s.shape[%d]", t.name, g.r.IntN(len(t.dims)))
	} else if len(g.frame) > 0 && g.chance(70) {
		a := pick(g.r, g.frame...)
		text, axes = "index("+a.name+")", []*axis{a}
	} else if a := pick(g.r, g.axes...); a.scalar {
		text = a.name
		if a.kind == gridAxis && g.chance(30) {
			text += pick(g.r, ".start", ".end")
		}
	} else if !a.choices && (a.kind != gridAxis || slices.Contains(g.frame, a) && !g.anywhere) { // a result that lacks an axis of the grid is the same for all its blocks
		text = a.name + pick(g.r, ".start", ".end")
	}
	if e.name != "i32" || slices.Contains(g.dims, text) {
		text = "(" + text + " as " + e.name + ")"
	}
	return value{text, e, axes}
}

// random is random numbers or bits at positions.
func (g *generator) random(e elem) value {
	over := g.shuffled(g.frame)[:min(len(g.frame), 1+g.r.IntN(2))]
	coordinates := []string{pick(g.r, "0", "3", "(-1)")}
	for _, a := range over {
		coordinates = append(coordinates, a.name)
	}
	if len(over) > 0 && g.chance(50) {
		coordinates = coordinates[1:]
	}
	name := "random_bits"
	if e.d == lang.F32 {
		name = pick(g.r, "rand", "rand", "randn")
	}
	text := fmt.Sprintf("%s(%s, %s)", name, pick(g.r, "0", "42", "(-7)"), strings.Join(coordinates, ", "))
	if e.name != e.d.String() {
		text = "(" + text + " as " + e.name + ")"
	}
	return value{text, e, over}
}

// load reads a tensor along axes.
func (g *generator) load(e elem, axes []*axis) value {
	var index, dims []string
	var over []*axis
	checked := false
	for _, a := range axes {
		text, dim, needs := g.indexAlong(a)
		index, dims = append(index, text), append(dims, dim)
		over, checked = append(over, a), checked || needs
	}
	if len(index) == 0 || len(index) < 3 && g.chance(20) { // a scalar position somewhere
		text, dim, needs := g.scalarIndex()
		at := g.r.IntN(len(index) + 1)
		index, dims = slices.Insert(index, at, text), slices.Insert(dims, at, dim)
		checked = checked || needs
	}
	var t *tensor
	if g.topic == Views && g.chance(70) {
		t = g.view(e, dims)
	}
	if t == nil {
		t = g.source(e, dims)
	}
	wanted := e
	e = t.e
	text := t.name + "[" + strings.Join(index, ", ") + "]"
	if checked || g.chance(4) {
		alternative := g.literal(e)
		if g.moved != nil && e == *g.moved {
			alternative = pick(g.r, "0", "1")
		}
		if g.chance(15) {
			if v, ok := g.variable(e); ok {
				alternative, over = v.text, union(value{axes: over}, v)
			}
		}
		text = "(" + text + " else " + alternative + ")"
	} else if g.chance(3) {
		text = "(" + text + " @" + pick(g.r, "evict_first", "latency(4)") + ")"
	}
	g.work(over)
	if e != wanted {
		text = "(" + text + " as " + wanted.name + ")"
	}
	return value{text, wanted, over}
}

// indexAlong is an index over an axis, with the dimension that it indexes and whether it may lie outside.
func (g *generator) indexAlong(a *axis) (text, dim string, checked bool) {
	last := a.dim + " - 1"
	switch k := g.r.IntN(100); {
	case a.free || k < 72:
		return a.name, a.dim, false
	case k < 80:
		return fmt.Sprintf("%s %s %d", a.name, pick(g.r, "+", "-"), g.r.IntN(4)), a.dim, true
	case k < 84:
		return fmt.Sprintf("index(%s) * %d - %d", a.name, 2+g.r.IntN(2), g.r.IntN(3)), a.dim, true
	case k < 88:
		return last + " - index(" + a.name + ")", a.dim, false
	case k < 91:
		return fmt.Sprintf("clamp(index(%s) %s %d, 0, %s)", a.name, pick(g.r, "+", "-"), g.r.IntN(5), last), a.dim, false
	case k < 93:
		return fmt.Sprintf("min(index(%s) + %d, %s)", a.name, g.r.IntN(5), last), a.dim, false
	}
	ids := g.tensor(concrete(pick(g.r, lang.I32, lang.I32, lang.I64)), []string{a.dim})
	return ids.name + "[" + a.name + "]", pick(g.r, g.dims...), true
}

// scalarIndex is an index that drops a dimension.
func (g *generator) scalarIndex() (text, dim string, checked bool) {
	var positions []*axis
	for _, a := range g.axes {
		if a.scalar {
			positions = append(positions, a)
		}
	}
	dim = pick(g.r, g.dims...)
	switch {
	case len(positions) > 0 && g.chance(70):
		a := pick(g.r, positions...)
		return a.name, a.dim, false
	case g.chance(50):
		return "0", dim, false
	case g.chance(50):
		return dim + " - 1", dim, false
	}
	return g.scalar(concrete(lang.I32)).text, dim, true
}

// source is what a load reads: an input, or what an earlier line of a formula stored, of whatever type.
func (g *generator) source(e elem, dims []string) *tensor {
	for _, t := range g.stored {
		if (t.e == e || e.d != lang.Bool) && slices.Equal(t.dims, dims) && g.chance(60) {
			return t
		}
	}
	return g.tensor(e, dims)
}

// tensor is an input with elements of a type and these dimensions; one that exists, or a new one.
func (g *generator) tensor(e elem, dims []string) *tensor {
	for _, t := range g.tensors {
		if t.mode == lang.In && t.e == e && slices.Equal(t.dims, dims) && g.chance(60) {
			return t
		}
	}
	t := &tensor{name: g.fresh("x"), e: e, dims: dims}
	g.tensors = append(g.tensors, t)
	g.works = append(g.works, dims)
	return t
}
