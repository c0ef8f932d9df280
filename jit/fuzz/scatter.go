package fuzz

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// scatters finds the stores of a kernel to places that it reads from memory: nothing proves that each is to another element.
func scatters(f *ir.Func) map[*ir.Op]bool {
	loaded := map[*ir.Value]bool{}
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpFor {
			for _, p := range op.Blocks[0].Params[1:] {
				loaded[p] = true // what a loop carries may be
			}
		}
		return true
	})
	var isLoaded func(v *ir.Value) bool
	isLoaded = func(v *ir.Value) bool {
		is, known := loaded[v]
		if known || v.Def == nil {
			return is
		}
		op := v.Def
		is = op.Code == lang.OpLoad || op.Code.IsAtomic() || len(op.Blocks) > 0 || slices.ContainsFunc(op.Args, isLoaded)
		loaded[v] = is
		return is
	}
	found := map[*ir.Op]bool{}
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpStore && slices.ContainsFunc(op.Args[:len(op.Tensor.Shape)], isLoaded) {
			found[op] = true
		}
		return true
	})
	return found
}
