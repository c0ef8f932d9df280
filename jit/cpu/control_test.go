package cpu

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// TestSwappedCarries: carried values change all at once.
func TestSwappedCarries(t *testing.T) {
	k := newKernel("fibonacci")
	dn := k.dim("N", 3)
	i := k.grid("i", dn, 2)
	steps := k.scalar("steps", lang.I32)
	zero, one := k.full(k.Int(0), i), k.full(k.Int(1), i)
	out := k.loop(nil, k.Int(0), steps, []*ir.Value{zero, one, zero}, func(pos *ir.Value, c []*ir.Value) []*ir.Value {
		return []*ir.Value{c[1], k.Op(lang.OpAdd, c[0], c[1]), k.Op(lang.OpAdd, c[2], k.Op(lang.OpMul, pos, c[0]))}
	})
	y, z := k.out("y", lang.I32, dn), k.out("z", lang.I32, dn)
	k.store(y, out[0], i)
	k.store(z, out[2], i)
	p := k.compile(t)
	for _, n := range []int{0, 1, 2, 10} {
		a, b, sum := int32(0), int32(1), int32(0)
		for i := range n {
			sum += int32(i) * a
			a, b = b, a+b
		}
		ys, zs := make([]int32, 3), make([]int32, 3)
		require.NoError(t, p.Run(Args{Tensors: [][]byte{bytesOf(ys), bytesOf(zs)}, Scalars: []uint64{uint64(n)}}))
		assert.Equal(t, []int32{a, a, a}, ys)
		assert.Equal(t, []int32{sum, sum, sum}, zs)
	}
}

// TestRotatedCarries: carried values that only change places, also those from outside the loop.
func TestRotatedCarries(t *testing.T) {
	k := newKernel("rotate")
	dn := k.dim("N", 4)
	i := k.whole("i", dn)
	x := k.load(k.in("x", lang.F32, dn), i)
	two := k.Op(lang.OpAdd, x, x)
	y := k.out("y", lang.F32, dn)
	out := k.loop(nil, k.Int(0), k.Int(4), []*ir.Value{x, two, x}, func(_ *ir.Value, c []*ir.Value) []*ir.Value {
		return []*ir.Value{c[2], c[0], c[1]}
	})
	k.store(y, k.Op(lang.OpSub, k.Op(lang.OpAdd, out[0], k.Op(lang.OpMul, out[1], k.full(k.float(lang.F32, 10), i))), k.Op(lang.OpMul, out[2], two)), i)
	in, res := []float32{1, 2, 3, 4}, make([]float32, 4)
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(res)}}))
	for q, v := range in {
		// After four rotations of (x, 2x, x): (x, x, 2x).
		assert.Equal(t, v+10*v-2*v*2*v, res[q])
	}
}

// TestBranch: only the chosen side runs, and its stores count.
func TestBranch(t *testing.T) {
	k := newKernel("branch")
	dn := k.dim("N", 10)
	i := k.grid("i", dn, 4)
	x, y := k.in("x", lang.F32, dn), k.out("y", lang.F32, dn)
	v := k.load(x, i)
	cond := k.Op(lang.OpLt, k.at(lang.OpStart, i), k.Int(4))
	r := k.branch(cond, func() []*ir.Value {
		return []*ir.Value{k.Op(lang.OpNeg, v), v}
	}, func() []*ir.Value {
		w := k.Op(lang.OpAdd, v, v)
		return []*ir.Value{w, k.Op(lang.OpMul, w, w)}
	})
	k.store(y, k.Op(lang.OpAdd, r[0], k.Op(lang.OpMul, r[1], v)), i)
	var n noise
	in, out := n.floats(10), make([]float32, 10)
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}}))
	for q, v := range in {
		want := -v + v*v
		if q >= 4 {
			want = (v + v) + (v+v)*(v+v)*v
		}
		assert.Equal(t, want, out[q])
	}
}

// TestNestedLoops: sub-ranges, ragged steps, values from outside both loops.
func TestNestedLoops(t *testing.T) {
	k := newKernel("nested")
	dm, dn := k.dim("M", 7), k.dim("N", 11)
	i, j := k.axis("i", ir.Loop, dm, 3), k.axis("j", ir.Loop, dn, 4)
	x, y := k.in("x", lang.I64, dm, dn), k.out("y", lang.I64)
	base := k.Const(lang.I64, ir.Const{Int: 5})
	zero := k.Const(lang.I64, ir.Const{Int: 0})
	scale := k.Op(lang.OpAdd, base, base)
	sum := k.loop(i, k.Int(2), k.Int(7), []*ir.Value{zero}, func(_ *ir.Value, c []*ir.Value) []*ir.Value {
		return k.loop(j, k.Int(1), k.Int(10), c, func(_ *ir.Value, c []*ir.Value) []*ir.Value {
			part := k.reduce(lang.OpSum, k.Op(lang.OpMul, k.load(x, i, j), scale), i, j)
			return []*ir.Value{k.Op(lang.OpAdd, c[0], part)}
		})
	})
	k.store(y, sum[0])
	in, out := make([]int64, 77), make([]int64, 1)
	want := int64(0)
	for q := range in {
		in[q] = int64(q) << 40
		if r, c := q/11, q%11; r >= 2 && c >= 1 && c < 10 {
			want += in[q] * 10
		}
	}
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}}))
	assert.Equal(t, want, out[0])
}

// TestRename: the same tile over another axis, as an operand, an index and a product with itself.
func TestRename(t *testing.T) {
	k := newKernel("gram")
	dn, dk := k.dim("N", 6), k.dim("K", 5)
	i, i2, p := k.whole("i", dn), k.whole("i2", dn), k.whole("p", dk)
	x := k.in("x", lang.F32, dn, dk)
	v := k.load(x, i, p)
	w := k.Emit(&ir.Op{Code: lang.OpRename, Args: []*ir.Value{v}, From: i, Axis: i2})[0]
	k.store(k.out("y", lang.F32, dn, dn), k.dot(v, w, p), i, i2)
	s := k.reduce(lang.OpSum, v, p)
	s2 := k.Emit(&ir.Op{Code: lang.OpRename, Args: []*ir.Value{s}, From: i, Axis: i2})[0]
	k.store(k.out("z", lang.F32, dn, dn), k.Op(lang.OpSub, s, s2), i, i2)
	at := k.Emit(&ir.Op{Code: lang.OpRename, Args: []*ir.Value{k.index(i)}, From: i, Axis: i2})[0]
	k.store(k.out("d", lang.F32, dn, dn), s2, i, at)
	var r noise
	in, y, z, d := r.floats(30), make([]float32, 36), make([]float32, 36), make([]float32, 36)
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(y), bytesOf(z), bytesOf(d)}}))
	sum := func(a int) float32 {
		s := 0.0
		for _, v := range in[a*5 : a*5+5] {
			s += float64(v)
		}
		return float32(s)
	}
	for a := range 6 {
		for b := range 6 {
			dot := 0.0
			for q := range 5 {
				dot += float64(in[a*5+q]) * float64(in[b*5+q])
			}
			assert.InDelta(t, dot, y[a*6+b], 5*unit*5)
			assert.Equal(t, sum(a)-sum(b), z[a*6+b])
			assert.Equal(t, sum(b), d[a*6+b])
		}
	}
}

// TestConcurrentRuns: a program may run in many goroutines at once, its results the same bits each time.
func TestConcurrentRuns(t *testing.T) {
	const m, n, kk = 70, 90, 110
	p := linearGelu(lang.F32, m, n, kk, 16, 32, 32).compile(t)
	var r noise
	x, w, b := r.floats(m*kk), r.floats(kk*n), r.floats(n)
	want := make([]float32, m*n)
	require.NoError(t, p.Run(Args{Tensors: [][]byte{bytesOf(x), bytesOf(w), bytesOf(b), bytesOf(want)}}))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				y := make([]float32, m*n)
				assert.NoError(t, p.Run(Args{Tensors: [][]byte{bytesOf(x), bytesOf(w), bytesOf(b), bytesOf(y)}}))
				assert.Equal(t, want, y)
			}
		})
	}
	group.Wait()
}

// TestWorkerPanics: what goes wrong in one of many blocks is one error, and the program runs again.
func TestWorkerPanics(t *testing.T) {
	k := newKernel("late")
	dn := k.dim("N", 1<<16)
	j := k.grid("j", dn, 64)
	x, y := k.in("x", lang.F32, dn), k.out("y", lang.F32, dn)
	shift := k.scalar("shift", lang.I32)
	k.store(y, k.Op(lang.OpExp, k.load(x, k.Op(lang.OpAdd, k.index(j), shift))), j)
	in, out := make([]float32, 1<<16), make([]float32, 1<<16)
	p := k.compile(t)
	args := Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}, Scalars: []uint64{1}}
	require.EqualError(t, p.Run(args), "kernel late: compiler bug: cpu: load x: dimension 0 of x has size 65536, accessed at 65473 to 65536")
	args.Scalars[0] = 0
	require.NoError(t, p.Run(args))
	assert.Equal(t, float32(1), out[65535])
}
