package fuzz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tilec/lang"
)

// This file makes graphs: views, slices, unrolled loops, choices, state, calls of
// generic kernels and of other graphs, elementwise expressions. All numbers are
// small integers, on which every element type and every order of additions is
// exact, so the generator computes what the graph must give while it writes it,
// knowing nothing of the compiler: what it computed stands in a test beside the graph.

// extentOf is one dimension of a tensor of a graph: a product of names and numbers.
type extentOf []atomOf

type atomOf struct {
	text string
	n    int
}

func (e extentOf) n() int {
	n := 1
	for _, a := range e {
		n *= a.n
	}
	return n
}

// String is the extent as a program writes it.
func (e extentOf) String() string {
	texts := []string{}
	for _, a := range e {
		texts = append(texts, a.text)
	}
	if len(texts) == 0 {
		return "1"
	}
	return strings.Join(texts, " * ")
}

// wholeShape is the shape of a tensor.
type wholeShape []extentOf

func (s wholeShape) n() int {
	n := 1
	for _, e := range s {
		n *= e.n()
	}
	return n
}

// String is the shape as a program writes it.
func (s wholeShape) String() string {
	texts := make([]string, len(s))
	for i, e := range s {
		texts[i] = e.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func (s wholeShape) equal(t wholeShape) bool {
	return slices.EqualFunc(s, t, func(a, b extentOf) bool { return a.String() == b.String() })
}

// world is the tensors of a graph by name while it is computed, row-major; counters of loops have one element.
type world map[string][]int

// wholeExpr is an expression of a graph: what is written, and what it gives.
type wholeExpr struct {
	text  string
	d     lang.DType
	shape wholeShape
	value func(world) []int
	// dense: it lies in memory without gaps, so that it may be viewed.
	dense bool
}

// wholeStmt is what a statement does.
type wholeStmt func(world)

// graphMaker makes one graph.
type graphMaker struct {
	r       *rand.Rand
	dims    []atomOf
	vars    []wholeExpr
	state   []wholeExpr
	counter []string // of the loops around
	lines   []string
	indent  int
	names   int
	used    map[string]bool // kernels
	helpers []string        // graphs that it calls
	// generic: the one element type is a type parameter, and constant is a constant parameter.
	generic  bool
	constant atomOf
}

// mostWhole is the magnitude that every element is cut to: sums of products of such numbers are exact in every type.
const mostWhole = 9

var wholeTypes = []lang.DType{lang.F32, lang.F32, lang.F16, lang.BF16, lang.I32, lang.I8}

// graphCase makes a graph with the test that says what it gives.
func graphCase(seed uint64) *Case {
	g := &graphMaker{r: random(seed, "graph"), indent: 1, used: map[string]bool{}}
	for i, name := range []string{"M", "N", "K"}[:1+g.r.IntN(3)] {
		g.dims = append(g.dims, atomOf{name, []int{1, 2, 3, 4, 5, 7, 8}[(g.r.IntN(7)+i)%7]})
	}
	all := world{}
	var params, args, given []string
	for i := range 1 + g.r.IntN(3) {
		x := wholeExpr{text: fmt.Sprintf("x%d", i), d: pick(g.r, wholeTypes...), dense: true}
		for range 1 + g.r.IntN(3) {
			x.shape = append(x.shape, extentOf{pick(g.r, g.dims...)})
		}
		if i == 0 { // every dimension is bound by an argument
			x.shape = nil
			for _, d := range g.dims {
				x.shape = append(x.shape, extentOf{d})
			}
		}
		elems := make([]int, x.shape.n())
		for j := range elems {
			elems[j] = g.r.IntN(2*mostWhole+1) - mostWhole
		}
		all[x.text] = elems
		params = append(params, fmt.Sprintf("%s: %s%s", x.text, x.d, x.shape))
		given = append(given, fmt.Sprintf("    let %s = %s as %s", x.text, x.list(elems), x.d))
		args = append(args, x.text)
		g.vars = append(g.vars, x.named(x.text))
	}
	var body []wholeStmt
	for range 2 + g.r.IntN(5) {
		body = append(body, g.statement())
	}
	for _, run := range body {
		run(all)
	}
	var outs, results, checks []string
	for i := range 1 + g.r.IntN(2) {
		v := pick(g.r, g.vars[max(0, len(g.vars)-3):]...)
		if len(g.state) > 0 && g.chance(50) {
			v = pick(g.r, g.state...)
		}
		name := fmt.Sprintf("y%d", i)
		g.line("%s = %s", name, v.text)
		outs = append(outs, fmt.Sprintf("%s: %s%s", name, v.d, v.shape))
		results = append(results, name)
		checks = append(checks, fmt.Sprintf("    check %s == %s", name, v.list(v.value(all))))
	}
	var b strings.Builder
	for _, k := range wholeKernels {
		if g.used[k.name] {
			b.WriteString(k.text + "\n")
		}
	}
	for _, h := range g.helpers {
		b.WriteString(h + "\n")
	}
	fmt.Fprintf(&b, "graph g(%s) -> %s {\n%s\n}\n", strings.Join(params, ", "), tuple(outs), strings.Join(g.lines, "\n"))
	fmt.Fprintf(&b, "test \"g\" {\n%s\n    let %s = g(%s)\n%s\n}\n", strings.Join(given, "\n"), tuple(results), strings.Join(args, ", "), strings.Join(checks, "\n"))
	return &Case{Source: b.String()}
}

func (g *graphMaker) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *graphMaker) fresh(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *graphMaker) line(format string, args ...any) {
	g.lines = append(g.lines, strings.Repeat("    ", g.indent)+fmt.Sprintf(format, args...))
}

// named is the expression under a name.
func (x wholeExpr) named(name string) wholeExpr {
	x.text = name
	x.value = func(w world) []int { return w[name] }
	return x
}

// list is elements as a program writes them, in brackets for each dimension.
func (x wholeExpr) list(elems []int) string {
	if len(x.shape) == 0 {
		panic("a tensor without dimensions has no list")
	}
	var text func(shape wholeShape, elems []int) string
	text = func(shape wholeShape, elems []int) string {
		n := shape[0].n()
		words := make([]string, n)
		for i := range words {
			switch {
			case len(shape) > 1:
				rest := len(elems) / n
				words[i] = text(shape[1:], elems[i*rest:(i+1)*rest])
			case x.d.IsFloat():
				words[i] = fmt.Sprintf("%d.0", elems[i])
			default:
				words[i] = fmt.Sprint(elems[i])
			}
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	return text(x.shape, elems)
}

// statement adds a statement, and gives what it does.
func (g *graphMaker) statement() wholeStmt {
	switch k := g.r.IntN(100); {
	case k < 15 && g.indent < 3:
		return g.loop()
	case k < 25 && g.indent == 1:
		return g.newState()
	case k < 45 && len(g.state) > 0:
		return g.writeState()
	}
	return g.bind(g.expr())
}

func (g *graphMaker) bind(x wholeExpr) wholeStmt {
	name := g.fresh("v")
	g.line("let %s = %s", name, x.text)
	g.vars = append(g.vars, x.named(name))
	return func(w world) { w[name] = slices.Clone(x.value(w)) }
}

// expr is an expression of whole tensors.
func (g *graphMaker) expr() wholeExpr {
	x := pick(g.r, g.vars...)
	switch k := g.r.IntN(100); {
	case k < 35:
		return g.elementwise(x)
	case k < 50:
		return g.view(x)
	case k < 65:
		return g.slice(x)
	case k < 70 && g.indent == 1:
		return g.helper(x)
	case k < 75:
		return g.choice()
	}
	return g.call(x)
}

// cutWhole keeps numbers small: `min(max(x, -9), 9)`.
func cutWhole(text string) string {
	return fmt.Sprintf("min(max(%s, -%d), %d)", text, mostWhole, mostWhole)
}

func cutTo(n int) int { return min(max(n, -mostWhole), mostWhole) }

// elementwise combines tensors of one shape and type, numbers and loop counters.
func (g *graphMaker) elementwise(x wholeExpr) wholeExpr {
	type form struct {
		text string
		f    func(a, b int) int
	}
	op := pick(g.r,
		form{"(%s + %s)", func(a, b int) int { return a + b }},
		form{"(%s - %s)", func(a, b int) int { return a - b }},
		form{"(%s * %s)", func(a, b int) int { return a * b }},
		form{"min(%s, %s)", func(a, b int) int { return min(a, b) }},
		form{"max(%s, %s)", func(a, b int) int { return max(a, b) }},
		form{"where(%[1]s > %[2]s, %[1]s, -%[2]s)", func(a, b int) int {
			if a > b {
				return a
			}
			return -b
		}})
	y := g.beside(x)
	r := wholeExpr{text: cutWhole(fmt.Sprintf(op.text, x.text, y.text)), d: x.d, shape: x.shape, dense: true}
	r.value = func(w world) []int {
		a, b := x.value(w), y.value(w)
		out := make([]int, len(a))
		for i := range out {
			out[i] = cutTo(op.f(a[i], b[i%len(b)]))
		}
		return out
	}
	if !g.generic && g.chance(25) { // in another type, which holds the same numbers
		to := pick(g.r, wholeTypes...)
		r.text, r.d = fmt.Sprintf("(%s as %s)", r.text, to), to
	}
	return r
}

// beside is something of x's shape and type, or one number.
func (g *graphMaker) beside(x wholeExpr) wholeExpr {
	for _, i := range g.r.Perm(len(g.vars)) {
		y := g.vars[i]
		if !y.shape.equal(x.shape) || g.chance(30) {
			continue
		}
		if y.d != x.d {
			y.text = fmt.Sprintf("(%s as %s)", y.text, x.d)
		}
		return y
	}
	if len(g.counter) > 0 && g.chance(60) {
		n := pick(g.r, g.counter...)
		return wholeExpr{text: fmt.Sprintf("(%s as %s)", n, x.d), d: x.d, value: func(w world) []int { return w[n] }}
	}
	if c := g.constant; c.text != "" {
		return wholeExpr{text: fmt.Sprintf("(%s as T)", c.text), d: x.d, value: func(world) []int { return []int{c.n} }}
	}
	n := g.r.IntN(7) - 3
	return wholeExpr{text: fmt.Sprintf("(%d)", n), d: x.d, value: func(world) []int { return []int{n} }}
}

// view is the same elements in another shape.
func (g *graphMaker) view(x wholeExpr) wholeExpr {
	if !x.dense {
		return g.elementwise(x)
	}
	var atoms extentOf
	for _, e := range x.shape {
		atoms = append(atoms, e...)
	}
	g.r.Shuffle(len(atoms), func(i, j int) { atoms[i], atoms[j] = atoms[j], atoms[i] })
	r := wholeExpr{d: x.d, value: x.value, dense: true, shape: wholeShape{nil}}
	for _, a := range atoms {
		if last := len(r.shape) - 1; len(r.shape[last]) > 0 && len(r.shape) < 3 && g.chance(60) {
			r.shape = append(r.shape, extentOf{a})
		} else {
			r.shape[last] = append(slices.Clone(r.shape[last]), a)
		}
	}
	r.text = fmt.Sprintf("view(%s, %s)", x.text, r.shape)
	return r
}

// slice is a part of a tensor: a range along some dimensions, one position of another.
func (g *graphMaker) slice(x wholeExpr) wholeExpr {
	type cut struct {
		from, step, n int
	}
	r := wholeExpr{d: x.d}
	var items []string
	var cuts []cut
	step := x.shape.n()
	dropped := false
	for i, e := range x.shape {
		n := e.n()
		step /= n
		switch {
		case n > 1 && !dropped && len(x.shape) > 1 && g.chance(25):
			at := g.r.IntN(n)
			dropped = true
			items, cuts = append(items, fmt.Sprint(at)), append(cuts, cut{at, step, 1})
		case n > 1 && g.chance(40):
			from := g.r.IntN(n)
			to := from + 1 + g.r.IntN(n-from)
			text := fmt.Sprintf("%d..%d", from, to)
			size := extentOf{{fmt.Sprint(to - from), to - from}}
			if to == n && g.chance(50) {
				text = fmt.Sprintf("%d..", from)
				if from == 0 {
					size = e
				} else {
					size = extentOf{{fmt.Sprintf("(%s - %d)", e, from), n - from}}
				}
			}
			items, cuts = append(items, text), append(cuts, cut{from, step, to - from})
			r.shape = append(r.shape, size)
		default:
			items, cuts = append(items, ".."), append(cuts, cut{0, step, n})
			r.shape = append(r.shape, x.shape[i])
		}
	}
	r.text = fmt.Sprintf("%s[%s]", x.text, strings.Join(items, ", "))
	r.value = func(w world) []int {
		from := x.value(w)
		var out []int
		var visit func(d, at int)
		visit = func(d, at int) {
			if d == len(cuts) {
				out = append(out, from[at])
				return
			}
			for i := range cuts[d].n {
				visit(d+1, at+(cuts[d].from+i)*cuts[d].step)
			}
		}
		visit(0, 0)
		return out
	}
	return r
}
