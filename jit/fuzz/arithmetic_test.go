package fuzz

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// exponent is that of a number in a format, of subnormal numbers the least.
func exponent(v, leastNormal float64) int {
	return math.Ilogb(max(math.Abs(v), leastNormal))
}

// tensorCore adds products to c as tensor cores do (Xie, Wang, Yang and Yang
// 2025): all at once, each shifted to the largest exponent and cut off after
// fraction bits, the sum cut off to f32.
func tensorCore(c float64, x, y []float64, leastNormal float64, fraction int) float64 {
	largest := -126
	if c != 0 {
		largest = exponent(c, 0x1p-126)
	}
	for i := range x {
		if x[i] != 0 && y[i] != 0 {
			largest = max(largest, exponent(x[i], leastNormal)+exponent(y[i], leastNormal))
		}
	}
	grain := math.Ldexp(1, largest-fraction)
	sum := math.Trunc(c / grain)
	for i := range x {
		sum += math.Trunc(x[i] * y[i] / grain)
	}
	sum *= grain
	last := math.Ldexp(1, exponent(sum, 0x1p-126)-23)
	return math.Trunc(sum/last) * last
}

// What tensor cores give, the reference accepts, however the products are divided into steps.
func TestReferenceHoldsTensorCores(t *testing.T) {
	r := random(4, "products")
	gpu := ArithmeticOf(true)
	for range 3000 {
		d := pick(r, lang.F16, lang.BF16, lang.F4E2M1, lang.F8E4M3, lang.F8E5M2)
		n := 1 + r.IntN(40)
		x, y, c := factorsOf(d, n, r), factorsOf(d, n, r), eval.Round(r.NormFloat64()*math.Exp2(float64(r.IntN(40)-30)), lang.F32)
		a, b := &tile{dtype: d, f: points(x)}, &tile{dtype: d, f: points(y)}
		f := factors{a.f, b.f, gpu.aligned(a, d), gpu.aligned(b, d)}
		list, top := []interval{point(c)}, 0.0
		for i := range n {
			list = append(list, a.f[i].mul(b.f[i]))
			top = max(top, f.top(i, i))
		}
		want := gpu.contraction(&ir.Op{}, d, "", list, top).rounded(lang.F32, gpu.weight(&ir.Op{}, d, "", float64(n+1)), float64(n+1))
		for _, fraction := range []int{24, 25} {
			for _, step := range []int{1, 8, 16} {
				got := c
				for k := 0; k < n; k += step {
					end := min(k+step, n)
					got = tensorCore(got, x[k:end], y[k:end], leastNormal(d), fraction)
				}
				if !assert.True(t, want.accepts(got), "%v: %v + %v * %v in steps of %d is %v, the reference has %s", d, c, x, y, step, got, want) {
					return
				}
			}
		}
	}
}

// factorsOf draws numbers of very different magnitudes, subnormal ones and zeros among them.
func factorsOf(d lang.DType, n int, r *rand.Rand) []float64 {
	out := make([]float64, n)
	for i := range out {
		switch r.IntN(6) {
		case 0:
			out[i] = eval.Round(d.Spacing(0)*float64(r.IntN(7)-3), d)
		case 1:
			out[i] = eval.Round(math.Copysign(math.Sqrt(d.Largest()), r.NormFloat64()), d)
		default:
			out[i] = eval.Round(r.NormFloat64(), d)
		}
	}
	return out
}

func points(list []float64) []interval {
	out := make([]interval, len(list))
	for i, v := range list {
		out[i] = point(v)
	}
	return out
}

// One product with a subnormal factor cuts off what others add, so that the error may be large beside every product.
func TestSubnormalFactorsCutOff(t *testing.T) {
	x, y := []float64{0x1p-24, 0x1.554p-1}, []float64{0x1p15, 0x1.004p-10}
	got := tensorCore(0, x, y, 0x1p-14, 25)
	exact := x[0]*y[0] + x[1]*y[1]
	assert.Greater(t, math.Abs(got-exact), 0x1p-18*exact)
	a, b := &tile{dtype: lang.F16, f: points(x)}, &tile{dtype: lang.F16, f: points(y)}
	gpu := ArithmeticOf(true)
	f := factors{a.f, b.f, gpu.aligned(a, lang.F16), gpu.aligned(b, lang.F16)}
	list := []interval{a.f[0].mul(b.f[0]), a.f[1].mul(b.f[1])}
	weight := gpu.weight(&ir.Op{}, lang.F16, "", 2)
	assert.False(t, gpu.contraction(&ir.Op{}, lang.F16, "", list, 0).rounded(lang.F32, weight, 2).accepts(got))
	assert.True(t, gpu.contraction(&ir.Op{}, lang.F16, "", list, f.top(0, 0)).rounded(lang.F32, weight, 2).accepts(got))
	assert.Nil(t, ArithmeticOf(false).aligned(a, lang.F16))
}

// A sum of widened products may be computed as the contraction of the narrow factors.
func TestNarrow(t *testing.T) {
	f16 := &ir.Value{Type: ir.Type{DType: lang.F16}}
	wide := func(from *ir.Value, to lang.DType) *ir.Value {
		v := &ir.Value{Type: ir.Type{DType: to}}
		v.Def = &ir.Op{Code: lang.OpCast, Args: []*ir.Value{from}, Results: []*ir.Value{v}}
		return v
	}
	assert.Equal(t, lang.F16, narrow(f16))
	assert.Equal(t, lang.F16, narrow(wide(f16, lang.F32)))
	assert.Equal(t, lang.F64, narrow(wide(f16, lang.F64)))
	assert.Equal(t, lang.F32, narrow(wide(&ir.Value{Type: ir.Type{DType: lang.I8}}, lang.F32)))
}
