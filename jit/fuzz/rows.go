package fuzz

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// This file makes programs about rows that are too long for a block's registers: they are gone through by several loops, kept in shared memory or by
// threads, copied ahead, gone through by words, or shared by blocks of a cluster.

// rowsKernel reduces rows to numbers and computes other rows by them, as norms and softmaxes do.
func (g *generator) rowsKernel() string {
	g.dims = []string{"M", "N"}
	e := concrete(pick(g.r, lang.BF16, lang.BF16, lang.F16, lang.F32, lang.F32, lang.F8E4M3))
	i, j := &axis{name: "i", dim: "M", kind: gridAxis}, &axis{name: "j", dim: "N", kind: wholeAxis}
	grid := "i in M"
	if i.scalar = g.chance(60); !i.scalar {
		grid += " by " + g.extent(i, 30)
	}
	g.axes, g.wholes = []*axis{i, j}, []string{"j"}
	g.line("axis j in N")
	row := []*axis{j}
	if !i.scalar {
		row = append(row, i)
	}
	f32 := concrete(lang.F32)
	load := func(e elem) string { return g.tensor(e, []string{"M", "N"}).name + "[i, j] as f32" }
	v := load(e)
	if g.chance(30) {
		v = "(" + v + ") + (" + load(concrete(pick(g.r, lang.BF16, lang.F32, e.d))) + ")"
	}
	g.line("let v = %s", v)
	if g.chance(25) { // what is reduced is stored, too
		to := concrete(pick(g.r, lang.F32, e.d))
		g.put([]*axis{i, j}, value{"(v as " + to.name + ")", to, row})
	}
	number := func(name, text string) { g.line("let %s = %s", name, text) }
	y := ""
	switch g.r.IntN(8) {
	case 0, 1:
		number("m", "max(v, over j)")
		g.line("let p = exp(v - m)")
		number("s", "sum(p, over j)")
		y = pick(g.r, "p / s", "p / s", "v - m - log(s)")
	case 2, 3:
		number("m", "mean(v, over j)")
		g.line("let c = v - m")
		number("s", pick(g.r, "mean(c * c, over j)", "sum(c * c, over j)"))
		y = "c * rsqrt(s + 0.001)"
	case 4:
		number("s", "mean(v * v, over j)")
		y = "v * rsqrt(s + 0.001)"
	case 5:
		number("s", "sum(abs(v), over j)")
		y = "v / (s + 1)"
	case 6:
		number("m", "max(v, over j)")
		number("s", "min(v, over j)")
		number("a", pick(g.r, "argmax", "argmin")+"(v, over j)")
		y = "where(index(j) == a, m - s, v)"
	default:
		number("m", "max(abs(v), over j)")
		number("s", "sum(where(abs(v) > m * 0.5, 1, 0), over j)")
		y = "v * 0.5 + s as f32 * m"
	}
	if g.chance(50) {
		y = fmt.Sprintf("(%s) * %s[j] as f32", y, g.tensor(concrete(pick(g.r, lang.F32, e.d)), []string{"N"}).name)
	}
	if g.chance(40) {
		y = fmt.Sprintf("%s + %s[j] as f32", y, g.tensor(concrete(pick(g.r, lang.F32, e.d)), []string{"N"}).name)
	}
	if g.chance(80) {
		to := concrete(pick(g.r, lang.F32, e.d, e.d))
		g.put([]*axis{i, j}, value{"((" + y + ") as " + to.name + ")", to, row})
	} else { // rows that another reduction takes
		g.line("let z = %s", y)
		g.put([]*axis{i}, value{pick(g.r, "sum", "max") + "(z, over j)", f32, row[1:]})
	}
	if g.chance(30) && strings.Contains(strings.Join(g.lines, "\n"), "let s = ") {
		g.put([]*axis{i}, value{"(s as f32)", f32, row[1:]})
	}
	return g.assemble([]string{grid})
}

// rowTrials are launches of a few long rows.
func (g *generator) rowTrials(seed uint64) []Trial {
	var out []Trial
	for n := range 2 {
		r := g.trial(seed, n)
		r.Pins = map[string]int64{"warps": pick[int64](g.r, 1, 2, 4, 4, 8, 16)}
		r.Style = pick(g.r, Small, Small, Normal, Special)
		r.Dims["N"] = pick[int64](g.r, 64, 96, 257, 768, 1000, 1024, 1601, 2048, 3000, 4099, 8192, 9001)
		r.Dims["M"] = min(1+g.r.Int64N(9), 30000/r.Dims["N"]+1)
		if g.chance(60) { // rows in steps
			r.Pins["j"] = pick[int64](g.r, 64, 256, 256, 512, 1024, 2048)
		}
		for _, t := range g.tiles {
			if g.chance(60) {
				r.Pins[t] = pick[int64](g.r, 1, 1, 2, 4, 8)
			}
		}
		g.pinForms(&r, []formPin{
			{"kept", 60, []int64{1, 2, 3, 3, 4, 4}},
			{"words", 40, []int64{1, 2, 2}},
			{"stagger", 40, []int64{1, 2}},
			{"moments", 40, []int64{1, 2}},
			{"online", 40, []int64{1, 2, 2}},
			{"deferred", 30, []int64{1, 2}},
			{"split", 30, []int64{2, 2, 3, 4, 8}},
			{"occupancy", 15, []int64{1, 2, 3}},
			{"stages", 15, []int64{1, 2, 3}},
		})
		out = append(out, r)
	}
	return out
}
