package fuzz

import (
	"fmt"
	"strings"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file makes programs about ranges that are read from memory: the rows of sparse matrices, segments that are reduced, and products of groups of rows
// with a matrix each.

// offsetsName is what a tensor is called that says where ranges begin; its numbers mostly grow.
const offsetsName = "offsets"

// rangesCase makes a kernel whose ranges are those of a tensor, with the launches that test it.
func (g *generator) rangesCase(seed uint64) *Case {
	e := pick(g.r, lang.BF16, lang.BF16, lang.F16, lang.F32, lang.F32)
	to := pick(g.r, lang.F32, e)
	scale := pick(g.r, "", "", " * 2", " * 0.5")
	var source string
	dims := map[string][]int64{"E": {1, 3, 8, 20, 64}, "M": {1, 16, 65, 130, 300}, "N": {8, 32, 64, 72, 130}, "K": {16, 32, 64, 96}, "Z": {1, 40, 300, 1000}}
	pins := map[string][]int64{"ranges": {1, 2, 4, 16, 64}}
	switch g.r.IntN(5) {
	case 0:
		source = fmt.Sprintf(`kernel k(shape: u8[E], offsets: i32[E + 1], columns: i32[Z], values: %[1]s[Z], x: %[1]s[N]) -> y: %[2]s[E]
    grid i in E
{
    y[i] = (for z in Z[offsets[i] .. offsets[i + 1]] by BZ with s = 0 as f32 { s + sum(values[z] as f32 * (x[columns[z]] else 0) as f32, over z) }%[3]s) as %[2]s
}
`, e, to, scale)
		pins["BZ"] = []int64{1, 16, 64, 256}
	case 1:
		op, first := "+", "0"
		reduce := pick(g.r, "sum", "max", "min")
		if reduce != "sum" {
			op, first = reduce, map[string]string{"max": "-inf", "min": "inf"}[reduce]
		}
		next := fmt.Sprintf("s + sum(x[i, j] as f32%s, over i)", scale)
		if op != "+" {
			next = fmt.Sprintf("%s(s, %s(x[i, j] as f32%s, over i))", op, op, scale)
		}
		source = fmt.Sprintf(`kernel k(shape: u8[E], offsets: i32[E + 1], x: %s[M, N]) -> y: %s[E, N]
    grid e in E, j in N by BJ
{
    y[e, j] = (for i in M[offsets[e] .. offsets[e + 1]] by BI with s = full(f32, %s, j) { %s }) as %[2]s
}
`, e, to, first, next)
		pins["BJ"], pins["BI"] = []int64{1, 8, 32, 64}, []int64{1, 8, 32}
	case 2:
		from := pick(g.r, "offsets[e]", "i.start - 20", "")
		source = fmt.Sprintf(`kernel k(shape: u8[E], offsets: i32[E + 1], x: %[1]s[M, K], v: %[1]s[M, N]) -> y: %[2]s[M, N]
    grid e in E, i in M[offsets[e] .. offsets[e + 1]] by BI, n in N by BN
{
    axis d in K
    let acc = for j in M[%[3]s .. i.end] by BJ with acc = zeros(f32, i, n) {
        let p = where(index(j) <= index(i), dot(x[i, d], x[j, d])%[4]s, 0)
        mma(p as %[1]s, v[j, n], acc)
    }
    y[i, n] = acc as %[2]s
}
`, e, to, from, scale)
		dims["E"] = []int64{1, 2, 3, 5, 8}
		pins = map[string][]int64{"BI": {16, 32, 64, 64, 128}, "BJ": {16, 32, 64, 64, 128}, "BN": {32, 64, 64}, "persist": {0, 1, 2}, "stages": {1, 2, 3, 4}}
	default:
		w, at := "E, K, N", "e, k, j"
		if g.chance(50) {
			w, at = "E, N, K", "e, j, k"
		}
		bias, add := "", ""
		if g.chance(40) {
			bias, add = fmt.Sprintf(", b: %s[E, N]", e), " + b[e, j] as f32"
		}
		source = fmt.Sprintf(`kernel k(shape: u8[E], offsets: i32[E + 1], x: %[1]s[M, K], w: %[1]s[%[2]s]%[3]s) -> y: %[4]s[M, N]
    grid e in E, i in M[offsets[e] .. offsets[e + 1]] by BI, j in N by BJ
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], w[%[5]s], acc) }
    y[i, j] = (acc%[6]s%[7]s) as %[4]s
}
`, e, w, bias, to, at, scale, add)
		dims["E"] = []int64{1, 2, 3, 5, 8}
		pins = map[string][]int64{"BI": {16, 32, 64, 64, 128}, "BJ": {32, 64, 64, 128}, "BK": {16, 32, 64}, "persist": {0, 1, 2}, "stages": {1, 2, 3, 4}}
	}
	c := &Case{Source: source}
	for n := range 2 {
		r := g.trial(seed, n)
		r.Pins = map[string]int64{"warps": pick[int64](g.r, 1, 2, 4, 4, 8)}
		r.Style = pick(g.r, Small, Small, Normal)
		for _, d := range sortedKeys(dims) {
			if strings.Contains(source, d+"]") || strings.Contains(source, d+",") || strings.Contains(source, d+" ") {
				r.Dims[d] = pick(g.r, dims[d]...)
			}
		}
		for _, name := range sortedKeys(pins) {
			if g.chance(60) {
				r.Pins[name] = pick(g.r, pins[name]...)
			}
		}
		c.Trials = append(c.Trials, r)
	}
	return c
}

// offsets draws where n - 1 ranges begin, of which each mostly ends where the next begins; now and then one begins before or behind everything.
func offsets(n int64, seed uint64) []ir.Const {
	r := random(seed, offsetsName)
	all, at := make([]ir.Const, n), int64(0)
	step := pick[int64](r, 1, 8, 40)
	for i := range all {
		all[i].Int = at
		at += r.Int64N(2*step + 1)
	}
	if r.IntN(8) == 0 {
		all[0].Int = -3
	}
	return all
}
