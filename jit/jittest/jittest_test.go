package jittest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/lang"
)

// TestBoundsHold computes in f32 what Bounded computes, at random, and expects
// the tolerances to be kept, and to be used: a bound that is never nearly
// reached would not see a mistake.
func TestBoundsHold(t *testing.T) {
	r := Rand("bounds")
	f := func(x float64) float64 { return float64(float32(x)) }
	for _, c := range []struct {
		name     string
		computed func(x, y float64) float64
		bounded  func(x, y Bounded) Bounded
	}{
		{"add", func(x, y float64) float64 { return f(x + y) }, Bounded.Add},
		{"sub", func(x, y float64) float64 { return f(x - y) }, Bounded.Sub},
		{"mul", func(x, y float64) float64 { return f(x * y) }, Bounded.Mul},
		{"div", func(x, y float64) float64 { return f(x / y) }, Bounded.Div},
		{"exp of a product", func(x, y float64) float64 { return f(math.Exp(f(x * y))) }, func(x, y Bounded) Bounded { return x.Mul(y).Exp() }},
		{"tanh of a sum", func(x, y float64) float64 { return f(math.Tanh(f(x + y))) }, func(x, y Bounded) Bounded { return x.Add(y).Tanh() }},
		{"sigmoid of a sum", func(x, y float64) float64 { return f(1 / (1 + math.Exp(-f(x+y)))) }, func(x, y Bounded) Bounded { return x.Add(y).Sigmoid() }},
		{"rsqrt of a square", func(x, y float64) float64 { return f(1 / math.Sqrt(f(x*x))) }, func(x, y Bounded) Bounded { return x.Mul(x).Rsqrt(0x1p-149) }},
		{"bf16", func(x, y float64) float64 { return float64(lang.BF16.Round(float32(x))) }, func(x, y Bounded) Bounded { return x.As(lang.BF16) }},
		{"f16", func(x, y float64) float64 { return float64(lang.F16.Round(float32(x))) }, func(x, y Bounded) Bounded { return x.As(lang.F16) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			used := 0.0
			for range 2000 {
				x, y := f(r.NormFloat64()), f(r.NormFloat64())
				want := c.bounded(Exact(x), Exact(y))
				off := math.Abs(c.computed(x, y) - want.V)
				if !assert.LessOrEqual(t, off, want.E, "%v, %v", x, y) {
					return
				}
				used = max(used, off/want.E)
			}
			assert.Greater(t, used, 0.1)
		})
	}
}

func TestSumBoundHoldsInAnyOrder(t *testing.T) {
	r := Rand("sum")
	list := make([]Bounded, 1000)
	for i := range list {
		list[i] = Exact(float64(float32(r.NormFloat64())))
	}
	want := Sum(list)
	for range 100 {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		sum := float32(0)
		for _, x := range list {
			sum += float32(x.V)
		}
		assert.InDelta(t, want.V, float64(sum), want.E)
	}
}

func TestPathIsInTheRepository(t *testing.T) {
	assert.FileExists(t, Path(t, "testdata/models/README.md"))
}
