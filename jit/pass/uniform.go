package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// A scale for each 128 columns is loaded at `index(j) / 128`: of a block whose columns are all of one such group, each element loads the same, and so does each position of a step of a loop.
// When the plan is chosen, and such a quotient is one number, it is computed of where the block or the step starts, and what lies there is loaded once.
var uniform = Pass{
	Name:    "uniform",
	Doc:     "loads once what the positions of a block or a step have in common, where they are all of one part of an axis",
	Planned: true,
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		whole, uses := inWholeParts(f), usersOf(f)
		apart := func(load *ir.Op) bool { // what a product takes is copied as it lies
			return load.Code == lang.OpLoad && (load.Else() == nil || load.Else().Type.IsScalar()) &&
				!slices.ContainsFunc(uses[load.Result()], func(op *ir.Op) bool { return op.Code.Row().Group == lang.GroupContract })
		}
		quotients := map[*ir.Value]bool{}
		return rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			switch {
			case isQuotient(op, whole) && !slices.ContainsFunc(uses[op.Result()], func(use *ir.Op) bool { return !apart(use) }):
				v := ofStart(b, op)
				quotients[v] = true
				return []*ir.Value{v}, true
			case op.Code == lang.OpLoad && apart(op) && slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool { return quotients[v] }):
				return []*ir.Value{loadedOnce(b, op, quotients)}, true
			}
			return nil, false
		}), nil
	},
	Before: `kernel @k {
  dim M = ?
  dim N = 512
  dim G = 4
  tensor %x : in f32[M, N]
  tensor %s : in f32[G]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = 16
  axis j : grid N by BN = 64
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = const 128 : i32
  %3 = div %1, %2 : i32{j}
  %4 = load %x[%0, %1] : f32{i, j}
  %5 = load %s[%3] : f32{j}
  %6 = mul %4, %5 : f32{i, j}
  store %y[%0, %1] = %6
}
`,
	After: `kernel @k {
  dim M = ?
  dim N = 512
  dim G = 4
  tensor %x : in f32[M, N]
  tensor %s : in f32[G]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = 16
  axis j : grid N by BN = 64
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = const 128 : i32
  %7 = start j : i32
  %8 = div %7, %2 : i32
  %9 = full %8 : i32{j}
  %4 = load %x[%0, %1] : f32{i, j}
  %10 = load %s[%8] : f32
  %11 = full %10 : f32{j}
  %6 = mul %4, %11 : f32{i, j}
  store %y[%0, %1] = %6
}
`,
}

// inWholeParts are the axes of which a block, or a step of a loop with a product, begins at a multiple of its extent.
func inWholeParts(f *ir.Func) map[*ir.Axis]bool {
	whole := map[*ir.Axis]bool{}
	for _, a := range f.Axes {
		whole[a] = a.Kind != ir.Whole && !a.Scalar && a.Ranges == nil && a.Split <= 1 && a.Extent >= 1
	}
	f.Walk(func(op *ir.Op) bool {
		if isLoop(op) && op.Axis != nil && whole[op.Axis] {
			lo, ok := ir.KnownInt(op.Args[0])
			multiplies := slices.ContainsFunc(op.Blocks[0].Ops, func(x *ir.Op) bool { return x.Code.Row().Group == lang.GroupContract })
			whole[op.Axis] = ok && lo%op.Axis.Extent == 0 && multiplies
		}
		return true
	})
	return whole
}

// isQuotient reports a quotient of the positions of a block, or a step, that is one number: the divisor is a multiple of how many they are.
func isQuotient(op *ir.Op, whole map[*ir.Axis]bool) bool {
	if op.Code != lang.OpDiv && op.Code != lang.OpFloorDiv || op.Args[0].Def == nil || op.Args[0].Def.Code != lang.OpIndex {
		return false
	}
	a := op.Args[0].Def.Axis
	n, ok := op.Args[1].IsConst()
	return ok && op.Args[1].Type.IsScalar() && whole[a] && n.Int >= 1 && n.Int%a.Extent == 0 && op.Args[0].Type.DType == a.Counts()
}

// ofStart is such a quotient, of where the block or the step starts.
func ofStart(b *ir.Builder, op *ir.Op) *ir.Value {
	part := b.Op(lang.OpDiv, b.Emit(&ir.Op{Code: lang.OpStart, Axis: op.Args[0].Def.Axis})[0], op.Args[1])
	return b.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{part}, Axes: slices.Clone(op.Result().Type.Axes)})[0]
}

// loadedOnce is what a load gives of which some index is such a quotient, along whose axes all elements are one.
func loadedOnce(b *ir.Builder, op *ir.Op, quotients map[*ir.Value]bool) *ir.Value {
	once := *op
	once.Args, once.Results = slices.Clone(op.Args), nil
	for i, v := range op.Indices() {
		if quotients[v] {
			once.Args[i] = v.Def.Args[0]
		}
	}
	return b.Emit(&ir.Op{Code: lang.OpFull, Args: b.Emit(&once), Axes: slices.Clone(op.Result().Type.Axes)})[0]
}
