package fuzz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// This file makes programs whose products are computed by the forms of code that large ones have: by wgmma, with copies by the tensor
// memory accelerator, warps that only copy, blocks that stay and blocks that share copies. Plans of small programs have none of them, so
// the launches pin them.

// mostSums is how many elements of a product a thread may have: with more, nothing else has room, and the pins are refused.
const mostSums = 72

// productTrials are launches of one matrix product, whose sizes mostly suit wide copies.
func (g *generator) productTrials(seed uint64) []Trial {
	var out []Trial
	for n := range 2 {
		r := g.trial(seed, n)
		r.Pins = map[string]int64{"warps": pick[int64](g.r, 4, 4, 4, 8), "stages": pick[int64](g.r, 1, 2, 3, 4, 4, 6)}
		r.Style = pick(g.r, Small, Small, Normal, Special)
		// The tensor memory accelerator takes rows of multiples of 16 bytes; results may lie as they like.
		odd := func(n int64, suited int) int64 {
			if g.chance(suited) {
				return max(n+pick[int64](g.r, 0, 0, 0, 16, -16), 16)
			}
			return max(n+pick[int64](g.r, 0, -1, 1, 8, -8, 3), 1)
		}
		rows, columns, depth := pick[int64](g.r, 64, 64, 64, 128, 128, 192, 80), pick[int64](g.r, 8, 32, 64, 64, 96, 128, 144, 256), pick[int64](g.r, 16, 32, 64, 64, 128)
		for rows*columns > mostSums*32*r.Pins["warps"] && columns > 32 {
			columns -= 32
		}
		many := g.chance(15) // more tiles than there are multiprocessors, so that blocks that stay have several
		if many {
			rows, columns = 64, pick[int64](g.r, 8, 16)
		}
		for axis, n := range map[string]int64{"i": rows, "j": columns, "k": depth} {
			if axis != "k" || g.groups == 0 { // whose steps are groups
				r.Pins[cmp.Or(g.tileOf[axis], axis)] = n
			}
		}
		r.Dims["M"], r.Dims["N"] = odd(rows*(1+g.r.Int64N(3)), 70), odd(columns*(1+g.r.Int64N(3)), 60)
		r.Dims["K"] = odd(pick[int64](g.r, 32, 64, 64, 128, 192, 256), 90)
		r.Dims["B"] = 1 + g.r.Int64N(3)
		if many {
			r.Dims["M"], r.Dims["N"], r.Dims["K"], r.Dims["B"] = odd(4*rows, 70), odd(36*columns, 60), 32, 1
		}
		limitProduct(r.Dims, 6_000_000)
		g.pinForms(&r, productForms)
		out = append(out, r)
	}
	return out
}

// limitProduct makes a product smaller until it has no more than so many multiplications.
func limitProduct(dims map[string]int64, most int64) {
	for _, d := range []string{"B", "K", "N", "M"} {
		for dims["M"]*dims["N"]*dims["K"]*dims["B"] > most && (d == "B" && dims[d] > 1 || dims[d] > 32) {
			if dims[d] /= 2; dims[d] > 16 {
				dims[d] = dims[d] / 16 * 16
			}
		}
	}
}

// formPin is a form that a launch may pin, how often of a hundred times, and its values.
type formPin struct {
	name   string
	chance int
	values []int64
}

// pinForms pins forms of code, each now and then.
func (g *generator) pinForms(r *Trial, all []formPin) {
	for _, f := range all {
		delete(r.Pins, f.name)
		if g.chance(f.chance) {
			r.Pins[f.name] = pick(g.r, f.values...)
		}
	}
}

// productForms are those of products.
var productForms = []formPin{
	{"persist", 60, []int64{0, 1, 1, 2, 2}},
	{"cluster", 30, []int64{2, 2, 2, 4}},
	{"producer", 25, []int64{1, 4, 4}},
	{"relayout", 30, []int64{1, 1, 2}},
	{"wgmma", 60, []int64{1, 2, 2, 2, 2, 2}},
	{"occupancy", 10, []int64{1, 2, 3}},
	{"longest", 20, []int64{1, 2, 8}},
	{"phases", 30, []int64{1, 2}},
	{"overlap", 40, []int64{1, 2, 3}},
	{"deferred", 30, []int64{1, 2}},
	{"chains", 20, []int64{1, 2}},
}

// attentionKernel makes a kernel with a product that takes what is computed of another's results in a loop, as attention does.
func (g *generator) attentionKernel() string {
	g.matrix = true
	g.dims = []string{"H", "S", "P", "D", "E"}
	e := concrete(pick(g.r, lang.BF16, lang.BF16, lang.F16, lang.F16, lang.F32, lang.F8E4M3))
	access := func(dims ...string) string {
		positions := map[string]string{"H": "h", "S": "i", "P": "j", "D": "d", "E": "e"}
		if g.chance(50) { // heads in the middle of the rows
			dims[0], dims[1] = dims[1], dims[0]
		}
		at := make([]string, len(dims))
		for i, d := range dims {
			at[i] = positions[d]
		}
		return fmt.Sprintf("%s[%s]", g.tensor(e, dims).name, strings.Join(at, ", "))
	}
	q, k, v := access("H", "S", "D"), access("H", "P", "D"), access("H", "P", "E")
	causal := g.chance(60)
	if g.chance(35) {
		return g.attentionFormula(e, q, k, v, causal)
	}
	by := g.fresh("B")
	g.tunes = append(g.tunes, fmt.Sprintf("%s = %d", by, pick(g.r, 64, 64, 64, 64, 128, 128, 16, 32)))
	step := g.fresh("B")
	g.tunes = append(g.tunes, fmt.Sprintf("%s = %d", step, pick(g.r, 32, 64, 64, 128)))
	g.line("axis d in D")
	g.line("axis e in E")
	over, first := "P", ""
	if causal && g.chance(50) {
		first = "first + "
		g.line("let first = clamp(%s, 0, 60)", g.scalar(concrete(lang.I32)).text)
	}
	if causal && g.chance(70) {
		over = "P[.. " + first + "i.end]"
	}
	g.line("let q = %s", q)
	g.line("let (m, l, acc) = for j in %s by %s with (m, l, acc) = (full(f32, -inf, i), zeros(f32, i), zeros(f32, i, e)) {", over, step)
	g.line("    let s = dot(q, %s)%s", k, pick(g.r, "", " * 0.125", " * 0.3"))
	if g.chance(20) {
		g.line("    let s = s + %s[%s] as f32", g.tensor(concrete(pick(g.r, lang.F32, lang.BF16)), []string{"S", "P"}).name, "i, j")
	}
	if causal {
		g.line("    let s = where(index(j) <= %sindex(i)%s, s, -inf)", first, pick(g.r, "", "", " and index(j) > index(i) - 70"))
	}
	g.line("    let n = max(m, max(s, over j))")
	g.line("    let u = where(n == -inf, 0, n)")
	f := pick(g.r, "exp", "exp2")
	g.line("    let p = %s(s - u)", f)
	g.line("    let r = %s(m - u)", f)
	g.line("    (n, l * r + sum(p, over j), mma(p as %s, %s, acc * r))", e.name, v)
	g.line("}")
	h, i, d := &axis{name: "h", dim: "H", scalar: true}, &axis{name: "i", dim: "S"}, &axis{name: "e", dim: "E", kind: wholeAxis}
	g.put([]*axis{h, i, d}, value{"(where(l == 0, 0, acc / l) as " + e.name + ")", e, []*axis{i, d}})
	if g.chance(30) {
		g.put([]*axis{h, i}, value{"(m + log(l))", concrete(lang.F32), []*axis{i}})
	}
	// Blocks do not share the positions: weights are rounded relative to the largest score so far, and which scores those are would be
	// another's choice than the reference's.
	g.attributes = append(g.attributes, "@split(j, 1)")
	return g.assemble([]string{"h in H", "i in S by " + by})
}

// attentionFormula makes attention of whole axes: the passes of its softmax may become one loop.
func (g *generator) attentionFormula(e elem, q, k, v string, causal bool) string {
	by := g.fresh("B")
	g.tunes = append(g.tunes, fmt.Sprintf("%s = %d", by, pick(g.r, 64, 64, 128, 16)))
	g.wholes = []string{"j"}
	for _, a := range []string{"d in D", "e in E", "j in P"} {
		g.line("axis %s", a)
	}
	g.line("let s = dot(%s, %s)%s", q, k, pick(g.r, "", " * 0.125", " * 0.3"))
	if causal {
		g.line("let s = where(index(j) <= index(i)%s, s, -inf)", pick(g.r, "", "", " and index(j) != index(i) - 7"))
	}
	g.line("let m = max(s, over j)")
	at, f := "m", pick(g.r, "exp", "exp", "exp2")
	if g.chance(30) {
		g.line("let u = where(m == -inf, 0, m)")
		at = "u"
	}
	g.line("let p = %s(%s)", f, pick(g.r, "s - "+at, "s - "+at, "(s - "+at+") * 0.7"))
	g.line("let l = sum(p, over j)")
	w, out := "p", "acc / l"
	if g.chance(40) { // divided before the product
		w, out = "(p / l)", "acc"
	}
	if g.chance(20) { // some weights are left out
		g.line("let w = where((index(j) + index(i)) %% 3 == 0, 0, %s)", w)
		w = "w"
	}
	g.line("let acc = dot(%s as %s, %s)", w, e.name, v)
	h, i, d := &axis{name: "h", dim: "H", scalar: true}, &axis{name: "i", dim: "S"}, &axis{name: "e", dim: "E", kind: wholeAxis}
	g.put([]*axis{h, i, d}, value{"(" + out + ") as " + e.name, e, []*axis{i, d}})
	if g.chance(30) {
		g.put([]*axis{h, i}, value{"(m + log(l))", concrete(lang.F32), []*axis{i}})
	}
	return g.assemble([]string{"h in H", "i in S by " + by})
}

// attentionTrials are launches of attention: heads of sizes that there are, and some that there are not.
func (g *generator) attentionTrials(seed uint64) []Trial {
	var out []Trial
	for n := range 2 {
		r := g.trial(seed, n)
		r.Pins = map[string]int64{"warps": pick[int64](g.r, 4, 4, 8), "stages": 1 + g.r.Int64N(4)}
		r.Style = pick(g.r, Small, Normal, Normal)
		r.Dims["D"] = pick[int64](g.r, 16, 32, 64, 64, 64, 128, 40)
		r.Dims["E"] = pick(g.r, r.Dims["D"], r.Dims["D"], 64, 32)
		r.Dims["S"] = pick[int64](g.r, 1, 64, 128, 128, 129, 200, 256)
		r.Dims["P"] = pick(g.r, r.Dims["S"], r.Dims["S"], 64, 100, 192, 256)
		r.Dims["H"] = 1 + g.r.Int64N(2)
		for r.Dims["H"]*r.Dims["S"]*r.Dims["P"]*(r.Dims["D"]+r.Dims["E"]) > 6_000_000 {
			r.Dims["S"], r.Dims["H"] = (r.Dims["S"]+1)/2, 1
		}
		g.pinForms(&r, productForms)
		g.pinForms(&r, []formPin{{"online", 60, []int64{1, 2, 2, 2}}})
		if slices.Contains(g.wholes, "j") && g.chance(50) {
			r.Pins["j"] = pick[int64](g.r, 16, 32, 64, 64, 128)
		}
		out = append(out, r)
	}
	return out
}
