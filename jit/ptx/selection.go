package ptx

import (
	"math"

	"tilec/jit/ir"
	"tilec/lang"
)

// A topk of elements of up to 32 bits is a selection of numbers of 64 bits, ranks: first what orders the elements, then the
// position, so that a rank is larger the earlier its element comes in the result. The largest rank is one reduction, and a rank
// tells the element that it is of.
//
// Of a chunk of a long row only as many steps are taken as there are elements that come before the last one found so far; of most
// chunks few do. Then both are merged. So k results of n chunks take about k (1 + log n) steps, and not k n.

// selection writes out one topk by ranks.
type selection struct{ *extraction }

// write gives the values and the positions.
func (x *selection) write() []*ir.Value {
	op := x.op
	rows := ir.Without(op.Args[0].Type.Axes, op.Over)
	all := op.Results[0].Type.Axes
	ranks := x.ranks(op.Args[0], x.index(op.Over[0]))
	if len(op.Args) == 1 {
		none := x.over(x.rank(0), all)
		found := x.repeat(x.Int(op.Axis.Len), []*ir.Value{x.over(x.rank(-1), rows), none}, func(step *ir.Value, carried []*ir.Value) []*ir.Value {
			best := x.below(ranks, carried[0])
			here := x.Op(lang.OpEq, x.index(op.Axis), step)
			return []*ir.Value{best, x.Op(lang.OpWhere, here, best, carried[1])}
		})
		return x.elements(found[1])
	}
	return x.merged(ranks, rows)
}

// byThreshold leaves a topk of ranks, which threads find together; see threshold.
func (x *selection) byThreshold() []*ir.Value {
	op := x.op
	args := []*ir.Value{x.ranks(op.Args[0], x.index(op.Over[0]))}
	if len(op.Args) > 1 {
		args = append(args, x.prior(), op.Args[2])
	}
	ranks := x.Emit(&ir.Op{Code: lang.OpTopK, Args: args, Over: op.Over, Axis: op.Axis})[0]
	return x.elements(ranks)
}

// prior are the ranks of what chunks before this one have given, 0 where that is nothing.
func (x *selection) prior() *ir.Value {
	exists := x.Op(lang.OpGe, x.op.Args[2], x.Int(0))
	return x.Op(lang.OpWhere, exists, x.ranks(x.op.Args[1], x.op.Args[2]), x.rank(0))
}

// merged gives the results of a chunk and those before it. Both are in descending order, the chunk's along an axis of their own.
func (x *selection) merged(ranks *ir.Value, rows []*ir.Axis) []*ir.Value {
	op := x.op
	news := []*ir.Axis{x.Func.AddAxis(ir.Axis{Name: op.Axis.Name, Kind: ir.Whole, Len: op.Axis.Len, Extent: op.Axis.Len})}
	prior := x.prior()
	last := x.reduce(lang.OpReduceMin, prior, op.Axis)
	better := x.Cast(x.Op(lang.OpGt, ranks, last), lang.I32)
	steps := x.reduce(lang.OpSum, better, op.Over...)
	if len(rows) > 0 {
		steps = x.reduce(lang.OpReduceMax, steps, rows...)
	}
	steps = x.Op(lang.OpMin, steps, x.Int(op.Axis.Len))
	none := x.over(x.rank(0), append(rows[:len(rows):len(rows)], news...))
	found := x.repeat(steps, []*ir.Value{x.over(x.rank(-1), rows), none}, func(step *ir.Value, carried []*ir.Value) []*ir.Value {
		best := x.below(ranks, carried[0])
		here := x.Op(lang.OpEq, x.index(news[0]), step)
		return []*ir.Value{best, x.Op(lang.OpWhere, here, best, carried[1])}
	})[1]

	// Each goes to the place that is the number of those larger. Where one of both is nothing, the other counts as larger.
	larger := x.Cast(x.Op(lang.OpGt, found, prior), lang.I32)
	ofPrior := x.Op(lang.OpAdd, x.index(op.Axis), x.reduce(lang.OpSum, larger, news...))
	smaller := x.Op(lang.OpSub, x.Int(1), larger)
	ofFound := x.Op(lang.OpAdd, x.index(news[0]), x.reduce(lang.OpSum, smaller, op.Axis))
	at := x.index(op.Axis)
	moved := func(v *ir.Value) *ir.Value {
		return x.Emit(&ir.Op{Code: lang.OpRename, Args: []*ir.Value{v}, From: op.Axis, Axis: news[0]})[0]
	}
	fromPrior := x.Op(lang.OpWhere, x.Op(lang.OpEq, moved(ofPrior), at), moved(prior), x.rank(0))
	fromFound := x.Op(lang.OpWhere, x.Op(lang.OpEq, ofFound, at), found, x.rank(0))
	return x.elements(x.reduce(lang.OpReduceMax, x.Op(lang.OpMax, fromPrior, fromFound), news...))
}

// reduce emits a reduction.
func (x *selection) reduce(op lang.Op, v *ir.Value, over ...*ir.Axis) *ir.Value {
	return x.Emit(&ir.Op{Code: op, Args: []*ir.Value{v}, Over: over})[0]
}

// below is the largest of the ranks below last, 0 where there is none.
func (x *selection) below(ranks, last *ir.Value) *ir.Value {
	open := x.Op(lang.OpWhere, x.Op(lang.OpLt, ranks, last), ranks, x.rank(0))
	return x.reduce(lang.OpReduceMax, open, x.op.Over...)
}

// repeat emits a loop of so many steps that carries values.
func (x *selection) repeat(steps *ir.Value, inits []*ir.Value, body func(step *ir.Value, carried []*ir.Value) []*ir.Value) []*ir.Value {
	inner := &ir.Block{Params: []*ir.Value{x.Func.NewValue(ir.Scalar(lang.I32), nil)}}
	for _, v := range inits {
		inner.Params = append(inner.Params, x.Func.NewValue(v.Type, nil))
	}
	loop := &ir.Op{Code: lang.OpFor, Args: append([]*ir.Value{x.Int(0), steps}, inits...), Blocks: []*ir.Block{inner}, At: x.op.At}
	outer := x.Block
	x.Block = inner
	inner.Yield = body(inner.Params[0], inner.Params[1:])
	x.Block = outer
	return x.Emit(loop)
}

// rank is a constant rank; -1 is above all others.
func (x *selection) rank(n int64) *ir.Value { return x.Const(lang.U64, ir.Const{Int: n}) }

func (x *selection) bits(n int64) *ir.Value { return x.Const(lang.U32, ir.Const{Int: n}) }

// topBit is the sign of 32 bits.
const topBit = 1 << 31

// ranks are those of elements at positions. The upper half of a rank orders the elements as topk does, with both zeros
// equal. The lower half is the larger the lower the position; its last bit says that the element is -0.
func (x *selection) ranks(v, position *ir.Value) *ir.Value {
	d := v.Type.DType
	var key, minus *ir.Value
	if d.IsFloat() {
		bits := x.bitcast(x.Cast(v, lang.F32), lang.U32) // NaN, of which there is one, is above all
		negative := x.Op(lang.OpGe, bits, x.bits(topBit))
		flipped := x.Op(lang.OpWhere, negative, x.bits(math.MaxUint32), x.bits(topBit))
		key = x.Op(lang.OpXor, bits, flipped)
		minus = x.Op(lang.OpEq, bits, x.bits(topBit))
		key = x.Op(lang.OpWhere, minus, x.bits(topBit), key)
	} else if d.IsSigned() {
		key = x.Op(lang.OpXor, x.Cast(x.Cast(v, lang.I32), lang.U32), x.bits(topBit))
	} else {
		key = x.Cast(v, lang.U32)
	}
	place := x.Cast(x.Op(lang.OpSub, x.Int(math.MaxInt32), position), lang.U32)
	place = x.Op(lang.OpAdd, place, place)
	if minus != nil {
		place = x.Op(lang.OpAdd, place, x.Cast(minus, lang.U32))
	}
	high := x.Op(lang.OpShl, x.Cast(key, lang.U64), x.rank(32))
	return x.Op(lang.OpOr, high, x.Cast(place, lang.U64))
}

// elements are the values and the positions of ranks: the least value and -1 where there is no element.
func (x *selection) elements(ranks *ir.Value) []*ir.Value {
	d := x.op.Args[0].Type.DType
	key := x.Cast(x.Op(lang.OpShr, ranks, x.rank(32)), lang.U32)
	place := x.Cast(x.Op(lang.OpAnd, ranks, x.rank(math.MaxUint32)), lang.U32)
	var value *ir.Value
	if d.IsFloat() {
		minus := x.Op(lang.OpNe, x.Op(lang.OpAnd, place, x.bits(1)), x.bits(0))
		positive := x.Op(lang.OpGe, key, x.bits(topBit))
		flipped := x.Op(lang.OpWhere, positive, x.bits(topBit), x.bits(math.MaxUint32))
		bits := x.Op(lang.OpWhere, minus, x.bits(topBit), x.Op(lang.OpXor, key, flipped))
		wide := x.bitcast(bits, lang.F32)
		value = x.Cast(wide, d)
		if d.Saturates() && d.HasInfinity() { // a conversion gives the largest number in place of an infinity
			for _, sign := range []int{-1, 1} {
				infinite := x.Op(lang.OpEq, wide, x.Const(lang.F32, bound(sign)(lang.F32)))
				value = x.Op(lang.OpWhere, infinite, x.Const(d, bound(sign)(d)), value)
			}
		}
	} else if d.IsSigned() {
		value = x.Cast(x.Cast(x.Op(lang.OpXor, key, x.bits(topBit)), lang.I32), d)
	} else {
		value = x.Cast(key, d)
	}
	position := x.Op(lang.OpSub, x.Int(math.MaxInt32), x.Cast(x.Op(lang.OpShr, place, x.bits(1)), lang.I32))
	exists := x.Op(lang.OpGt, ranks, x.rank(0))
	return []*ir.Value{
		x.Op(lang.OpWhere, exists, value, x.Const(d, bound(-1)(d))),
		x.Op(lang.OpWhere, exists, position, x.Int(-1)),
	}
}

// bitcast emits the bits of an f32, or the f32 of bits.
func (x *selection) bitcast(v *ir.Value, d lang.DType) *ir.Value {
	op := &ir.Op{Code: lang.OpBitcast, Args: []*ir.Value{v}, At: x.op.At}
	op.Results = []*ir.Value{x.Func.NewValue(v.Type.With(d), op)}
	x.Block.Ops = append(x.Block.Ops, op)
	return op.Results[0]
}
