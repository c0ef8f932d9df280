package fuzz

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilec/lang"
)

// This file makes programs about windows: sums of products over neighbours, as convolutions are, of which the compiler makes products with computed
// places, copies operands to another order, or has threads walk the windows.

// windowKernel is a formula with a window of one or two dimensions, with channels or, depthwise, a channel by itself.
func (g *generator) windowKernel() string {
	e := concrete(pick(g.r, lang.BF16, lang.BF16, lang.F16, lang.F32, lang.F32, lang.I8))
	type walked struct{ dim, axis, window, over string } // a dimension of the image, and the window's along it
	image := []walked{{"H", "h", "R", "r"}, {"W", "v", "S", "s"}}[:1+g.r.IntN(2)]
	depthwise := g.chance(25)
	// Batches and channels lie before or behind the image.
	xDims, xAt := []string{"B"}, []string{"b"}
	channels := func() { xDims, xAt = append(xDims, "C"), append(xAt, "c") }
	first := g.chance(50)
	if first {
		channels()
	}
	over := []string{}
	steps, tests := g.chance(25), []string{} // of a transposed convolution: of which terms there are is said by tests
	for _, d := range image {
		if steps && g.chance(80) {
			by := pick(g.r, 2, 2, 3)
			from := fmt.Sprintf("(index(%s)%s - index(%s))", d.axis, pick(g.r, "", " + 1", " + 2"), d.over)
			tests = append(tests, fmt.Sprintf("%s %% %d == 0", from, by))
			xDims, xAt, over = append(xDims, d.dim), append(xAt, fmt.Sprintf("%s / %d", from, by)), append(over, d.over)
			continue
		}
		stride, dilation := pick(g.r, "", "", "", " * 2"), pick(g.r, "", "", "", " * 2")
		at := fmt.Sprintf("%s%s + %s%s", d.axis, stride, d.over, dilation)
		if g.chance(80) {
			at += pick(g.r, " - 1", " - 1", " - 2")
		}
		xDims, xAt, over = append(xDims, d.dim), append(xAt, at), append(over, d.over)
	}
	if !first {
		channels()
	}
	var wDims, wAt []string
	if !depthwise {
		wDims, wAt, over = append(wDims, "O"), append(wAt, "o"), append(over, "c")
	}
	inner := g.chance(50)
	if !inner {
		wDims, wAt = append(wDims, "C"), append(wAt, "c")
	}
	for _, d := range image {
		wDims, wAt = append(wDims, d.window), append(wAt, d.over)
	}
	if inner {
		wDims, wAt = append(wDims, "C"), append(wAt, "c")
	}
	g.r.Shuffle(len(over), func(i, j int) { over[i], over[j] = over[j], over[i] })
	x, w := g.tensor(e, xDims), &tensor{name: "w", e: e, dims: wDims}
	g.tensors = append(g.tensors, w)
	out := "o"
	if depthwise {
		out = "c"
	}
	yDims, yAt := []string{"B"}, []string{"b"}
	last := g.chance(50)
	if !last {
		yDims, yAt = append(yDims, strings.ToUpper(out)), append(yAt, out)
	}
	for _, d := range image {
		yDims, yAt = append(yDims, d.dim), append(yAt, d.axis)
	}
	if last {
		yDims, yAt = append(yDims, strings.ToUpper(out)), append(yAt, out)
	}
	text := fmt.Sprintf("(%s[%s] else 0) * w[%s]", x.name, strings.Join(xAt, ", "), strings.Join(wAt, ", "))
	if len(tests) > 0 {
		text = fmt.Sprintf("where(%s, %s, 0)", strings.Join(tests, " and "), text)
	}
	text = fmt.Sprintf("sum(%s, over (%s))", text, strings.Join(over, ", "))
	acc := e.acc()
	if g.chance(40) {
		text = fmt.Sprintf("(%s + %s[%s] as %s)", text, g.tensor(e, []string{strings.ToUpper(out)}).name, out, acc.name)
	}
	if g.chance(30) {
		text = fmt.Sprintf("max(%s, 0)", text)
	}
	to := acc
	if g.chance(70) {
		to = e
	}
	y := &tensor{name: "y", e: to, dims: yDims, mode: lang.Out}
	g.tensors = append(g.tensors, y)
	g.line("y[%s] = %s as %s", strings.Join(yAt, ", "), text, to.name)
	for _, t := range g.tensors {
		for _, d := range t.dims {
			if !slices.Contains(g.dims, d) {
				g.dims = append(g.dims, d)
			}
		}
	}
	for _, a := range yAt {
		g.tiles = append(g.tiles, "B"+strings.ToUpper(a))
	}
	return g.assemble(nil)
}

// windowTrials are launches on small images, with extents as the planner takes them for products and others.
func (g *generator) windowTrials(seed uint64) []Trial {
	var out []Trial
	for n := range 2 {
		r := g.trial(seed, n)
		r.Pins = map[string]int64{"warps": pick[int64](g.r, 4, 4, 8)}
		r.Style = pick(g.r, Small, Small, Normal, Special)
		sizes := map[string][]int64{"B": {1, 1, 2, 3}, "H": {1, 7, 8, 14, 16, 17}, "W": {1, 7, 8, 14, 16, 16, 28}, "R": {1, 2, 3, 3, 5}, "S": {1, 3, 3, 4},
			"C": {1, 3, 8, 16, 32, 64, 64}, "O": {1, 8, 16, 64, 64, 72}}
		extents := map[string][]int64{"BB": {1, 1, 2}, "BH": {1, 4, 8, 8, 16}, "BV": {4, 8, 8, 16}, "BO": {8, 32, 64, 64, 128}, "BC": {1, 8, 32, 64},
			"c": {8, 16, 32, 64}, "r": {1, 1, 2}, "s": {1, 1, 4}}
		pinned := 60
		if g.chance(60) { // as wgmma multiplies them
			maps.Copy(sizes, map[string][]int64{"B": {1, 2}, "H": {8, 8, 9, 16}, "W": {8, 8, 16, 16, 20}, "R": {1, 3}, "S": {1, 3}, "C": {32, 64, 64}, "O": {64, 64, 72}})
			maps.Copy(extents, map[string][]int64{"BB": {1}, "BH": {8}, "BV": {8, 8, 16}, "BO": {64}, "c": {32, 64}, "r": {1}, "s": {1}})
			pinned = 100
		}
		for _, d := range g.dims {
			r.Dims[d] = pick(g.r, sizes[d]...)
		}
		work := func() int64 {
			all := int64(1)
			for _, n := range r.Dims {
				all *= n
			}
			return all
		}
		for _, d := range []string{"B", "O", "H", "C", "W"} {
			for work() > 6_000_000 && r.Dims[d] > 1 {
				r.Dims[d] = (r.Dims[d] + 1) / 2
			}
		}
		for _, t := range append([]string{"c", "r", "s"}, g.tiles...) {
			dim := strings.ToUpper(t)
			if len(t) > 1 {
				dim = t[1:]
			}
			if _, has := r.Dims[dim]; (has || dim == "V") && g.chance(pinned) && !slices.Contains(g.tiles, "B"+strings.ToUpper(t)) {
				r.Pins[t] = pick(g.r, extents[t]...)
			}
		}
		g.pinForms(&r, append([]formPin{{"stages", 60, []int64{1, 2, 3, 4}}}, productForms[:5]...))
		out = append(out, r)
	}
	return out
}
