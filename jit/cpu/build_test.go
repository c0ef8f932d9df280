package cpu

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// kernel helps tests to build a kernel: dimensions, axes, tensors and operations.
type kernel struct {
	ir.Builder
}

func newKernel(name string) *kernel {
	f := &ir.Func{Name: name, Body: &ir.Block{}}
	return &kernel{ir.Builder{Func: f, Block: f.Body}}
}

// dim declares a dimension; -1 for one that the launch gives.
func (k *kernel) dim(name string, n int64) *ir.Dim {
	d := &ir.Dim{Name: name, Value: n, Divisor: 1}
	k.Func.Dims = append(k.Func.Dims, d)
	return d
}

func (k *kernel) axis(name string, kind ir.AxisKind, d *ir.Dim, extent int64) *ir.Axis {
	a := &ir.Axis{Name: name, Kind: kind, Dim: d, Extent: extent}
	if kind == ir.Whole {
		a.Len = extent
	}
	k.Func.Axes = append(k.Func.Axes, a)
	return a
}

func (k *kernel) grid(name string, d *ir.Dim, extent int64) *ir.Axis {
	return k.axis(name, ir.Grid, d, extent)
}

// gridScalar declares `grid b in B`.
func (k *kernel) gridScalar(name string, d *ir.Dim) *ir.Axis {
	a := k.grid(name, d, 1)
	a.Scalar = true
	return a
}

func (k *kernel) whole(name string, d *ir.Dim) *ir.Axis {
	return k.axis(name, ir.Whole, d, d.Value)
}

func (k *kernel) tensor(name string, mode lang.ParamMode, t lang.DType, shape ...*ir.Dim) *ir.Tensor {
	x := &ir.Tensor{Name: name, DType: t, Mode: mode, Shape: shape, Align: 16}
	k.Func.Tensors = append(k.Func.Tensors, x)
	return x
}

func (k *kernel) in(name string, t lang.DType, shape ...*ir.Dim) *ir.Tensor {
	return k.tensor(name, lang.In, t, shape...)
}

func (k *kernel) out(name string, t lang.DType, shape ...*ir.Dim) *ir.Tensor {
	return k.tensor(name, lang.Out, t, shape...)
}

func (k *kernel) scalar(name string, t lang.DType) *ir.Value {
	v := k.Func.NewValue(ir.Scalar(t), nil)
	v.Name = name
	k.Func.Scalars = append(k.Func.Scalars, v)
	return v
}

// idx is what a test writes as an index: an axis or a value.
func (k *kernel) idx(indices []any) []*ir.Value {
	vs := make([]*ir.Value, len(indices))
	for i, x := range indices {
		switch x := x.(type) {
		case *ir.Axis:
			if x.Scalar {
				vs[i] = k.Emit(&ir.Op{Code: lang.OpStart, Axis: x})[0]
			} else {
				vs[i] = k.index(x)
			}
		case *ir.Value:
			vs[i] = x
		case int:
			vs[i] = k.Int(int64(x))
		}
	}
	return vs
}

func (k *kernel) index(a *ir.Axis) *ir.Value { return k.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0] }

func (k *kernel) load(t *ir.Tensor, indices ...any) *ir.Value {
	return k.Emit(&ir.Op{Code: lang.OpLoad, Tensor: t, Args: k.idx(indices), Checked: make([]bool, len(indices))})[0]
}

// loadElse is a load whose indices are all checked.
func (k *kernel) loadElse(t *ir.Tensor, other *ir.Value, indices ...any) *ir.Value {
	return k.Emit(&ir.Op{Code: lang.OpLoad, Tensor: t, Args: append(k.idx(indices), other), Checked: all(len(indices))})[0]
}

func all(n int) []bool {
	c := make([]bool, n)
	for i := range c {
		c[i] = true
	}
	return c
}

func (k *kernel) store(t *ir.Tensor, v *ir.Value, indices ...any) {
	k.Emit(&ir.Op{Code: lang.OpStore, Tensor: t, Args: append(k.idx(indices), v), Checked: make([]bool, len(indices))})
}

func (k *kernel) storeChecked(t *ir.Tensor, v *ir.Value, indices ...any) {
	k.Emit(&ir.Op{Code: lang.OpStore, Tensor: t, Args: append(k.idx(indices), v), Checked: all(len(indices))})
}

func (k *kernel) atomicAdd(t *ir.Tensor, v *ir.Value, indices ...any) {
	k.Emit(&ir.Op{Code: lang.OpAtomicAdd, Tensor: t, Args: append(k.idx(indices), v), Checked: all(len(indices))})
}

func (k *kernel) reduce(op lang.Op, x *ir.Value, over ...*ir.Axis) *ir.Value {
	return k.Emit(&ir.Op{Code: op, Args: []*ir.Value{x}, Over: over})[0]
}

func (k *kernel) dot(a, b *ir.Value, over ...*ir.Axis) *ir.Value {
	return k.Emit(&ir.Op{Code: lang.OpDot, Args: []*ir.Value{a, b}, Over: over})[0]
}

func (k *kernel) mma(a, b, acc *ir.Value, over ...*ir.Axis) *ir.Value {
	return k.Emit(&ir.Op{Code: lang.OpMma, Args: []*ir.Value{a, b, acc}, Over: over})[0]
}

func (k *kernel) full(v *ir.Value, axes ...*ir.Axis) *ir.Value {
	return k.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{v}, Axes: axes})[0]
}

func (k *kernel) float(d lang.DType, x float64) *ir.Value { return k.Const(d, ir.Const{Float: x}) }

func (k *kernel) size(d *ir.Dim) *ir.Value { return k.Emit(&ir.Op{Code: lang.OpSize, Dim: d})[0] }

func (k *kernel) at(code lang.Op, a *ir.Axis) *ir.Value {
	return k.Emit(&ir.Op{Code: code, Axis: a})[0]
}

// loop emits a `for`; the body gets the position and the carried values.
func (k *kernel) loop(a *ir.Axis, lo, hi *ir.Value, init []*ir.Value, body func(pos *ir.Value, carried []*ir.Value) []*ir.Value) []*ir.Value {
	b := &ir.Block{Params: []*ir.Value{k.Func.NewValue(ir.Scalar(lang.I32), nil)}}
	for _, v := range init {
		b.Params = append(b.Params, k.Func.NewValue(v.Type, nil))
	}
	outer := k.Block
	k.Block = b
	b.Yield = body(b.Params[0], b.Params[1:])
	k.Block = outer
	return k.Emit(&ir.Op{Code: lang.OpFor, Axis: a, Args: append([]*ir.Value{lo, hi}, init...), Blocks: []*ir.Block{b}})
}

func (k *kernel) branch(cond *ir.Value, then, other func() []*ir.Value) []*ir.Value {
	outer := k.Block
	var blocks []*ir.Block
	for _, f := range []func() []*ir.Value{then, other} {
		b := &ir.Block{}
		k.Block = b
		b.Yield = f()
		blocks = append(blocks, b)
	}
	k.Block = outer
	return k.Emit(&ir.Op{Code: lang.OpIf, Args: []*ir.Value{cond}, Blocks: blocks})
}

func (k *kernel) compile(t testing.TB) *Program {
	t.Helper()
	p, err := Compile(k.Func)
	require.NoError(t, err)
	return p
}

// bytesOf is the memory of a slice.
func bytesOf[T any](x []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(z)))
}

// noise is a repeatable sequence in [-1, 1).
type noise uint64

func (n *noise) next() uint64 {
	*n = *n*6364136223846793005 + 1442695040888963407
	x := uint64(*n)
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

func (n *noise) float() float64 { return float64(int64(n.next())) / (1 << 63) }

func (n *noise) floats(count int) []float32 {
	x := make([]float32, count)
	for i := range x {
		x[i] = float32(n.float())
	}
	return x
}

func (n *noise) below(k int) int { return int(n.next() % uint64(k)) }

// near requires |got - want| ≤ bound[i].
func near(t testing.TB, got []float32, want, bound []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if d := math.Abs(float64(got[i]) - want[i]); !(d <= bound[i]) && !(math.IsNaN(want[i]) && got[i] != got[i]) {
			require.Failf(t, "too far", "element %d is %v, want %v ± %v", i, got[i], want[i], bound[i])
		}
	}
}

func ptr[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
