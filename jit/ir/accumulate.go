package ir

import (
	"fmt"

	"tilec/lang"
)

// accumulating are the operations by which a loop may add up: those of which the order of the operands does
// not matter, but for rounding.
var accumulating = map[lang.Op]bool{
	lang.OpAdd: true, lang.OpMul: true, lang.OpMax: true, lang.OpMin: true, lang.OpLogicOr: true, lang.OpLogicAnd: true,
	lang.OpAnd: true, lang.OpOr: true, lang.OpXor: true,
}

// Accumulators gives, for each value that a loop carries, the operation by which
// every step adds its part: OpAdd for a sum or a contraction. So parts of the
// loop can be run apart and their results combined. It is an error when a
// carried value is anything else, which the error names.
func Accumulators(loop *Op) ([]lang.Op, error) {
	body := loop.Blocks[0]
	uses := map[*Value]int{}
	body.Walk(func(op *Op) bool {
		for _, a := range op.Args {
			uses[a]++
		}
		for _, b := range op.Blocks {
			for _, y := range b.Yield {
				uses[y]++
			}
		}
		return true
	})
	for _, y := range body.Yield {
		uses[y]++
	}
	ops := make([]lang.Op, len(body.Yield))
	for i, y := range body.Yield {
		carried := body.Params[i+1]
		def := y.Def
		fail := func(why string) error {
			name := carried.Name
			if name == "" {
				name = "a value"
			}
			return fmt.Errorf("its loop carries %s that %s", name, why)
		}
		switch {
		case y == carried:
			return nil, fail("no step changes")
		case def == nil || uses[carried] != 1 || uses[y] != 1:
			return nil, fail("is more than a sum, a product, a largest or a least of what the steps give; a `reduce` of tuples by a function says how two parts go together")
		case def.Code == lang.OpMma && def.Args[2] == carried:
			ops[i] = lang.OpAdd
		case accumulating[def.Code] && (def.Args[0] == carried || def.Args[1] == carried):
			ops[i] = def.Code
		default:
			return nil, fail("is more than a sum, a product, a largest or a least of what the steps give; a `reduce` of tuples by a function says how two parts go together")
		}
		if y.Type.DType == lang.Bool && def.Code != lang.OpLogicAnd && def.Code != lang.OpLogicOr {
			return nil, fail("is a truth value")
		}
	}
	return ops, nil
}
