package fuzz

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"tilec/lang"
)

// This file makes steps: graphs of products of few rows with constant weights, of what lies between them, and of what is computed of rows, as a step of
// decoding has them. The passes of graphs and the planner give such launches forms of their own: they begin while the launch before runs, read weights
// ahead, share a depth and are joined. Steps are run with a launch for each call too and must give the same bits: what is multiplied is rounded to small
// multiples of a quarter first, so that every sum is exact in whatever order.

// stepMaker makes one step.
type stepMaker struct {
	lets
	r      *rand.Rand
	d      lang.DType
	params []string
	vars   []stepValue
	used   map[string]bool
}

// stepValue is a matrix of a step, with the names of its numbers of rows and columns.
type stepValue struct{ text, rows, columns string }

// stepKernels are what steps call; each product of a row has at most 256 terms of up to 16.
var stepKernels = map[string]string{
	"project": `kernel project<T: float>(x: T[M, K], w: T[N, K]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], w[j, k], acc) }
    y[i, j] = acc as T
}`,
	"project_bias": `kernel project_bias<T: float>(x: T[M, K], w: T[N, K], b: T[N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], w[j, k], acc) }
    y[i, j] = (acc + b[j] as f32) as T
}`,
	"linear": `kernel linear<T: float>(x: T[M, K], w: T[K, N]) -> y: T[M, N] {
    y[i, j] = sum(x[i, k] * w[k, j], over k) as T
}`,
	"below_sum": `kernel below_sum<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    let v = x[i, j] as f32
    let m = max(v, over j)
    y[i, j] = (v - sum(floor(min(max(v - m, -4), 4)), over j)) as T
}`,
	"scaled_rows": `kernel scaled_rows<T: float>(x: T[M, N], g: T[N]) -> y: T[M, N]
    grid i in M
{
    axis j in N
    let v = x[i, j] as f32
    y[i, j] = where(max(abs(v), over j) > 3, v * g[j] as f32, v) as T
}`,
	"attended": `kernel attended<T: float>(q: T[M, K], keys: T[P, K], values: T[P, N]) -> y: T[M, N]
    grid i in M by BM
{
    axis k in K
    axis n in N
    let acc = for p in P by BP with acc = zeros(f32, i, n) {
        let s = dot(q[i, k], keys[p, k])
        mma(min(max(floor(s), -2), 2) as T, values[p, n], acc)
    }
    y[i, n] = acc as T
}`,
}

// stepCase makes a step with the launches that test it.
func stepCase(seed uint64) *Case {
	g := &stepMaker{r: random(seed, "step"), used: map[string]bool{}}
	g.d = pick(g.r, lang.BF16, lang.BF16, lang.BF16, lang.F16, lang.F32)
	g.vars = []stepValue{{g.param("x", "B", "D"), "B", "D"}}
	for range 3 + g.r.IntN(7) {
		g.statement()
	}
	var outs, ends []string
	for i := range 1 + g.r.IntN(2) {
		v := g.vars[len(g.vars)-1-g.r.IntN(min(len(g.vars), 3))]
		outs, ends = append(outs, fmt.Sprintf("y%d: %s[%s, %s]", i, g.d, v.rows, v.columns)), append(ends, fmt.Sprintf("    y%d = %s", i, v.text))
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(g.used)) {
		b.WriteString(stepKernels[name] + "\n")
	}
	fmt.Fprintf(&b, "graph g(%s) -> %s {\n%s\n%s\n}\n", strings.Join(g.params, ", "), tuple(outs), strings.Join(g.lines, "\n"), strings.Join(ends, "\n"))
	c := &Case{Source: b.String()}
	for range 2 {
		c.Trials = append(c.Trials, Trial{Style: Small, Seed: seed, Dims: map[string]int64{
			"B": pick[int64](g.r, 1, 1, 1, 2, 3, 8, 16, 17, 32, 40), "D": pick[int64](g.r, 64, 96, 128, 200, 256),
			"F": pick[int64](g.r, 72, 128, 256), "P": pick[int64](g.r, 16, 100, 128)}})
	}
	return c
}

// param adds a tensor parameter.
func (g *stepMaker) param(prefix string, dims ...string) string {
	name := fmt.Sprintf("%s%d", prefix, len(g.params))
	g.params = append(g.params, fmt.Sprintf("%s: %s[%s]", name, g.d, strings.Join(dims, ", ")))
	return name
}

func (g *stepMaker) bind(v stepValue) {
	v.text = g.let(v.text)
	g.vars = append(g.vars, v)
}

// small is a matrix as products take it: small whole numbers.
func (g *stepMaker) small(v stepValue) string {
	return fmt.Sprintf("floor(min(max(%s, -4), 4))", v.text)
}

func (g *stepMaker) call(kernel string, rows, columns string, args ...string) {
	g.used[kernel] = true
	g.bind(stepValue{fmt.Sprintf("%s(%s)", kernel, strings.Join(args, ", ")), rows, columns})
}

func (g *stepMaker) statement() {
	x := g.vars[len(g.vars)-1]
	if g.r.IntN(3) == 0 {
		x = pick(g.r, g.vars...)
	}
	other := pick(g.r, "D", "F")
	switch k := g.r.IntN(100); {
	case k < 45:
		in, products := g.small(x), pick(g.r, 1, 1, 1, 2, 3)
		for range products { // several of one matrix lie side by side
			switch g.r.IntN(3) {
			case 0:
				g.call("project", x.rows, other, in, g.param("w", other, x.columns))
			case 1:
				g.call("project_bias", x.rows, other, in, g.param("w", other, x.columns), g.param("b", other))
			default:
				g.call("linear", x.rows, other, in, g.param("w", x.columns, other))
			}
		}
		if last := g.vars[len(g.vars)-products:]; products > 1 && g.r.IntN(2) == 0 { // which are one launch where one element comes of both
			g.bind(stepValue{fmt.Sprintf(pick(g.r, "(max(%s, 0) + %s)", "min(%s, %s)", "(%s - floor(%s))"), last[0].text, last[1].text), x.rows, other})
		}
	case k < 55:
		g.call("below_sum", x.rows, x.columns, x.text)
	case k < 62:
		g.call("scaled_rows", x.rows, x.columns, g.small(x), g.param("g", x.columns))
	case k < 72:
		g.call("attended", x.rows, other, g.small(x), g.param("k", "P", x.columns), g.param("u", "P", other))
	case k < 77 && x.rows == "B":
		g.bind(stepValue{x.text + "[B - 1 .. B]", "1", x.columns})
	default:
		var alike []string
		for _, y := range g.vars {
			if y.rows == x.rows && y.columns == x.columns {
				alike = append(alike, y.text)
			}
		}
		g.bind(stepValue{fmt.Sprintf(pick(g.r, "max(%[1]s, 0)", "(%[1]s + %[2]s)", "(%[1]s + %[2]s)", "min(%[1]s, %[2]s)", "where(%[1]s > %[2]s, %[1]s, %[2]s * 2)"), x.text, pick(g.r, alike...)),
			x.rows, x.columns})
	}
}
