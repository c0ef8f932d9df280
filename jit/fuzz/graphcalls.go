package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// This file has the kernels that made graphs call: generic ones, formulas whose
// lines are launched in parts, and some that write state.

// wholeKernel is a kernel with what it gives for tensors.
type wholeKernel struct {
	name, text string
}

// inPlace is a kernel that changes each element of a tensor of a rank, of a type within a bound.
func inPlace(name, bound string, rank int, change string) wholeKernel {
	var dims, grid, index []string
	for i := range rank {
		d, a := string(rune('A'+i)), string(rune('i'+i))
		dims, index = append(dims, d), append(index, a)
		grid = append(grid, fmt.Sprintf("%s in %s by B%s", a, d, d))
	}
	name = fmt.Sprintf("%s%d_%s", name, rank, bound)
	at := "s[" + strings.Join(index, ", ") + "]"
	return wholeKernel{name, fmt.Sprintf("kernel %s<T: %s>(inout s: T[%s])\n    grid %s\n{\n    %s = %s\n}",
		name, bound, strings.Join(dims, ", "), strings.Join(grid, ", "), at, strings.ReplaceAll(change, "s", at))}
}

// rowsLargest is a kernel that gives the largest element of each row.
func rowsLargest(bound string) wholeKernel {
	name := "largest_" + bound
	return wholeKernel{name, "kernel " + name + "<T: " + bound + `>(x: T[M, N]) -> y: T[M]
    grid i in M by BM
{
    axis j in N
    y[i] = max(x[i, j], over j)
}`}
}

// boundOf is the bound of type parameters that may stand for a type, with arithmetic.
func boundOf(d lang.DType) string {
	if d.IsFloat() {
		return "float"
	}
	return "int"
}

var wholeKernels = []wholeKernel{
	{"transposed", `kernel transposed<T: any>(x: T[M, N]) -> y: T[N, M] {
    y[j, i] = x[i, j]
}`},
	{"product", `kernel product<T: float>(a: T[M, K], b: T[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(a[i, k] * b[k, j], over k)
}`},
	{"product_loop", `kernel product_loop<T: float>(a: T[M, K], b: T[K, N]) -> c: T[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) {
        mma(a[i, k], b[k, j], acc)
    }
    c[i, j] = min(max(acc, -9), 9) as T
}`},
	{"shifted", `kernel shifted<T: any, const C: int = 1>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = x[i, j + C] else 2
}`},
	{"stats", `kernel stats(x: f32[M, N]) -> (r: f32[M], c: f32[N], y: f32[M, N]) {
    r[i] = max(x[i, j], over j)
    c[j] = min(x[i, j], over i)
    y[i, j] = min(max(x[i, j] + r[i] - c[j], -9), 9)
}`},
	{"spread", `kernel spread<T: any>(x: T[M]) -> y: T[2 * M]
    grid i in M by BM
{
    y[2 * i] = x[i]
}`},
}

func init() {
	for _, bound := range []string{"float", "int"} {
		wholeKernels = append(wholeKernels, rowsLargest(bound))
		for rank := 1; rank <= 3; rank++ {
			wholeKernels = append(wholeKernels, inPlace("bump", bound, rank, "min(s + 1, 9)"), inPlace("turn", bound, rank, "-s"))
		}
	}
}

// given is a type argument that says what the tensors say already, or nothing.
func (g *graphMaker) given(d lang.DType) string {
	if g.chance(30) {
		return ", T = " + d.String()
	}
	return ""
}

// call is the call of a kernel on x, which becomes a matrix first where that is needed.
func (g *graphMaker) call(x wholeExpr) wholeExpr {
	if len(x.shape) != 2 {
		if !x.dense {
			return g.elementwise(x)
		}
		x = g.matrix(x)
	}
	m, n := x.shape[0].n(), x.shape[1].n()
	use := func(name string) string { g.used[name] = true; return name }
	switch g.r.IntN(7) {
	case 0:
		return wholeExpr{text: fmt.Sprintf("%s(%s%s)", use("transposed"), x.text, g.given(x.d)), d: x.d, shape: wholeShape{x.shape[1], x.shape[0]}, dense: true,
			value: func(w world) []int { return transposeOf(x.value(w), m, n) }}
	case 1, 2: // x times itself, the other way round
		if !x.d.IsFloat() {
			return g.elementwise(x)
		}
		y := fmt.Sprintf("%s(%s)", use("transposed"), x.text)
		r := wholeExpr{shape: wholeShape{x.shape[0], x.shape[0]}, dense: true}
		if g.chance(50) {
			r.text, r.d = cutWhole(fmt.Sprintf("%s(%s, %s)", use("product"), x.text, y)), lang.F32
		} else {
			r.text, r.d = fmt.Sprintf("%s(%s, %s)", use("product_loop"), x.text, y), x.d
		}
		r.value = func(w world) []int {
			a := x.value(w)
			out := make([]int, 0, m*m)
			for i := range m {
				for j := range m {
					sum := 0
					for k := range n {
						sum += a[i*n+k] * a[j*n+k]
					}
					out = append(out, cutTo(sum))
				}
			}
			return out
		}
		return r
	case 3:
		return wholeExpr{text: fmt.Sprintf("%s(%s%s)", use("largest_"+boundOf(x.d)), x.text, g.given(x.d)), d: x.d, shape: x.shape[:1], dense: true, value: func(w world) []int {
			a := x.value(w)
			out := make([]int, m)
			for i := range out {
				out[i] = slices.Max(a[i*n : (i+1)*n])
			}
			return out
		}}
	case 4:
		c := g.r.IntN(3)
		text := fmt.Sprintf("%s(%s%s, C = %d)", use("shifted"), x.text, g.given(x.d), c)
		if c == 1 {
			text = fmt.Sprintf("%s(%s)", use("shifted"), x.text)
		}
		return wholeExpr{text: text, d: x.d, shape: x.shape, dense: true, value: func(w world) []int {
			a := x.value(w)
			out := make([]int, len(a))
			for i := range out {
				if out[i] = 2; i%n+c < n {
					out[i] = a[i+c]
				}
			}
			return out
		}}
	case 5:
		return g.stats(x, m, n)
	}
	row := wholeExpr{text: x.text + "[0]", d: x.d, shape: x.shape[1:], value: func(w world) []int { return x.value(w)[:n] }}
	return wholeExpr{text: fmt.Sprintf("%s(%s%s)", use("spread"), row.text, g.given(x.d)), d: x.d, shape: wholeShape{append(extentOf{{"2", 2}}, x.shape[1]...)}, dense: true, value: func(w world) []int {
		out := make([]int, 2*n)
		for i, v := range row.value(w) {
			out[2*i] = v
		}
		return out
	}}
}

// stats is one of the three results of a formula that is launched in parts.
func (g *graphMaker) stats(x wholeExpr, m, n int) wholeExpr {
	g.used["stats"] = true
	names := []string{g.fresh("r"), g.fresh("c"), g.fresh("y")}
	arg := x.text
	if x.d != lang.F32 {
		arg = fmt.Sprintf("%s as f32", x.text)
	}
	which := g.r.IntN(3)
	for i := range names {
		if i != which {
			names[i] = "_"
		}
	}
	g.line("let %s = stats(%s)", tuple(names), arg)
	rows := func(a []int) []int {
		out := make([]int, m)
		for i := range out {
			out[i] = slices.Max(a[i*n : (i+1)*n])
		}
		return out
	}
	columns := func(a []int) []int {
		out := make([]int, n)
		for j, column := 0, transposeOf(a, m, n); j < n; j++ {
			out[j] = slices.Min(column[j*m : (j+1)*m])
		}
		return out
	}
	r := wholeExpr{text: names[which], d: lang.F32, dense: true}
	switch which {
	case 0:
		r.shape, r.value = x.shape[:1], func(w world) []int { return rows(x.value(w)) }
	case 1:
		r.shape, r.value = x.shape[1:], func(w world) []int { return columns(x.value(w)) }
	default:
		r.shape, r.value = x.shape, func(w world) []int {
			a := x.value(w)
			top, low := rows(a), columns(a)
			out := make([]int, len(a))
			for i := range out {
				out[i] = cutTo(a[i] + top[i/n] - low[i%n])
			}
			return out
		}
	}
	return r
}

// matrix is a view with two dimensions.
func (g *graphMaker) matrix(x wholeExpr) wholeExpr {
	r := wholeExpr{d: x.d, value: x.value, dense: true, shape: wholeShape{nil, nil}}
	for i, e := range x.shape {
		side := min(i, 1)
		r.shape[side] = append(slices.Clone(r.shape[side]), e...)
	}
	for i, e := range r.shape {
		if len(e) == 0 {
			r.shape[i] = extentOf{{"1", 1}}
		}
	}
	r.text = fmt.Sprintf("view(%s, %s)", x.text, r.shape)
	return r
}

func transposeOf(a []int, m, n int) []int {
	out := make([]int, len(a))
	for i := range m {
		for j := range n {
			out[j*m+i] = a[i*n+j]
		}
	}
	return out
}
