package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// A sum of products in which a factor is the same for all that is summed, as the
// scale of scores or of a row, is that factor times a sum of fewer factors; a mean
// of products is such a sum by the number of its elements. What is left, where it
// is a product of two, is a contraction, which matrix units compute; with the
// factor inside it was one of f32 numbers that threads make, or none at all.
var factors = Pass{
	Name: "factors",
	Doc:  "takes factors that are the same for all elements out of a sum of products that is a contraction without them, and makes a mean of products of such a sum",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		if len(o.Chunks) > 0 || o.Recompute {
			return false, nil
		}
		changed := rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			if v := takenOut(b, op); v != nil {
				return []*ir.Value{v}, true
			}
			return nil, false
		})
		if changed {
			liveness(f).sweep(f.Body)
		}
		return changed, nil
	},
	Before: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in bf16[K, N]
  tensor %s : in f32[M]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : bf16{i, k}
  %4 = cast %3 : f32{i, k}
  %5 = load %s[%0] : f32{i}
  %6 = mul %4, %5 : f32{i, k}
  %7 = load %b[%2, %1] : bf16{k, j}
  %8 = cast %7 : f32{k, j}
  %9 = mul %6, %8 : f32{i, k, j}
  %10 = mean %9 over k : f32{i, j}
  store %c[%0, %1] = %10
}
`,
	After: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in bf16[K, N]
  tensor %s : in f32[M]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : bf16{i, k}
  %4 = cast %3 : f32{i, k}
  %5 = load %s[%0] : f32{i}
  %7 = load %b[%2, %1] : bf16{k, j}
  %8 = cast %7 : f32{k, j}
  %11 = mul %4, %8 : f32{i, k, j}
  %12 = sum %11 over k : f32{i, j}
  %13 = mul %12, %5 : f32{i, j}
  %14 = const 64 : f32
  %15 = div %13, %14 : f32{i, j}
  store %c[%0, %1] = %15
}
`,
}

// mostFactors is how many factors of a product are looked at.
const mostFactors = 8

// takenOut is a sum or a mean of products in the form without common factors; nil where it has that form, or is no contraction in it.
func takenOut(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpSum && op.Code != lang.OpMean || op.Precision == "ieee" {
		return nil
	}
	all := factorsOf(op.Args[0], nil)
	varies := func(v *ir.Value) bool { return slices.ContainsFunc(op.Over, v.Type.Has) }
	common := slices.DeleteFunc(slices.Clone(all), varies)
	each := slices.DeleteFunc(slices.Clone(all), func(v *ir.Value) bool { return !varies(v) })
	if len(all) > mostFactors || len(each) != 2 || op.Code == lang.OpSum && len(common) == 0 {
		return nil
	}
	for _, x := range each { // a contraction of f32 may round to tf32, where nothing here says that this is one
		if widened(x) == x {
			return nil
		}
	}
	elements := int64(1)
	for _, a := range op.Over {
		if a.Kind == ir.Whole {
			elements *= a.Len
		} else if op.Code == lang.OpMean {
			return nil
		}
		if !each[0].Type.Has(a) || !each[1].Type.Has(a) {
			return nil
		}
	}
	if len(ir.Without(each[0].Type.Axes, each[1].Type.Axes)) == 0 || len(ir.Without(each[1].Type.Axes, each[0].Type.Axes)) == 0 {
		return nil
	}
	product := b.Op(lang.OpMul, each[0], each[1])
	v := b.Emit(&ir.Op{Code: lang.OpSum, Args: []*ir.Value{product}, Over: slices.Clone(op.Over), Precision: op.Precision})[0]
	for _, x := range common {
		v = b.Op(lang.OpMul, v, x)
	}
	if op.Code == lang.OpMean {
		v = b.Op(lang.OpDiv, v, b.Const(v.Type.DType, ir.Const{Int: elements, Float: float64(elements)}))
	}
	return v
}

// factorsOf are the factors of a product of products, from left to right.
func factorsOf(v *ir.Value, before []*ir.Value) []*ir.Value {
	if v.Def == nil || v.Def.Code != lang.OpMul || len(before) > mostFactors {
		return append(before, v)
	}
	return factorsOf(v.Def.Args[1], factorsOf(v.Def.Args[0], before))
}
