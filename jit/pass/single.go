package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// single runs when the plan is chosen. Of several products at once, as those of a batch are, a plan may give each block one: then their axis is
// as if the program had said `grid n in N`, and the product one of rows and columns alone, which the TMA and wgmma do.
var single = Pass{
	Name:    "single",
	Doc:     "makes positions of axes along which a block has one product of several",
	Planned: true,
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		changed := false
		for _, a := range f.Axes {
			if a.Kind == ir.Grid && !a.Scalar && a.Extent == 1 && tellsProductsApart(f, a) && plainlyUsed(f, a) {
				dropAxis(f, a)
				changed = true
			}
		}
		return changed, nil
	},
	Before: `kernel @k {
  dim B = 100
  dim M = 64
  tensor %x : in f16[B, M, M]
  tensor %y : out f32[B, M, M]
  axis n : grid B by BB = 1
  axis i : whole M[0 .. 64]
  axis j : whole M[0 .. 64]
  axis k : whole M[0 .. 64]
body:
  %0 = index n : i32{n}
  %1 = index i : i32{i}
  %2 = index k : i32{k}
  %3 = load %x[%0, %1, %2] : f16{n, i, k}
  %4 = index j : i32{j}
  %5 = load %x[%0, %2, %4] : f16{n, k, j}
  %6 = dot %3, %5 over k : f32{n, i, j}
  store %y[%0, %1, %4] = %6
}
`,
	After: `kernel @k {
  dim B = 100
  dim M = 64
  tensor %x : in f16[B, M, M]
  tensor %y : out f32[B, M, M]
  axis n : grid scalar B
  axis i : whole M[0 .. 64]
  axis j : whole M[0 .. 64]
  axis k : whole M[0 .. 64]
body:
  %0 = start n : i32
  %1 = index i : i32{i}
  %2 = index k : i32{k}
  %3 = load %x[%0, %1, %2] : f16{i, k}
  %4 = index j : i32{j}
  %5 = load %x[%0, %2, %4] : f16{k, j}
  %6 = dot %3, %5 over k : f32{i, j}
  store %y[%0, %1, %4] = %6
}
`,
}

// tellsProductsApart reports an axis that both operands and the result of each product have, of which there is one at least.
func tellsProductsApart(f *ir.Func, a *ir.Axis) bool {
	products, all := 0, true
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group == lang.GroupContract {
			products++
			all = all && op.Args[0].Type.Has(a) && op.Args[1].Type.Has(a) && op.Result().Type.Has(a)
		}
		return true
	})
	return products > 0 && all
}

// plainlyUsed reports an axis that a kernel has in its tiles and nothing else: no operation goes over it, renames it or makes a tile of it alone, and none asks where a run of
// several positions begins or ends.
func plainlyUsed(f *ir.Func, a *ir.Axis) bool {
	plain := !f.HasDebug()
	f.Walk(func(op *ir.Op) bool {
		atPosition := op.Code == lang.OpIndex || op.Code == lang.OpStart || op.Code == lang.OpEnd
		switch {
		case slices.Contains(op.Over, a), op.From == a, op.Axis == a && (!atPosition || op.Span > 1),
			op.Code == lang.OpFull && slices.Contains(op.Axes, a) && len(op.Axes) == 1, op.Code != lang.OpFull && slices.Contains(op.Axes, a):
			plain = false
		}
		return plain
	})
	return plain
}

// dropAxis makes an axis of one position in each block a scalar one.
func dropAxis(f *ir.Func, a *ir.Axis) {
	a.Scalar, a.Tile, a.Choices = true, "", nil
	drop := func(vs []*ir.Value) {
		for _, v := range vs {
			if v.Type.Has(a) {
				v.Type.Axes = ir.Without(v.Type.Axes, []*ir.Axis{a})
			}
		}
	}
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpIndex && op.Axis == a {
			op.Code = lang.OpStart
		}
		if op.Axis == a {
			op.Span = 0
		}
		if op.Code == lang.OpFull && slices.Contains(op.Axes, a) {
			op.Axes = ir.Without(op.Axes, []*ir.Axis{a})
		}
		drop(op.Results)
		for _, b := range op.Blocks {
			drop(b.Params)
		}
		if op.Fn != nil {
			drop(op.Fn.Params)
			op.Fn.Walk(func(inner *ir.Op) bool { drop(inner.Results); return true })
		}
		return true
	})
}
