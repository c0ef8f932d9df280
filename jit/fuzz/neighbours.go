package fuzz

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// This file makes programs about neighbours in memory that are none along one axis: windows and shifts along rows, and fields of records, of which threads load words and
// take out what they need.

// neighboursCase makes a kernel about them, with the launches that test it.
func (g *generator) neighboursCase(seed uint64) *Case {
	e := pick(g.r, lang.F32, lang.F32, lang.BF16, lang.F16, lang.U8, lang.I8, lang.I16, lang.I32, lang.F64)
	dims := map[string][]int64{"M": {1, 3, 8, 20}, "N": {1, 16, 32, 48, 64, 64, 96, 100, 128, 256, 33}, "V": {1, 5, 64}}
	pins := map[string][]int64{"BM": {1, 2, 4, 8}, "BN": {16, 32, 64, 128, 256, 512, 8, 20}, "r": {1, 2}}
	var source string
	switch g.r.IntN(5) {
	case 0:
		source = g.alongRow(e)
	case 1:
		source = g.overImage(e)
	case 2:
		source = g.shiftsOf(e)
	case 3:
		source = g.fieldsOf(e)
	default:
		source = g.recordsOf(e)
	}
	c := &Case{Source: source}
	for n := range 2 {
		r := g.trial(seed, n)
		r.Pins = map[string]int64{"warps": pick[int64](g.r, 1, 2, 4, 4)}
		r.Style = pick(g.r, Small, Small, Normal, Special)
		for _, d := range sortedKeys(dims) {
			if strings.Contains(source, d+"]") || strings.Contains(source, d+",") {
				r.Dims[d] = pick(g.r, dims[d]...)
			}
		}
		for _, name := range sortedKeys(pins) {
			if g.chance(70) && (name != "r" || strings.Contains(source, "axis r in")) {
				r.Pins[name] = pick(g.r, pins[name]...)
			}
		}
		c.Trials = append(c.Trials, r)
	}
	return c
}

// place is a position along an axis of a dimension, moved by an offset in one of the ways in which programs keep it inside; fill is what follows the load.
func (g *generator) place(axis, moved, dim string) (at, fill string) {
	switch g.r.IntN(4) {
	case 0:
		return fmt.Sprintf("clamp(index(%s)%s, 0, %s - 1)", axis, moved, dim), ""
	case 1:
		return fmt.Sprintf("min(max(index(%s)%s, 0), %s - 1)", axis, moved, dim), ""
	}
	return axis + strings.ReplaceAll(moved, "index(r)", "r"), " else " + pick(g.r, "0", "0", "1", "100")
}

// folded folds a window, of which parts may be multiplied by weights.
func (g *generator) folded(e lang.DType, x, over string) string {
	acc := "f32"
	if e.IsInt() {
		acc = "i32"
	}
	if e == lang.F64 {
		acc = "f64"
	}
	x += " as " + acc
	if g.chance(50) {
		x = fmt.Sprintf("w[r] as %s * %s", acc, x)
	}
	return fmt.Sprintf("%s(%s, over %s)", pick(g.r, "sum", "sum", "max", "min"), x, over)
}

// alongRow is a window of a few or many positions along rows, that goes forwards or backwards, in steps of one or more.
func (g *generator) alongRow(e lang.DType) string {
	k := pick(g.r, 2, 3, 5, 7, 9, 16, 33, 64)
	step := pick(g.r, "", "", "", "2 * ", "3 * ")
	dim := "N"
	if step != "" {
		dim = step + "N"
	}
	var at, fill string
	switch {
	case step == "" && g.chance(40):
		at, fill = g.place("j", fmt.Sprintf(" + index(r) - %d", g.r.IntN(k)), "N")
	case g.chance(50):
		at, fill = fmt.Sprintf("%sj + r - %d", step, g.r.IntN(k+2)), " else "+pick(g.r, "0", "0", "7")
	default:
		at, fill = fmt.Sprintf("%sj - r%s", step, pick(g.r, "", " + 1", " + 3")), " else "+pick(g.r, "0", "0", "7")
	}
	return fmt.Sprintf(`kernel k(shape: u8[N], x: %[1]s[M, %[2]s], w: %[1]s[%[3]d]) -> y: %[1]s[M, N]
    grid i in M by BM, j in N by BN
{
    axis r in %[3]d
    y[i, j] = %[4]s as %[1]s
}
`, e, dim, k, g.folded(e, fmt.Sprintf("(x[i, %s]%s)", at, fill), "r"))
}

// overImage is a window of two dimensions.
func (g *generator) overImage(e lang.DType) string {
	rows, columns := pick(g.r, 2, 3, 5), pick(g.r, 2, 3, 5, 7)
	i, j := fmt.Sprintf("i + r - %d", g.r.IntN(rows)), fmt.Sprintf("j + s - %d", g.r.IntN(columns))
	fill := " else " + pick(g.r, "0", "0", "9")
	if g.chance(40) {
		i, j, fill = "clamp(i + index(r) - 1, 0, M - 1)", fmt.Sprintf("clamp(j + index(s) - %d, 0, N - 1)", g.r.IntN(columns)), ""
	}
	return fmt.Sprintf(`kernel k(shape: u8[M, N], x: %[1]s[M, N], w: %[1]s[%[2]d]) -> y: %[1]s[M, N]
    grid i in M by BM, j in N by BN
{
    axis r in %[2]d
    axis s in %[3]d
    y[i, j] = %[4]s as %[1]s
}
`, e, rows, columns, g.folded(e, fmt.Sprintf("(x[%s, %s]%s)", i, j, fill), "(r, s)"))
}

// shiftsOf adds up loads beside each other.
func (g *generator) shiftsOf(e lang.DType) string {
	var terms []string
	most := ""
	for range 2 + g.r.IntN(4) {
		at, fill := g.place("j", fmt.Sprintf(" %s %d", pick(g.r, "+", "-"), g.r.IntN(6)), "N")
		row := "i"
		if g.chance(25) { // up to a row that differs from column to column
			row = fmt.Sprintf(pick(g.r, "min(index(i) + %d, most[j])", "clamp(index(i) - %d, 0, most[j])", "max(index(i) - %d, most[j])"), g.r.IntN(3))
			most, fill = ", most: i32[N]", " else "+pick(g.r, "0", "3")
		}
		terms = append(terms, fmt.Sprintf("(x[%s, %s]%s)", row, at, fill))
	}
	return fmt.Sprintf(`kernel k(shape: u8[N], x: %[1]s[M, N]%[3]s) -> y: %[1]s[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = %[2]s
}
`, e, strings.Join(terms, pick(g.r, " + ", " - ")), most)
}

// fieldsOf loads fields of records by their numbers and stores some or all, in place or not.
func (g *generator) fieldsOf(e lang.DType) string {
	n := 2 + g.r.IntN(3)
	at, fill := "i, j", ""
	looked := g.chance(30)
	if looked {
		at, fill = "i, at[j]", " else "+pick(g.r, "0", "5")
	}
	var lines []string
	for f := range n {
		lines = append(lines, fmt.Sprintf("let f%[1]d = x[%[2]s, %[1]d]%[3]s", f, at, fill))
	}
	order := g.r.Perm(n)
	if g.chance(25) {
		order = order[1:]
	}
	in, out, y := fmt.Sprintf("x: %s[M, N, %d], at: i32[N]", e, n), fmt.Sprintf("y: %s[M, N, %d]", e, n), "y"
	switch {
	case len(order) < n:
		in, out = in+fmt.Sprintf(", inout y: %s[M, N, %d]", e, n), fmt.Sprintf("z: %s[M, N]", e)
		lines = append(lines, "z[i, j] = f1")
	case !looked && g.chance(40):
		in, out, y = "inout "+in, fmt.Sprintf("z: %s[M, N]", e), "x"
		lines = append(lines, "z[i, j] = f1")
	}
	for k, f := range order {
		lines = append(lines, fmt.Sprintf("%s[i, j, %d] = f%d%s", y, f, (f+1)%n, []string{"", fmt.Sprintf(" + f%d", k)}[g.r.IntN(2)]))
	}
	return fmt.Sprintf(`kernel k(shape: u8[N], %s) -> %s
    grid i in M by BM, j in N by BN
{
    %s
}
`, in, out, strings.Join(lines, "\n    "))
}

// recordsOf goes through records by an axis, and multiplies them by a small matrix or moves their fields to planes.
func (g *generator) recordsOf(e lang.DType) string {
	n := 2 + g.r.IntN(3)
	if g.chance(40) {
		out, to := fmt.Sprintf("%s[M, %d, N]", e, n), "i, c, j"
		if g.chance(40) {
			out, to = fmt.Sprintf("%s[M, N, %d]", e, n), "i, j, c"
		}
		return fmt.Sprintf(`kernel k(shape: u8[N], x: %[1]s[M, N, %[2]d], b: %[1]s[%[2]d]) -> y: %[3]s
    grid i in M by BM, j in N by BN
{
    axis c in %[2]d
    y[%[4]s] = x[i, j, c] + b[c] + x[i, j, 0]
}
`, e, n, out, to)
	}
	acc := "f32"
	if e.IsInt() {
		acc = "i32"
	}
	if e == lang.F64 {
		acc = "f64"
	}
	return fmt.Sprintf(`kernel k(shape: u8[N], x: %[1]s[M, N, %[2]d], w: %[1]s[%[3]d, %[2]d]) -> y: %[1]s[M, N, %[3]d]
    grid i in M by BM, j in N by BN
{
    axis c in %[2]d
    axis d in %[3]d
    y[i, j, d] = sum(x[i, j, c] as %[4]s * w[d, c] as %[4]s, over c) as %[1]s
}
`, e, n, 2+g.r.IntN(3), acc)
}
