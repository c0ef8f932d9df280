package typecheck_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a loop gives is the same however its axis is cut, and the planner may cut it as it likes; or it is not, and the
// language does.
func TestLoopsOverPartsAreFixedWhereItMatters(t *testing.T) {
	const guarded = `let m2 = max(m, max(x[i, k], over k))
        let u = where(m2 == -inf, 0, m2)
        `
	const from = " with (m, l) = (full(f32, -inf, i), zeros(f32, i))"
	for _, c := range []struct {
		name, header, body, after string
		fixed                     bool
	}{
		{"sum", "let a = ", "a + sum(x[i, k], over k)", " with a = zeros(f32, i)", false},
		{"sum from elsewhere", "let a = ", "a + 2 * sum(x[i, k] * w[k], over k) - dot(x[i, k], w[k], over k) / 3", " with a = b[i]", false},
		{"product", "let a = ", "a * prod(x[i, k], over k)", " with a = ones(f32, i)", false},
		{"largest", "let a = ", "max(a, max(x[i, k], over k))", " with a = zeros(f32, i)", false},
		{"any", "let a = ", "a or any(x[i, k] > 0, over k)", " with a = full(bool, false, i)", false},
		{"contraction", "let a = ", "mma(x[i, k], y[k, j], a)", " with a = zeros(f32, i, j)", false},
		{"function", "let a = ", "min(a, reduce(x[i, k], over k, inf, (p, q) => min(p, q)))", " with a = zeros(f32, i)", false},
		{"several", "let (a, c) = ", "(c + sum(x[i, k], over k), a)", " with (a, c) = (zeros(f32, i), zeros(f32, i))", true},
		{"two", "let (a, c) = ", "(a + sum(x[i, k], over k), max(c, max(x[i, k], over k)))", " with (a, c) = (zeros(f32, i), zeros(f32, i))", false},
		{"loop inside", "let a = ", "for n in 3 with a = a { a + sum(x[i, k] * n as f32, over k) }", " with a = zeros(f32, i)", false},
		{"inner axis", "let a = ", "a + sum(for q in J by BJ with s = zeros(f32, i, k) { s + x[i, k] * sum(y[k, q], over q) }, over k)", " with a = zeros(f32, i)", false},
		{"where", "let a = ", "a + sum(where(index(k) < index(i), x[i, k], 0), over k)", " with a = zeros(f32, i)", false},
		{"constant", "let a = ", "if W { a + sum(x[i, k], over k) } else { a }", " with a = zeros(f32, i)", false},
		{"store", "", "z[i, k] = x[i, k] + 1", "", false},
		{"store moved", "", "z[i, index(k) + 1] = x[i, k]", "", false},
		{"atomics of sums", "", "atomic_add(t[i], sum(x[i, k], over k))", "", false},
		{"atomics of elements", "", "atomic_add(s[k], sum(x[i, k], over i))", "", false},

		{"softmax", "let (m, l) = ", guarded + "(m2, l * exp(m - u) + sum(exp(x[i, k] - u), over k))", from, false},
		{"softmax scaled", "let (m, l) = ", guarded + "(m2, l * exp2((m - u) * scale) + sum(exp2((x[i, k] - u) * scale) * w[k], over k))", from, false},
		{"softmax of scaled terms", "let (m, l) = ", guarded + "(m2, l * exp2(m * scale - u * scale) + sum(exp2(x[i, k] * scale - u * scale), over k))", from, false},
		{"softmax of terms with a scale of another maximum", "let (m, l) = ", guarded + "(m2, l * exp2(m - u * scale) + sum(exp2(x[i, k] * scale - u * scale), over k))", from, true},
		{"softmax of scaled terms and a maximum that is not", "let (m, l) = ", guarded + "(m2, l * exp2(m - u) + sum(exp2(x[i, k] * scale - u * scale), over k))", from, true},
		{"softmax that scales its maximum", "let (m, l) = ", guarded + "(m2 * scale, l * exp2(m * scale - u * scale) + sum(exp2(x[i, k] * scale - u * scale), over k))", from, true},
		{"softmax of a start", "let (m, l) = ", "let m2 = max(m, max(x[i, k], over k))\n        (m2, l * exp(m - m2) + sum(exp(x[i, k] - m2), over k))", " with (m, l) = (full(f32, -1e30, i), zeros(f32, i))", false},
		{"attention", "let (m, l, a) = ", guarded + "let p = exp(x[i, k] - u)\n        let r = exp(m - u)\n        (m2, l * r + sum(p, over k), mma(p, y[k, j], a * r))", " with (m, l, a) = (full(f32, -inf, i), zeros(f32, i), zeros(f32, i, j))", false},
		{"softmax of infinities", "let (m, l) = ", "let m2 = max(m, max(x[i, k], over k))\n        (m2, l * exp(m - m2) + sum(exp(x[i, k] - m2), over k))", from, true},
		{"softmax of two scales", "let (m, l) = ", guarded + "(m2, l * exp2((m - u) * scale) + sum(exp2(x[i, k] - u), over k))", from, true},
		{"softmax of two functions", "let (m, l) = ", guarded + "(m2, l * exp2(m - u) + sum(exp(x[i, k] - u), over k))", from, true},
		{"softmax that forgets to rescale", "let (m, l) = ", guarded + "(m2, l + sum(exp(x[i, k] - u), over k))", from, true},
		{"softmax that keeps another maximum", "let (m, l) = ", guarded + "(max(m2, 3), l * exp(m - u) + sum(exp(x[i, k] - u), over k))", from, true},

		{"steps", "let a = ", "a + 1", " with a = zeros(f32, i)", true},
		{"function of what is carried", "let a = ", "a + reduce(b[i] + sum(x[i, k], over k) * 0, over i, 0.0, (p, q) => p + q * max(a, 0))", " with a = 0.0", true},
		{"assert of one step", "", "if max(x[i, k], over (i, k)) > 3 { assert(scale > 0) }", "", true},
		{"quotient of integers", "let a = ", "a + sum(x[i, k] as i32, over k) / 2", " with a = zeros(i32, i)", true},
		{"store at no position", "", "z[i, index(k) * 0] = x[i, k]", "", true},
		{"step of an atomic", "", "if k.start == 0 { atomic_add(t[i], 1) }", "", true},
		{"halves", "let a = ", "a * 0.5 + sum(x[i, k], over k)", " with a = zeros(f32, i)", true},
		{"last", "let a = ", "max(x[i, k], over k)", " with a = zeros(f32, i)", true},
		{"mean", "let a = ", "a + mean(x[i, k], over k)", " with a = zeros(f32, i)", true},
		{"sum of what is carried", "let a = ", "a + sum(x[i, k] * a, over k)", " with a = zeros(f32, i)", true},
		{"square of a sum", "let a = ", "a + sum(x[i, k], over k) ** 2", " with a = zeros(f32, i)", true},
		{"largest sum", "let a = ", "max(a, sum(x[i, k], over k))", " with a = zeros(f32, i)", true},
		{"rounded", "let a = ", "a + sum(x[i, k], over k) as i32", " with a = zeros(i32, i)", true},
		{"wrapped", "let a = ", "a + sum(x[i, k] as i32, over k) as i64", " with a = zeros(i64, i)", true},
		{"choice", "let a = ", "where(a > 3, a, a + sum(x[i, k], over k))", " with a = zeros(f32, i)", true},
		{"branch", "let a = ", "if max(x[i, k], over (i, k)) > 3 { a } else { a + sum(x[i, k], over k) }", " with a = zeros(f32, i)", true},
		{"store of what is carried", "let a = ", "let c = a + sum(x[i, k], over k)\n        z[i, k] = c\n        c", " with a = zeros(f32, i)", true},
		{"store of a part", "", "z[i, k] = x[i, k] / max(x[i, k], over k)", "", true},
		{"last store", "", "t[i] = sum(x[i, k], over k)", "", true},
		{"two stores that meet", "", "z[i, k] = 1\n        z[i, index(k) + 1] = 2", "", true},
		{"read behind", "", "z[i, index(k) + 1] = z[i, k]", "", true},
		{"what an atomic gives outside", "let a = ", "z[i, k] = atomic_max(s[index(k) + 1] else a, w[k])\n        a + sum(w[k], over k)", " with a = 0.0", true},
		{"an atomic that may lie outside", "let a = ", "z[i, k] = atomic_max(s[index(k) + 1] else 2, w[k])\n        a + sum(w[k], over k)", " with a = 0.0", false},
		{"store at a carried distance", "", "let p = for n in 3 with p = 0 {\n            z[i, index(k) + p] = x[i, k] * n as f32\n            p + 1\n        }\n        assert(p == 3)", "", true},
		{"bounds", "let a = ", "a + k.start as f32", " with a = zeros(f32, i)", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := fmt.Sprintf(`kernel f<const W: bool = true>(x: f32[M, N], y: f32[N, J], w: f32[N], b: f32[M], scale: f32, inout z: f32[M, N], inout t: f32[M], inout s: f32[N]) -> o: f32[M]
    grid i in M by BM
{
    axis j in J
    o[i] = b[i]
    %sfor k in N by BK%s {
        %s
    }
    z[i, 0] = 0
    t[i] = 0
    atomic_add(s[0], sum(ones(f32, i), over i))
}
`, c.header, c.after, c.body)
			p, problems := check(t, source)
			require.Empty(t, problems, source)
			found := false
			for _, a := range p.Kernels[0].Axes {
				if a.Tile == "BK" {
					found = true
					assert.Equal(t, c.fixed, a.Extent > 0, source)
				} else if a.Tile != "" {
					assert.Zero(t, a.Extent, a.Name)
				}
			}
			assert.True(t, found)
		})
	}
}
