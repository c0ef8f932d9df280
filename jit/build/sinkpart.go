package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// sinkOfPart puts what part computes of an element of a part of the tensor behind the store of that: at the positions that
// are in that part. Elsewhere it stores nothing, as a store outside of its tensor does.
func (j *joining) sinkOfPart(store *ir.Op, loads []*ir.Op, of []*ir.Axis) {
	j.declare(nil)
	j.insert(store, func() *ir.Value {
		j.Block.Ops = append(j.Block.Ops, store)
		within := map[*ir.Axis]bool{} // axes all of whose positions are there
		var inside *ir.Value
		and := func(c *ir.Value) {
			if inside != nil {
				c = j.Op(lang.OpLogicAnd, inside, c)
			}
			inside = c
		}
		positions := make([]*ir.Value, len(of))
		for k, p := range j.parts {
			at := store.Args[k]
			if at.Type.DType != lang.I32 {
				unfit("%s has more elements than i32 counts", j.from.Name)
			}
			if p.Begin > 0 {
				at = j.Op(lang.OpSub, at, j.Int(p.Begin))
				and(j.Op(lang.OpGe, at, j.Int(0)))
			}
			for n := range slices.Backward(p.Dims) {
				d := p.Dims[n]
				within[of[d]] = p.All
				size := j.size(j.dims[j.from.Shape[d]])
				if n > 0 {
					positions[d], at = j.Op(lang.OpMod, at, size), j.Op(lang.OpDiv, at, size)
					continue
				}
				positions[d] = at
				if !p.All {
					and(j.Op(lang.OpLt, at, size))
				}
			}
			if len(p.Dims) == 0 { // also of one element: what is stored has its axis, and so must have the places
				and(j.Op(lang.OpEq, at, j.Int(0)))
			}
		}
		for d, a := range of {
			if positions[d] == nil { // of one element
				positions[d], within[a] = j.Int(0), true
			}
			j.stand(a, positions[d])
		}
		j.refuseLoadsElsewhere(within)
		for _, load := range loads {
			j.values[load.Result()] = j.covering(store.Stored(), store.AccessAxes())
		}
		for _, op := range j.part.Body.Ops {
			if op.Tensor == j.from {
				continue
			}
			if op.Code != lang.OpStore || inside == nil {
				j.emit(op, j.value)
				continue
			}
			first := op.Args[0]
			if op.Tensor.Shape[0].Wide {
				unfit("%s has more elements than i32 counts", op.Tensor.Name)
			}
			c := *op
			c.Checked = slices.Clone(op.Checked)
			c.Checked[0] = true
			j.emit(&c, func(v *ir.Value) *ir.Value {
				if v != first {
					return j.value(v)
				}
				return j.Op(lang.OpWhere, inside, j.value(v), j.Int(-1))
			})
		}
		return nil
	})
}

// size is a dimension of f as an i32.
func (j *joining) size(d *ir.Dim) *ir.Value {
	if d.Wide {
		unfit("dimension %s has more positions than i32 counts", d.Name)
	}
	if d.Known() {
		return j.Int(d.Value)
	}
	return j.Emit(&ir.Op{Code: lang.OpSize, Dim: d})[0]
}

// refuseLoadsElsewhere refuses loads at positions that are there only within the part.
func (j *joining) refuseLoadsElsewhere(within map[*ir.Axis]bool) {
	outside := map[*ir.Value]bool{}
	for _, op := range j.part.Body.Ops {
		depends := op.Axis != nil && !within[op.Axis] || slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return outside[v] })
		if depends && op.Code == lang.OpLoad && op.Tensor != j.from {
			unfit("%s reads %s beside the part", j.part.Name, op.Tensor.Name)
		}
		for _, r := range op.Results {
			outside[r] = depends
		}
	}
}
