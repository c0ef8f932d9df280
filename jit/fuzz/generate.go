package fuzz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tilec/lang"
)

// This file makes random programs that type-check. What depends on how axes are
// cut (partial results, `i.start`) is made over axes of whose extents the source says
// all or nothing: of several choices, the checker refuses what would depend on them.

// elem is an element type as the program writes it: T stands for a type.
type elem struct {
	name string
	d    lang.DType
}

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func concrete(d lang.DType) elem { return elem{d.String(), d} }

// acc is the accumulator.
func (e elem) acc() elem { return concrete(e.d.Accumulator()) }

type axisKind uint8

const (
	gridAxis axisKind = iota
	loopAxis
	wholeAxis
)

// axis is an axis of tiles in scope, or a scalar position.
type axis struct {
	name, dim string
	kind      axisKind
	scalar    bool
	// pinned axes have an extent that the source fixes.
	pinned bool
	// choices: the extent is one of several that the source names.
	choices bool
	// part is the sub-range of the dimension; free axes walk no dimension of their own.
	part string
	free bool
}

// value is an expression with its type.
type value struct {
	text string
	e    elem
	axes []*axis
}

func (v value) has(a *axis) bool { return slices.Contains(v.axes, a) }

type tensor struct {
	name string
	e    elem
	dims []string
	mode lang.ParamMode
}

type helper struct {
	name, kind string // kind: "number", "float", "narrow" (a float of up to 32 bits), "int", "axis"
	params     int
	more       string // arguments by name
}

// generator makes one program.
type generator struct {
	r       *rand.Rand
	dims    []string
	generic *elem // T, where the kernel has it
	tensors []*tensor
	scalars []value
	tiles   []string // names of extents that a launch may pin
	tunes   []string
	wholes  []string // axes that a launch may cut into steps
	fns     []string
	helpers []helper
	// topic is what the program is about.
	topic Topic
	// bound is that of T, moved the type parameter U of elements that are only moved, where the kernel has it.
	bound  string
	moved  *elem
	consts []constant
	// many are the dimensions that are multiples or parts of others, views the views, opening the lines that make them.
	many    map[string]manyOf
	views   []*tensor
	opening []string
	// stored are outputs that later lines of a formula may read.
	stored []*tensor
	// contracted are the axes that an mma contracts, which does not say so: a formula stores along none of them, and those along which
	// it has stored, storedAlong, no mma contracts.
	contracted, storedAlong []*axis
	// attributes are those that the kernel has for certain.
	attributes []string
	// matrix: the program is about one matrix product, whose tiles may be large.
	matrix bool
	// groups is how many positions of its depth a product goes through by their number at a time, 0 for one that does not.
	groups int
	// tileOf names the extents that a launch may pin by axis.
	tileOf map[string]string
	// area is the product of the extents that the source pins.
	area int64

	axes  []*axis // in scope
	vars  []value
	frame []*axis // the axes that the current expression may be over
	// around are the dimensions whose every position repeats the current statement.
	around []string
	// works are the dimensions of what is computed or stored, to choose sizes by.
	works  [][]string
	lines  []string
	indent int
	names  int
	fuel   int
	heavy  int // statements with loops left
	// anywhere: what is made is given a name, and may come to be stored in a result that lacks an axis of the frame.
	anywhere bool
}

// Generate makes a program and the launches that test it; the same seed gives the same program.
func Generate(seed uint64) *Case {
	if t := topicOf(seed); t != Anything {
		return GenerateAbout(t, seed)
	}
	g := newGenerator(seed, "program")
	if g.chance(8) {
		source := g.matrixKernel()
		return &Case{Source: source, Trials: g.matrixTrials(seed)}
	}
	if g.chance(6) {
		source := g.formulaKernel()
		return &Case{Source: source, Trials: g.runs(seed)}
	}
	source := g.kernel()
	return &Case{Source: source, Trials: g.runs(seed)}
}

func newGenerator(seed uint64, stream string) *generator {
	return &generator{r: random(seed, stream), indent: 1, heavy: 2, area: 1, tileOf: map[string]string{}, many: map[string]manyOf{}}
}

// chance is true so many times of a hundred. It is called, not copied to its hundreds of places: the binary is smaller.
//
//go:noinline
func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// pick draws one of several. It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func pick[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (g *generator) fresh(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *generator) line(format string, args ...any) {
	g.lines = append(g.lines, strings.Repeat("    ", g.indent)+fmt.Sprintf(format, args...))
}

// work records that tiles over these axes are computed.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (g *generator) work(axes []*axis, more ...string) {
	dims := append(slices.Clone(g.around), more...)
	for _, a := range axes {
		dims = append(dims, a.dim)
	}
	g.works = append(g.works, dims)
}

func (g *generator) kernel() string {
	for _, n := range []string{"M", "N", "K", "D"}[:1+g.r.IntN(4)] {
		g.dims = append(g.dims, n)
	}
	if g.chance(15) {
		g.generic = &elem{"T", pick(g.r, lang.F16, lang.BF16, lang.F32)}
	}
	g.functions()
	return g.body()
}

// body makes the grid and the statements of a kernel.
func (g *generator) body() string {
	var grid []string
	for n := range 1 + g.r.IntN(3) {
		a := &axis{name: fmt.Sprintf("i%d", n), dim: pick(g.r, g.dims...), kind: gridAxis, scalar: g.chance(15)}
		g.axes = append(g.axes, a)
		clause := a.name + " in " + a.dim
		if g.chance(15) && g.named(a.dim) {
			d := a.dim
			a.part = pick(g.r, "1 ..", ".. "+d+" - 1", d+" / 3 .. "+d+" / 2", "2 .. min("+d+", 20)", ".. "+pick(g.r, g.dims...), "-1 .. "+d+" + 1")
			clause += "[" + a.part + "]"
		}
		if a.scalar {
			g.around = append(g.around, a.dim)
		} else {
			clause += " by " + g.extent(a, 30)
		}
		grid = append(grid, clause)
	}
	for range g.r.IntN(3) {
		g.axis()
	}
	for range 1 + g.r.IntN(5) {
		g.statement()
	}
	for range 1 + g.r.IntN(2) {
		g.store()
	}
	if g.moved != nil {
		g.move()
	}
	return g.assemble(grid)
}

// maxArea bounds the product of pinned extents: with more, code for tiles of
// elementwise operations takes longer to assemble than it tells.
const maxArea = 4096

// mostArea is the bound for this program.
func (g *generator) mostArea() int64 {
	if g.topic == Splits {
		return 128
	}
	return maxArea
}

// extent is what stands after `by`.
func (g *generator) extent(a *axis, pinned int) string {
	sizes := []int{1, 2, 3, 4, 5, 8, 16, 17, 32, 48, 64, 128}
	if g.chance(pinned) {
		a.pinned = true
		n := pick(g.r, sizes...)
		for !g.matrix && g.area*int64(n) > g.mostArea() {
			n /= 2
		}
		g.area *= int64(n)
		if g.chance(70) {
			return fmt.Sprint(n)
		}
		name := g.fresh("B")
		g.tunes = append(g.tunes, fmt.Sprintf("%s = %d", name, n))
		return name
	}
	name := g.fresh("B")
	g.tiles, g.tileOf[a.name] = append(g.tiles, name), name
	if g.chance(15) {
		a.choices = true
		g.tunes = append(g.tunes, fmt.Sprintf("%s in {%d, %d}", name, pick(g.r, sizes...), pick(g.r, sizes...)))
	}
	return name
}

// named reports a dimension that has a name, which is not a multiple or a part of another.
func (g *generator) named(dim string) bool {
	_, ok := g.many[dim]
	return !ok
}

// axis declares a whole axis, a part of a dimension, or a free one.
func (g *generator) axis() {
	a := &axis{name: g.fresh("d"), kind: wholeAxis, dim: pick(g.r, g.dims...)}
	over := a.dim
	switch k := g.r.IntN(10); {
	case k == 0:
		a.free, a.dim = true, fmt.Sprint(pick(g.r, 1, 2, 3, 4, 7, 8))
		over = a.dim
	case k < 3 && g.named(a.dim):
		a.part = pick(g.r, ".. "+a.dim+" / 2", a.dim+" / 2 ..", a.dim+" / 3 .. "+a.dim+" / 2", ".. "+a.dim, "0 .. 1")
		over += "[" + a.part + "]"
	}
	g.axes = append(g.axes, a)
	g.wholes = append(g.wholes, a.name)
	g.line("axis %s in %s", a.name, over)
}

// functions declares fns that work on whatever they are given.
func (g *generator) functions() {
	for range g.r.IntN(3) {
		h := helper{name: g.fresh("f"), kind: pick(g.r, "number", "float", "axis"), params: 1 + g.r.IntN(2)}
		names := []string{"a", "b"}[:h.params]
		ops := numeric
		if h.kind == "float" {
			ops = append(slices.Clone(numeric), floating...)
		}
		text := "a"
		for range 1 + g.r.IntN(3) {
			args := []string{text}
			op := pick(g.r, ops...)
			for len(args) < len(op.Row().Operands) {
				args = append(args, pick(g.r, append([]string{"1", "2", "3"}, names...)...))
			}
			if g.chance(30) && len(args) > 1 {
				args[0], args[1] = args[1], args[0]
				if op.Row().Form == lang.FormCall && !strings.ContainsAny(strings.Join(args, ""), "ab") {
					args[0] = "a"
				}
			}
			text = apply(op, args...)
		}
		if h.kind == "axis" {
			h.params = 1
			red := pick(g.r, "max", "min")
			text = fmt.Sprintf("a %s %s(a, over z)", pick(g.r, "-", "+", "*"), red)
			names = []string{"a", "axis z"}
		}
		g.fns = append(g.fns, fmt.Sprintf("fn %s(%s) = %s", h.name, strings.Join(names, ", "), text))
		g.helpers = append(g.helpers, h)
	}
}

// assemble puts the pieces together.
func (g *generator) assemble(grid []string) string {
	bound := map[string]bool{}
	hasGeneric := false // the launch tells what T is
	for _, t := range g.tensors {
		if t.mode != lang.Out {
			for _, d := range t.dims {
				bound[d] = true
			}
			hasGeneric = hasGeneric || t.e.name == "T"
		}
	}
	for _, s := range g.scalars {
		hasGeneric = hasGeneric || s.e.name == "T"
	}
	rest := &tensor{name: "shape", e: concrete(lang.U8)}
	for _, d := range g.dims {
		if !bound[d] && g.named(d) {
			rest.dims = append(rest.dims, d)
		}
	}
	if g.generic != nil && !hasGeneric {
		rest.e = *g.generic
		if len(rest.dims) == 0 {
			rest.dims = g.dims[:1]
		}
	}
	if len(rest.dims) > 0 {
		g.tensors = append(g.tensors, rest)
		g.works = append(g.works, rest.dims)
	}
	var in, out []string
	for _, t := range g.tensors {
		text := fmt.Sprintf("%s: %s[%s]", t.name, t.e.name, strings.Join(t.dims, ", "))
		switch t.mode {
		case lang.Out:
			out = append(out, text)
		case lang.InOut:
			in = append(in, "inout "+text)
		default:
			in = append(in, text)
		}
	}
	for _, s := range g.scalars {
		in = append(in, s.text+": "+s.e.name)
	}
	var b strings.Builder
	for _, f := range g.fns {
		b.WriteString(f + "\n")
	}
	if g.chance(15) {
		fmt.Fprintf(&b, "@precision(%s)\n", pick(g.r, "ieee", "tf32x3"))
	}
	if g.chance(10) {
		fmt.Fprintf(&b, "@warps(%d)\n", pick(g.r, 1, 2, 4, 8))
	}
	if g.chance(10) {
		fmt.Fprintf(&b, "@stages(%d)\n", 1+g.r.IntN(4))
	}
	for _, name := range []string{"cluster", "occupancy"} {
		if g.chance(3) {
			fmt.Fprintf(&b, "@%s(%d)\n", name, 1+g.r.IntN(2))
		}
	}
	for _, a := range g.attributes {
		b.WriteString(a + "\n")
	}
	b.WriteString("kernel k" + g.typeParams())
	fmt.Fprintf(&b, "(%s)", strings.Join(in, ", "))
	if len(out) > 0 {
		fmt.Fprintf(&b, " -> %s", strings.Join(out, ", "))
	}
	b.WriteString("\n")
	if len(g.tunes) > 0 {
		fmt.Fprintf(&b, "    tune %s\n", strings.Join(g.tunes, ", "))
	}
	if len(grid) > 0 {
		fmt.Fprintf(&b, "    grid %s\n", strings.Join(grid, ", "))
	}
	fmt.Fprintf(&b, "{\n%s\n}\n", strings.Join(append(g.opening, g.lines...), "\n"))
	return b.String()
}
