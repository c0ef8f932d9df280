package ir

import (
	"slices"

	"tilec/lang"
)

// Regardless reports a loop in the kernel's body that does the same in all blocks along an axis of the grid: nothing in the loop depends on where a block
// is along that axis, and nothing is written there.
func (f *Func) Regardless(loop *Op, axis *Axis) bool {
	depends := map[*Value]bool{}
	some := func(vs []*Value) bool { return slices.ContainsFunc(vs, func(v *Value) bool { return depends[v] }) }
	for _, op := range f.Body.Ops {
		here, writes := false, false
		(&Block{Ops: []*Op{op}}).Walk(func(x *Op) bool {
			here = here || x.Mentions(axis) || some(x.Args)
			for _, inner := range x.Blocks {
				here = here || some(inner.Yield)
			}
			writes = writes || x.Code.Row().Effect == lang.Writes
			return true
		})
		if op == loop {
			return !here && !writes
		}
		for _, v := range op.Results {
			depends[v] = here
		}
	}
	return false
}
