package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// flatten gives the tensors of part, which sees the tensor in another shape, the tensor's own: each has one element for each of
// the tensor's, in the same order.
func (j *joining) flatten(store *ir.Op, of []*ir.Axis) {
	positions := map[*ir.Value]bool{}
	for _, op := range j.part.Body.Ops {
		access := op.Code == lang.OpLoad || op.Code == lang.OpStore
		for i, v := range op.Args {
			if positions[v] && (!access || i >= len(op.Tensor.Shape)) {
				unfit("%s computes with positions, which are others in the shape of %s", j.part.Name, j.into.Name)
			}
		}
		switch {
		case access && (!slices.Equal(plainly(op), of) || len(op.Tensor.Strides) > 0):
			unfit("%s does not read and store all of its tensors in the order of %s", j.part.Name, j.into.Name)
		case access:
		case op.Axis != nil:
			positions[op.Result()] = true
		case op.Dim != nil, len(op.Axes) > 0 && len(ir.Without(of, op.Axes)) > 0:
			unfit("%s depends on its shape", j.part.Name)
		}
	}
	for _, d := range j.part.Dims {
		j.dims[d] = j.into.Shape[0]
	}
	j.declare(nil)
	for _, t := range j.tensors {
		t.Shape = slices.Clone(j.into.Shape)
	}
	for i, a := range of { // together they are the axes of the store
		j.spread[a] = nil
		if i == 0 {
			j.spread[a] = store.AccessAxes()
		}
	}
}

// emitFlat builds an operation of part at the positions of a store.
func (j *joining) emitFlat(op, store *ir.Op) {
	switch {
	case op.Axis != nil: // a position
	case op.Code == lang.OpLoad, op.Code == lang.OpStore:
		rank := len(store.Tensor.Shape)
		c := *op
		c.Tensor, c.Results, c.Checked = j.tensors[op.Tensor], nil, make([]bool, rank)
		c.Args = slices.Clone(store.Args[:rank])
		if op.Code == lang.OpStore {
			c.Args = append(c.Args, j.value(op.Stored()))
		}
		for i, r := range j.Emit(&c) {
			j.values[op.Results[i]] = r
		}
	default:
		j.emit(op, j.value)
	}
}
