package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// chunks is a loop over the chunks of an axis under construction.
type chunks struct {
	f *ir.Func
	// before emits in front of the loop, inside into its body.
	before, inside *ir.Builder
	loop           *ir.Op
	lo, hi         int64
	from           *ir.Axis
	// m says what stands for the values over the axis, and for the axis.
	m *ir.Mapping
}

// axis is the loop's.
func (c *chunks) axis() *ir.Axis { return c.loop.Axis }

// carry adds values that the loop carries, with their start, and gives them as the body has them.
func (c *chunks) carry(inits []*ir.Value) []*ir.Value {
	params := make([]*ir.Value, len(inits))
	for i, v := range inits {
		params[i] = c.f.NewValue(v.Type, nil)
	}
	body := c.loop.Blocks[0]
	c.loop.Args = append(c.loop.Args, inits...)
	body.Params = append(body.Params, params...)
	return params
}

// first emits whether the chunk is the one that the loop begins with.
func (c *chunks) first() *ir.Value {
	b := c.inside
	if c.loop.Reverse {
		return b.Op(lang.OpEq, b.Emit(&ir.Op{Code: lang.OpEnd, Axis: c.axis()})[0], b.Int(c.hi))
	}
	return b.Op(lang.OpEq, b.Emit(&ir.Op{Code: lang.OpStart, Axis: c.axis()})[0], b.Int(c.lo))
}

// recompute puts into the loop what v needs of tiles over the axis.
func (c *chunks) recompute(v *ir.Value) {
	if !v.Type.Has(c.from) || c.m.Values[v] != nil {
		return
	}
	for _, a := range v.Def.Args {
		c.recompute(a)
	}
	op := c.f.CopyOp(v.Def, c.m)
	c.inside.Block.Ops = append(c.inside.Block.Ops, op)
	if op.Code == lang.OpScan && op.Over[0] == c.axis() {
		c.resume(v.Def, op)
	}
}

// resume makes a scan of a chunk go on where the one of the chunk before ended.
func (c *chunks) resume(whole, chunk *ir.Op) {
	b := c.inside
	b.At, c.before.At = whole.At, whole.At
	kept := ir.Without(whole.Combined(), whole.Over)
	var start []*ir.Value
	for _, v := range whole.Identity() {
		start = append(start, c.before.Broadcast(v, kept))
	}
	carried := c.carry(start)
	axes := chunk.Combined()
	joined := b.Inline(chunk.Fn, slices.Concat(carried, chunk.Results, chunk.Captured()), axes)
	first := c.first()
	for i, r := range whole.Results {
		joined[i] = b.Op(lang.OpWhere, first, chunk.Results[i], joined[i])
		c.m.Values[r] = joined[i]
	}
	body := c.loop.Blocks[0]
	body.Yield = append(body.Yield, c.last(joined, chunk)...)
}

// last emits the elements at the end of a scan, by a reduction that keeps one of two elements.
func (c *chunks) last(xs []*ir.Value, scan *ir.Op) []*ir.Value {
	fn := &ir.Block{}
	for range 2 {
		for _, x := range xs {
			fn.Params = append(fn.Params, c.f.NewValue(ir.Scalar(x.Type.DType), nil))
		}
	}
	fn.Yield = fn.Params[len(xs):]
	if scan.Reverse {
		fn.Yield = fn.Params[:len(xs)]
	}
	return c.inside.Emit(&ir.Op{Code: lang.OpReduce, Args: slices.Concat(xs, scan.Identity()), Over: scan.Over, Fn: fn})
}

// byFunction reduces chunk by chunk with the function of a reduce. The chunk
// that comes first is not combined with the identity, which is what nothing gives.
func byFunction() *combiner {
	return &combiner{
		init: func(b *ir.Builder, op *ir.Op, _ int64) []*ir.Value {
			var start []*ir.Value
			for i, v := range op.Identity() {
				start = append(start, b.Broadcast(v, op.Results[i].Type.Axes))
			}
			return start
		},
		step: func(b *ir.Builder, op *ir.Op, c *chunks, carried []*ir.Value) []*ir.Value {
			op.Fn = c.f.CopyBlock(op.Fn)
			part := b.Emit(op)
			next := b.Inline(op.Fn, slices.Concat(carried, part, op.Captured()), part[0].Type.Axes)
			first := c.first()
			for i := range next {
				next[i] = b.Op(lang.OpWhere, first, part[i], next[i])
			}
			return next
		},
	}
}
