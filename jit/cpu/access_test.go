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

// array is a dense tensor of a test, over named axes.
type array struct {
	axes []*ir.Axis
	data []float32
}

// at is the element at a position by axis.
func (a array) at(pos map[*ir.Axis]int) *float32 {
	i := 0
	for _, x := range a.axes {
		i = i*int(x.Dim.Value) + pos[x]
	}
	return &a.data[i]
}

// eachPosition visits every combination of positions along axes.
func eachPosition(axes []*ir.Axis, visit func(pos map[*ir.Axis]int)) {
	pos := map[*ir.Axis]int{}
	var walk func(i int)
	walk = func(i int) {
		if i == len(axes) {
			visit(pos)
			return
		}
		for p := range int(axes[i].Dim.Value) {
			pos[axes[i]] = p
			walk(i + 1)
		}
	}
	walk(0)
}

// shuffled gives some of the axes in a random order.
func (n *noise) shuffled(axes []*ir.Axis, least int) []*ir.Axis {
	s := append([]*ir.Axis(nil), axes...)
	for i := len(s) - 1; i > 0; i-- {
		j := n.below(i + 1)
		s[i], s[j] = s[j], s[i]
	}
	return s[:least+n.below(len(s)-least+1)]
}

// randomAxes declares up to four axes of any kind over dimensions of odd sizes.
func (k *kernel) randomAxes(r *noise) []*ir.Axis {
	var axes []*ir.Axis
	for i := range 1 + r.below(4) {
		d := k.dim(fmt.Sprint("N", i), int64(1+r.below(7)))
		if r.below(2) == 0 {
			axes = append(axes, k.grid(fmt.Sprint("g", i), d, int64(1+r.below(5))))
		} else {
			axes = append(axes, k.whole(fmt.Sprint("w", i), d))
		}
	}
	return axes
}

// input declares a tensor over axes, filled with noise, and loads it.
func (k *kernel) input(r *noise, args *Args, axes []*ir.Axis) (array, *ir.Value) {
	a := array{axes: axes}
	n := 1
	var shape []*ir.Dim
	var indices []any
	for _, x := range axes {
		n *= int(x.Dim.Value)
		shape = append(shape, x.Dim)
		indices = append(indices, x)
	}
	a.data = r.floats(n)
	t := k.in(fmt.Sprint("x", len(args.Tensors)), lang.F32, shape...)
	args.Tensors = append(args.Tensors, bytesOf(a.data))
	return a, k.load(t, indices...)
}

// output declares a tensor over axes and stores v there.
func (k *kernel) output(args *Args, axes []*ir.Axis, v *ir.Value) array {
	a := array{axes: axes}
	n := 1
	var shape []*ir.Dim
	var indices []any
	for _, x := range axes {
		n *= int(x.Dim.Value)
		shape = append(shape, x.Dim)
		indices = append(indices, x)
	}
	a.data = make([]float32, n)
	args.Tensors = append(args.Tensors, bytesOf(a.data))
	k.store(k.out(fmt.Sprint("y", len(args.Tensors)), lang.F32, shape...), v, indices...)
	return a
}

// TestBroadcast adds three tiles over any axes in any order and stores over all axes in any order.
func TestBroadcast(t *testing.T) {
	var r noise
	for trial := range 300 {
		k := newKernel("broadcast")
		axes := k.randomAxes(&r)
		var args Args
		a, va := k.input(&r, &args, r.shuffled(axes, 0))
		b, vb := k.input(&r, &args, r.shuffled(axes, 0))
		c, vc := k.input(&r, &args, r.shuffled(axes, 0))
		sum := k.Op(lang.OpFma, va, k.Op(lang.OpAdd, vb, va), vc)
		// Used twice: the second use must not see a buffer that the first wrote over.
		sum = k.Op(lang.OpSub, sum, k.Op(lang.OpMul, vc, vb))
		y := k.output(&args, r.shuffled(axes, len(axes)), sum)
		require.NoError(t, k.compile(t).Run(args), "trial %d", trial)
		eachPosition(axes, func(pos map[*ir.Axis]int) {
			p, q, s := *a.at(pos), *b.at(pos), *c.at(pos)
			want := float32(fmaOdd(p, q+p, s)) - float32(s*q)
			require.Equal(t, want, *y.at(pos), "trial %d", trial)
		})
	}
}

// TestStrides loads and stores tensors whose strides are known or given at the launch.
func TestStrides(t *testing.T) {
	for _, known := range []bool{true, false} {
		k := newKernel("strided")
		dm, dn := k.dim("M", 5), k.dim("N", 7)
		i, j := k.grid("i", dm, 2), k.grid("j", dn, 3)
		x, y := k.in("x", lang.BF16, dm, dn), k.out("y", lang.F32, dn, dm)
		stride := func(name string, v int64) *ir.Dim {
			if !known {
				return &ir.Dim{Name: name, Value: -1, Divisor: 1}
			}
			return &ir.Dim{Name: name, Value: v}
		}
		x.Strides = []*ir.Dim{stride("sm", 2), stride("sn", 11)} // column-major with gaps
		y.Strides = []*ir.Dim{stride("tn", 6), stride("tm", 1)}
		k.store(y, k.Cast(k.load(x, i, j), lang.F32), j, i)
		args := Args{}
		in, out := make([]uint16, 2*4+11*6+1), make([]float32, 6*6+5)
		for q := range in {
			in[q] = lang.BF16Bits(float32(q))
		}
		args.Tensors = [][]byte{bytesOf(in), bytesOf(out)}
		if !known {
			args.Strides = []int64{2, 11, 6, 1}
		}
		p := k.compile(t)
		require.NoError(t, p.Run(args))
		for a := range 5 {
			for b := range 7 {
				require.Equal(t, float32(2*a+11*b), out[6*b+a])
			}
		}
		args.Tensors[0] = args.Tensors[0][:len(args.Tensors[0])-2]
		require.ErrorContains(t, p.Run(args), "tensor x has 148 bytes, its shape [5 7] with strides [2 11] needs 150")
	}
}

// TestShift reads neighbours: what lies outside reads the else value, a scalar or a tile.
func TestShift(t *testing.T) {
	for _, shift := range []int{-100, -3, -1, 0, 1, 2, 100} {
		for _, tile := range []bool{false, true} {
			k := newKernel("shift")
			dm, dn := k.dim("M", 3), k.dim("N", 10)
			i, j := k.grid("i", dm, 2), k.grid("j", dn, 4)
			x, y, e := k.in("x", lang.I16, dm, dn), k.out("y", lang.I16, dm, dn), k.in("e", lang.I16, dn)
			other := k.Const(lang.I16, ir.Const{Int: -7})
			if tile {
				other = k.load(e, j)
			}
			at := k.Op(lang.OpSub, k.index(j), k.Int(int64(-shift)))
			k.store(y, k.loadElse(x, other, i, at), i, j)
			in, out, els := make([]int16, 30), make([]int16, 30), make([]int16, 10)
			for q := range in {
				in[q] = int16(q + 1)
			}
			for q := range els {
				els[q] = int16(-q)
			}
			require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(out), bytesOf(els)}}))
			for a := range 3 {
				for b := range 10 {
					want := int16(-7)
					if tile {
						want = els[b]
					}
					if s := b + shift; s >= 0 && s < 10 {
						want = in[a*10+s]
					}
					require.Equal(t, want, out[a*10+b], "shift %d", shift)
				}
			}
		}
	}
}

// TestGather is the embedding: rows by index, some outside.
func TestGather(t *testing.T) {
	for _, wide := range []lang.DType{lang.I32, lang.I64} {
		k := newKernel("embed")
		db, ds, dv, dc := k.dim("B", 2), k.dim("S", 5), k.dim("V", 4), k.dim("C", 6)
		b, s, c := k.gridScalar("b", db), k.grid("s", ds, 3), k.grid("c", dc, 4)
		ids, table, y := k.in("ids", wide, db, ds), k.in("table", lang.F16, dv, dc), k.out("y", lang.F16, db, ds, dc)
		k.store(y, k.loadElse(table, k.float(lang.F16, -1), k.load(ids, b, s), c), b, s, c)
		want := []int{0, 3, -1, 4, 2, 1, 1, 1 << 30, -1 << 31, 0}
		var id []byte
		for _, v := range want {
			id = append(id, encode(wide, num{i: bigInt(v)})...)
		}
		tab, out := make([]uint16, 24), make([]uint16, 60)
		for q := range tab {
			tab[q] = lang.F16Bits(float32(q))
		}
		require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{id, bytesOf(tab), bytesOf(out)}}))
		for row, v := range want {
			for c := range 6 {
				w := float32(-1)
				if v >= 0 && v < 4 {
					w = float32(v*6 + c)
				}
				assert.Equal(t, w, lang.F16Value(out[row*6+c]))
			}
		}
	}
}

// TestGatherInside gathers along the innermost axis, beside an affine one, with the index over both axes.
func TestGatherInside(t *testing.T) {
	var r noise
	k := newKernel("take")
	dm, dn, dv := k.dim("M", 5), k.dim("N", 9), k.dim("V", 13)
	i, j := k.grid("i", dm, 3), k.whole("j", dn)
	ids, x, y := k.in("ids", lang.I32, dm, dn), k.in("x", lang.F32, dm, dv), k.out("y", lang.F32, dn, dm)
	k.store(y, k.loadElse(x, k.float(lang.F32, 9), i, k.load(ids, i, j)), j, i)
	id := make([]int32, 45)
	for q := range id {
		id[q] = int32(r.below(17) - 2)
	}
	in, out := r.floats(65), make([]float32, 45)
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(id), bytesOf(in), bytesOf(out)}}))
	for a := range 5 {
		for b := range 9 {
			want := float32(9)
			if v := int(id[a*9+b]); v >= 0 && v < 13 {
				want = in[a*13+v]
			}
			require.Equal(t, want, out[b*5+a])
		}
	}
}

// TestScatter stores through a tile of positions; those outside are dropped, missing axes broadcast.
func TestScatter(t *testing.T) {
	k := newKernel("scatter")
	dn, dv, dc := k.dim("N", 6), k.dim("V", 5), k.dim("C", 3)
	j, c := k.whole("j", dn), k.whole("c", dc)
	ids, x, y := k.in("ids", lang.I32, dn), k.in("x", lang.F32, dn), k.out("y", lang.F32, dv, dc)
	k.storeChecked(y, k.load(x, j), k.load(ids, j), c)
	id, in, out := []int32{3, -1, 0, 5, 4, 1 << 30}, []float32{1, 2, 3, 4, 5, 6}, make([]float32, 15)
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(id), bytesOf(in), bytesOf(out)}}))
	assert.Equal(t, []float32{3, 3, 3, 0, 0, 0, 0, 0, 0, 1, 1, 1, 5, 5, 5}, out)
}

// TestStoreOutside drops what a checked affine index puts outside.
func TestStoreOutside(t *testing.T) {
	k := newKernel("push")
	dn := k.dim("N", 8)
	j := k.grid("j", dn, 3)
	x, y := k.in("x", lang.F32, dn), k.out("y", lang.F32, dn)
	k.storeChecked(y, k.load(x, j), k.Op(lang.OpAdd, k.Int(3), k.index(j)))
	in, out := []float32{1, 2, 3, 4, 5, 6, 7, 8}, make([]float32, 8)
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}}))
	assert.Equal(t, []float32{0, 0, 0, 1, 2, 3, 4, 5}, out)
}

// TestIndexWraps reads where an i32 sum of a position and scalars comes to lie once it has wrapped around.
func TestIndexWraps(t *testing.T) {
	k := newKernel("wraps")
	dn := k.dim("N", 4)
	j := k.grid("j", dn, 2)
	x, y := k.in("x", lang.F32, dn), k.out("y", lang.F32, dn)
	a, b := k.scalar("a", lang.I32), k.scalar("b", lang.I32)
	at := k.Op(lang.OpAdd, k.Op(lang.OpAdd, k.index(j), a), b)
	k.storeChecked(y, k.load(x, j), at)
	in, out := []float32{1, 2, 3, 4}, make([]float32, 4)
	most := uint64(math.MaxInt32) // twice that is -2, as i32
	require.NoError(t, k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}, Scalars: []uint64{most, most}}))
	assert.Equal(t, []float32{3, 4, 0, 0}, out)
}

// TestAtomicAdd adds from many blocks to few elements, for every width.
func TestAtomicAdd(t *testing.T) {
	for _, d := range lang.DTypes() {
		if d == lang.Bool {
			continue
		}
		k := newKernel("histogram")
		dn, dv := k.dim("N", 5000), k.dim("V", 7)
		i := k.grid("i", dn, 16)
		ids, y := k.in("ids", lang.I32, dn), k.tensor("y", lang.InOut, d, dv)
		one := k.full(k.Const(d, ir.Const{Int: 1, Float: 1}), i)
		k.atomicAdd(y, one, k.load(ids, i))
		id := make([]int32, 5000)
		var want [7]int
		var r noise
		for q := range id {
			id[q] = int32(r.below(9) - 1)
			if d.Bits() <= 8 || d == lang.BF16 { // count no further than the type does
				id[q] = int32(q%300 - 1)
			}
			if v := id[q]; v >= 0 && v < 7 {
				want[v]++
			}
		}
		out := make([]byte, 7*d.Size()+8)
		p := k.compile(t)
		require.NoError(t, p.Run(Args{Tensors: [][]byte{bytesOf(id), out}}))
		for v := range 7 {
			got := element(d, out, v)
			if d.IsFloat() {
				count := 0.0
				for range want[v] {
					count = formats[d].round(count + 1) // sticks where 1 is under half an ulp
				}
				assert.Equal(t, count, got.f, "%s", d)
			} else {
				assert.Equal(t, int64(want[v]), got.i.Int64(), "%s", d)
			}
		}
	}
}

// TestOutOfBounds: an access that the type checker let pass wrongly is an error, not a read past the end.
func TestOutOfBounds(t *testing.T) {
	k := newKernel("wrong")
	dn := k.dim("N", 8)
	j := k.grid("j", dn, 3)
	x, y := k.in("x", lang.F32, dn), k.out("y", lang.F32, dn)
	k.store(y, k.load(x, k.Op(lang.OpAdd, k.index(j), k.Int(1))), j)
	in, out := make([]float32, 8), make([]float32, 8)
	err := k.compile(t).Run(Args{Tensors: [][]byte{bytesOf(in), bytesOf(out)}})
	require.EqualError(t, err, "kernel wrong: compiler bug: cpu: load x: dimension 0 of x has size 8, accessed at 7 to 8")
}

// TestWrongArguments names what a launch lacks.
func TestWrongArguments(t *testing.T) {
	p := addKernel(-1, 4).compile(t)
	x := bytesOf(make([]float32, 4))
	require.ErrorContains(t, p.Run(Args{Tensors: [][]byte{x, x}}), "launched with 2 tensors, 0 scalars, 0 sizes and 0 strides, needs 3, 0, 1 and 0")
	require.ErrorContains(t, p.Run(Args{Tensors: [][]byte{x, x, x}, Dims: []int64{5}}), "tensor x has 16 bytes")
	require.ErrorContains(t, p.Run(Args{Tensors: [][]byte{x, x, x}, Dims: []int64{-1}}), "dimension N is -1")
}

// TestPackedNeighbours stores from blocks that begin and end within bytes: what other blocks store there stays. Under the race
// detector it finds plain accesses too.
func TestPackedNeighbours(t *testing.T) {
	const n = 40001
	for _, by := range []int64{1, 3, 7} {
		k := newKernel("neighbours")
		dn := k.dim("N", n)
		i := k.grid("i", dn, by)
		k.store(k.out("y", lang.F4E2M1, dn), k.load(k.in("x", lang.F4E2M1, dn), i), i)
		in, out := make([]byte, lang.F4E2M1.Bytes(n)), make([]byte, lang.F4E2M1.Bytes(n)+4)
		var r noise
		for q := range int64(n) {
			lang.F4E2M1.PutRawBitsAt(in, q, uint64(r.below(16)))
		}
		p := k.compile(t)
		for range 5 {
			for q := range out {
				out[q] = 0xa5
			}
			require.NoError(t, p.Run(Args{Tensors: [][]byte{in, out}}))
			for q := range int64(n) {
				require.Equal(t, lang.F4E2M1.RawBitsAt(in, q), lang.F4E2M1.RawBitsAt(out, q), "element %d of blocks of %d", q, by)
			}
			require.Equal(t, []byte{0xa5, 0xa5, 0xa5, 0xa5}, out[len(out)-4:])
			require.Equal(t, byte(0xa0), out[n/2]&0xf0, "the half byte behind the last element")
		}
	}
}
