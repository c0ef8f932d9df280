package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// A matrix unit multiplies 8 or 16 rows at a time. Of a contraction that has one or two, as in a step of decoding, it
// computes most in vain, and its operand comes through shared memory in steps, each with a barrier. Products and sums
// read each element where it is needed, all of them at once, and the sum is that of a reduction.
//
// The factors are of 16 bits or less, so that their products are exact in the accumulator: nothing is rounded that a
// contraction would not round. Those of 32 stay, so that a step of decoding gives what a prompt gives, to which a matrix unit rounds the factors of both; but one that is made of narrower numbers
// would pass through registers and shared memory.
var matvec = Pass{
	Name: "matvec",
	Doc:  "computes a contraction of few rows by products and sums, as the planner asks",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		if o.Few == nil {
			return false, nil
		}
		return rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			if !FewRows(op, o.Few) {
				return nil, false
			}
			x, y, acc := op.Args[0], op.Args[1], op.Result().Type.DType
			if op.Fn != nil {
				y = b.Factor(op)
			}
			product := b.Op(lang.OpMul, b.Cast(x, acc), b.Cast(y, acc))
			sum := b.Emit(&ir.Op{Code: lang.OpSum, Args: []*ir.Value{product}, Over: slices.Clone(op.Over)})[0]
			if op.Code == lang.OpMma {
				sum = b.Op(lang.OpAdd, op.Args[2], sum)
			}
			return []*ir.Value{sum}, true
		}), nil
	},
	Few: func(a *ir.Axis) bool { return a.Name == "i" },
	Before: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in bf16[K, N]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : bf16{i, k}
  %4 = load %b[%2, %1] : bf16{k, j}
  %5 = dot %3, %4 over k : f32{i, j}
  store %c[%0, %1] = %5
}
`,
	After: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in bf16[K, N]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : bf16{i, k}
  %4 = load %b[%2, %1] : bf16{k, j}
  %6 = cast %3 : f32{i, k}
  %7 = cast %4 : f32{k, j}
  %8 = mul %6, %7 : f32{i, k, j}
  %9 = sum %8 over k : f32{i, j}
  store %c[%0, %1] = %9
}
`,
}

// FewRows reports a contraction that one of its factors gives few rows, and whose products and sums round no more than it does: few says
// which axes are short.
func FewRows(op *ir.Op, few func(*ir.Axis) bool) bool {
	if op.Code != lang.OpDot && op.Code != lang.OpMma {
		return false
	}
	x, y := op.Args[0], op.Args[1]
	d := x.Type.DType
	if d != y.Type.DType && !op.Mixed() || !d.IsFloat() || d.Bits() > 16 && !ofNarrow(op) {
		return false
	}
	if op.Fn != nil && !fewRowsOfFunction(op) {
		return false
	}
	return Narrow(op, few)
}

// ofNarrow reports a contraction of f32, no IEEE one, of which a factor is made of narrower numbers (an H200, 4096 x 4096 of i8, of one and of four rows of f32: 16.6 and 17.0 us, where a matrix unit takes
// 36.9 and 37.9; of two weights of four bits a byte, 14.0 and 37.1 us).
func ofNarrow(op *ir.Op) bool {
	return op.Args[0].Type.DType == lang.F32 && op.Precision != "ieee" && (madeOfNarrow(op.Args[0]) || madeOfNarrow(op.Args[1]))
}

// madeOfNarrow reports a factor that follows from loads, of which those with all of its axes have fewer bits than it has.
func madeOfNarrow(v *ir.Value) bool {
	narrow, made := true, false
	wholeLoads(v, func(load *ir.Op) {
		n, _ := positionsOfElement(load)
		made, narrow = true, narrow && (load.Result().Type.DType.Bits() < v.Type.DType.Bits() || n > 1)
	})
	return made && narrow
}

// fewRowsOfFunction reports a function of single elements and of what does not change along the depth. Of words, each thread would load those of a few positions and unpack each anew, and of scales
// for groups of the depth several beside its elements (an H200, 1x8192x8192: eight weights a word 73 to 367 us, where a matrix unit takes 61; i8 with a scale for each 128 of a row 49.9 and 26.4, for
// each 32 38.0 and 34.0, floats of 4 bits with a scale for each 32 46.1 and 39.5, the latter of 16 rows). What is multiplied in two parts takes a matrix unit twice as long.
func fewRowsOfFunction(op *ir.Op) bool {
	if n, ok := positionsOfElement(op.Args[1].Def); !ok || n > 1 {
		return false
	}
	return op.InParts() || !slices.ContainsFunc(op.Using(), func(v *ir.Value) bool {
		return slices.ContainsFunc(op.Over, func(a *ir.Axis) bool { return v.Type.Has(a) })
	})
}

// Narrow reports a contraction that one of its factors gives few rows: few says which axes are short.
func Narrow(op *ir.Op, few func(*ir.Axis) bool) bool {
	if op.Code != lang.OpDot && op.Code != lang.OpMma {
		return false
	}
	x, y := op.Args[0], op.Args[1]
	for _, sides := range [][2]*ir.Value{{x, y}, {y, x}} {
		rows := ir.Without(sides[0].Type.Axes, sides[1].Type.Axes)
		if !slices.ContainsFunc(rows, func(a *ir.Axis) bool { return !few(a) }) {
			return true
		}
	}
	return false
}
