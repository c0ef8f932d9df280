package stdlib_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

func TestTranspose(t *testing.T) {
	k := load(t)
	for _, d := range lang.DTypes() {
		for _, s := range []shape{{1, 1}, {3, 129}, {70, 33}} {
			t.Run(jittest.Case(d, s...), func(t *testing.T) {
				x := jittest.NewArray(d, s...)
				for i := range x.Len() {
					x.SetFloat(i, float64(i%2))
				}
				x.SetFloat(x.Len()-1, 1)
				jittest.Same(t, k.Run(t, "transpose", jit.Options{}, x)[0], func(e int) float64 {
					return x.Float(e%int(s[0])*int(s[1]) + e/int(s[0]))
				})
			})
		}
	}
}

func TestHistogram(t *testing.T) {
	k := load(t)
	for _, s := range []shape{{1, 1}, {1000, 7}, {5003, 300}} {
		t.Run(jittest.Case(lang.I32, s...), func(t *testing.T) {
			x, want := jittest.NewArray(lang.I32, s[0]), make([]float64, s[1])
			r := jittest.Rand("histogram")
			for i := range x.Len() {
				v := r.IntN(int(s[1])+2) - 1 // a few are no bin
				x.SetFloat(i, float64(v))
				if v >= 0 && v < len(want) {
					want[v]++
				}
			}
			jittest.Same(t, k.Run(t, "histogram", jit.Options{}, x, jittest.NewArray(lang.I32, s[1]))[0], func(i int) float64 { return want[i] })
		})
	}
}

// TestConv2d has windows that reach beyond every edge, and none.
func TestConv2d(t *testing.T) {
	k := load(t)
	for _, pad := range []int64{0, 1, 2} {
		// B, C, O, H, W, R, S
		eachType(t, []shape{{2, 5, 3, 7, 9, 3, 3}, {1, 17, 4, 5, 33, 1, 2}, {1, 1, 1, 3, 3, 3, 3}}, func(t *testing.T, d lang.DType, s shape) {
			c, o, h, w, r, v := int(s[1]), int(s[2]), int(s[3]), int(s[4]), int(s[5]), int(s[6])
			x, filter := jittest.Normal(d, "conv x", s[0], s[1], s[3], s[4]), jittest.Normal(d, "conv w", s[2], s[1], s[5], s[6])
			high, wide := h+2*int(pad)-r+1, w+2*int(pad)-v+1
			contraction := jittest.ContractionOf(t, d, "")
			jittest.Near(t, k.Run(t, "conv2d", constants(map[string]int64{"PAD": pad}), x, filter)[0], func(e int) jittest.Bounded {
				n, channel, y, z := e/(o*high*wide), e/(high*wide)%o, e/wide%high, e%wide
				return contraction.Dot(c*r*v,
					func(p int) jittest.Bounded {
						i, j := y+p/v%r-int(pad), z+p%v-int(pad)
						if i < 0 || i >= h || j < 0 || j >= w {
							return jittest.Exact(0)
						}
						return jittest.Exact(x.Float(((n*c+p/(r*v))*h+i)*w + j))
					},
					func(p int) jittest.Bounded { return jittest.Exact(filter.Float(channel*c*r*v + p)) })
			})
		})
	}
}

// TestPrefixSum has rows that no block holds at once. A number goes through at
// most as many additions as there are numbers up to its own, whatever the order.
func TestPrefixSum(t *testing.T) {
	k := load(t)
	eachType(t, shapes(t, []shape{{3, 17}, {1, 1}, {2, 1000}, {1, 9001}}, rowsLarge), func(t *testing.T, d lang.DType, s shape) {
		n := int(s[1])
		x := jittest.Normal(d, "prefix", s...)
		want := make([]jittest.Bounded, x.Len())
		for i := range int(s[0]) {
			var sum jittest.Bounded
			size := 0.0
			for j := range n {
				v := x.Float(i*n + j)
				sum.V += v
				size += math.Abs(v)
				roundings := float64(j+1) * 0x1p-24
				want[i*n+j] = jittest.Bounded{V: sum.V, E: roundings / (1 - roundings) * size}
			}
		}
		jittest.Near(t, k.Run(t, "prefix_sum", jit.Options{}, x)[0], func(i int) jittest.Bounded { return want[i] })
	})
}

// TestMoments has rows far from 0 for their spread. The update is backward
// stable: a result is off by at most a small multiple of n u times that of data
// that is moved by u, whose variance changes by 2 u |mean| times the deviation
// (Chan, Golub and LeVeque 1983, table 1: n u kappa with kappa = sqrt(1 + mean²/variance)).
func TestMoments(t *testing.T) {
	k := load(t)
	eachType(t, shapes(t, []shape{{3, 17}, {1, 1}, {2, 1000}, {1, 5001}}, rowsLarge), func(t *testing.T, d lang.DType, s shape) {
		n := int(s[1])
		x := jittest.Normal(d, "moments", s...)
		for i := range x.Len() {
			x.SetFloat(i, x.Float(i)+8)
		}
		out := k.Run(t, "moments", jit.Options{}, x)
		for i := range int(s[0]) {
			mean, variance, size := 0.0, 0.0, 0.0
			for j := range n {
				mean += x.Float(i*n+j) / float64(n)
				size += math.Abs(x.Float(i*n+j)) / float64(n)
			}
			for j := range n {
				variance += (x.Float(i*n+j) - mean) * (x.Float(i*n+j) - mean) / float64(n)
			}
			unit := float64(n+4) * 0x1p-24
			assert.InDelta(t, mean, out[0].Float(i), 4*unit*size, "the mean of row %d", i)
			kappa := math.Sqrt(1 + mean*mean/max(variance, 1e-30))
			assert.InDelta(t, variance, out[1].Float(i), 4*unit*kappa*variance+unit*unit*mean*mean, "the variance of row %d", i)
		}
	})
}
