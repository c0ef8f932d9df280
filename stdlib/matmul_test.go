package stdlib_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

func TestBatchedMatmul(t *testing.T) {
	k := load(t)
	eachType(t, []shape{{2, 17, 65, 33}, {3, 1, 1, 1}, {1, 70, 33, 129}}, func(t *testing.T, d lang.DType, s shape) {
		m, depth, n := int(s[1]), int(s[2]), int(s[3])
		a, b := jittest.Normal(d, "batched a", s[0], s[1], s[2]), jittest.Normal(d, "batched b", s[0], s[2], s[3])
		contraction := jittest.ContractionOf(t, d, "")
		jittest.Near(t, k.Run(t, "batched_matmul", jit.Options{}, a, b)[0], func(e int) jittest.Bounded {
			batch, i, j := e/(m*n), e/n%m, e%n
			return contraction.Dot(depth,
				func(p int) jittest.Bounded { return jittest.Exact(a.Float((batch*m+i)*depth + p)) },
				func(p int) jittest.Bounded { return jittest.Exact(b.Float((batch*depth+p)*n + j)) })
		})
	})
}

// TestGroupedMatmul has experts that do not exist: their rows are 0.
func TestGroupedMatmul(t *testing.T) {
	k := load(t)
	eachType(t, []shape{{5, 16, 33, 40}, {4, 3, 17, 5}}, func(t *testing.T, d lang.DType, s shape) {
		rows, depth, n := int(s[1]), int(s[2]), int(s[3])
		const experts = 3
		a, b := jittest.Normal(d, "grouped a", s[0], s[1], s[2]), jittest.Normal(d, "grouped b", experts, s[2], s[3])
		expert := jittest.NewArray(lang.I32, s[0])
		for q := range expert.Len() {
			expert.SetFloat(q, float64(q*3%5-1))
		}
		contraction := jittest.ContractionOf(t, d, "")
		jittest.Near(t, k.Run(t, "grouped_matmul", jit.Options{}, a, expert, b)[0], func(e int) jittest.Bounded {
			x, row, j := int(expert.Float(e/(rows*n))), e/n, e%n
			if x < 0 || x >= experts {
				return jittest.Exact(0)
			}
			return contraction.Dot(depth,
				func(p int) jittest.Bounded { return jittest.Exact(a.Float(row*depth + p)) },
				func(p int) jittest.Bounded { return jittest.Exact(b.Float((x*depth+p)*n + j)) })
		})
	})
}

// TestSplitMatmul has more parts than k has elements, too: some are empty. The
// sum over the parts adds as many roundings as there are parts.
func TestSplitMatmul(t *testing.T) {
	t.Parallel()
	module, err := jit.NewCompiler(jittest.Device(t), nil).Load("split_test.tile", []byte(source))
	require.NoError(t, err)
	for _, d := range floats {
		for _, s := range []shape{{17, 1000, 9, 8}, {3, 5, 4, 7}, {1, 1, 1, 1}} {
			t.Run(jittest.Case(d, s...), func(t *testing.T) {
				depth, n := int(s[1]), int(s[2])
				a, b := jittest.Normal(d, "split a", s[0], s[1]), jittest.Normal(d, "split b", s[1], s[2])
				out, err := module.Call("split_matmul", jit.Args{"a": a, "b": b, "PARTS": s[3]})
				require.NoError(t, err)
				contraction := jittest.ContractionOf(t, d, "")
				jittest.Near(t, out["c"], func(e int) jittest.Bounded {
					sum := contraction.Dot(depth,
						func(p int) jittest.Bounded { return jittest.Exact(a.Float(e/n*depth + p)) },
						func(p int) jittest.Bounded { return jittest.Exact(b.Float(p*n + e%n)) })
					size := 0.0
					for p := range depth {
						size += math.Abs(a.Float(e/n*depth+p) * b.Float(p*n+e%n))
					}
					sum.E += 2 * float64(s[3]) * 0x1p-24 * size // Higham's gamma is below twice its first term
					return sum
				})
			})
		}
	}
}

// TestQuantise holds each number against the nearest multiple of its scale: it
// is off by half a scale, and by what rounding the scale and the quotient adds.
func TestQuantise(t *testing.T) {
	k := load(t)
	eachType(t, []shape{{3, 17}, {1, 1}, {5, 1000}}, func(t *testing.T, d lang.DType, s shape) {
		n := int(s[1])
		x := jittest.Normal(d, "quantise", s...)
		for j := range n {
			x.SetFloat(j, 0) // a row of zeros has the scale 0
		}
		out := k.Run(t, "quantise", jit.Options{}, x)
		q, scale := out[0], out[1]
		for i := range int(s[0]) {
			most := 0.0
			for j := range n {
				most = max(most, math.Abs(x.Float(i*n+j)))
			}
			assert.InDelta(t, most/127, scale.Float(i), most/127*0x1p-24, "the scale of row %d", i)
			for j := range n {
				off := math.Abs(q.Float(i*n+j)*scale.Float(i) - x.Float(i*n+j))
				// The quotient is at most 127, so that its rounding moves it by 127 2^-24 at most.
				assert.LessOrEqual(t, off, scale.Float(i)*(0.5+127*0x1p-24), "row %d, column %d", i, j)
			}
		}
		opts := jit.Options{Types: map[string]lang.DType{"T": d}}
		jittest.Near(t, k.Run(t, "dequantise", opts, q, scale)[0], func(e int) jittest.Bounded {
			return jittest.Exact(q.Float(e)).Mul(jittest.Exact(scale.Float(e / n)))
		})
	})
}

func TestScaledMatmul(t *testing.T) {
	k := load(t)
	for kernel, narrow := range map[string]lang.DType{"int8_matmul": lang.I8, "fp8_matmul": lang.F8E4M3, "fp8_matmul_fast": lang.F8E4M3} {
		eachType(t, []shape{{17, 65, 33}, {1, 1, 1}, {70, 200, 9}}, func(t *testing.T, d lang.DType, s shape) {
			depth, n := int(s[1]), int(s[2])
			x, w := jittest.NewArray(narrow, s[0], s[1]), jittest.NewArray(narrow, s[1], s[2])
			r := jittest.Rand(kernel)
			for _, a := range []*jittest.Array{x, w} {
				for i := range a.Len() {
					a.SetFloat(i, float64(r.IntN(256)-128))
				}
			}
			sx, sw := jittest.Normal(lang.F32, "scaled x", s[0]), jittest.Normal(lang.F32, "scaled w", s[2])
			for _, a := range []*jittest.Array{sx, sw} { // so that f16 holds the results
				for i := range a.Len() {
					a.SetFloat(i, a.Float(i)/64)
				}
			}
			contraction := jittest.ContractionOf(t, narrow, "")
			opts := jit.Options{Types: map[string]lang.DType{"T": d}}
			jittest.Near(t, k.Run(t, kernel, opts, x, w, sx, sw)[0], func(e int) jittest.Bounded {
				i, j := e/n, e%n
				sum := contraction.Dot(depth,
					func(p int) jittest.Bounded { return jittest.Exact(x.Float(i*depth + p)) },
					func(p int) jittest.Bounded { return jittest.Exact(w.Float(p*n + j)) })
				if narrow == lang.I8 { // below 2^24 the sum is an f32
					sum.E = 0
				}
				if kernel == "fp8_matmul_fast" { // eight instructions a step, each with 33 numbers cut off 13 bits below the largest
					for p := range depth {
						sum.E += 0x1p-5 * math.Abs(x.Float(i*depth+p)*w.Float(p*n+j))
					}
				}
				return sum.Mul(jittest.Exact(sx.Float(i))).Mul(jittest.Exact(sw.Float(j)))
			})
		})
	}
}

// constants are the constant parameters of a run.
func constants(values map[string]int64) jit.Options {
	o := jit.Options{Consts: map[string]lang.Literal{}}
	for name, v := range values {
		o.Consts[name] = lang.Literal{DType: lang.I32, Int: v}
	}
	return o
}
