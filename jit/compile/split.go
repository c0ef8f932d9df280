package compile

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/lang"
)

// splittable checks that blocks may share the axes that are to be split: no
// block reads what another may have written, or hears what it has said.
func splittable(f *ir.Func) error {
	split := ""
	for _, a := range f.Axes {
		if a.Split > 1 {
			split = a.Name
		}
	}
	if split == "" {
		return nil
	}
	read, written := map[*ir.Tensor]bool{}, map[*ir.Tensor]bool{}
	var err error
	var walk func(b *ir.Block, inside *ir.Axis)
	walk = func(b *ir.Block, inside *ir.Axis) {
		for _, op := range b.Ops {
			if op.Tensor != nil && op.Tensor.Scratch { // each block has its own
			} else if op.Tensor != nil && op.Code == lang.OpLoad {
				read[op.Tensor] = true
			} else if op.Tensor != nil {
				written[op.Tensor] = true
			}
			if inside == nil && op.Code.Row().Effect == lang.Writes && len(op.Results) > 0 && err == nil {
				err = &pass.SplitError{Axis: split, Why: fmt.Sprintf("the kernel uses what %s gives, which one block of the cluster alone does", op.Code)}
			}
			if inside != nil && op.Code.IsDebug() && err == nil {
				err = &pass.SplitError{Axis: inside.Name, Why: fmt.Sprintf("its loop has a %s, and the blocks that share it run its steps in no order", op.Code)}
			}
			within := inside
			if op.Code == lang.OpFor && op.Axis != nil && op.Axis.Split > 1 && err == nil {
				if inside != nil {
					err = &pass.SplitError{Axis: op.Axis.Name, Why: fmt.Sprintf("its loop is inside that of axis %s, which is split too", inside.Name)}
				}
				within = op.Axis
			}
			for _, inner := range op.Blocks {
				walk(inner, within)
			}
		}
	}
	walk(f.Body, nil)
	for _, x := range f.Tensors {
		if err == nil && read[x] && written[x] {
			err = &pass.SplitError{Axis: split, Why: fmt.Sprintf("the kernel reads %s, and another block of the cluster may have written it", x.Name)}
		}
	}
	return err
}
