package docs_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

type (
	array   = jittest.Array
	bounded = jittest.Bounded
)

var normal = jittest.Normal

// exact is element i of an array.
func exact(a *array, i int) bounded { return jittest.Exact(a.Float(i)) }

// step runs the kernels of one step of the tutorial.
func step(t *testing.T, file string) func(t *testing.T, kernel string, args ...any) *array {
	path := filepath.Join("tutorial", file)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	k := jittest.Load(t, path, string(text))
	return func(t *testing.T, kernel string, args ...any) *array {
		t.Helper()
		return k.Run(t, kernel, jit.Options{}, args...)[0]
	}
}

// TestTutorialShowsItsFiles compares the page with the programs that are tested.
func TestTutorialShowsItsFiles(t *testing.T) {
	page, err := os.ReadFile("tutorial.md")
	require.NoError(t, err)
	files, err := filepath.Glob("tutorial/*.tile")
	require.NoError(t, err)
	require.Len(t, files, 14)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(page), "```tile\n"+string(text)+"```\n", file)
	}
	assert.Equal(t, len(files), strings.Count(string(page), "```tile\n"))
}

func TestTutorialConstantAdd(t *testing.T) {
	for file, kernel := range map[string]string{"01-constant-add.tile": "add_ten", "02-blocks.tile": "add_ten_in_blocks"} {
		run := step(t, file)
		for _, n := range []int64{1, 31, 200} {
			x := normal(lang.F32, kernel, n)
			jittest.Near(t, run(t, kernel, x), func(i int) bounded { return exact(x, i).Add(jittest.Exact(10)) })
		}
	}
}

func TestTutorialOuterAdd(t *testing.T) {
	x, y := normal(lang.F32, "outer x", 100), normal(lang.F32, "outer y", 37)
	for file, kernel := range map[string]string{"03-outer-add.tile": "outer_add", "04-outer-add-blocks.tile": "outer_add_in_blocks"} {
		jittest.Near(t, step(t, file)(t, kernel, x, y), func(e int) bounded { return exact(x, e%100).Add(exact(y, e/100)) })
	}
}

func TestTutorialFused(t *testing.T) {
	x, y := normal(lang.F32, "fused x", 100), normal(lang.F32, "fused y", 37)
	jittest.Near(t, step(t, "05-fused.tile")(t, "outer_relu", x, y), func(e int) bounded {
		p := exact(x, e%100).Mul(exact(y, e/100))
		p.V = max(p.V, 0) // moves no two numbers apart
		return p
	})
}

func TestTutorialBackward(t *testing.T) {
	x, y, dz := normal(lang.F32, "backward x", 37, 100), normal(lang.F32, "backward y", 37), normal(lang.F32, "backward dz", 37, 100)
	jittest.Near(t, step(t, "06-backward.tile")(t, "outer_relu_backward", x, y, dz), func(e int) bounded {
		if x.Float(e)*y.Float(e/100) <= 0 {
			return jittest.Exact(0)
		}
		return exact(y, e/100).Mul(exact(dz, e))
	})
}

func TestTutorialLongSum(t *testing.T) {
	run := step(t, "07-long-sum.tile")
	x := normal(lang.F32, "long sum", 3, 9001)
	for _, kernel := range []string{"long_sum", "long_sum_in_passes"} {
		jittest.Near(t, run(t, kernel, x), func(i int) bounded {
			row := make([]bounded, 9001)
			for j := range row {
				row[j] = exact(x, i*9001+j)
			}
			return jittest.Sum(row)
		})
	}
}

// largest is the largest of some numbers, as one that is exact.
func largest(list []bounded) bounded {
	m := math.Inf(-1)
	for _, v := range list {
		m = max(m, v.V)
	}
	return jittest.Exact(m)
}

// atOnce is exp(s - m) of each score, m being their largest.
func atOnce(scores []bounded) []bounded {
	m := largest(scores)
	p := make([]bounded, len(scores))
	for j, s := range scores {
		p[j] = s.Sub(m).Exp()
	}
	return p
}

// online is exp(s - m) of each score, as a loop over them computes it that
// carries the maximum so far. A factor common to all cancels in what is divided
// by their sum, so that m counts as exact. The maxima only grow, so the
// differences that are rounded add up to at most m - s: as much rounding as one
// difference, which Sub counts. At each later step, of one score at least, a
// number is multiplied by one more exp, off by its ulps, each 2^-23 of it at
// most, and rounded once.
func online(scores []bounded) []bounded {
	m := largest(scores)
	step := lang.OpExp.Row().Ulp*0x1p-23 + 0x1p-24
	rescaled := math.Expm1(float64(len(scores)-1) * math.Log1p(step))
	p := make([]bounded, len(scores))
	for j, s := range scores {
		p[j] = s.Sub(m).Exp()
		p[j].E += rescaled * (p[j].V + p[j].E)
	}
	return p
}

func TestTutorialLongSoftmax(t *testing.T) {
	x := normal(lang.F32, "long softmax", 2, 5000)
	run := step(t, "08-long-softmax.tile")
	for kernel, terms := range map[string]func([]bounded) []bounded{"softmax": atOnce, "long_softmax": online} {
		var want []bounded
		for i := range 2 {
			row := make([]bounded, 5000)
			for j := range row {
				row[j] = exact(x, i*5000+j)
			}
			l := jittest.Sum(terms(row))
			m := largest(row)
			for _, v := range row {
				want = append(want, v.Sub(m).Exp().Div(l))
			}
		}
		jittest.Near(t, run(t, kernel, x), func(e int) bounded { return want[e] })
	}
}

func TestTutorialConvolution(t *testing.T) {
	const n, h, w, r, s = 2, 9, 11, 3, 4
	x, k := normal(lang.F32, "convolution x", n, h, w), normal(lang.F32, "convolution k", r, s)
	contraction := jittest.ContractionOf(t, lang.F32, "")
	jittest.Near(t, step(t, "09-convolution.tile")(t, "convolve", x, k), func(e int) bounded {
		image, y, z := e/(h*w), e/w%h, e%w
		return contraction.Dot(r*s,
			func(p int) bounded {
				if y+p/s >= h || z+p%s >= w {
					return jittest.Exact(0)
				}
				return exact(x, image*h*w+(y+p/s)*w+z+p%s)
			},
			func(p int) bounded { return exact(k, p) })
	})
}

func TestTutorialMatmul(t *testing.T) {
	const n, m, k, l = 2, 17, 65, 33
	a, b := normal(lang.F16, "matmul a", n, m, k), normal(lang.F16, "matmul b", n, k, l)
	contraction := jittest.ContractionOf(t, lang.F16, "")
	run := step(t, "10-matmul.tile")
	for _, kernel := range []string{"matmul", "matmul_formula"} {
		jittest.Near(t, run(t, kernel, a, b), func(e int) bounded {
			batch, i, j := e/(m*l), e/l%m, e%l
			return contraction.Dot(k,
				func(p int) bounded { return exact(a, (batch*m+i)*k+p) },
				func(p int) bounded { return exact(b, (batch*k+p)*l+j) })
		})
	}
}

func TestTutorialQuantised(t *testing.T) {
	const m, k, n, group = 9, 64, 33, 8
	x, scale := normal(lang.F16, "quantised x", m, k), normal(lang.F32, "quantised scale", k/group, n)
	r := jittest.Rand("quantised q")
	q, offset := jittest.NewArray(lang.I32, k/8, n), jittest.NewArray(lang.I32, k/group, n)
	for i := range q.Len() {
		q.SetFloat(i, float64(int32(r.Uint32())))
		offset.SetFloat(i, float64(r.IntN(16)))
	}
	contraction := jittest.ContractionOf(t, lang.F16, "")
	jittest.Near(t, step(t, "11-quantised.tile")(t, "quantised_matmul", x, q, scale, offset), func(e int) bounded {
		i, j := e/n, e%n
		return contraction.Dot(k,
			func(p int) bounded { return exact(x, i*k+p) },
			func(p int) bounded {
				bits := uint32(int32(q.Float(p/8*n+j))) >> (p % 8 * 4) & 15
				g := p/group*n + j
				return exact(scale, g).Mul(jittest.Exact(float64(bits) - offset.Float(g))).As(lang.F16)
			})
	})
}

func TestTutorialFlashAttention(t *testing.T) {
	const h, s, d = 2, 70, 32
	const scale = 0.25
	q, k, v := normal(lang.F16, "flash q", 1, h, s, d), normal(lang.F16, "flash k", 1, h, s, d), normal(lang.F16, "flash v", 1, h, s, d)
	contraction := jittest.ContractionOf(t, lang.F16, "")
	var want []bounded
	for head := range h {
		at := func(a *array, row, col int) bounded { return exact(a, (head*s+row)*d+col) }
		for i := range s {
			scores := make([]bounded, i+1)
			for j := range scores {
				scores[j] = contraction.Dot(d, func(p int) bounded { return at(q, i, p) }, func(p int) bounded { return at(k, j, p) }).Mul(jittest.Exact(scale))
			}
			p := online(scores)
			l := jittest.Sum(p)
			for e := range d {
				sum := contraction.Dot(i+1, func(j int) bounded { return p[j].As(lang.F16) }, func(j int) bounded { return at(v, j, e) })
				want = append(want, sum.Div(l).As(lang.F16))
			}
		}
	}
	jittest.Near(t, step(t, "12-flash-attention.tile")(t, "attention", q, k, v, jit.FloatValue(lang.F32, scale)), func(e int) bounded { return want[e] })
}

// A norm is d r w + b with d = x - mean x and r = rsqrt(mean d² + eps). Rows have a mean of 3, which d must lose.
func TestTutorialLayernorm(t *testing.T) {
	const m, n = 3, 300
	const eps = float64(float32(1e-5))
	x, w, b := normal(lang.F32, "layernorm x", m, n), normal(lang.F32, "layernorm w", n), normal(lang.F32, "layernorm b", n)
	mean := func(list []bounded) bounded { return jittest.Sum(list).Div(jittest.Exact(n)) }
	var want []bounded
	for i := range m {
		d, squares := make([]bounded, n), make([]bounded, n)
		for j := range d {
			x.SetFloat(i*n+j, x.Float(i*n+j)+3)
			d[j] = exact(x, i*n+j)
		}
		shift := mean(d)
		for j := range d {
			d[j] = d[j].Sub(shift)
			squares[j] = d[j].Mul(d[j])
		}
		r := mean(squares).Add(jittest.Exact(eps)).Rsqrt(eps) // a mean of squares is not negative, however it is rounded
		for j := range d {
			want = append(want, d[j].Mul(r).Mul(exact(w, j)).Add(exact(b, j)))
		}
	}
	jittest.Near(t, step(t, "13-layernorm.tile")(t, "layernorm", x, w, b, jit.FloatValue(lang.F32, eps)), func(e int) bounded { return want[e] })
}
