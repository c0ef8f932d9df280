package build

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/lang"
)

// checkRank reports the first operation over more axes than tiles may have. The limit is the same for every
// target, so that a kernel does not run on one and fail on another.
func checkRank(f *ir.Func) (err error) {
	f.Walk(func(op *ir.Op) bool {
		var types []ir.Type
		for _, v := range op.Args {
			types = append(types, v.Type)
		}
		for _, v := range op.Results {
			types = append(types, v.Type)
		}
		n, what := len(ir.Union(types...)), "axes in one operation"
		if op.Tensor != nil && len(op.Tensor.Shape) > n {
			n, what = len(op.Tensor.Shape), "dimensions of "+op.Tensor.Name
		}
		if len(op.Blocks) > 0 || n <= ir.MaxRank { // the operations inside are looked at by themselves
			return true
		}
		err = &lang.Diagnostic{Code: lang.ErrPlan, At: op.At,
			Message: fmt.Sprintf("no plan for kernel %s: %d %s, the limit is %d: %d too many", f.Name, n, what, ir.MaxRank, n-ir.MaxRank),
			Fix:     &lang.Fix{Message: "view neighbouring dimensions as one: `view(x, [A * B, C])`, in a graph"}}
		return false
	})
	return err
}
