package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// The first operand of a product has the rows that matrix units give to warps, the second the columns. What a product of products multiplies stays in
// the registers of the warps that computed it where its rows are those of the first product: so the operands of a product are exchanged along whose rows
// nothing but sums follow. Of attention, scores have a row a query, since values are summed over the keys; of its gradients of keys and values, a row a key.
var orient = Pass{
	Name: "orient",
	Doc:  "gives products the rows that the products behind them keep",
	Run: func(f *ir.Func, o *Options) (changed bool, err error) {
		if !o.Matrix {
			return false, nil
		}
		users := usersOf(f)
		isLoad := func(v *ir.Value) bool { return v.Def != nil && v.Def.Code == lang.OpLoad }
		f.Walk(func(op *ir.Op) bool {
			if op.Code.Row().Group != lang.GroupContract || op.Fn != nil || op.Args[0].Type.DType != op.Args[1].Type.DType {
				return true
			}
			x, y := op.Args[0], op.Args[1]
			if !isLoad(x) && isLoad(y) { // instructions take columns from where they were loaded to
				return true
			}
			rows, columns := ir.Without(x.Type.Axes, y.Type.Axes), ir.Without(y.Type.Axes, x.Type.Axes)
			if len(columns) > 0 && summedBehind(op, users, rows) && !summedBehind(op, users, columns) {
				op.Args[0], op.Args[1] = op.Args[1], op.Args[0]
				changed = true
			}
			return true
		})
		return changed, nil
	},
	Matrix: true,
	Before: `kernel @k {
  dim S = 256
  dim D = 64
  tensor %q : in bf16[S, D]
  tensor %k : in bf16[S, D]
  tensor %y : out f32[S, D]
  axis j : grid S by BN = ?
  axis i : loop S by BM = ?
  axis d : whole D[0 .. 64]
body:
  %0 = index j : i32{j}
  %1 = index d : i32{d}
  %2 = load %k[%0, %1] : bf16{j, d}
  %3 = const 0 : f32
  %4 = full %3 : f32{j, d}
  %5 = const 0 : i32
  %6 = const 256 : i32
  %7 = for i from %5 to %6 with (%8 = %4) pos %9 : (f32{j, d}) {
    %10 = index i : i32{i}
    %11 = load %q[%10, %1] : bf16{i, d}
    %12 = dot %11, %2 over d : f32{i, j}
    %13 = exp %12 : f32{i, j}
    %14 = cast %13 : bf16{i, j}
    %15 = mma %14, %11, %8 over i : f32{j, d}
    yield %15
  }
  store %y[%0, %1] = %7
}
`,
	After: `kernel @k {
  dim S = 256
  dim D = 64
  tensor %q : in bf16[S, D]
  tensor %k : in bf16[S, D]
  tensor %y : out f32[S, D]
  axis j : grid S by BN = ?
  axis i : loop S by BM = ?
  axis d : whole D[0 .. 64]
body:
  %0 = index j : i32{j}
  %1 = index d : i32{d}
  %2 = load %k[%0, %1] : bf16{j, d}
  %3 = const 0 : f32
  %4 = full %3 : f32{j, d}
  %5 = const 0 : i32
  %6 = const 256 : i32
  %7 = for i from %5 to %6 with (%8 = %4) pos %9 : (f32{j, d}) {
    %10 = index i : i32{i}
    %11 = load %q[%10, %1] : bf16{i, d}
    %12 = dot %2, %11 over d : f32{i, j}
    %13 = exp %12 : f32{i, j}
    %14 = cast %13 : bf16{i, j}
    %15 = mma %14, %11, %8 over i : f32{j, d}
    yield %15
  }
  store %y[%0, %1] = %7
}
`,
}

// summedBehind reports that products sum over these axes, all of them, of what is computed elementwise from an operation's result.
func summedBehind(op *ir.Op, users map[*ir.Value][]*ir.Op, axes []*ir.Axis) bool {
	seen := map[*ir.Value]bool{}
	var summed func(v *ir.Value) bool
	summed = func(v *ir.Value) bool {
		if seen[v] {
			return false
		}
		seen[v] = true
		for _, u := range users[v] {
			switch row := u.Code.Row(); {
			case row.Group == lang.GroupContract:
				if !slices.ContainsFunc(axes, func(a *ir.Axis) bool { return !slices.Contains(u.Over, a) }) {
					return true
				}
			case row.Elementwise && summed(u.Result()):
				return true
			}
		}
		return false
	}
	return len(axes) > 0 && summed(op.Result())
}
