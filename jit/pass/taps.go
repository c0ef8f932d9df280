package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// The gradient of a convolution's weights has a sum of products for each place of the window: `sum(x[n, h + r - 1, v + s - 1, c] * dy[n, h, v, o], over (n, h, v))`. A block that
// has all places has the image once for each in shared memory, and rows of products that are not rows of the image. As places of the grid each is a product of matrices
// that lie as they are, the image from another place on.
var taps = Pass{
	Name:   "taps",
	Matrix: true,
	Doc:    "gives each place of a window a block of its own, where products are summed over what the window moves along, for machines with a matrix unit",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		changed := false
		if !o.Matrix {
			return false, nil
		}
		for _, a := range slices.Clone(f.Axes) {
			if a.Few() && a.Lo == 0 && a.Len > 1 && isTap(f, a) && plainlyUsed(f, a) {
				if a.Dim == nil || a.Dim.Value != a.Len {
					a.Dim = f.ConstDim(a.Len)
				}
				a.Kind, a.Len, a.Extent = ir.Grid, 0, 1
				dropAxis(f, a)
				others := ir.Without(f.Axes, []*ir.Axis{a})
				at := len(f.Grid()) - 1 // behind the axes of the grid that there are
				f.Axes = slices.Insert(others, at, a)
				changed = true
			}
		}
		return changed, nil
	},
	Before: `kernel @k {
  dim H = 64
  dim C = 64
  dim O = 64
  dim R = 3
  tensor %x : in bf16[H, C]
  tensor %dy : in bf16[H, O]
  tensor %dw : out f32[O, R, C]
  axis o : grid O by BO = ?
  axis c : grid C by BC = ?
  axis r : whole R[0 .. 3]
  axis h : whole H[0 .. 64]
body:
  %0 = index o : i32{o}
  %1 = index r : i32{r}
  %2 = index c : i32{c}
  %3 = index h : i32{h}
  %4 = add %3, %1 : i32{h, r}
  %5 = const 0 : bf16
  %6 = load %x[?%4, %2] else %5 : bf16{h, r, c}
  %7 = load %dy[%3, %0] : bf16{h, o}
  %8 = dot %6, %7 over h : f32{r, c, o}
  store %dw[%0, %1, %2] = %8
}
`,
	After: `kernel @k {
  dim H = 64
  dim C = 64
  dim O = 64
  dim R = 3
  tensor %x : in bf16[H, C]
  tensor %dy : in bf16[H, O]
  tensor %dw : out f32[O, R, C]
  axis o : grid O by BO = ?
  axis c : grid C by BC = ?
  axis r : grid scalar R
  axis h : whole H[0 .. 64]
body:
  %0 = index o : i32{o}
  %1 = start r : i32
  %2 = index c : i32{c}
  %3 = index h : i32{h}
  %4 = add %3, %1 : i32{h}
  %5 = const 0 : bf16
  %6 = load %x[?%4, %2] else %5 : bf16{h, c}
  %7 = load %dy[%3, %0] : bf16{h, o}
  %8 = dot %6, %7 over h : f32{c, o}
  store %dw[%0, %1, %2] = %8
}
`,
}

// isTap reports an axis of a window's places: of each product's operands one has it, at positions along a longer axis that is summed over too, and all that is stored has it. What is stored and
// read too is read where it is stored, for other places are other blocks' then.
func isTap(f *ir.Func, a *ir.Axis) bool {
	products, moves, all := 0, false, true
	places := map[*ir.Tensor][]*ir.Value{} // of what is stored
	f.Walk(func(op *ir.Op) bool {
		if t := op.Tensor; t != nil && !t.ReadOnly() {
			at, seen := places[t]
			all = all && (!seen || slices.Equal(at, op.Indices()))
			places[t] = op.Indices()
		}
		switch {
		case op.Code.Row().Group == lang.GroupContract:
			products++
			all = all && op.Args[0].Type.Has(a) != op.Args[1].Type.Has(a) && op.Result().Type.Has(a)
			for _, x := range op.Args[:2] {
				load := x.Def
				moves = moves || load != nil && load.Code == lang.OpLoad && slices.ContainsFunc(load.Indices(), func(v *ir.Value) bool {
					return v.Type.Has(a) && slices.ContainsFunc(op.Over, func(o *ir.Axis) bool { return v.Type.Has(o) && o.Kind == ir.Whole && o.Len > a.Len })
				})
			}
		case op.Code.Row().Effect == lang.Writes:
			all = all && slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return v.Type.Has(a) })
		}
		return all
	})
	return products > 0 && moves && all
}
