package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// Two products of the same rows, as those of a gated unit, may each go through the rows by an axis of its own: kernels that a graph
// fused have axes of their own, and so have loops that were written one after the other. By one axis, a step brings the rows once, for both.
var abreast = Pass{
	Name: "abreast",
	Doc:  "takes products of the same rows through them by one axis, where the machine has a matrix unit",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		if !o.Matrix {
			return false, nil
		}
		changed := false
		for i := 0; i < len(f.Axes); i++ {
			for j := i + 1; j < len(f.Axes); j++ {
				if a, b := f.Axes[i], f.Axes[j]; sameDepth(a, b) && loadSame(f, a, b) && standApart(f, a, b) && contractedApart(f, a, b) {
					putAxis(f, a, b)
					changed, j = true, i
				}
			}
		}
		return changed, nil // `cse` has one of what both load
	},
	Matrix: true,
	Before: `kernel @k {
  dim M = 100
  dim K = 64
  dim N = 32
  tensor %x : in bf16[M, K]
  tensor %v : in bf16[K, N]
  tensor %w : in bf16[K, N]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
  axis l : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %x[%0, %2] : bf16{i, k}
  %4 = load %v[%2, %1] : bf16{k, j}
  %5 = dot %3, %4 over k : f32{i, j}
  %6 = index l : i32{l}
  %7 = load %x[%0, %6] : bf16{i, l}
  %8 = load %w[%6, %1] : bf16{l, j}
  %9 = dot %7, %8 over l : f32{i, j}
  %10 = mul %5, %9 : f32{i, j}
  store %y[%0, %1] = %10
}
`,
	After: `kernel @k {
  dim M = 100
  dim K = 64
  dim N = 32
  tensor %x : in bf16[M, K]
  tensor %v : in bf16[K, N]
  tensor %w : in bf16[K, N]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %x[%0, %2] : bf16{i, k}
  %4 = load %v[%2, %1] : bf16{k, j}
  %5 = dot %3, %4 over k : f32{i, j}
  %6 = index k : i32{k}
  %7 = load %x[%0, %6] : bf16{i, k}
  %8 = load %w[%6, %1] : bf16{k, j}
  %9 = dot %7, %8 over k : f32{i, j}
  %10 = mul %5, %9 : f32{i, j}
  store %y[%0, %1] = %10
}
`,
}

// sameDepth reports two axes of all the same positions of one dimension, of which it is open how many a step has.
func sameDepth(a, b *ir.Axis) bool {
	return a.Kind == ir.Whole && b.Kind == ir.Whole && a.Dim != nil && a.Dim == b.Dim && a.Lo == b.Lo && a.Len == b.Len && a.Split == b.Split
}

// contractedApart reports two axes along which there are but contractions, of which those along one need nothing of those along the other.
func contractedApart(f *ir.Func, a, b *ir.Axis) bool {
	var of [2][]*ir.Op
	apart := true
	f.Walk(func(op *ir.Op) bool {
		for i, x := range []*ir.Axis{a, b} {
			if slices.Contains(op.Over, x) {
				of[i] = append(of[i], op)
				apart = apart && op.Code.Row().Group == lang.GroupContract && slices.Contains(f.Body.Ops, op)
			}
		}
		return true
	})
	for i := range of {
		needed := map[*ir.Op]bool{}
		for _, op := range of[i] {
			need(op, needed)
		}
		apart = apart && len(of[i]) > 0 && !slices.ContainsFunc(of[1-i], func(op *ir.Op) bool { return needed[op] })
	}
	return apart
}

// need adds an operation and all that its arguments and its blocks follow from to those that are needed.
func need(op *ir.Op, needed map[*ir.Op]bool) {
	if op == nil || needed[op] {
		return
	}
	needed[op] = true
	for _, v := range op.Args {
		need(v.Def, needed)
	}
	for _, b := range op.Blocks {
		for _, inner := range b.Ops {
			need(inner, needed)
		}
	}
}
