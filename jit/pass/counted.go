package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// A loop over numbers, as one over groups of the depth that have a scale each, has no axis, and nothing says what its next steps load. With an axis of one
// position a step it is a loop like others: the loads of its products run ahead.
var counted = Pass{
	Name: "counted",
	Doc:  "gives loops over numbers an axis, where a product in them loads what follows from the number, and the machine has a matrix unit",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		if !o.Matrix {
			return false, nil
		}
		changed := false
		f.Walk(func(op *ir.Op) bool {
			if dim := countedTo(f, op); dim != nil {
				giveAxis(f, op, dim)
				changed = true
			}
			return true
		})
		return changed, nil
	},
	Matrix: true,
	Before: `kernel @k {
  dim M = ?
  dim K = 512
  dim N = 64
  dim G = 4
  dim R = 128
  tensor %a : in bf16[M, K]
  tensor %b : in bf16[N, K]
  tensor %s : in f32[G]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis r : whole R[0 .. 128]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index r : i32{r}
  %3 = const 0 : i32
  %4 = size G : i32
  %5 = const 128 : i32
  %6 = const 0 : f32
  %7 = full %6 : f32{i, j}
  %8 = for from %3 to %4 with (%9 = %7) pos %10 g : (f32{i, j}) {
    %11 = mul %10, %5 : i32
    %12 = add %11, %2 : i32{r}
    %13 = load %a[%0, %12] : bf16{i, r}
    %14 = load %b[%1, %12] : bf16{j, r}
    %15 = dot %13, %14 over r : f32{i, j}
    %16 = load %s[%10] : f32
    %17 = mul %15, %16 : f32{i, j}
    %18 = add %9, %17 : f32{i, j}
    yield %18
  }
  store %c[%0, %1] = %8
}
`,
	After: `kernel @k {
  dim M = ?
  dim K = 512
  dim N = 64
  dim G = 4
  dim R = 128
  tensor %a : in bf16[M, K]
  tensor %b : in bf16[N, K]
  tensor %s : in f32[G]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis r : whole R[0 .. 128]
  axis g : loop scalar G
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index r : i32{r}
  %3 = const 0 : i32
  %4 = size G : i32
  %5 = const 128 : i32
  %6 = const 0 : f32
  %7 = full %6 : f32{i, j}
  %8 = for g from %3 to %4 with (%9 = %7) pos %10 : (f32{i, j}) {
    %19 g = start g : i32
    %11 = mul %19, %5 : i32
    %12 = add %11, %2 : i32{r}
    %13 = load %a[%0, %12] : bf16{i, r}
    %14 = load %b[%1, %12] : bf16{j, r}
    %15 = dot %13, %14 over r : f32{i, j}
    %16 = load %s[%19] : f32
    %17 = mul %15, %16 : f32{i, j}
    %18 = add %9, %17 : f32{i, j}
    yield %18
  }
  store %c[%0, %1] = %8
}
`,
}

// countedTo is the dimension that a loop without an axis counts to, as far as a product in it loads what follows from the number; nil for others.
func countedTo(f *ir.Func, loop *ir.Op) *ir.Dim {
	if loop.Code != lang.OpFor || loop.Axis != nil || loop.Reverse {
		return nil
	}
	body, hi := loop.Blocks[0], loop.Args[1]
	if lo, ok := ir.KnownInt(loop.Args[0]); !ok || lo < 0 || !slices.ContainsFunc(body.Ops, func(op *ir.Op) bool { return loadsFor(op, body.Params[0]) }) {
		return nil
	}
	var dim *ir.Dim
	if hi.Def != nil && hi.Def.Code == lang.OpSize {
		dim = hi.Def.Dim
	} else if n, ok := ir.KnownInt(hi); ok && n > 0 {
		dim = f.ConstDim(n)
	}
	if dim == nil || !body.Params[0].Type.Same(ir.Scalar((&ir.Axis{Dim: dim}).Counts())) {
		return nil
	}
	return dim
}

// loadsFor reports a product of which a factor is loaded from where a number says.
func loadsFor(op *ir.Op, number *ir.Value) bool {
	if op.Code.Row().Group != lang.GroupContract {
		return false
	}
	var follows func(v *ir.Value) bool
	follows = func(v *ir.Value) bool {
		return v == number || v.Def != nil && (v.Def.Code.Row().Elementwise || v.Def.Code == lang.OpFull) && slices.ContainsFunc(v.Def.Args, follows)
	}
	return slices.ContainsFunc(op.Args[:2], func(v *ir.Value) bool {
		return v.Def != nil && v.Def.Code == lang.OpLoad && slices.ContainsFunc(v.Def.Args, follows)
	})
}

// giveAxis gives a loop an axis over a dimension, of which each step is at one position.
func giveAxis(f *ir.Func, loop *ir.Op, dim *ir.Dim) {
	body := loop.Blocks[0]
	number := body.Params[0]
	name := number.Name
	if name == "" {
		name = "n"
	}
	loop.Axis = f.AddAxis(ir.Axis{Name: name, Kind: ir.Loop, Dim: dim, Extent: 1, Scalar: true})
	b := &ir.Builder{Func: f, Block: &ir.Block{}, At: loop.At}
	start := b.Emit(&ir.Op{Code: lang.OpStart, Axis: loop.Axis})[0]
	start.Name, number.Name = number.Name, ""
	body.Replace(map[*ir.Value]*ir.Value{number: start})
	body.Ops = append(b.Block.Ops, body.Ops...)
}
