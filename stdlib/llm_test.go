package stdlib_test

import (
	"math"
	"testing"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// TestRmsnorm has the reference v r g, r = rsqrt(mean v² + eps).
func TestRmsnorm(t *testing.T) {
	k := load(t)
	eachType(t, shapes(t, []shape{{3, 17}, {1, 1}, {17, 127}, {3, 1000}, {1, 5000}}, rowsLarge), func(t *testing.T, d lang.DType, s shape) {
		n := int(s[1])
		x, g := jittest.Normal(d, "rmsnorm x", s...), jittest.Normal(d, "rmsnorm g", s[1])
		plant(x, n, 8)
		const eps = float32(1e-6)
		y := k.Run(t, "rmsnorm", jit.Options{}, x, g, jit.FloatValue(lang.F32, float64(eps)))[0]
		want := make([]jittest.Bounded, x.Len())
		for i := range int(s[0]) {
			squares := make([]jittest.Bounded, n)
			for j := range squares {
				v := jittest.Exact(x.Float(i*n + j))
				squares[j] = v.Mul(v)
			}
			r := jittest.Sum(squares).Div(jittest.Exact(float64(n))).Add(jittest.Exact(float64(eps))).Rsqrt(float64(eps))
			for j := range squares {
				want[i*n+j] = jittest.Exact(x.Float(i*n + j)).Mul(r).Mul(jittest.Exact(g.Float(j)))
			}
		}
		jittest.Near(t, y, func(i int) jittest.Bounded { return want[i] })
	})
}

func TestSwiglu(t *testing.T) {
	k := load(t)
	eachType(t, []shape{{3, 17}, {1, 1}, {17, 127}}, func(t *testing.T, d lang.DType, s shape) {
		gate, up := jittest.Normal(d, "swiglu gate", s...), jittest.Normal(d, "swiglu up", s...)
		jittest.Near(t, k.Run(t, "swiglu", jit.Options{}, gate, up)[0], func(i int) jittest.Bounded {
			x := jittest.Exact(gate.Float(i))
			return x.Mul(x.Sigmoid()).Mul(jittest.Exact(up.Float(i)))
		})
	})
}

// TestRope turns heads at positions of which the last lie beyond the table: they stay as they are.
func TestRope(t *testing.T) {
	k := load(t)
	// B, S, H, D, P, start
	eachType(t, []shape{{2, 17, 3, 64, 20, 5}, {1, 1, 1, 2, 1, 0}, {1, 5, 2, 10, 9, 0}}, func(t *testing.T, d lang.DType, s shape) {
		n, h, c, p, start := int(s[1]), int(s[2]), int(s[3]), int(s[4]), int(s[5])
		x := jittest.Normal(d, "rope x", s[:4]...)
		cosines, sines := jittest.Normal(lang.F32, "rope c", s[4], s[3]/2), jittest.Normal(lang.F32, "rope s", s[4], s[3]/2)
		y := k.Run(t, "rope", jit.Options{}, x, cosines, sines, jit.IntValue(lang.I32, s[5]))[0]
		jittest.Near(t, y, func(e int) jittest.Bounded {
			pair, position, row := e%c%(c/2), start+e/(c*h)%n, e/c*c
			co, si := jittest.Exact(1), jittest.Exact(0)
			if position < p {
				co, si = jittest.Exact(cosines.Float(position*c/2+pair)), jittest.Exact(sines.Float(position*c/2+pair))
			}
			low, high := jittest.Exact(x.Float(row+pair)), jittest.Exact(x.Float(row+pair+c/2))
			if e%c < c/2 {
				return low.Mul(co).Sub(high.Mul(si))
			}
			return high.Mul(co).Add(low.Mul(si))
		})
	})
}

// TestCrossEntropy has the reference log(sum exp(v - m)) + m - v[target]. A
// relative error e of the sum is an error of at most log1p(e / (1 - e)) of its
// logarithm, which is rounded by the table's ulps.
func TestCrossEntropy(t *testing.T) {
	k := load(t)
	eachType(t, shapes(t, []shape{{3, 17}, {1, 1}, {17, 127}, {3, 1000}, {3, 5001}}, rowsLarge), func(t *testing.T, d lang.DType, s shape) {
		m, n := int(s[0]), int(s[1])
		x, target := jittest.Normal(d, "entropy x", s...), jittest.NewArray(lang.I32, s[0])
		plant(x, n, 4)
		for i := range m {
			target.SetFloat(i, float64([]int{n - 1, 0, n / 2, -1, n}[i%5]))
		}
		logits := x.Floats()
		jittest.Near(t, k.Run(t, "cross_entropy", jit.Options{}, x, target)[0], func(i int) jittest.Bounded {
			at := int(target.Float(i))
			if at < 0 || at >= n {
				return jittest.Exact(0)
			}
			row := logits[i*n : (i+1)*n]
			most := math.Inf(-1)
			for _, v := range row {
				most = max(most, v)
			}
			e := make([]jittest.Bounded, n)
			for j, v := range row {
				e[j] = jittest.Exact(v).Sub(jittest.Exact(most)).Exp()
			}
			return jittest.Sum(e).Log().Add(jittest.Exact(most)).Sub(jittest.Exact(row[at]))
		})
	})
}

func TestMixtureOfExperts(t *testing.T) {
	k := load(t)
	eachType(t, []shape{{17, 9, 33}, {1, 1, 1}}, func(t *testing.T, d lang.DType, s shape) {
		m, c, r := int(s[0]), int(s[1]), int(s[2])
		x, route := jittest.Normal(d, "moe x", s[0], s[1]), jittest.NewArray(lang.I32, s[2])
		for i := range r {
			route.SetFloat(i, float64(i*7%(m+2)-1)) // some places are empty, some rows do not exist
		}
		y := k.Run(t, "moe_gather", jit.Options{}, x, route)[0]
		jittest.Near(t, y, func(e int) jittest.Bounded {
			if from := int(route.Float(e / c)); from >= 0 && from < m {
				return jittest.Exact(x.Float(from*c + e%c))
			}
			return jittest.Exact(0)
		})
		const experts = 3
		places, weight := jittest.NewArray(lang.I32, s[0], experts), jittest.Normal(lang.F32, "moe weight", s[0], experts)
		for i := range places.Len() {
			places.SetFloat(i, float64(i*5%(r+1)))
		}
		jittest.Near(t, k.Run(t, "moe_combine", jit.Options{}, y, places, weight)[0], func(e int) jittest.Bounded {
			row := e / c
			terms := make([]jittest.Bounded, experts)
			for p := range terms {
				if from := int(places.Float(row*experts + p)); from < r {
					terms[p] = jittest.Exact(weight.Float(row*experts + p)).Mul(jittest.Exact(y.Float(from*c + e%c)))
				}
			}
			return jittest.Sum(terms)
		})
	})
}

// TestGroupedAttention has groups of query heads, and windows shorter and longer than a block.
func TestGroupedAttention(t *testing.T) {
	k := load(t)
	for _, window := range []int64{0, 1, 7, 40} {
		// B, S, KV, G, D
		eachType(t, []shape{{1, 70, 2, 3, 16}, {2, 5, 1, 1, 3}, {1, 129, 1, 2, 32}}, func(t *testing.T, d lang.DType, s shape) {
			n, kv, g, c := int(s[1]), int(s[2]), int(s[3]), int(s[4])
			q := jittest.Normal(d, "grouped q", s[0], s[1], s[2]*s[3], s[4])
			keys, values := jittest.Normal(d, "grouped k", s[0], s[1], s[2], s[4]), jittest.Normal(d, "grouped v", s[0], s[1], s[2], s[4])
			scale := float64(float32(1 / math.Sqrt(float64(c))))
			opts := constants(map[string]int64{"G": s[3], "WINDOW": window})
			o := k.Run(t, "grouped_attention", opts, q, keys, values, jit.FloatValue(lang.F32, scale))[0]
			a := attention{d, jittest.ContractionOf(t, d, ""), scale}
			qs, allKeys, allValues := q.Floats(), keys.Floats(), values.Floats()
			var want []jittest.Bounded
			for row := range int(s[0]) * n * kv * g {
				head, i, batch := row%(kv*g)/g, row/(kv*g)%n, row/(kv*g)/n
				first := 0
				if window > 0 {
					first = max(0, i-int(window)+1)
				}
				var ks, vs []float64
				for j := first; j <= i; j++ {
					at := ((batch*n+j)*kv + head) * c
					ks, vs = append(ks, allKeys[at:at+c]...), append(vs, allValues[at:at+c]...)
				}
				want = append(want, a.row(qs[row*c:(row+1)*c], ks, vs)...)
			}
			jittest.Near(t, o, func(e int) jittest.Bounded { return want[e] })
		})
	}
}

// TestPagedAttention decodes against pages in no order; pages that no sequence
// has, and what lies behind a sequence's end, hold NaN.
func TestPagedAttention(t *testing.T) {
	k := load(t)
	// KV, G, D, PAGE
	eachType(t, []shape{{2, 3, 16, 8}, {1, 1, 32, 16}, {1, 4, 5, 3}}, func(t *testing.T, d lang.DType, s shape) {
		kv, g, c, page := int(s[0]), int(s[1]), int(s[2]), int(s[3])
		lengths := []int{1, page, 3*page + 1}
		const most, pages = 4, 14
		table, length := jittest.NewArray(lang.I32, int64(len(lengths)), most), jittest.NewArray(lang.I32, int64(len(lengths)))
		q := jittest.Normal(d, "paged q", int64(len(lengths)), s[0], s[1], s[2])
		keys, values := jittest.NewArray(d, pages, s[3], s[0], s[2]), jittest.NewArray(d, pages, s[3], s[0], s[2])
		for i := range keys.Len() {
			keys.SetFloat(i, math.NaN())
			values.SetFloat(i, math.NaN())
		}
		r := jittest.Rand("paged")
		at := func(b, position, head int) int {
			return ((int(table.Float(b*most+position/page))*page+position%page)*kv + head) * c
		}
		for b, n := range lengths {
			length.SetFloat(b, float64(n))
			for p := range most {
				table.SetFloat(b*most+p, float64((b*most+p)*5%pages))
			}
			for position := range n {
				for e := range kv * c {
					keys.SetFloat(at(b, position, 0)+e, r.NormFloat64())
					values.SetFloat(at(b, position, 0)+e, r.NormFloat64())
				}
			}
		}
		scale := float64(float32(1 / math.Sqrt(float64(c))))
		opts := constants(map[string]int64{"G": s[1]})
		o := k.Run(t, "paged_attention", opts, q, keys, values, table, length, jit.FloatValue(lang.F32, scale))[0]
		a := attention{d, jittest.ContractionOf(t, d, ""), scale}
		qs, allKeys, allValues := q.Floats(), keys.Floats(), values.Floats()
		var want []jittest.Bounded
		for row := range len(lengths) * kv * g {
			b, head := row/(kv*g), row/g%kv
			var ks, vs []float64
			for position := range lengths[b] {
				from := at(b, position, head)
				ks, vs = append(ks, allKeys[from:from+c]...), append(vs, allValues[from:from+c]...)
			}
			want = append(want, a.row(qs[row*c:(row+1)*c], ks, vs)...)
		}
		jittest.Near(t, o, func(e int) jittest.Bounded { return want[e] })
	})
}
