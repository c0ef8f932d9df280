package cpu

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

func bigInt(v int) *big.Int { return big.NewInt(int64(v)) }

// TestReduceAxes sums over any axes of a tile in any order, one rounding from the exact sum.
func TestReduceAxes(t *testing.T) {
	var r noise
	for trial := range 300 {
		k := newKernel("sums")
		axes := k.randomAxes(&r)
		var whole []*ir.Axis
		for _, a := range axes {
			if a.Kind == ir.Whole {
				whole = append(whole, a)
			}
		}
		if len(whole) == 0 {
			continue
		}
		var args Args
		x, v := k.input(&r, &args, r.shuffled(axes, len(axes)))
		over := r.shuffled(whole, 1)
		sum := k.reduce(lang.OpSum, v, over...)
		least := k.reduce(lang.OpReduceMin, v, over...)
		kept := ir.Without(axes, over)
		y := k.output(&args, r.shuffled(kept, len(kept)), sum)
		z := k.output(&args, r.shuffled(kept, len(kept)), least)
		require.NoError(t, k.compile(t).Run(args), "trial %d", trial)
		eachPosition(kept, func(pos map[*ir.Axis]int) {
			exact, low := 0.0, math.Inf(1)
			eachPosition(over, func(inner map[*ir.Axis]int) {
				for a, p := range pos {
					inner[a] = p
				}
				v := float64(*x.at(inner))
				exact += v
				low = min(low, v)
			})
			require.Equal(t, float32(exact), *y.at(pos), "trial %d", trial)
			require.Equal(t, float32(low), *z.at(pos), "trial %d", trial)
		})
	}
}

// runReduce reduces a matrix [3, n] over its rows or columns.
func runReduce(t *testing.T, op lang.Op, d lang.DType, rows [][]num, first bool) []num {
	n := len(rows[0])
	k := newKernel("reduce")
	dm, dn := k.dim("M", int64(len(rows))), k.dim("N", int64(n))
	i, j := k.whole("i", dm), k.whole("j", dn)
	var in []byte
	var x *ir.Tensor
	var v *ir.Value
	if first {
		x = k.in("x", d, dn, dm)
		v = k.load(x, j, i)
		for c := range n {
			for _, r := range rows {
				in = append(in, encode(d, r[c])...)
			}
		}
	} else {
		x = k.in("x", d, dm, dn)
		v = k.load(x, i, j)
		for _, r := range rows {
			for _, e := range r {
				in = append(in, encode(d, e)...)
			}
		}
	}
	r := k.reduce(op, v, j)
	od := r.Type.DType
	k.store(k.out("y", od, dm), r, i)
	out := make([]byte, od.Bytes(int64(len(rows))))
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{memory(d, in), out}}))
	var got []num
	for i := range rows {
		got = append(got, element(od, out, i))
	}
	return got
}

// wantReduce is the reduction by definition, in exact arithmetic for integers.
func wantReduce(op lang.Op, d lang.DType, r []num) num {
	beats := func(a, b num) bool { // a is the better extreme
		c := compare(d, a, b)
		if op == lang.OpReduceMax || op == lang.OpArgMax {
			return c == 1
		}
		return c == -1
	}
	nan := func(a num) bool { return d.IsFloat() && a.f != a.f }
	switch op {
	case lang.OpAny, lang.OpAll:
		some, every := false, true
		for _, v := range r {
			some = some || v.i.Sign() != 0
			every = every && v.i.Sign() != 0
		}
		return num{i: bigInt(int(flag(op == lang.OpAny && some || op == lang.OpAll && every)))}
	case lang.OpArgMax, lang.OpArgMin:
		best := 0
		for i, v := range r {
			if !nan(r[best]) && (beats(v, r[best]) || nan(v)) {
				best = i
			}
		}
		return num{i: bigInt(best)}
	case lang.OpReduceMax, lang.OpReduceMin:
		if len(r) == 0 {
			sign := 1
			if op == lang.OpReduceMax {
				sign = -1
			}
			if d == lang.F8E5M2 { // an infinity of no arithmetic, which does not saturate
				return num{f: math.Inf(sign)}
			} else if d.IsFloat() {
				return num{f: formats[d].round(math.Inf(sign))}
			} else if sign < 0 {
				return num{i: limitsOf(d).lo}
			}
			return num{i: limitsOf(d).hi}
		}
		best := r[0]
		for _, v := range r {
			if !nan(best) && (beats(v, best) || nan(v)) {
				best = v
			}
		}
		return best
	}
	acc := d.Accumulator()
	if d.IsInt() {
		sum, prod := new(big.Int), bigInt(1)
		for _, v := range r {
			sum.Add(sum, v.i)
			prod.Mul(prod, v.i)
		}
		if op == lang.OpSum {
			return num{i: wrap(acc, sum)}
		}
		return num{i: wrap(acc, prod)}
	}
	sum, prod := 0.0, 1.0
	for _, v := range r {
		sum += v.f
		prod *= v.f
	}
	switch op {
	case lang.OpSum:
		return num{f: formats[acc].round(sum)}
	case lang.OpProd:
		return num{f: formats[acc].round(prod)}
	}
	return num{f: formats[acc].round(sum / float64(len(r)))}
}

func TestReduceSpecial(t *testing.T) {
	for _, op := range lang.Ops() {
		if op.Row().Group != lang.GroupReduce {
			continue
		}
		for _, d := range lang.DTypes() {
			if reducers[kindOfDType[d]][op] == nil {
				continue
			}
			values := special(d)
			finite := values
			if d.IsFloat() {
				finite = values[:11]
			}
			var r noise
			pick := func(from []num, n int) []num {
				var row []num
				for range n {
					row = append(row, from[r.below(len(from))])
				}
				return row
			}
			for _, n := range []int{0, 1, 2, 5, 19} {
				rows := [][]num{pick(values, n), pick(finite, n), pick(finite, n), pick(finite, n)}
				for _, first := range []bool{false, true} {
					got := runReduce(t, op, d, rows, first)
					for i, row := range rows {
						want := wantReduce(op, d, row)
						if want.i != nil {
							assert.Zero(t, want.i.Cmp(got[i].i), "%s of %s %v is %v, want %v", op, d, row, got[i].i, want.i)
							continue
						}
						same := got[i].f == want.f || got[i].f != got[i].f && want.f != want.f
						if !same && (op == lang.OpProd || d == lang.F64) { // the reference rounds in float64 too
							same = math.Abs(got[i].f-want.f) <= float64(n)*formats[d.Accumulator()].ulp(want.f)
						}
						assert.True(t, same, "%s of %s %v is %v, want %v", op, d, row, got[i].f, want.f)
					}
					if t.Failed() {
						return
					}
				}
			}
		}
	}
}

// TestArgStart: positions are absolute along the axis, also on a part of a dimension.
func TestArgStart(t *testing.T) {
	k := newKernel("arg")
	dn := k.dim("N", 10)
	j := k.whole("j", dn)
	j.Lo, j.Len, j.Extent = 4, 5, 5
	x, y := k.in("x", lang.F32, dn), k.out("y", lang.I32)
	k.store(y, k.reduce(lang.OpArgMax, k.load(x, j), j))
	in, out := []float32{9, 9, 9, 9, 1, 2, 7, 7, 0, 9}, make([]int32, 1)
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}}))
	assert.Equal(t, int32(6), out[0])
}

// TestLongSum: a long sum keeps its accuracy, and is the same whatever runs beside it.
func TestLongSum(t *testing.T) {
	k := newKernel("long")
	const n = 1 << 20
	dm, dn := k.dim("M", 2), k.dim("N", n)
	i, j := k.grid("i", dm, 1), k.whole("j", dn)
	x, y := k.in("x", lang.F32, dm, dn), k.out("y", lang.F32, dm)
	k.store(y, k.reduce(lang.OpSum, k.load(x, i, j), j), i)
	var r noise
	in, out := r.floats(2*n), make([]float32, 2)
	p := k.compile(t)
	require.NoError(t, p.Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}}))
	for i := range out {
		sum := new(big.Float).SetPrec(200)
		for _, v := range in[i*n : (i+1)*n] {
			sum.Add(sum, big.NewFloat(float64(v)))
		}
		want, _ := sum.Float32()
		assert.Equal(t, want, out[i])
	}
}
