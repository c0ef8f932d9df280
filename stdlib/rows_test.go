package stdlib_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// rows is M × N for kernels that see whole rows: N from one element to
// GPT-2's vocabulary, which no block holds at once.
var rows = []shape{{1, 1}, {3, 17}, {127, 129}, {17, 127}, {129, 3}, {3, 1000}, {1, 50257}}

var rowsLarge = []shape{{1000, 1}, {1000, 1000}, {129, 50257}, {17, 8191}, {17, 16385}}

// plant makes one element of each row stand out, at its end, its start or its
// middle in turn, so that a row's result depends on it.
func plant(x *jittest.Array, n int, by float64) {
	for i := range x.Len() / n {
		at := i*n + []int{n - 1, 0, n / 2}[i%3]
		x.SetFloat(at, x.Float(at)+by)
	}
}

// TestSoftmax has the reference e / sum(e), e = exp(v - max v). The maximum is
// exact. A difference is rounded once, which exp makes a relative error of as
// much; the sum is taken in any order.
func TestSoftmax(t *testing.T) {
	k := load(t)
	eachType(t, shapes(t, rows, rowsLarge), func(t *testing.T, d lang.DType, s shape) {
		n := int(s[1])
		x := jittest.Normal(d, "softmax", s...)
		plant(x, n, 8)
		if n > 4 {
			x.SetFloat(1, math.Inf(-1)) // an excluded element: its share is 0
		}
		y := k.Run(t, "softmax", jit.Options{}, x)[0]
		want := make([]jittest.Bounded, x.Len())
		for i := range int(s[0]) {
			copy(want[i*n:], softmax(x.Floats()[i*n:(i+1)*n]))
		}
		jittest.Near(t, y, func(i int) jittest.Bounded { return want[i] })
	})
}

func softmax(v []float64) []jittest.Bounded {
	most := math.Inf(-1)
	for _, x := range v {
		most = max(most, x)
	}
	e := make([]jittest.Bounded, len(v))
	for j, x := range v {
		if !math.IsInf(x, -1) {
			e[j] = jittest.Exact(x).Sub(jittest.Exact(most)).Exp()
		}
	}
	sum := jittest.Sum(e)
	for j := range e {
		e[j] = e[j].Div(sum)
	}
	return e
}

// TestLayernorm has the reference c r g + b, where c = v - mean v and
// r = rsqrt(mean c² + eps). Rows have a mean of 3, which c must lose.
func TestLayernorm(t *testing.T) {
	k := load(t)
	eachType(t, shapes(t, rows, rowsLarge), func(t *testing.T, d lang.DType, s shape) {
		n := int(s[1])
		x, g, b := jittest.Normal(d, "layernorm x", s...), jittest.Normal(d, "layernorm g", s[1]), jittest.Normal(d, "layernorm b", s[1])
		for i := range x.Len() {
			x.SetFloat(i, x.Float(i)+3)
		}
		plant(x, n, 8*math.Sqrt(float64(n)))
		const eps = float32(1e-5)
		y := k.Run(t, "layernorm", jit.Options{}, x, g, b, jit.FloatValue(lang.F32, float64(eps)))[0]
		want := make([]jittest.Bounded, x.Len())
		values := x.Floats()
		for i := range int(s[0]) {
			copy(want[i*n:], layernorm(values[i*n:(i+1)*n], g, b, float64(eps)))
		}
		jittest.Near(t, y, func(i int) jittest.Bounded { return want[i] })
	})
}

func layernorm(v []float64, g, b *jittest.Array, eps float64) []jittest.Bounded {
	count := jittest.Exact(float64(len(v)))
	mean := func(list []jittest.Bounded) jittest.Bounded { return jittest.Sum(list).Div(count) }
	c := make([]jittest.Bounded, len(v))
	for j, x := range v {
		c[j] = jittest.Exact(x)
	}
	m := mean(c)
	squares := make([]jittest.Bounded, len(v))
	for j := range c {
		c[j] = c[j].Sub(m)
		squares[j] = c[j].Mul(c[j])
	}
	// A mean of squares is not negative, however it is rounded.
	r := mean(squares).Add(jittest.Exact(eps)).Rsqrt(eps)
	for j := range c {
		c[j] = c[j].Mul(r).Mul(jittest.Exact(g.Float(j))).Add(jittest.Exact(b.Float(j)))
	}
	return c
}

// TestArgmaxRows expects equality: the largest, of equals the first, and a NaN before any number.
func TestArgmaxRows(t *testing.T) {
	k := load(t)
	eachType(t, shapes(t, rows, rowsLarge), func(t *testing.T, d lang.DType, s shape) {
		n := int(s[1])
		x := jittest.Normal(d, "argmax", s...)
		for i := range int(s[0]) {
			row, last := i*n, (i+1)*n-1
			switch i % 4 {
			case 0: // the last is the largest
				x.SetFloat(last, 100)
			case 1: // two equals: the first counts
				x.SetFloat(row+n/3, 100)
				x.SetFloat(last, 100)
			case 2: // NaN wins, the first of several
				x.SetFloat(row+n/2, math.NaN())
				x.SetFloat(last, math.NaN())
			case 3: // nothing above -inf
				for j := row; j <= last; j++ {
					x.SetFloat(j, math.Inf(-1))
				}
			}
		}
		y := k.Run(t, "argmax_rows", jit.Options{}, x)[0]
		got, want := []int32{}, []int32{}
		for i := range int(s[0]) {
			got = append(got, int32(y.Float(i)))
			want = append(want, argmax(x.Floats()[i*n:(i+1)*n]))
		}
		assert.Equal(t, want, got)
	})
}

func argmax(v []float64) int32 {
	best := 0
	for j, x := range v {
		if x != x {
			return int32(j)
		}
		if x > v[best] {
			best = j
		}
	}
	return int32(best)
}
