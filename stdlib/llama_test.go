package stdlib_test

import (
	"math"
	"testing"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// TestProject multiplies by weights of every type that they may have: each of their numbers is one of what is computed in.
func TestProject(t *testing.T) {
	k := load(t)
	for _, weights := range []lang.DType{lang.I8, lang.F8E4M3, lang.F8E5M2, lang.BF16} {
		eachType(t, []shape{{3, 17, 127}, {1, 1, 1}, {1, 1000, 129}, {17, 129, 3}, {129, 64, 200}}, func(t *testing.T, d lang.DType, s shape) {
			if !d.Holds(weights) {
				return
			}
			m, kk, n := s[0], s[1], s[2]
			x := jittest.Normal(d, "project x", m, kk)
			emphasise(x, int(kk), 1, int(kk)-1)
			w, source := jittest.NewArray(weights, n, kk), jittest.Normal(lang.F32, "project w", n, kk)
			for i := range w.Len() {
				if weights == lang.I8 {
					w.SetFloat(i, math.RoundToEven(40*source.Float(i)))
				} else {
					w.SetFloat(i, source.Float(i))
				}
			}
			xs, ws := x.Floats(), w.Floats()
			for _, precision := range jittest.Precisions(t, d) {
				contraction := jittest.ContractionOf(t, d, precision)
				jittest.Near(t, k.Run(t, "project", jit.Options{Precision: precision}, x, w)[0], func(e int) jittest.Bounded {
					i, j := e/int(n), e%int(n)
					return contraction.Dot(int(kk),
						func(p int) jittest.Bounded { return jittest.Exact(xs[i*int(kk)+p]) },
						func(p int) jittest.Bounded { return jittest.Exact(ws[j*int(kk)+p]) })
				})
			}
		})
	}
}

// TestRotary has angles far from 0, as they are and stretched.
func TestRotary(t *testing.T) {
	k := load(t)
	const theta, low, high, context = 500000.0, 1.0, 4.0, 8192.0
	for _, factor := range []float64{1, 8} {
		// B, S, H, D
		eachType(t, []shape{{2, 17, 3, 10}, {1, 1, 1, 2}, {1, 5, 2, 64}}, func(t *testing.T, d lang.DType, s shape) {
			n, h, c := int(s[1]), int(s[2]), int(s[3])
			x, start := jittest.Normal(d, "rotary x", s...), jittest.NewArray(lang.I32, s[0])
			for b := range start.Len() {
				start.SetFloat(b, float64(1000+3*b))
			}
			f := func(v float64) any { return jit.FloatValue(lang.F32, v) }
			y := k.Run(t, "rotary", jit.Options{}, x, start, f(theta), f(factor), f(low), f(high), f(context))[0]
			one := jittest.Exact(1)
			jittest.Near(t, y, func(e int) jittest.Bounded {
				pair, row := e%c%(c/2), e/c*c
				position := jittest.Exact(start.Float(e/(c*h*n)) + float64(e/(c*h)%n))
				frequency := power(theta, jittest.Exact(float64(pair)).Mul(jittest.Constant(-2/float64(c))))
				kept := jittest.Exact(context).Mul(frequency).Div(jittest.Constant(2 * math.Pi)).Sub(jittest.Exact(low)).Div(jittest.Exact(high - low))
				kept.V = min(1, max(0, kept.V))
				stretched := one.Sub(one.Sub(kept).Mul(one.Sub(one.Div(jittest.Exact(factor)))))
				angle := position.Mul(frequency.Mul(stretched))
				sin, cos := turned(angle)
				p, q := jittest.Exact(x.Float(row+pair)), jittest.Exact(x.Float(row+pair+c/2))
				if e%c < c/2 {
					return p.Mul(cos).Sub(q.Mul(sin))
				}
				return q.Mul(cos).Add(p.Mul(sin))
			})
		})
	}
}

// ulps is an error of so many units in the last place, as the table of operations gives it for f32.
func ulps(op lang.Op, v float64) float64 { return 2 * op.Row().Ulp * 0x1p-24 * math.Abs(v) }

// power is a base that is exact to a bounded power.
func power(base float64, exponent jittest.Bounded) jittest.Bounded {
	v := math.Pow(base, exponent.V)
	e := v * math.Expm1(math.Abs(math.Log(base))*exponent.E)
	return jittest.Bounded{V: v, E: e + ulps(lang.OpPow, v+e)}
}

// turned is the sine and the cosine of an angle: neither is steeper than 1.
func turned(angle jittest.Bounded) (sin, cos jittest.Bounded) {
	s, c := math.Sincos(angle.V)
	return jittest.Bounded{V: s, E: angle.E + ulps(lang.OpSin, 1)}, jittest.Bounded{V: c, E: angle.E + ulps(lang.OpCos, 1)}
}
