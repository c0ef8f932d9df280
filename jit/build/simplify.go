package build

import (
	"tilec/jit/ir"
	"tilec/jit/spec"
)

// Simplify makes the axes of a kernel fewer, or others, where that makes a simpler one of it that computes the same. What is fused with a kernel is so before. Axes of one position that are pinned stay.
func Simplify(f *ir.Func, dims *spec.LaunchDims, pinned func(*ir.Axis) bool) {
	if !f.HasDebug() {
		units(f, pinned)
		separateResidues(f, dims)
	}
}

// usedIn are the operations of a kernel of which something comes: what has an effect, loops and branches with all that is inside, and what these need.
func usedIn(f *ir.Func) map[*ir.Op]bool {
	used := map[*ir.Op]bool{}
	var use func(op *ir.Op)
	use = func(op *ir.Op) {
		if op == nil || used[op] {
			return
		}
		used[op] = true
		for _, v := range op.Args {
			use(v.Def)
		}
	}
	f.Walk(func(op *ir.Op) bool {
		if !op.Pure() || len(op.Blocks) > 0 {
			use(op)
		}
		for _, b := range op.Blocks {
			for _, inner := range b.Ops {
				use(inner)
			}
		}
		return true
	})
	return used
}
