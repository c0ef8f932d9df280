package ptx

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"testing"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/lang"
)

// randomKernel builds a kernel of tiles over up to three axes, one of them of the
// grid and ragged: loads, elementwise operations, reductions, contractions, a loop and a branch.
func randomKernel(r *rand.Rand) (*ir.Func, plan.Plan, map[string]int64) {
	extent := func() int64 { return []int64{1, 2, 3, 5, 8, 16, 17, 24, 32, 33}[r.Intn(10)] }
	f := &ir.Func{Name: "random", Body: &ir.Block{}}
	dim := func(name string, n int64) *ir.Dim {
		d := &ir.Dim{Name: name, Value: n, Divisor: 1}
		f.Dims = append(f.Dims, d)
		return d
	}
	m := dim("M", -1)
	n, p := dim("N", extent()), dim("P", extent())
	i := &ir.Axis{Name: "i", Kind: ir.Grid, Dim: m}
	j := &ir.Axis{Name: "j", Kind: ir.Whole, Dim: n, Len: n.Value}
	s := &ir.Axis{Name: "s", Kind: ir.Whole, Dim: p, Len: p.Value}
	f.Axes = []*ir.Axis{i, j, s}
	steps := map[string]int64{}
	tensor := func(name string, mode lang.ParamMode, shape ...*ir.Dim) *ir.Tensor {
		t := &ir.Tensor{Name: name, DType: lang.F32, Mode: mode, Shape: shape, Align: 16}
		f.Tensors = append(f.Tensors, t)
		return t
	}
	b := &ir.Builder{Func: f, Block: f.Body}
	index := map[*ir.Axis]*ir.Value{}
	for _, a := range f.Axes {
		index[a] = b.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0]
	}
	axisOf := map[*ir.Dim]*ir.Axis{m: i, n: j, p: s}
	at := func(t *ir.Tensor) []*ir.Value {
		var out []*ir.Value
		for _, d := range t.Shape {
			out = append(out, index[axisOf[d]])
		}
		return out
	}
	var pool []*ir.Value
	for nth, shape := range [][]*ir.Dim{{m, n}, {n, m}, {n, p}, {p}, {m}, {m, n, p}, {n}} {
		if nth < 2 || r.Intn(2) == 0 {
			t := tensor(fmt.Sprint("x", nth), lang.In, shape...)
			pool = append(pool, b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: t, Args: at(t), Checked: make([]bool, len(shape))})[0])
		}
	}
	pick := func() *ir.Value { return pool[r.Intn(len(pool))] }
	// What goes on is kept small, so that sums stay comparable.
	keep := func(v *ir.Value) {
		if v.Type.DType == lang.F32 {
			pool = append(pool, b.Op(lang.OpSin, v))
		}
	}
	small := func(v *ir.Value) bool {
		size := int64(1)
		for _, a := range v.Type.Axes {
			size *= max(a.Extent, a.Len, 4)
		}
		return size <= 2048
	}
	// streamed is a product and a maximum along n, in steps, as attention does it.
	var left, right *ir.Tensor
	streamed := func() {
		k := &ir.Axis{Name: fmt.Sprint("k", len(steps)), Kind: ir.Loop, Dim: n}
		f.Axes = append(f.Axes, k)
		steps[k.Name] = []int64{3, 8, 16, 32}[r.Intn(4)]
		d := []lang.DType{lang.BF16, lang.F16, lang.F32, lang.F32}[r.Intn(4)]
		if left == nil {
			left, right = tensor("left", lang.In, m, n), tensor("right", lang.In, n, p)
			left.DType, right.DType = d, d
		}
		d = left.DType
		zero := b.Const(lang.F32, ir.Const{})
		acc := b.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{zero}, Axes: []*ir.Axis{i, s}})[0]
		top := b.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{zero}, Axes: []*ir.Axis{i}})[0]
		outer, lo, hi := b.Block, b.Int(0), b.Emit(&ir.Op{Code: lang.OpSize, Dim: n})[0]
		if r.Intn(3) == 0 {
			hi = b.Int(max(0, n.Value-int64(r.Intn(4))))
			lo = b.Int(int64(r.Intn(3)))
		}
		body := &ir.Block{Params: []*ir.Value{f.NewValue(ir.Scalar(lang.I32), nil), f.NewValue(acc.Type, nil), f.NewValue(top.Type, nil)}}
		b.Block = body
		at := b.Emit(&ir.Op{Code: lang.OpIndex, Axis: k})[0]
		x := b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: left, Args: []*ir.Value{index[i], at}, Checked: make([]bool, 2)})[0]
		w := b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: right, Args: []*ir.Value{at, index[s]}, Checked: make([]bool, 2)})[0]
		wide := b.Cast(x, lang.F32)
		most := b.Op(lang.OpMax, body.Params[2], b.Emit(&ir.Op{Code: lang.OpReduceMax, Args: []*ir.Value{wide}, Over: []*ir.Axis{k}})[0])
		sum := body.Params[1]
		if r.Intn(2) == 0 {
			sum = b.Op(lang.OpMul, sum, b.Op(lang.OpSin, most))
			x = b.Cast(b.Op(lang.OpExp, b.Op(lang.OpSub, wide, most)), d)
		}
		precision := ""
		if d == lang.F32 {
			precision = []string{"ieee", "tf32x3"}[r.Intn(2)]
		}
		sum = b.Emit(&ir.Op{Code: lang.OpMma, Args: []*ir.Value{x, w, sum}, Over: []*ir.Axis{k}, Precision: precision})[0]
		body.Yield = []*ir.Value{sum, most}
		b.Block = outer
		for _, v := range b.Emit(&ir.Op{Code: lang.OpFor, Axis: k, Args: []*ir.Value{lo, hi, acc, top}, Blocks: []*ir.Block{body}}) {
			keep(v)
		}
	}
	op := func() {
		x, y := pick(), pick()
		switch r.Intn(11) {
		case 0, 1:
			code := []lang.Op{lang.OpAdd, lang.OpMul, lang.OpMax, lang.OpSub}[r.Intn(4)]
			if small(&ir.Value{Type: ir.Type{Axes: ir.Union(x.Type, y.Type)}}) {
				keep(b.Op(code, x, y))
			}
		case 2, 3:
			if len(x.Type.Axes) > 0 {
				over := []*ir.Axis{x.Type.Axes[r.Intn(len(x.Type.Axes))]}
				code := []lang.Op{lang.OpSum, lang.OpReduceMax, lang.OpReduceMin, lang.OpMean}[r.Intn(4)]
				keep(b.Emit(&ir.Op{Code: code, Args: []*ir.Value{x}, Over: over})[0])
			}
		case 4, 5:
			for _, a := range x.Type.Axes {
				if y.Type.Has(a) && small(&ir.Value{Type: ir.Type{Axes: ir.Union(x.Type, y.Type)}}) {
					d := []lang.DType{lang.BF16, lang.F16, lang.F32}[r.Intn(3)]
					o := &ir.Op{Code: lang.OpDot, Over: []*ir.Axis{a}, Args: []*ir.Value{b.Cast(x, d), b.Cast(y, d)}}
					if d == lang.F32 {
						o.Precision = "ieee"
					}
					keep(b.Emit(o)[0])
					return
				}
			}
		case 6:
			if len(x.Type.Axes) > 0 {
				a := x.Type.Axes[r.Intn(len(x.Type.Axes))]
				k := b.Emit(&ir.Op{Code: lang.OpArgMax, Args: []*ir.Value{x}, Over: []*ir.Axis{a}})[0]
				keep(b.Cast(k, lang.F32))
			}
		case 9, 10:
			streamed()
		case 7:
			keep(b.Op(lang.OpWhere, b.Op(lang.OpLt, x, y), y, x))
		case 8:
			// x = x + (what the loop does not change), a few times.
			if len(ir.Without(y.Type.Axes, x.Type.Axes)) > 0 {
				return
			}
			outer, lo, hi := b.Block, b.Int(0), b.Int(int64(r.Intn(4)))
			body := &ir.Block{Params: []*ir.Value{f.NewValue(ir.Scalar(lang.I32), nil), f.NewValue(x.Type, nil)}}
			b.Block = body
			sum := b.Op(lang.OpAdd, body.Params[1], y)
			body.Yield = []*ir.Value{b.Op(lang.OpSin, sum)}
			b.Block = outer
			keep(b.Emit(&ir.Op{Code: lang.OpFor, Args: []*ir.Value{lo, hi, x}, Blocks: []*ir.Block{body}})[0])
		}
	}
	for range 3 + r.Intn(10) {
		op()
	}
	for nth, v := range pool {
		if len(v.Type.Axes) == 0 || !v.Type.Has(i) || v.Def.Code == lang.OpLoad {
			continue // blocks may not write the same elements
		}
		var shape []*ir.Dim
		for _, a := range v.Type.Axes {
			shape = append(shape, a.Dim)
		}
		t := tensor(fmt.Sprint("y", nth), lang.Out, shape...)
		b.Emit(&ir.Op{Code: lang.OpStore, Tensor: t, Args: append(at(t), v), Checked: make([]bool, len(shape))})
	}
	e := extent()
	steps["i"] = e
	wgmma := 0
	if r.Intn(2) == 0 {
		wgmma = block.WgmmaAlways
	}
	return f, plan.Plan{Wgmma: wgmma, Extents: steps, Warps: []int{1, 2, 3, 4, 6, 8}[r.Intn(6)], Stages: 1 + r.Intn(4)}, map[string]int64{"M": e + int64(r.Intn(int(e)+1))}
}

// FUZZ=n tries n kernels instead of a few.
func TestRandomKernels(t *testing.T) {
	n := 40
	if s := os.Getenv("FUZZ"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f, p, sizes := randomKernel(rand.New(rand.NewSource(int64(seed))))
			if err := ir.Verify(f); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if t.Failed() {
					t.Log(f.String())
				}
			}()
			differ(t, f, p, sizes, 0.05, 10)
		})
	}
}
