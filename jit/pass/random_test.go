package pass

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// randomKernel builds a kernel of elementwise operations, loops, choices and
// reductions on f32, i32 and bool tiles and scalars, with many constants.
func randomKernel(r *rand.Rand) *ir.Func {
	n := &ir.Dim{Name: "N", Value: 13, Divisor: 1}
	d := []lang.DType{lang.F32, lang.I32}
	f := &ir.Func{Name: "random", Dims: []*ir.Dim{n}, Body: &ir.Block{}}
	i := &ir.Axis{Name: "i", Kind: ir.Grid, Dim: n, Extent: 5}
	j := &ir.Axis{Name: "j", Kind: ir.Whole, Dim: n, Len: 13, Extent: 13}
	k := &ir.Axis{Name: "k", Kind: ir.Loop, Dim: n, Extent: 4}
	f.Axes = []*ir.Axis{i, j, k}
	b := &ir.Builder{Func: f, Block: f.Body}
	index := func(a *ir.Axis) *ir.Value { return b.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0] }
	ii, jj := index(i), index(j)
	pool := map[lang.DType][]*ir.Value{}
	add := func(v *ir.Value) { pool[v.Type.DType] = append(pool[v.Type.DType], v) }
	for c, t := range d {
		x := &ir.Tensor{Name: string(rune('a' + c)), DType: t, Mode: lang.In, Shape: []*ir.Dim{n, n}}
		f.Tensors = append(f.Tensors, x)
		add(b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: x, Args: []*ir.Value{ii, jj}, Checked: []bool{false, false}})[0])
		add(b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: x, Args: []*ir.Value{ii, ii}, Checked: []bool{false, false}})[0])
	}
	floats := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, math.Inf(1), math.Inf(-1), math.NaN(), 2}
	constant := func(t lang.DType) *ir.Value {
		switch {
		case t.IsFloat():
			return b.Const(t, ir.Const{Float: floats[r.IntN(len(floats))]})
		case t == lang.Bool:
			return b.Const(t, ir.Const{Int: int64(r.IntN(2))})
		}
		return b.Const(t, ir.Const{Int: []int64{0, 1, -1, 2, 31, 32, math.MinInt32}[r.IntN(7)]})
	}
	pick := func(t lang.DType) *ir.Value {
		if vs := pool[t]; len(vs) > 0 && r.IntN(4) > 0 {
			return vs[r.IntN(len(vs))]
		}
		v := constant(t)
		if r.IntN(3) == 0 {
			v = b.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{v}, Axes: []*ir.Axis{i}})[0]
		}
		return v
	}
	// Exactly rounded operations, which the folder and the backend must agree on to the bit.
	exact := []lang.Op{lang.OpAdd, lang.OpSub, lang.OpMul, lang.OpDiv, lang.OpFloorDiv, lang.OpMod, lang.OpNeg, lang.OpAbs, lang.OpSign,
		lang.OpMin, lang.OpMax, lang.OpFma, lang.OpSqrt, lang.OpFloor, lang.OpCeil, lang.OpTrunc, lang.OpRound, lang.OpIsNaN, lang.OpIsInf, lang.OpAnd, lang.OpOr,
		lang.OpXor, lang.OpNot, lang.OpShl, lang.OpShr, lang.OpPopcount, lang.OpClz, lang.OpEq, lang.OpNe, lang.OpLt, lang.OpLe, lang.OpGt, lang.OpGe,
		lang.OpLogicAnd, lang.OpLogicOr, lang.OpLogicNot, lang.OpWhere, lang.OpClamp, lang.OpReduceMax, lang.OpReduceMin, lang.OpArgMax}
	step := func() {
		code := exact[r.IntN(len(exact))]
		row := code.Row()
		t := d[r.IntN(2)]
		switch row.Rule {
		case lang.RuleFloat, lang.RuleTest:
			t = lang.F32
		case lang.RuleInt:
			t = lang.I32
		case lang.RuleBool:
			t = lang.Bool
		}
		if isReduction := row.Group == lang.GroupReduce; isReduction {
			x := pick(t)
			if x.Type.Has(j) {
				add(b.Emit(&ir.Op{Code: code, Args: []*ir.Value{x}, Over: []*ir.Axis{j}})[0])
			}
			return
		}
		var args []*ir.Value
		for a := range row.Operands {
			if row.Rule == lang.RuleSelect && a == 0 {
				args = append(args, pick(lang.Bool))
			} else {
				args = append(args, pick(t))
			}
		}
		add(b.Op(code, args...))
		if r.IntN(4) == 0 {
			to := []lang.DType{lang.F32, lang.I32, lang.Bool, lang.F16, lang.BF16, lang.F64, lang.I8}[r.IntN(7)]
			add(b.Cast(b.Cast(pick(t), to), d[r.IntN(2)]))
		}
	}
	region := func(op *ir.Op, params ...*ir.Value) {
		outer, outerPool := b.Block, map[lang.DType][]*ir.Value{}
		for t, vs := range pool {
			outerPool[t] = append([]*ir.Value(nil), vs...)
		}
		b.Block = &ir.Block{Params: params}
		for _, p := range params {
			add(p)
		}
		for range r.IntN(5) {
			step()
		}
		op.Blocks = append(op.Blocks, b.Block)
		b.Block, pool = outer, outerPool
	}
	for range 4 {
		for range 4 {
			step()
		}
		switch r.IntN(2) {
		case 0:
			t := d[r.IntN(2)]
			init := pick(t)
			carried := f.NewValue(init.Type, nil)
			op := &ir.Op{Code: lang.OpFor, Args: []*ir.Value{b.Int(int64(r.IntN(3))), b.Int(int64(r.IntN(14))), init}, Axis: k}
			if k == nil {
				op.Axis = nil
			}
			k = nil // an axis has one loop
			region(op, f.NewValue(ir.Scalar(lang.I32), nil), carried)
			body := op.Blocks[0]
			body.Yield = []*ir.Value{carried}
			for _, inner := range body.Ops {
				for _, v := range inner.Results {
					if v.Type.Same(init.Type) {
						body.Yield[0] = v
					}
				}
			}
			add(b.Emit(op)[0])
		case 1:
			op := &ir.Op{Code: lang.OpIf, Args: []*ir.Value{b.Const(lang.Bool, ir.Const{Int: int64(r.IntN(2))})}}
			region(op)
			region(op)
			x := pick(lang.F32)
			for _, inner := range op.Blocks {
				inner.Yield = []*ir.Value{x}
				for _, o := range inner.Ops {
					for _, v := range o.Results {
						if v.Type.Same(x.Type) {
							inner.Yield[0] = v
						}
					}
				}
			}
			// The choice comes after x.
			add(b.Emit(op)[0])
		}
	}
	for c, t := range d {
		for o := range 3 {
			y := &ir.Tensor{Name: string(rune('p'+c*3)) + string(rune('0'+o)), DType: t, Mode: lang.Out, Shape: []*ir.Dim{n, n}}
			f.Tensors = append(f.Tensors, y)
			b.Emit(&ir.Op{Code: lang.OpStore, Tensor: y, Args: []*ir.Value{ii, jj, pick(t)}, Checked: []bool{false, false}})
		}
	}
	return f
}

// Random kernels compute the same to the bit, the sign of zero included, after the passes.
func TestRandomKernels(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 30
	}
	for seed := range uint64(n) {
		f := randomKernel(rand.New(rand.NewPCG(seed, 77)))
		require.NoError(t, ir.Verify(f), f.String())
		text := f.String()
		g, err := ir.Parse("random", text)
		require.NoError(t, err, text)
		require.Equal(t, text, g.String())
		var chunks map[string]int64
		if seed%2 == 1 {
			chunks = map[string]int64{"j": 4}
		}
		if err := Run(g, Options{Verify: true, Chunks: chunks}); err != nil {
			require.Contains(t, err.Error(), "carries over the axis", "seed %d\n%s", seed, text)
			require.NoError(t, Run(g, Options{Verify: true}), "seed %d\n%s", seed, text)
		}
		require.NoError(t, Planned(g, Options{Verify: true}), "seed %d\n%s", seed, text)
		d := data{specials: true, seed: seed}
		want, got := execute(t, f, nil, d), execute(t, g, nil, d)
		for name, w := range want {
			for i := range w {
				same := w[i] == got[name][i] && math.Signbit(w[i]) == math.Signbit(got[name][i]) || w[i] != w[i] && got[name][i] != got[name][i]
				if !same {
					t.Fatalf("seed %d: %s[%d] = %v, want %v\nbefore\n%s\nafter\n%s", seed, name, i, got[name][i], w[i], text, g)
				}
			}
		}
	}
}
