package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// exprFuel bounds the nodes of one expression.
const exprFuel = 14

// whole makes the whole expression of a statement, over axes of the frame.
func (g *generator) whole(e elem, frame []*axis) value {
	g.fuel = exprFuel
	return g.within(frame, func() value { return g.expr(e, 1+g.r.IntN(4)) })
}

// statement adds one statement to the block.
func (g *generator) statement() {
	switch k := g.r.IntN(100); {
	case k < 25 && g.heavy > 0:
		g.heavy--
		g.loop()
	case k < 33:
		g.choice()
	case k < 38:
		g.rename()
	case k < 43 && len(g.axes) < 6:
		g.axis()
	case k < 53:
		g.shape()
	case k < 56:
		g.speak()
	case k < 60:
		g.sorted()
	default:
		g.bind(g.whole(g.someType(), g.someAxes(widest)))
	}
}

// bind gives a value a name.
func (g *generator) bind(v value) {
	name := g.fresh("v")
	g.line("let %s = %s", name, v.text)
	g.vars = append(g.vars, value{name, v.e, v.axes})
}

// scope generates what is declared inside a block and forgotten behind it.
func (g *generator) scope(inside func()) {
	axes, vars, around := len(g.axes), len(g.vars), len(g.around)
	g.indent++
	inside()
	g.indent--
	g.axes, g.vars, g.around = g.axes[:axes:axes], g.vars[:vars:vars], g.around[:around:around]
}

// update is a new value of v's type, over exactly its axes.
func (g *generator) update(v value) value {
	x := g.whole(v.e, v.axes)
	var text string
	switch k := g.r.IntN(10); {
	case v.e.d == lang.Bool:
		text = apply(pick(g.r, logical[:2]...), v.text, x.text)
	case k < 3:
		c := g.within(v.axes, func() value { return g.expr(concrete(lang.Bool), 2) })
		text = fmt.Sprintf("where(%s, %s, %s)", c.text, v.text, x.text)
	case k < 5:
		text = apply(pick(g.r, lang.OpMax, lang.OpMin), v.text, x.text)
	case k < 6:
		text = "(" + v.text + " * " + g.literal(v.e) + " + " + x.text + ")"
	default:
		text = apply(pick(g.r, lang.OpAdd, lang.OpSub, lang.OpMul), v.text, x.text)
	}
	return value{text, v.e, v.axes}
}

// start is a first value of a type over exactly these axes.
func (g *generator) start(e elem, axes []*axis) value {
	args := []string{e.name, g.literal(e)}
	for _, a := range axes {
		args = append(args, a.name)
	}
	v := value{"full(" + strings.Join(args, ", ") + ")", e, axes}
	if g.chance(30) {
		v = g.update(v)
	}
	return v
}

func (g *generator) choice() {
	e, axes := g.someType(), g.someAxes(2)
	c := g.whole(concrete(lang.Bool), nil)
	a, b := g.update(g.start(e, axes)), g.update(g.start(e, axes))
	g.work(axes)
	g.bind(value{fmt.Sprintf("if %s { %s } else { %s }", c.text, a.text, b.text), e, axes})
}

// rename moves a value to another axis of the same positions.
func (g *generator) rename() {
	for _, v := range g.shuffledVars() {
		for _, a := range v.axes {
			if a.kind != wholeAxis || a.free {
				continue
			}
			b := &axis{name: g.fresh("d"), kind: wholeAxis, dim: a.dim, part: a.part}
			over := b.dim
			if b.part != "" {
				over += "[" + b.part + "]"
			}
			g.line("axis %s in %s", b.name, over)
			g.axes = append(g.axes, b)
			axes := slices.Clone(v.axes)
			axes[slices.Index(axes, a)] = b
			g.bind(value{fmt.Sprintf("rename(%s, %s -> %s)", v.text, a.name, b.name), v.e, axes})
			return
		}
	}
	g.axis()
}

func (g *generator) shuffledVars() []value {
	vs := slices.Clone(g.vars)
	g.r.Shuffle(len(vs), func(i, j int) { vs[i], vs[j] = vs[j], vs[i] })
	return vs
}

// loop adds a loop over an axis or over positions, which carries values.
func (g *generator) loop() {
	a := &axis{name: g.fresh("k"), dim: pick(g.r, g.dims...), kind: loopAxis, scalar: g.chance(25)}
	over, by := a.dim, ""
	if a.scalar {
		if g.chance(40) {
			a.dim = fmt.Sprint(1 + g.r.IntN(4))
			a.free, over = true, a.dim
		}
	} else {
		by = " by " + g.extent(a, 50)
	}
	if !a.free && g.named(a.dim) && g.chance(25) {
		over += g.bounds(a.dim)
	}
	var init []value
	for range 1 + g.r.IntN(3) {
		axes := g.someAxes(2)
		e := g.someType()
		if !a.scalar && !a.pinned && g.chance(60) {
			e = e.acc()
		}
		init = append(init, g.start(e, axes))
	}
	names, texts, next := make([]string, len(init)), make([]string, len(init)), make([]string, len(init))
	for i, v := range init {
		names[i], texts[i] = g.fresh("c"), v.text
	}
	at := len(g.lines)
	g.scope(func() {
		if a.scalar {
			g.around = append(g.around, a.dim)
			g.axes = append(g.axes, a)
		} else {
			g.axes = append(g.axes, a)
		}
		free := a.scalar || a.pinned || !a.choices && g.chance(40)
		for i, v := range init {
			if free {
				g.vars = append(g.vars, value{names[i], v.e, v.axes})
			}
		}
		for range g.r.IntN(3) {
			g.statement()
		}
		for i, v := range init {
			c := value{names[i], v.e, v.axes}
			if free {
				next[i] = g.update(c).text
			} else {
				next[i] = g.accumulate(c, a).text
			}
		}
		g.line("%s", tuple(next))
	})
	body := slices.Clone(g.lines[at:])
	g.lines = g.lines[:at]
	results := make([]string, len(init))
	for i, v := range init {
		results[i] = g.fresh("v")
		g.vars = append(g.vars, value{results[i], v.e, v.axes})
		g.work(v.axes)
	}
	g.line("let %s = for %s in %s%s with %s = %s {", tuple(results), a.name, over, by, tuple(names), tuple(texts))
	g.lines = append(g.lines, body...)
	g.line("}")
}

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func tuple(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// bounds is a part of a dimension.
func (g *generator) bounds(dim string) string {
	end := func() string {
		return pick(g.r, "0", "1", "3", dim, dim+" / 2", dim+" - 1", g.scalar(concrete(lang.I32)).text, pick(g.r, g.dims...))
	}
	switch g.r.IntN(3) {
	case 0:
		return "[" + end() + " ..]"
	case 1:
		return "[.. " + end() + "]"
	}
	return "[" + end() + " .. " + end() + "]"
}

// accumulate is the next value of c in a loop over k of which the plan chooses
// the steps: one that does not depend on where they are cut.
func (g *generator) accumulate(c value, k *axis) value {
	frame := append(slices.Clone(c.axes), k)
	operand := func(e elem) value {
		g.fuel = exprFuel
		return g.within(frame, func() value { return g.along(g.expr(e, 1+g.r.IntN(3)), k) })
	}
	if c.e.d == lang.Bool {
		i := g.r.IntN(2)
		x := operand(c.e)
		return value{fmt.Sprintf("(%s %s %s(%s, over %s))", c.text, []string{"or", "and"}[i], []string{"any", "all"}[i], x.text, k.name), c.e, c.axes}
	}
	g.work(frame)
	if c.e.acc() != c.e || g.chance(25) {
		x, op := operand(c.e), pick(g.r, "max", "min")
		return value{fmt.Sprintf("%s(%s, %s(%s, over %s))", op, c.text, op, x.text, k.name), c.e, c.axes}
	}
	if g.chance(35) {
		x := operand(c.e)
		return value{fmt.Sprintf("(%s + sum(%s, over %s))", c.text, x.text, k.name), c.e, c.axes}
	}
	return g.product(c, k)
}

// product adds a contraction over k to an accumulator.
func (g *generator) product(c value, k *axis) value {
	var from []elem
	for _, d := range []lang.DType{lang.F16, lang.F16, lang.BF16, lang.BF16, lang.F32, lang.F64, lang.I8, lang.U8, lang.I32, lang.I64, lang.U32, lang.U64, lang.F4E2M1, lang.F8E4M3, lang.F8E5M2} {
		if d.Accumulator() == c.e.d {
			from = append(from, concrete(d))
		}
	}
	if g.generic != nil && g.generic.d.IsFloat() && c.e.d == lang.F32 {
		from = append(from, *g.generic)
	}
	f := pick(g.r, from...)
	axes := g.shuffled(c.axes)
	split := g.r.IntN(len(axes) + 1)
	side := func(own []*axis) value {
		own = append(slices.Clone(own), k)
		if g.chance(70) {
			return g.load(f, g.shuffled(own))
		}
		g.fuel = exprFuel / 2
		return g.within(own, func() value {
			v := g.along(g.expr(f, 2), k)
			for _, a := range own {
				v = g.along(v, a)
			}
			return v
		})
	}
	a, b := side(axes[:split]), side(axes[split:])
	if len(without(c.axes, union(a, b))) == 0 && g.chance(60) {
		return value{fmt.Sprintf("mma(%s, %s, %s)", a.text, b.text, c.text), c.e, c.axes}
	}
	return value{fmt.Sprintf("(%s + dot(%s, %s, over %s))", c.text, a.text, b.text, k.name), c.e, c.axes}
}

// store writes an output, or an inout at the elements of the block.
func (g *generator) store() {
	switch k := g.r.IntN(100); {
	case k < 6:
		g.atomic()
		return
	case k < 18:
		g.storeInLoop()
		return
	}
	frame := g.gridTiles()
	for _, a := range g.shuffled(g.tileAxes()) {
		if a.kind == wholeAxis && len(frame) < widest && g.chance(40) {
			frame = append(frame, a)
		}
	}
	g.write(frame)
}

// gridTiles are the axes of the grid that tiles have.
func (g *generator) gridTiles() []*axis {
	var out []*axis
	for _, a := range g.axes {
		if a.kind == gridAxis && !a.scalar {
			out = append(out, a)
		}
	}
	return out
}

// write stores an expression over the frame.
func (g *generator) write(frame []*axis) {
	e := g.someType()
	v := g.whole(e, frame)
	if x, ok := g.anyVariable(frame); ok && g.chance(70) { // what the statements computed
		e, v = x.e, x
		if g.chance(30) {
			v = g.update(value{x.text, x.e, x.axes})
		}
	}
	g.keep(v, frame)
}

// keep stores a value at its axes, with those of the frame that it lacks and every scalar position.
func (g *generator) keep(v value, frame []*axis) {
	index := slices.Clone(v.axes)
	for _, a := range frame {
		if !slices.Contains(index, a) && (a.kind != wholeAxis || g.chance(20)) {
			index = append(index, a)
		}
	}
	for _, a := range g.axes {
		if a.scalar && !slices.Contains(index, a) {
			index = append(index, a)
		}
	}
	g.put(g.shuffled(index), v)
}

func (g *generator) anyVariable(frame []*axis) (value, bool) {
	for _, v := range g.shuffledVars() {
		if len(without(v.axes, frame)) == 0 {
			return v, true
		}
	}
	return value{}, false
}

// put stores a value at the elements that axes point to, one index for each.
func (g *generator) put(axes []*axis, v value) {
	var index, dims []string
	for _, a := range axes {
		text := a.name
		if a.kind == gridAxis && !a.scalar && g.chance(6) {
			text = pick(g.r, a.name+" + 1", a.name+" - 1", a.dim+" - 1 - index("+a.name+")")
		}
		index, dims = append(index, text), append(dims, a.dim)
	}
	if len(index) == 0 {
		index, dims = []string{"0"}, []string{g.dims[0]}
	}
	t := &tensor{name: g.fresh("y"), e: v.e, dims: dims, mode: lang.Out}
	at := strings.Join(index, ", ")
	for _, a := range axes {
		if a.kind == gridAxis && a.part != "" && g.chance(50) { // what it leaves out is 0, or as it was
			t.mode = lang.InOut
		}
	}
	often := 12
	if g.topic == Splits { // what reads a tensor that it writes is not split
		often = 2
	}
	if g.chance(often) && (g.moved == nil || v.e != *g.moved) && !strings.ContainsAny(at, "+-") {
		t.mode = lang.InOut
		old := value{t.name + "[" + at + "]", v.e, v.axes}
		if v.e.d == lang.Bool {
			v.text = "(" + old.text + " and " + v.text + ")"
		} else {
			v.text = apply(pick(g.r, lang.OpAdd, lang.OpMax, lang.OpSub), old.text, v.text)
		}
	}
	g.tensors = append(g.tensors, t)
	g.works = append(g.works, dims)
	g.line("%s[%s] = %s", t.name, at, v.text)
}

// storeInLoop stores a part of an output in each step of a loop.
func (g *generator) storeInLoop() {
	a := &axis{name: g.fresh("k"), dim: pick(g.r, g.dims...), kind: loopAxis, scalar: g.chance(40)}
	by := ""
	if !a.scalar {
		by = " by " + g.extent(a, 40)
	}
	over := a.dim
	if g.named(a.dim) && g.chance(20) {
		over += g.bounds(a.dim)
	}
	at := len(g.lines)
	g.scope(func() {
		g.axes = append(g.axes, a)
		frame := g.gridTiles()
		if a.scalar {
			g.around = append(g.around, a.dim)
		} else {
			frame = append(frame[:min(len(frame), widest):min(len(frame), widest)], a)
		}
		if g.chance(40) {
			g.statement()
		}
		g.write(frame)
	})
	body := slices.Clone(g.lines[at:])
	g.lines = g.lines[:at]
	g.line("for %s in %s%s {", a.name, over, by)
	g.lines = append(g.lines, body...)
	g.line("}")
}
