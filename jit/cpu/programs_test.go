package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

const unit = 0x1p-24 // the unit roundoff of float32

func constant(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// addKernel is z[i] = x[i] + y[i].
func addKernel(n, extent int64) *kernel {
	k := newKernel("add")
	d := k.dim("N", n)
	i := k.grid("i", d, extent)
	x, y, z := k.in("x", lang.F32, d), k.in("y", lang.F32, d), k.out("z", lang.F32, d)
	k.store(z, k.Op(lang.OpAdd, k.load(x, i), k.load(y, i)), i)
	return k
}

func TestVectorAdd(t *testing.T) {
	var r noise
	p := addKernel(-1, 64).compile(t)
	for _, n := range []int{0, 1, 63, 64, 65, 1000, 100000} {
		x, y, z := r.floats(n), r.floats(n), make([]float32, n)
		require.NoError(t, p.Run(Args{Tensors: [][]byte{bytesOf(x), bytesOf(y), bytesOf(z)}, Dims: []int64{int64(n)}}))
		for i := range z {
			require.Equal(t, x[i]+y[i], z[i])
		}
	}
}

func TestSoftmax(t *testing.T) {
	for _, shape := range [][3]int64{{7, 33, 2}, {1, 1, 1}, {64, 257, 16}, {5, 1000, 3}} {
		m, n := shape[0], shape[1]
		k := newKernel("softmax")
		dm, dn := k.dim("M", m), k.dim("N", n)
		i, j := k.grid("i", dm, shape[2]), k.whole("j", dn)
		x, y := k.in("x", lang.F32, dm, dn), k.out("y", lang.F32, dm, dn)
		v := k.load(x, i, j)
		e := k.Op(lang.OpExp, k.Op(lang.OpSub, v, k.reduce(lang.OpReduceMax, v, j)))
		k.store(y, k.Op(lang.OpDiv, e, k.reduce(lang.OpSum, e, j)), i, j)
		var r noise
		in, out := r.floats(int(m*n)), make([]float32, m*n)
		for q := range in {
			in[q] *= 30
		}
		require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}}))
		for a := range int(m) {
			row := in[a*int(n) : (a+1)*int(n)]
			top, sum := math.Inf(-1), 0.0
			for _, v := range row {
				top = max(top, float64(v))
			}
			for _, v := range row {
				sum += math.Exp(float64(v) - top)
			}
			for b, v := range row {
				want := math.Exp(float64(v)-top) / sum
				// The difference to the maximum is rounded: up to 60 · unit in the exponent.
				require.InDelta(t, want, out[a*int(n)+b], want*70*unit+1e-40)
			}
		}
	}
}

func gelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(0.7978845608*(x+0.044715*x*x*x)))
}

func (k *kernel) gelu(x *ir.Value) *ir.Value {
	f := func(v float64) *ir.Value { return k.float(lang.F32, v) }
	mul := func(a, b *ir.Value) *ir.Value { return k.Op(lang.OpMul, a, b) }
	cube := mul(mul(mul(f(0.044715), x), x), x)
	th := k.Op(lang.OpTanh, mul(f(0.7978845608), k.Op(lang.OpAdd, x, cube)))
	return mul(mul(f(0.5), x), k.Op(lang.OpAdd, f(1), th))
}

// linearGelu is y = gelu(x w + b) with the loop over k in steps.
func linearGelu(d lang.DType, m, n, kk, bm, bn, bk int64) *kernel {
	k := newKernel("linear_gelu")
	dm, dn, dk := k.dim("M", m), k.dim("N", n), k.dim("K", kk)
	i, j := k.grid("i", dm, bm), k.grid("j", dn, bn)
	a := k.axis("k", ir.Loop, dk, bk)
	x, w, b, y := k.in("x", d, dm, dk), k.in("w", d, dk, dn), k.in("b", d, dn), k.out("y", d, dm, dn)
	zero := k.full(k.float(lang.F32, 0), i, j)
	acc := k.loop(a, k.Int(0), k.size(dk), []*ir.Value{zero}, func(_ *ir.Value, c []*ir.Value) []*ir.Value {
		return []*ir.Value{k.mma(k.load(x, i, a), k.load(w, a, j), c[0], a)}
	})[0]
	sum := k.Op(lang.OpAdd, acc, k.Cast(k.load(b, j), lang.F32))
	k.store(y, k.Cast(k.gelu(sum), d), i, j)
	return k
}

func TestLinearGelu(t *testing.T) {
	for _, s := range [][6]int64{{5, 7, 9, 2, 3, 4}, {1, 100, 50, 1, 64, 16}, {70, 130, 100, 64, 64, 32}, {33, 1, 20, 8, 8, 8}} {
		m, n, kk := int(s[0]), int(s[1]), int(s[2])
		p := linearGelu(lang.F32, s[0], s[1], s[2], s[3], s[4], s[5]).compile(t)
		var r noise
		x, w, b, y := r.floats(m*kk), r.floats(kk*n), r.floats(n), make([]float32, m*n)
		require.NoError(t, p.Run(Args{Tensors: [][]byte{bytesOf(x), bytesOf(w), bytesOf(b), bytesOf(y)}}))
		want, bound := make([]float64, m*n), make([]float64, m*n)
		for i := range m {
			for j := range n {
				sum, size := float64(b[j]), math.Abs(float64(b[j]))
				for q := range kk {
					v := float64(x[i*kk+q]) * float64(w[q*n+j])
					sum += v
					size += math.Abs(v)
				}
				want[i*n+j] = gelu(sum)
				// gelu's slope is at most 1.13; its own steps add a few roundings of |x|.
				bound[i*n+j] = 1.13*float64(kk+2)*unit*size + 12*unit*(math.Abs(sum)+size*unit)
			}
		}
		near(t, y, want, bound)
	}
}

// attention is flash attention: online softmax over blocks of keys, causal.
func attention(b, h, s, d, bm, bn int64, causal bool) *kernel {
	k := newKernel("attention")
	db, dh, ds, dd := k.dim("B", b), k.dim("H", h), k.dim("S", s), k.dim("D", d)
	ab, ah, i := k.gridScalar("b", db), k.gridScalar("h", dh), k.grid("i", ds, bm)
	ad, ae := k.whole("d", dd), k.whole("e", dd)
	j := k.axis("j", ir.Loop, ds, bn)
	q, kt, v := k.in("q", lang.F32, db, dh, ds, dd), k.in("k", lang.F32, db, dh, ds, dd), k.in("v", lang.F32, db, dh, ds, dd)
	o := k.out("o", lang.F32, db, dh, ds, dd)
	scale := k.scalar("scale", lang.F32)
	qi := k.load(q, ab, ah, i, ad)
	inf := k.float(lang.F32, math.Inf(-1))
	zero := k.float(lang.F32, 0)
	hi := k.size(ds)
	if causal {
		hi = k.at(lang.OpEnd, i)
	}
	out := k.loop(j, k.Int(0), hi, []*ir.Value{k.full(inf, i), k.full(zero, i), k.full(zero, i, ae)},
		func(_ *ir.Value, c []*ir.Value) []*ir.Value {
			s := k.Op(lang.OpMul, k.dot(qi, k.load(kt, ab, ah, j, ad), ad), scale)
			if causal {
				s = k.Op(lang.OpWhere, k.Op(lang.OpGe, k.index(i), k.index(j)), s, inf)
			}
			m2 := k.Op(lang.OpMax, c[0], k.reduce(lang.OpReduceMax, s, j))
			p := k.Op(lang.OpExp, k.Op(lang.OpSub, s, m2))
			r := k.Op(lang.OpExp, k.Op(lang.OpSub, c[0], m2))
			l := k.Op(lang.OpAdd, k.Op(lang.OpMul, c[1], r), k.reduce(lang.OpSum, p, j))
			return []*ir.Value{m2, l, k.mma(p, k.load(v, ab, ah, j, ae), k.Op(lang.OpMul, c[2], r), j)}
		})
	k.store(o, k.Op(lang.OpDiv, out[2], out[1]), ab, ah, i, ae)
	return k
}

func TestAttention(t *testing.T) {
	for _, causal := range []bool{false, true} {
		for _, s := range [][6]int{{2, 3, 17, 5, 4, 3}, {1, 2, 64, 16, 16, 16}, {1, 1, 1, 8, 16, 16}, {2, 1, 50, 32, 64, 7}} {
			t.Run(fmt.Sprint(s, causal), func(t *testing.T) {
				B, H, S, D := s[0], s[1], s[2], s[3]
				p := attention(int64(B), int64(H), int64(S), int64(D), int64(s[4]), int64(s[5]), causal).compile(t)
				var r noise
				n := B * H * S * D
				q, k, v, o := r.floats(n), r.floats(n), r.floats(n), make([]float32, n)
				scale := float32(1 / math.Sqrt(float64(D)))
				require.NoError(t, p.Run(Args{Tensors: [][]byte{bytesOf(q), bytesOf(k), bytesOf(v), bytesOf(o)}, Scalars: []uint64{uint64(math.Float32bits(scale))}}))
				want := make([]float64, n)
				for bh := range B * H {
					at := func(x []float32, i, d int) float64 { return float64(x[(bh*S+i)*D+d]) }
					for i := range S {
						limit := S
						if causal {
							limit = i + 1
						}
						sum, acc := 0.0, make([]float64, D)
						for j := range limit {
							dot := 0.0
							for d := range D {
								dot += at(q, i, d) * at(k, j, d)
							}
							w := math.Exp(dot * float64(scale))
							sum += w
							for d := range D {
								acc[d] += w * at(v, j, d)
							}
						}
						for d := range D {
							want[(bh*S+i)*D+d] = acc[d] / sum
						}
					}
				}
				// |v| ≤ 1, so the result is an average of values up to 1: the scores are
				// off by (D+3)·unit·√D, the weights and sums by a few units for each key.
				bound := (float64(D+3)*math.Sqrt(float64(D))*2 + 3*float64(S) + 20) * unit
				near(t, o, want, constant(n, bound))
			})
		}
	}
}
