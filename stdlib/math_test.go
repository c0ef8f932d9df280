package stdlib_test

import (
	"math"
	"testing"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// elementwise is M × N: a single element, a row, a column, and sizes just off
// powers of two; 50257 is GPT-2's vocabulary.
var elementwise = []shape{{1, 1}, {3, 17}, {127, 129}, {17, 3}, {1, 1000}, {1000, 1}, {3, 50257}}

var elementwiseLarge = []shape{{1000, 1000}, {129, 50257}}

// TestAdd and TestMul expect equality: one f32 operation and one conversion
// are defined to the bit.
func TestAdd(t *testing.T) {
	testBinary(t, "add", func(x, y float32) float32 { return x + y })
}

func TestMul(t *testing.T) {
	testBinary(t, "mul", func(x, y float32) float32 { return x * y })
}

func testBinary(t *testing.T, kernel string, f func(x, y float32) float32) {
	k := load(t)
	eachType(t, shapes(t, elementwise, elementwiseLarge), func(t *testing.T, d lang.DType, s shape) {
		x, y := jittest.Normal(d, kernel+" x", s...), jittest.Normal(d, kernel+" y", s...)
		special(x, 1)
		special(y, 3)
		z := k.Run(t, kernel, jit.Options{}, x, y)[0]
		jittest.Same(t, z, func(i int) float64 {
			return float64(d.Round(f(float32(x.Float(i)), float32(y.Float(i)))))
		})
	})
}

// special puts numbers at which arithmetic is special among the elements, from one on.
func special(a *jittest.Array, from int) {
	for i, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 0, math.Copysign(0, -1), 6e4, 6e-8} {
		if at := from + 2*i; at < a.Len() {
			a.SetFloat(at, v)
		}
	}
}

// TestRelu expects equality, and that NaN stays NaN.
func TestRelu(t *testing.T) {
	k := load(t)
	eachType(t, shapes(t, elementwise, elementwiseLarge), func(t *testing.T, d lang.DType, s shape) {
		x := jittest.Normal(d, "relu", s...)
		special(x, 2)
		y := k.Run(t, "relu_map", jit.Options{}, x)[0]
		jittest.Same(t, y, func(i int) float64 { return max(x.Float(i), 0) })
	})
}

func TestGelu(t *testing.T) {
	testActivation(t, "gelu_map", gelu)
}

func TestSilu(t *testing.T) {
	testActivation(t, "silu_map", func(x jittest.Bounded) jittest.Bounded { return x.Mul(x.Sigmoid()) })
}

// gelu is the formula of stdlib's, operation by operation.
func gelu(x jittest.Bounded) jittest.Bounded {
	const root = 1.5957691216057308
	square := jittest.Constant(root * 0.044715).Mul(x).Mul(x)
	return x.Mul(x.Mul(jittest.Constant(root).Add(square)).Sigmoid())
}

func testActivation(t *testing.T, kernel string, f func(jittest.Bounded) jittest.Bounded) {
	k := load(t)
	eachType(t, shapes(t, elementwise, elementwiseLarge), func(t *testing.T, d lang.DType, s shape) {
		x := jittest.Normal(d, kernel, s...)
		// A sweep from where the function is 0 to where it is x.
		for i := 0; i < x.Len(); i += 3 {
			x.SetFloat(i, 12*x.Float(i))
		}
		y := k.Run(t, kernel, jit.Options{}, x)[0]
		jittest.Near(t, y, func(i int) jittest.Bounded { return f(jittest.Exact(x.Float(i))) })
	})
}
