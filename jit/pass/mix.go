package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// Weights of 8 bits are widened to what they are multiplied with. As an operation of its own that takes them through registers and shared memory once more,
// and no copy of them runs ahead of a loop. A contraction that takes them as they lie has them copied like any operand, and widens what it reads.
//
// Where one contraction takes what another gives, as in attention, which operand plays the rows is not ours to say: such kernels stay.
var mix = Pass{
	Name: "mix",
	Doc:  "has contractions take numbers of 8 bits as they lie, where they were widened for it and the machine asks for that",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		if !o.Matrix || chained(f) {
			return false, nil
		}
		uses := map[*ir.Value]int{}
		f.Walk(func(op *ir.Op) bool {
			for _, v := range op.Args {
				uses[v]++
			}
			for _, b := range op.Blocks {
				for _, v := range b.Yield {
					uses[v]++
				}
			}
			return true
		})
		changed := rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			if op.Code.Row().Group != lang.GroupContract {
				return nil, false
			}
			for arg, v := range op.Args[:2] {
				wide := op.Args[1-arg]
				if narrow := narrowLoad(v); narrow != nil && uses[v] == 1 && narrowLoad(wide) == nil && ir.Mixes(wide.Type.DType, narrow.Type.DType) {
					args := append([]*ir.Value{wide, narrow}, op.Args[2:]...)
					return b.Emit(&ir.Op{Code: op.Code, Args: args, Over: slices.Clone(op.Over), Precision: op.Precision}), true
				}
			}
			return nil, false
		})
		if changed {
			liveness(f).sweep(f.Body)
		}
		return changed, nil
	},
	Matrix: true,
	Before: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in i8[N, K]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : bf16{i, k}
  %4 = load %b[%1, %2] : i8{j, k}
  %5 = cast %4 : bf16{j, k}
  %6 = dot %3, %5 over k : f32{i, j}
  store %c[%0, %1] = %6
}
`,
	After: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in i8[N, K]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : bf16{i, k}
  %4 = load %b[%1, %2] : i8{j, k}
  %7 = dot %3, %4 over k : f32{i, j}
  store %c[%0, %1] = %7
}
`,
}

// narrowLoad is what was loaded of 8 bits and widened to v; nil where v is nothing of the kind.
func narrowLoad(v *ir.Value) *ir.Value {
	if v.Def == nil || v.Def.Code != lang.OpCast {
		return nil
	}
	if x := v.Def.Args[0]; x.Type.DType.Bits() == 8 && x.Def != nil && x.Def.Code == lang.OpLoad {
		return x
	}
	return nil
}

// chained reports a kernel of which a contraction takes as a factor what follows from another.
func chained(f *ir.Func) bool {
	follows := map[*ir.Value]bool{}
	found := false
	var block func(*ir.Block)
	block = func(b *ir.Block) {
		for _, op := range b.Ops {
			contracts := op.Code.Row().Group == lang.GroupContract
			from := slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return follows[v] })
			found = found || contracts && (follows[op.Args[0]] || follows[op.Args[1]])
			for _, inner := range op.Blocks {
				for _, v := range inner.Params {
					follows[v] = follows[v] || from
				}
				block(inner)
				for i, v := range inner.Yield {
					from = from || follows[v]
					if op.Code == lang.OpFor { // the next step takes it
						follows[inner.Params[i+1]] = follows[inner.Params[i+1]] || follows[v]
					}
				}
			}
			for _, v := range op.Results {
				follows[v] = from || contracts
			}
		}
	}
	for range 2 { // what a step hands to the next is known behind the first time
		block(f.Body)
	}
	return found
}
