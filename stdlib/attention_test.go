package stdlib_test

import (
	"fmt"
	"math"
	"testing"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// TestAttentionOfPrompt has as many queries as positions; the cache beyond them
// holds NaN, as does whatever an implementation may read beyond it.
func TestAttentionOfPrompt(t *testing.T) {
	// B, S, H, D, P, start
	everywhere := []shape{
		{1, 1, 1, 1, 1, 0}, {1, 17, 3, 16, 127, 0}, {1, 3, 2, 17, 3, 0},
		{2, 127, 2, 3, 129, 0}, {1, 129, 1, 64, 1000, 0}, {1, 127, 2, 32, 127, 0},
	}
	large := []shape{{1, 1000, 3, 64, 1000, 0}, {2, 129, 2, 128, 1000, 0}, {1, 129, 2, 127, 129, 0}, {3, 1, 2, 129, 3, 0}}
	testAttention(t, shapes(t, everywhere, large), nil)
}

// TestAttentionOfOneToken decodes: one query against a cache.
func TestAttentionOfOneToken(t *testing.T) {
	everywhere := []shape{
		{1, 1, 6, 32, 256, 17}, {2, 1, 3, 16, 129, 128}, {1, 1, 1, 1, 17, 3},
		{1, 1, 2, 64, 1000, 999}, {3, 1, 2, 17, 129, 127},
	}
	large := []shape{{8, 1, 12, 64, 1024, 1000}, {1, 1, 3, 128, 1000, 129}}
	testAttention(t, shapes(t, everywhere, large), nil)
}

// TestAttentionOfSeveralTokens continues a sequence by a few queries at once.
func TestAttentionOfSeveralTokens(t *testing.T) {
	everywhere := []shape{{1, 3, 2, 16, 127, 17}, {2, 17, 2, 32, 129, 112}, {1, 127, 1, 17, 1000, 129}}
	large := []shape{{2, 129, 3, 64, 1000, 127}}
	testAttention(t, shapes(t, everywhere, large), nil)
}

// TestAttentionInSteps pins how many positions a step takes, so that the sums
// are carried from step to step, whatever a planner would choose.
func TestAttentionInSteps(t *testing.T) {
	everywhere := []shape{{1, 127, 2, 32, 129, 0}, {2, 1, 1, 16, 1000, 998}, {1, 17, 2, 64, 129, 97}, {1, 129, 1, 17, 129, 0}}
	for _, pins := range []map[string]int64{{"BN": 32}, {"BN": 64}} {
		t.Run(fmt.Sprint("BN ", pins["BN"]), func(t *testing.T) { testAttention(t, shapes(t, everywhere, nil), pins) })
	}
}

// TestAttentionWide has as many channels and positions in a step as the matrix
// units of a whole warpgroup take (wgmma), by itself and by blocks of a cluster, whose values have a panel behind the first.
func TestAttentionWide(t *testing.T) {
	for _, split := range []int64{1, 2} {
		t.Run(fmt.Sprint("split ", split), func(t *testing.T) {
			testAttention(t, []shape{{1, 70, 1, 128, 200, 100}}, map[string]int64{"BM": 64, "BN": 64, "warps": 4, "split": split})
		})
	}
}

// TestAttentionShared has blocks of a cluster share the positions of the cache: with a part for each, with parts that have nothing, with
// parts whose positions a mask hides from some queries.
func TestAttentionShared(t *testing.T) {
	everywhere := []shape{{1, 1, 2, 64, 1000, 999}, {1, 1, 1, 16, 129, 0}, {1, 17, 2, 32, 129, 97}, {1, 17, 1, 64, 127, 0}, {2, 128, 1, 64, 257, 129}}
	large := []shape{{1, 1000, 1, 64, 1024, 0}, {1, 128, 2, 128, 1000, 500}}
	for _, split := range []int64{2, 4} {
		t.Run(fmt.Sprint("split ", split), func(t *testing.T) {
			testAttention(t, shapes(t, everywhere, large), map[string]int64{"BN": 32, "split": split})
		})
	}
	t.Run("the longest first", func(t *testing.T) {
		testAttention(t, []shape{{1, 130, 3, 16, 200, 70}}, map[string]int64{"BM": 32, "BN": 32, "split": 2, "longest": 2})
	})
	for _, rows := range []int64{64, 128} { // by wgmma
		t.Run(fmt.Sprint("BM ", rows), func(t *testing.T) {
			testAttention(t, []shape{{1, 256, 1, 64, 256, 0}}, map[string]int64{"BM": rows, "BN": 64, "warps": rows / 16, "split": 2})
		})
	}
}

// TestAttentionProjected has heads project what they attend for: blocks go through the cache by themselves, those of a head share it among
// themselves, with a part for each and with parts that have nothing, or other blocks share it with each of them.
func TestAttentionProjected(t *testing.T) {
	k := load(t)
	// B, H, D, N, P, start
	everywhere := []shape{{1, 2, 64, 64, 300, 299}, {1, 1, 32, 128, 300, 40}, {2, 1, 16, 64, 70, 69}}
	large := []shape{{1, 12, 64, 768, 1024, 999}, {1, 16, 64, 1024, 1024, 130}}
	for name, pins := range map[string]map[string]int64{
		"each by itself":          {"BM": 16, "BN": 32, "split": 1},
		"a head's blocks by two":  {"BM": 32, "BN": 32, "split": 2},
		"a head's blocks by four": {"BM": 16, "BN": 32, "split": 4},
		"with others for each":    {"BM": 64, "BN": 32, "split": 2},
		"as it is planned":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			eachType(t, shapes(t, everywhere, large), func(t *testing.T, d lang.DType, s shape) {
				h, c, n, p, start := int(s[1]), int(s[2]), int(s[3]), int(s[4]), int(s[5])
				q := jittest.Normal(d, "attention q", s[0], s[1], s[2])
				keys, values := jittest.Normal(d, "attention k", s[0], s[1], s[4], s[2]), jittest.Normal(d, "attention v", s[0], s[1], s[4], s[2])
				w := jittest.Normal(d, "attention w", s[3], s[1], s[2])
				emphasise(values, p, c, start)
				for _, cache := range []*jittest.Array{keys, values} {
					for i := range cache.Len() {
						if i/c%p > start {
							cache.SetFloat(i, math.NaN())
						}
					}
				}
				scale := float64(float32(1 / math.Sqrt(float64(c))))
				y := k.Run(t, "attention_projected", jit.Options{Pins: pins}, q, keys, values, starts(s[0], s[5]), jit.FloatValue(lang.F32, scale), w)[0]
				a := attention{d, jittest.ContractionOf(t, d, ""), scale}
				qs, ks, vs, ws := q.Floats(), keys.Floats(), values.Floats(), w.Floats()
				var want []jittest.Bounded
				for head := range int(s[0]) * h {
					from, seen := head*p*c, start+1
					o := a.row(qs[head*c:(head+1)*c], ks[from:from+seen*c], vs[from:from+seen*c])
					for i := range n {
						row := (i*h + head%h) * c
						want = append(want, a.contraction.Dot(c,
							func(e int) jittest.Bounded { return o[e].As(d) },
							func(e int) jittest.Bounded { return jittest.Exact(ws[row+e]) }))
					}
				}
				jittest.Near(t, y, func(e int) jittest.Bounded { return want[e] })
			})
		})
	}
}

func testAttention(t *testing.T, cases []shape, pins map[string]int64) {
	k := load(t)
	eachType(t, cases, func(t *testing.T, d lang.DType, s shape) {
		n, h, c, p, start := int(s[1]), int(s[2]), int(s[3]), int(s[4]), int(s[5])
		q := jittest.Normal(d, "attention q", s[0], s[1], s[2], s[3])
		keys, values := jittest.Normal(d, "attention k", s[0], s[2], s[4], s[3]), jittest.Normal(d, "attention v", s[0], s[2], s[4], s[3])
		emphasise(values, p, c, start+n-1)
		for _, cache := range []*jittest.Array{keys, values} {
			for i := range cache.Len() {
				if i/c%p >= start+n {
					cache.SetFloat(i, math.NaN())
				}
			}
		}
		scale := float64(float32(1 / math.Sqrt(float64(c))))
		qs, ks, vs := q.Floats(), keys.Floats(), values.Floats()
		for _, precision := range jittest.Precisions(t, d) {
			t.Run("precision "+precision, func(t *testing.T) {
				o := k.Run(t, "attention", jit.Options{Precision: precision, Pins: pins}, q, keys, values, starts(s[0], s[5]), jit.FloatValue(lang.F32, scale))[0]
				a := attention{d, jittest.ContractionOf(t, d, precision), scale}
				want := make([]jittest.Bounded, 0, o.Len())
				for row := range int(s[0]) * n * h {
					head, i, batch := row%h, row/h%n, row/h/n
					from, seen := (batch*h+head)*p*c, start+i+1
					want = append(want, a.row(qs[row*c:(row+1)*c], ks[from:from+seen*c], vs[from:from+seen*c])...)
				}
				jittest.Near(t, o, func(e int) jittest.Bounded { return want[e] })
			})
		}
	})
}

// attention is the reference: o = sum_j p_j v_j / sum_j p_j over the positions
// that a query sees, p_j = exp(s_j - m), s_j = scale q·k_j, m = max s. A factor
// common to all p_j cancels, so that m counts as exact. What the online form
// adds:
//   - p_j is computed against the maximum so far, and multiplied by
//     exp(m - m2) at each step that follows. The maxima only grow, so the
//     differences that are rounded add up to at most s_j - m: as much rounding as
//     one difference.
//   - Each step multiplies by one more exp, which is off by its ulps, and is
//     rounded once. A step takes at least one position.
//   - In the sum of v, p_j is rounded to T; in the sum of p it is not.
type attention struct {
	dtype       lang.DType
	contraction jittest.Contraction
	scale       float64
}

// row is the output of one query over the positions that it sees; keys and values are [position, channel].
func (a attention) row(q, keys, values []float64) []jittest.Bounded {
	c := len(q)
	n := len(keys) / c
	s := make([]jittest.Bounded, n)
	most := math.Inf(-1)
	for j := range s {
		s[j] = a.contraction.Dot(c,
			func(i int) jittest.Bounded { return jittest.Exact(q[i]) },
			func(i int) jittest.Bounded { return jittest.Exact(keys[j*c+i]) }).Mul(jittest.Exact(a.scale))
		most = max(most, s[j].V)
	}
	// One rescaling: exp's ulps, each 2^-23 of the result at most, and a product.
	step := lang.OpExp.Row().Ulp*0x1p-23 + 0x1p-24
	rescaled := math.Expm1(float64(n-1) * math.Log1p(step))
	p, narrow := make([]jittest.Bounded, n), make([]jittest.Bounded, n)
	for j := range s {
		p[j] = s[j].Sub(jittest.Exact(most)).Exp()
		p[j].E += rescaled * (p[j].V + p[j].E)
		narrow[j] = p[j].As(a.dtype)
	}
	sum := jittest.Sum(p)
	out := make([]jittest.Bounded, c)
	for e := range out {
		out[e] = a.contraction.Dot(n,
			func(j int) jittest.Bounded { return narrow[j] },
			func(j int) jittest.Bounded { return jittest.Exact(values[j*c+e]) }).Div(sum)
	}
	return out
}
