package build

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file copies operations of a kernel into another, where other positions and axes stand for its own.

// stand lets positions of f stand for those along an axis of part.
func (j *joining) stand(a *ir.Axis, position *ir.Value) {
	j.at[a], j.spread[a] = position, position.Type.Axes
}

// insert builds operations in the place of one of f, and the value that they give in the place of its result.
func (j *joining) insert(at *ir.Op, build func() *ir.Value) {
	var block func(b *ir.Block) bool
	block = func(b *ir.Block) bool {
		for n, op := range b.Ops {
			if op == at {
				j.Block = &ir.Block{}
				v := build()
				n = slices.Index(b.Ops, op) // what is built may stand elsewhere too
				b.Ops = slices.Concat(b.Ops[:n:n], j.Block.Ops, b.Ops[n+1:])
				if v != nil {
					j.f.Body.Replace(map[*ir.Value]*ir.Value{op.Result(): v})
				}
				return true
			}
			if slices.ContainsFunc(op.Blocks, block) {
				return true
			}
		}
		return false
	}
	block(j.f.Body)
}

// covering is a value over all of the axes.
func (j *joining) covering(v *ir.Value, axes []*ir.Axis) *ir.Value {
	if len(ir.Without(axes, v.Type.Axes)) == 0 {
		return v
	}
	return j.Emit(&ir.Op{Code: lang.OpFull, Args: one(v), Axes: slices.Clone(axes)})[0]
}

// value is what stands for a value of part in f.
func (j *joining) value(v *ir.Value) *ir.Value {
	w := j.values[v]
	if w == nil {
		panic(fmt.Sprintf("value %d of %s is used before it is there", v.ID, j.part.Name))
	}
	return w
}

// emit builds an operation of part, with what value gives for its arguments, and notes what its results are.
func (j *joining) emit(op *ir.Op, value func(*ir.Value) *ir.Value) {
	for i, r := range j.copied(op, value) {
		if r.Name == "" {
			r.Name = op.Results[i].Name
		}
		j.values[op.Results[i]] = r
	}
}

// copied builds an operation of part.
func (j *joining) copied(op *ir.Op, value func(*ir.Value) *ir.Value) []*ir.Value {
	if position := j.at[op.Axis]; op.Axis != nil && position != nil {
		switch {
		case op.Code == lang.OpIndex, op.Code == lang.OpStart && op.Axis.Scalar:
			if position.Type.DType != op.Result().Type.DType {
				unfit("positions along %s are of two types", op.Axis.Name)
			}
			return one(position)
		case j.axes[op.Axis] == nil:
			unfit("%s of axis %s depends on the plan of %s", op.Code, op.Axis.Name, j.part.Name)
		}
	}
	c := *op
	c.Results, c.Blocks, c.Args, c.Axes, c.Over = nil, nil, nil, nil, nil
	for _, a := range op.Args {
		c.Args = append(c.Args, value(a))
	}
	for _, a := range op.Axes {
		for _, b := range j.spreadOf(a) {
			if !slices.Contains(c.Axes, b) {
				c.Axes = append(c.Axes, b)
			}
		}
	}
	for _, a := range op.Over {
		c.Over = append(c.Over, j.axis(a))
	}
	if op.Axis != nil {
		c.Axis = j.axis(op.Axis)
	}
	if op.From != nil {
		c.From = j.axis(op.From)
	}
	if op.Dim != nil {
		c.Dim = j.dims[op.Dim]
	}
	if op.Tensor != nil {
		c.Tensor = j.tensors[op.Tensor]
	}
	c.Checked = slices.Clone(op.Checked)
	if op.Fn != nil {
		c.Fn = j.f.CopyBlock(op.Fn)
	}
	if op.HasOwnType() {
		t := ir.Scalar(op.Result().Type.DType)
		if len(c.Args) > 0 {
			t = c.Args[0].Type.With(t.DType)
		}
		v := j.f.NewValue(t, &c)
		c.Results = one(v)
		j.Block.Ops = append(j.Block.Ops, &c)
		return c.Results
	}
	for _, b := range op.Blocks {
		c.Blocks = append(c.Blocks, j.region(op, b, c.Args))
	}
	return j.Emit(&c)
}

// region builds a block of a for or an if of part, whose arguments are args.
func (j *joining) region(op *ir.Op, b *ir.Block, args []*ir.Value) *ir.Block {
	outer := j.Block
	defer func() { j.Block = outer }()
	j.Block = &ir.Block{}
	for i, p := range b.Params {
		v := j.f.NewValue(p.Type, nil)
		if i > 0 { // a carried value
			v.Type = args[i+1].Type
		}
		v.Name = p.Name
		j.values[p] = v
		j.Block.Params = append(j.Block.Params, v)
	}
	for _, op := range b.Ops {
		j.emit(op, j.value)
	}
	for _, y := range b.Yield {
		j.Block.Yield = append(j.Block.Yield, j.value(y))
	}
	return j.Block
}

// axis is the axis of f for one of part: one that stands for it, or a new one.
func (j *joining) axis(a *ir.Axis) *ir.Axis {
	if b := j.axes[a]; b != nil {
		return b
	}
	if j.at[a] != nil {
		unfit("%s depends on how %s is cut along %s", j.part.Name, j.part.Name, a.Name)
	}
	b := *a
	b.Name = j.unique(a.Name, func(name string) bool { return j.f.Axis(name) != nil })
	if b.Tile != "" {
		b.Tile = j.name + "." + b.Tile
	}
	if b.Dim != nil {
		b.Dim = j.dims[b.Dim]
	}
	j.axes[a] = j.f.AddAxis(b)
	return j.axes[a]
}

// spreadOf are the axes of f that a tile has for an axis of part.
func (j *joining) spreadOf(a *ir.Axis) []*ir.Axis {
	if axes, ok := j.spread[a]; ok {
		return axes
	}
	return []*ir.Axis{j.axis(a)}
}

// elsewhere is a value of part at the positions that are wanted of moved axes: it is computed again as far as it has such an axis.
func (j *joining) elsewhere(v *ir.Value) *ir.Value {
	if !slices.ContainsFunc(j.moved, v.Type.Has) {
		return j.value(v)
	}
	if w := j.shifted[v]; w != nil {
		return w
	}
	op := v.Def
	if op == nil {
		unfit("%s stores what a loop carries", j.part.Name)
	}
	if op.Code == lang.OpIndex {
		j.shifted[v] = j.wanted[op.Axis]
		return j.shifted[v]
	}
	row := op.Code.Row()
	again := row.Elementwise || op.HasOwnType() || op.Code == lang.OpLoad || row.Group == lang.GroupReduce || op.Code == lang.OpFull
	if !again || len(op.Results) != 1 || slices.ContainsFunc(op.Over, func(a *ir.Axis) bool { return slices.Contains(j.moved, a) }) {
		unfit("%s computes %s along an axis that is read at other positions", j.part.Name, op.Code)
	}
	for _, a := range op.Axes { // of a full
		if at := j.wanted[a]; at != nil {
			j.spread[a] = at.Type.Axes
		}
	}
	w := j.copied(op, j.elsewhere)[0]
	for _, a := range op.Axes {
		if j.wanted[a] != nil {
			delete(j.spread, a)
		}
	}
	j.shifted[v] = w
	return w
}
