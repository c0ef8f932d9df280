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
	// begins holds in the first chunk of a block that has a part of them; nil where one block has all.
	begins *ir.Value
}

// begin carries whether a chunk is the first of its block's part.
func (c *chunks) begin() {
	c.begins = c.carry([]*ir.Value{c.before.Const(lang.Bool, ir.Const{Int: 1})})[0]
	body := c.loop.Blocks[0]
	body.Yield = append(body.Yield, c.inside.Const(lang.Bool, ir.Const{}))
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

// first emits whether the chunk is the one at the end of the axis, or else at its beginning.
func (c *chunks) first(atEnd bool) *ir.Value {
	if c.begins != nil {
		return c.begins
	}
	return c.outermost(atEnd)
}

// outermost is first for a loop over all chunks, whoever runs it.
func (c *chunks) outermost(atEnd bool) *ir.Value {
	b := c.inside
	if atEnd {
		return b.Op(lang.OpEq, b.Emit(&ir.Op{Code: lang.OpEnd, Axis: c.axis()})[0], b.Position(c.axis(), c.hi))
	}
	return b.Op(lang.OpEq, b.Emit(&ir.Op{Code: lang.OpStart, Axis: c.axis()})[0], b.Position(c.axis(), c.lo))
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
// That is carried, when the loop goes the way of the scan.
func (c *chunks) resume(whole, chunk *ir.Op) {
	b := c.inside
	b.At, c.before.At = whole.At, whole.At
	sameWay := whole.Reverse == c.loop.Reverse
	shared := sameWay && c.axis().Split > 1
	var before []*ir.Value
	var first *ir.Value
	switch {
	case shared:
		prefix, has := c.prefix(whole)
		before = c.carry(prefix)
		first = c.carry([]*ir.Value{c.before.Op(lang.OpLogicNot, has)})[0]
	case sameWay:
		before, first = c.carry(start(c.before, whole)), c.outermost(whole.Reverse)
	default:
		before, first = c.beyond(whole), c.outermost(whole.Reverse)
	}
	joined := b.Inline(chunk.Fn, slices.Concat(before, chunk.Results, chunk.Captured()), chunk.Combined())
	for i, r := range whole.Results {
		joined[i] = b.Op(lang.OpWhere, first, chunk.Results[i], joined[i])
		c.m.Values[r] = joined[i]
	}
	if sameWay {
		body := c.loop.Blocks[0]
		body.Yield = append(body.Yield, c.last(joined, chunk)...)
		if shared {
			body.Yield = append(body.Yield, b.Const(lang.Bool, ir.Const{}))
		}
	}
}

// prefix emits, before the loop, what a scan has come to where the block's part
// of the axis begins, and whether anything is before: each block goes through
// its part once for the total of it, and those of the blocks before are joined.
func (c *chunks) prefix(whole *ir.Op) (values []*ir.Value, has *ir.Value) {
	b := c.before
	axis := c.f.AddAxis(*c.axis())
	body := &ir.Block{Params: []*ir.Value{c.f.NewValue(ir.Scalar(axis.Counts()), nil)}}
	loop := &ir.Op{Code: lang.OpFor, Axis: axis, Args: slices.Clone(c.loop.Args[:2]), Blocks: []*ir.Block{body}, At: whole.At}
	inner := &chunks{f: c.f, before: b, inside: &ir.Builder{Func: c.f, Block: body, At: whole.At}, loop: loop, lo: c.lo, hi: c.hi,
		from: c.from, m: &ir.Mapping{Values: map[*ir.Value]*ir.Value{}, Axes: map[*ir.Axis]*ir.Axis{c.from: axis}}}
	total := &ir.Op{Code: lang.OpReduce, Over: []*ir.Axis{axis}, Fn: c.f.CopyBlock(whole.Fn)}
	for _, v := range whole.Operands() {
		inner.recompute(v)
		total.Args = append(total.Args, inner.m.Value(v))
	}
	total.Args = slices.Concat(total.Args, whole.Identity(), whole.Captured())
	n := len(whole.Results)
	if params := total.Fn.Params; whole.Reverse { // a reduce has the earlier element first, the scan the later one
		for i := range n {
			params[i], params[n+i] = params[n+i], params[i]
		}
	}
	inner.begin()
	first := len(loop.Args) - 2
	params := inner.carry(start(b, whole))
	body.Yield = append(body.Yield, byFunction().step(inner.inside, total, inner, params)...)
	totals := b.Emit(loop)[first:][:n]
	joined := b.Emit(&ir.Op{Code: lang.OpJoin, Axis: axis, Args: slices.Concat(totals, loop.Args[:2], whole.Captured()),
		Fn: c.f.CopyBlock(whole.Fn), Exclusive: true, Reverse: whole.Reverse})
	return joined[:n], joined[n]
}

// start emits what a reduction or a scan gives of nothing, over the axes that it keeps.
func start(b *ir.Builder, op *ir.Op) []*ir.Value {
	var values []*ir.Value
	for _, v := range op.Identity() {
		values = append(values, b.Broadcast(v, ir.Without(op.Combined(), op.Over)))
	}
	return values
}

// beyond emits, inside a loop that goes the other way, a loop over all chunks
// that a scan meets before this one, and gives where it ends. Nothing less will
// do: what the scan needs first, the loop around has last.
func (c *chunks) beyond(whole *ir.Op) []*ir.Value {
	k := *c.axis()
	k.Split = 0 // each block needs all of them
	axis := c.f.AddAxis(k)
	lo, hi := c.inside.Position(axis, c.lo), (*ir.Value)(nil)
	if whole.Reverse {
		lo, hi = c.inside.Emit(&ir.Op{Code: lang.OpEnd, Axis: c.axis()})[0], c.inside.Position(axis, c.hi)
	} else {
		hi = c.inside.Emit(&ir.Op{Code: lang.OpStart, Axis: c.axis()})[0]
	}
	body := &ir.Block{Params: []*ir.Value{c.f.NewValue(ir.Scalar(axis.Counts()), nil)}}
	loop := &ir.Op{Code: lang.OpFor, Axis: axis, Args: []*ir.Value{lo, hi}, Reverse: whole.Reverse, Blocks: []*ir.Block{body}, At: whole.At}
	inner := &chunks{f: c.f, before: c.inside, inside: &ir.Builder{Func: c.f, Block: body}, loop: loop, lo: c.lo, hi: c.hi,
		from: c.from, m: &ir.Mapping{Values: map[*ir.Value]*ir.Value{}, Axes: map[*ir.Axis]*ir.Axis{c.from: axis}}}
	for _, v := range whole.Operands() {
		inner.recompute(v)
	}
	first := len(loop.Args) - 2 // what scans inside the operands carry comes before
	inner.recompute(whole.Results[0])
	return c.inside.Emit(loop)[first:][:len(whole.Results)]
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
			return start(b, op)
		},
		step: func(b *ir.Builder, op *ir.Op, c *chunks, carried []*ir.Value) []*ir.Value {
			op.Fn = c.f.CopyBlock(op.Fn)
			part := b.Emit(op)
			next := b.Inline(op.Fn, slices.Concat(carried, part, op.Captured()), part[0].Type.Axes)
			first := c.first(c.loop.Reverse)
			for i := range next {
				next[i] = b.Op(lang.OpWhere, first, part[i], next[i])
			}
			return next
		},
		join: func(op *ir.Op) joiner {
			return func(b *ir.Builder, x, y []*ir.Value) []*ir.Value { return b.Inline(op.Fn, slices.Concat(x, y), nil) }
		},
	}
}
