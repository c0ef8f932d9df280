package stdlib_test

import (
	"fmt"
	"testing"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// products is M × K × N: one element, vectors both ways, sizes just off those
// of tensor cores and tiles, and GPT-2's vocabulary.
var products = []shape{{3, 17, 127}, {1, 1, 1}, {17, 129, 3}, {1, 1000, 129}, {127, 3, 17}, {129, 127, 129}, {1000, 17, 1}, {1, 3, 50257}}

var productsLarge = []shape{{1000, 1000, 1000}, {256, 768, 2304}, {129, 3072, 768}, {3, 50257, 17}, {64, 64, 64}, {512, 512, 512}, {17, 127, 50257}}

// linearCase is one product to check: y = finish(x w + b, r).
type linearCase struct {
	kernel string
	// bias and residual tell which further arguments the kernel has.
	bias, residual bool
	// transposed weights are stored [N, K].
	transposed bool
	finish     func(jittest.Bounded) jittest.Bounded
	pins       map[string]int64
}

func TestLinear(t *testing.T) { testLinear(t, linearCase{kernel: "linear"}) }

func TestLinearBias(t *testing.T) { testLinear(t, linearCase{kernel: "linear_bias", bias: true}) }

func TestLinearGelu(t *testing.T) {
	testLinear(t, linearCase{kernel: "linear_gelu", bias: true, finish: gelu})
}

func TestLinearResidual(t *testing.T) {
	testLinear(t, linearCase{kernel: "linear_residual", bias: true, residual: true})
}

// TestLinearInSteps pins the extents, so that blocks are many and sums are
// carried from step to step, whatever a planner would choose.
func TestLinearInSteps(t *testing.T) {
	testLinear(t, linearCase{kernel: "linear", pins: map[string]int64{"BM": 64, "BN": 64, "BK": 32}})
}

// TestLinearWide has tiles of as many columns as the matrix units of a whole
// warpgroup take (wgmma), with and without a pipeline.
func TestLinearWide(t *testing.T) {
	for _, stages := range []int64{1, 2, 4} {
		t.Run(fmt.Sprint("stages ", stages), func(t *testing.T) {
			testProducts(t, linearCase{kernel: "linear_bias", bias: true, pins: map[string]int64{"BM": 64, "BN": 128, "BK": 64, "warps": 4, "stages": stages}},
				[]shape{{70, 200, 136}, {3, 64, 128}})
		})
	}
	testProducts(t, linearCase{kernel: "head", transposed: true, pins: map[string]int64{"BM": 64, "BN": 128, "BK": 32, "warps": 4}}, []shape{{70, 200, 136}})
}

func TestHead(t *testing.T) { testLinear(t, linearCase{kernel: "head", transposed: true}) }

func testLinear(t *testing.T, c linearCase) {
	t.Parallel()
	testProducts(t, c, shapes(t, products, productsLarge))
}

func testProducts(t *testing.T, c linearCase, cases []shape) {
	k := jittest.Load(t, "stdlib_test.tile", source)
	eachType(t, cases, func(t *testing.T, d lang.DType, s shape) {
		m, kk, n := s[0], s[1], s[2]
		x := jittest.Normal(d, c.kernel+" x", m, kk)
		emphasise(x, int(kk), 1, int(kk)-1)
		// y(i, j) reads w at j*across + k*down.
		w, across, down := jittest.Normal(d, c.kernel+" w", kk, n), 1, int(n)
		if c.transposed {
			w, across, down = jittest.Normal(d, c.kernel+" w", n, kk), int(kk), 1
		}
		b, r := jittest.Normal(d, c.kernel+" b", n), jittest.Normal(d, c.kernel+" r", m, n)
		args := []any{x, w}
		if c.bias {
			args = append(args, b)
		}
		if c.residual {
			args = append(args, r)
		}
		xs, ws := x.Floats(), w.Floats()
		for _, precision := range jittest.Precisions(t, d) {
			t.Run("precision "+precision, func(t *testing.T) {
				y := k.Run(t, c.kernel, jit.Options{Precision: precision, Pins: c.pins}, args...)[0]
				contraction := jittest.ContractionOf(t, d, precision)
				jittest.Near(t, y, func(e int) jittest.Bounded {
					i, j := e/int(n), e%int(n)
					v := contraction.Dot(int(kk),
						func(p int) jittest.Bounded { return jittest.Exact(xs[i*int(kk)+p]) },
						func(p int) jittest.Bounded { return jittest.Exact(ws[j*across+p*down]) })
					if c.residual {
						v = jittest.Exact(r.Float(e)).Add(v)
					}
					if c.bias {
						v = v.Add(jittest.Exact(b.Float(j)))
					}
					if c.finish != nil {
						v = c.finish(v)
					}
					return v
				})
			})
		}
	})
}
