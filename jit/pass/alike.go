package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// alike runs when the plan is chosen. A norm that is computed where a product reads it goes over a row by an axis of its own, and the product's depth is
// another of the same positions: as one axis, what both load is loaded, and what both compute is computed, once.
var alike = Pass{
	Name:    "alike",
	Doc:     "takes one axis for two over the same positions of which loads bring the same, where nothing has both",
	Planned: true,
	Run: func(f *ir.Func, o *Options) (bool, error) {
		changed := false
		for i := 0; i < len(f.Axes); i++ {
			for j := i + 1; j < len(f.Axes); j++ {
				if a, b := f.Axes[i], f.Axes[j]; samePositions(a, b) && loadSame(f, a, b) && standApart(f, a, b) {
					putAxis(f, a, b)
					changed, j = true, i
				}
			}
		}
		if !changed {
			return false, nil
		}
		for _, p := range []Pass{cse, dce} {
			if _, err := p.Run(f, o); err != nil {
				return false, err
			}
		}
		return true, nil
	},
	Before: `kernel @k {
  dim M = 100
  dim N = 64
  tensor %x : in f32[M, N]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = 4
  axis j : whole N[0 .. 64]
  axis k : whole N[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = sum %2 over j : f32{i}
  %4 = index k : i32{k}
  %5 = load %x[%0, %4] : f32{i, k}
  %6 = div %5, %3 : f32{i, k}
  store %y[%0, %4] = %6
}
`,
	After: `kernel @k {
  dim M = 100
  dim N = 64
  tensor %x : in f32[M, N]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = 4
  axis j : whole N[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = sum %2 over j : f32{i}
  %6 = div %2, %3 : f32{i, j}
  store %y[%0, %1] = %6
}
`,
}

// samePositions reports two axes of which a block has all positions at once, of both the same of one dimension.
func samePositions(a, b *ir.Axis) bool {
	return a.Kind == ir.Whole && b.Kind == ir.Whole && a.Dim != nil && a.Dim == b.Dim && a.Lo == b.Lo && a.Len == b.Len &&
		a.Extent == a.Len && b.Extent == b.Len && a.Split <= 1 && b.Split <= 1
}

// loadSame reports two loads that differ in nothing but that one has a where the other has b.
func loadSame(f *ir.Func, a, b *ir.Axis) bool {
	var loads []*ir.Op
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpLoad && op.Tensor.ReadOnly() && !op.Hint.Given() {
			loads = append(loads, op)
		}
		return true
	})
	at := func(v *ir.Value, x *ir.Axis) bool {
		return v.Def != nil && v.Def.Code == lang.OpIndex && v.Def.Axis == x
	}
	return slices.ContainsFunc(loads, func(x *ir.Op) bool {
		return x.Result().Type.Has(a) && slices.ContainsFunc(loads, func(y *ir.Op) bool {
			return y.Result().Type.Has(b) && x.Tensor == y.Tensor && slices.EqualFunc(x.Args, y.Args, func(v, w *ir.Value) bool { return v == w || at(v, a) && at(w, b) })
		})
	})
}

// standApart reports two axes that no tile and no access has both of, and that nothing names but by their positions and by going over them.
func standApart(f *ir.Func, a, b *ir.Axis) bool {
	apart := !f.HasDebug()
	both := func(axes []*ir.Axis) bool { return slices.Contains(axes, a) && slices.Contains(axes, b) }
	f.Walk(func(op *ir.Op) bool {
		named := (op.Axis == a || op.Axis == b) && op.Code != lang.OpIndex || op.From == a || op.From == b || op.Fn != nil
		union := slices.Clone(op.Over)
		for _, v := range slices.Concat(op.Args, op.Results) {
			union = ir.Union(ir.Type{Axes: union}, v.Type)
		}
		apart = apart && !named && !both(union) && !both(op.Axes)
		return apart
	})
	return apart
}

// putAxis puts axis a in the place of b.
func putAxis(f *ir.Func, a, b *ir.Axis) {
	put := func(axes []*ir.Axis) []*ir.Axis {
		axes = slices.Clone(axes)
		for i, x := range axes {
			if x == b {
				axes[i] = a
			}
		}
		return axes
	}
	values := func(vs []*ir.Value) {
		for _, v := range vs {
			if v.Type.Has(b) {
				v.Type.Axes = put(v.Type.Axes)
			}
		}
	}
	f.Walk(func(op *ir.Op) bool {
		if op.Axis == b {
			op.Axis = a
		}
		op.Axes, op.Over = put(op.Axes), put(op.Over)
		values(op.Results)
		for _, inner := range op.Blocks {
			values(inner.Params)
		}
		return true
	})
	f.Axes = ir.Without(f.Axes, []*ir.Axis{b})
}
