package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// TestContractAxes contracts tiles with any batch, row, column and contracted
// axes in any order of each, dot or mma, read in place or computed.
func TestContractAxes(t *testing.T) {
	var r noise
	for trial := range 300 {
		k := newKernel("contract")
		axis := func(name string, limit int, grid bool) *ir.Axis {
			d := k.dim(name, int64(1+r.below(limit)))
			if grid && r.below(2) == 0 {
				return k.grid(name, d, int64(1+r.below(limit)))
			}
			return k.whole(name, d)
		}
		var batch, rows, cols, over []*ir.Axis
		for i := range r.below(3) {
			batch = append(batch, axis(fmt.Sprint("b", i), 3, true))
		}
		several := func(name string, count, limit int, grid bool) []*ir.Axis {
			var axes []*ir.Axis
			for i := range count {
				axes = append(axes, axis(fmt.Sprint(name, i), []int{0, limit, 6}[count], grid))
			}
			return axes
		}
		rows = several("m", r.below(3), 15, true)
		cols = several("n", r.below(3), 37, true)
		over = several("k", 1+r.below(2), 11, false)
		join := func(groups ...[]*ir.Axis) []*ir.Axis {
			var all []*ir.Axis
			for _, g := range groups {
				all = append(all, g...)
			}
			return r.shuffled(all, len(all))
		}
		var args Args
		a, va := k.input(&r, &args, join(batch, rows, over))
		b, vb := k.input(&r, &args, join(batch, cols, over))
		sign := 1.0
		if r.below(3) == 0 { // an operand that is computed
			va = k.Op(lang.OpNeg, va)
			sign = -1
		}
		kept := join(batch, rows, cols)
		acc := array{}
		var y *ir.Value
		if r.below(2) == 0 {
			var vacc *ir.Value
			acc, vacc = k.input(&r, &args, kept)
			y = k.mma(va, vb, vacc, over...)
			if r.below(2) == 0 { // the accumulator is needed afterwards: not in place
				y = k.Op(lang.OpSub, y, vacc)
				acc = array{}
			}
		} else {
			y = k.dot(va, vb, over...)
		}
		out := k.output(&args, join(kept), y)
		require.NoError(t, k.compile(t).Run(args), "trial %d", trial)
		terms := 1
		for _, x := range over {
			terms *= int(x.Len)
		}
		eachPosition(kept, func(pos map[*ir.Axis]int) {
			want, size := 0.0, 0.0
			if acc.data != nil {
				want = float64(*acc.at(pos))
				size = math.Abs(want)
			}
			eachPosition(over, func(inner map[*ir.Axis]int) {
				for a, p := range pos {
					inner[a] = p
				}
				v := sign * float64(*a.at(inner)) * float64(*b.at(inner))
				want += v
				size += math.Abs(v)
			})
			// k·u·Σ|a·b|; subtracting an accumulator of up to 1 rounds twice more.
			bound := float64(terms+1)*unit*size + 4*unit*(1+size)
			require.InDelta(t, want, *out.at(pos), bound, "trial %d", trial)
		})
	}
}

// TestContractTypes checks each element type, over all specials of the integers.
func TestContractTypes(t *testing.T) {
	const m, n, kk = 3, 17, 35
	for _, d := range lang.DTypes() {
		if d == lang.Bool {
			continue
		}
		for _, transposed := range []bool{false, true} {
			for _, rows := range []int{1, m} {
				k := newKernel("types")
				dm, dn, dk := k.dim("M", int64(rows)), k.dim("N", n), k.dim("K", kk)
				i, j, p := k.grid("i", dm, 8), k.grid("j", dn, 32), k.whole("k", dk)
				x := k.load(k.in("x", d, dm, dk), i, p)
				var w *ir.Value
				if transposed {
					w = k.load(k.in("w", d, dn, dk), j, p)
				} else {
					w = k.load(k.in("w", d, dk, dn), p, j)
				}
				y := k.dot(x, w, p)
				od := y.Type.DType
				require.Equal(t, d.Accumulator(), od)
				k.store(k.out("y", od, dm, dn), y, i, j)
				var r noise
				values := special(d)
				pick := func() num {
					if d.IsFloat() {
						return num{f: formats[d].round(r.float())}
					}
					return values[r.below(len(values))]
				}
				var a, b []num
				var xs, ws []byte
				for range rows * kk {
					v := pick()
					a = append(a, v)
					xs = append(xs, encode(d, v)...)
				}
				for range kk * n {
					v := pick()
					b = append(b, v)
					ws = append(ws, encode(d, v)...)
				}
				out := make([]byte, rows*n*od.Size())
				require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{memory(d, xs), memory(d, ws), out}}))
				for i := range rows {
					for j := range n {
						sum, size, exact := 0.0, 0.0, bigInt(0)
						for p := range kk {
							u, v := a[i*kk+p], b[p*n+j]
							if transposed {
								v = b[j*kk+p]
							}
							if d.IsFloat() {
								sum += u.f * v.f
								size += math.Abs(u.f * v.f)
							} else {
								exact.Add(exact, bigInt(0).Mul(u.i, v.i))
							}
						}
						got := decode(od, out[(i*n+j)*od.Size():])
						if d.IsFloat() {
							u := unit
							if d == lang.F64 {
								u = 0x1p-53 * 2 // the reference rounds as well
							}
							require.InDelta(t, sum, got.f, kk*u*size, "%s", d)
						} else {
							require.Zero(t, wrap(od, exact).Cmp(got.i), "%s", d)
						}
					}
				}
			}
		}
	}
}

// TestMmaNarrowAccumulator: an f16 accumulator is rounded at each mma.
func TestMmaNarrowAccumulator(t *testing.T) {
	k := newKernel("narrow")
	dn, dk := k.dim("N", 4), k.dim("K", 8)
	j, p := k.grid("j", dn, 4), k.whole("k", dk)
	w := k.load(k.in("w", lang.F16, dk, dn), p, j)
	x := k.load(k.in("x", lang.F16, dk), p)
	y := k.mma(x, w, k.full(k.float(lang.F16, 2048), j), p)
	k.store(k.out("y", lang.F16, dn), y, j)
	ws, xs, out := make([]uint16, 32), make([]uint16, 8), make([]uint16, 4)
	for i := range ws {
		ws[i] = lang.F16Bits(1)
	}
	for i := range xs {
		xs[i] = lang.F16Bits(0.375)
	}
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(ws), bytesOf(xs), bytesOf(out)}}))
	for _, v := range out {
		assert.Equal(t, float32(2052), lang.F16Value(v)) // 2051, a tie between 2050 and 2052
	}
}

// TestLargeProduct crosses the blocks of the matrix kernel in every direction.
func TestLargeProduct(t *testing.T) {
	for _, s := range [][3]int{{101, 530, 259}, {7, 33, 513}, {200, 17, 31}, {2, 1030, 600}, {1, 1030, 601}, {1030, 1, 601}} {
		for _, transposed := range []bool{false, true} {
			m, n, kk := s[0], s[1], s[2]
			var r noise
			x, w, c := r.floats(m*kk), r.floats(kk*n), make([]float32, m*n)
			p := matmul(int64(m), int64(n), int64(kk), int64(m), int64(n), transposed).compile(t)
			require.NoError(t, p.Run(Args{Tensors: [][]byte{bytesOf(x), bytesOf(w), bytesOf(c)}}))
			want, bound := make([]float64, m*n), make([]float64, m*n)
			for i := range m {
				for q := range kk {
					u := float64(x[i*kk+q])
					for j := range n {
						at := q*n + j
						if transposed {
							at = j*kk + q
						}
						v := u * float64(w[at])
						want[i*n+j] += v
						bound[i*n+j] += float64(kk) * unit * math.Abs(v)
					}
				}
			}
			near(t, c, want, bound)
		}
	}
}
