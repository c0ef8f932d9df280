package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// flatten gives the tensors of part, which sees the tensor in another shape, the tensor's own where they have one element for each of the
// tensor's, in the same order. What else part reads it reads along dimensions that both shapes have, or that are several of the tensor's. Positions along
// the axes `of` of what part reads become those of the store.
func (j *joining) flatten(store *ir.Op, of []*ir.Axis) {
	along := map[*ir.Axis][]int{} // dimensions of the tensor
	for _, a := range j.along {
		along[of[a.Read]] = a.Stored
	}
	other := func(a *ir.Axis) bool {
		_, found := along[a]
		return !found
	}
	positions := map[*ir.Value]bool{}
	for _, op := range j.part.Body.Ops {
		access := op.Code == lang.OpLoad || op.Code == lang.OpStore
		for i, v := range op.Args {
			if positions[v] && (!access || i >= len(op.Tensor.Shape)) {
				unfit("%s computes with positions, which are others in the shape of %s", j.part.Name, j.into.Name)
			}
		}
		switch {
		case access && len(op.Tensor.Strides) > 0, access && j.flat[op.Tensor] && !slices.Equal(plainly(op), of):
			unfit("%s does not read and store all of its tensors in the order of %s", j.part.Name, j.into.Name)
		case access && j.flat[op.Tensor]:
		case access:
			axes := plainly(op)
			has := func(i int, a *ir.Axis) bool {
				if dims := j.split[op.Tensor]; dims != nil {
					return slices.Equal(dims[i], along[a])
				}
				return len(along[a]) == 1
			}
			fits := op.Code == lang.OpLoad && len(axes) == len(op.Tensor.Shape)
			for i, a := range axes {
				fits = fits && has(i, a)
			}
			if !fits {
				unfit("%s reads %s along dimensions that %s has not", j.part.Name, op.Tensor.Name, j.into.Name)
			}
		case op.Axis != nil:
			positions[op.Result()] = true
		case op.Dim != nil, slices.ContainsFunc(op.Axes, other) && len(ir.Without(of, op.Axes)) > 0:
			unfit("%s depends on its shape", j.part.Name)
		}
	}
	for _, d := range j.part.Dims {
		j.dims[d] = j.into.Shape[0]
	}
	for i, a := range of {
		if d := along[a]; len(d) == 1 {
			j.dims[j.from.Shape[i]] = j.into.Shape[d[0]]
		}
	}
	j.declare(nil)
	for t := range j.flat {
		if u := j.tensors[t]; u != nil {
			u.Shape = slices.Clone(j.into.Shape)
		}
	}
	for t, dims := range j.split {
		u := j.tensors[t]
		u.Shape = nil
		for _, d := range slices.Concat(dims...) {
			u.Shape = append(u.Shape, j.into.Shape[d])
		}
	}
	rest := store.AccessAxes() // of which those are left that no axis alone stands for
	for _, a := range of {
		j.spread[a] = nil
		for _, d := range along[a] {
			j.spread[a] = append(j.spread[a], store.Args[d].Type.Axes...)
		}
		rest = ir.Without(rest, j.spread[a])
	}
	if len(of) > 0 {
		several := of[max(slices.IndexFunc(of, other), 0)]
		j.spread[several] = slices.Concat(j.spread[several], rest)
	}
	j.places = along
}

// emitFlat builds an operation of part at the positions of a store.
func (j *joining) emitFlat(op, store *ir.Op) {
	switch {
	case op.Axis != nil: // a position
	case op.Code == lang.OpLoad, op.Code == lang.OpStore:
		c := *op
		c.Tensor, c.Results, c.Checked = j.tensors[op.Tensor], nil, make([]bool, len(j.tensors[op.Tensor].Shape))
		c.Args = slices.Clone(store.Args[:len(store.Tensor.Shape)])
		if !j.flat[op.Tensor] {
			c.Args = nil
			for _, a := range plainly(op) {
				for _, d := range j.places[a] {
					c.Args = append(c.Args, store.Args[d])
				}
			}
		}
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
