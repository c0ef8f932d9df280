package pass

import (
	"math"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// combiner says how a reduction or a contraction over a long axis is made of
// those over its chunks.
type combiner struct {
	// init emits the carried values before the first chunk; lo is the axis's first position.
	init func(b *ir.Builder, op *ir.Op, lo int64) []*ir.Value
	// step emits one chunk: op reads the chunk's tiles, over the loop's axis.
	step func(b *ir.Builder, op *ir.Op, c *chunks, carried []*ir.Value) []*ir.Value
	// finish emits the result from the carried values; nil when it is the first of them.
	finish func(b *ir.Builder, op *ir.Op, carried []*ir.Value) *ir.Value
	// join puts together what two parts of the chunks carry, the earlier one first; nil where that is no function
	// of their elements. Captured values of op come behind those of the later part.
	join func(op *ir.Op) joiner
}

// combiners is filled by init, since its functions emit what it describes.
var combiners map[lang.Op]*combiner

func init() {
	zero := func(lang.DType) ir.Const { return ir.Const{} }
	one := func(lang.DType) ir.Const { return ir.Const{Int: 1, Float: 1} }
	combiners = map[lang.Op]*combiner{
		lang.OpSum:       reduction(lang.OpSum, lang.OpAdd, zero),
		lang.OpProd:      reduction(lang.OpProd, lang.OpMul, one),
		lang.OpReduceMax: reduction(lang.OpReduceMax, lang.OpMax, lowest),
		lang.OpReduceMin: reduction(lang.OpReduceMin, lang.OpMin, highest),
		lang.OpAny:       reduction(lang.OpAny, lang.OpLogicOr, zero),
		lang.OpAll:       reduction(lang.OpAll, lang.OpLogicAnd, one),
		lang.OpMean:      mean(),
		lang.OpArgMax:    position(lang.OpReduceMax, lang.OpGt, lowest),
		lang.OpArgMin:    position(lang.OpReduceMin, lang.OpLt, highest),
		lang.OpReduce:    byFunction(),
		lang.OpTopK:      largest(),
		lang.OpDot:       contractions(),
		lang.OpMma:       contractions(),
	}
}

// first is the identity of a reduction as a tile. It stands for nothing that was
// computed, so the infinities of a type that has them are not rounded to its largest number.
func first(b *ir.Builder, t ir.Type, identity func(lang.DType) ir.Const) *ir.Value {
	c := identity(t.DType)
	if !t.DType.HasInfinity() {
		return constant(b, t, c)
	}
	v := b.Const(t.DType, c)
	if !t.IsScalar() {
		v = b.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{v}, Axes: t.Axes})[0]
	}
	return v
}

func lowest(d lang.DType) ir.Const {
	if d.IsFloat() {
		return ir.Const{Float: math.Inf(-1)}
	}
	lo, _ := eval.Limits(d)
	return ir.Const{Int: lo}
}

func highest(d lang.DType) ir.Const {
	if d.IsFloat() {
		return ir.Const{Float: math.Inf(1)}
	}
	_, hi := eval.Limits(d)
	return ir.Const{Int: hi}
}

// reduction combines the chunks' results with an elementwise operation, whose identity is given.
func reduction(reduce, combine lang.Op, identity func(lang.DType) ir.Const) *combiner {
	return &combiner{
		init: func(b *ir.Builder, op *ir.Op, _ int64) []*ir.Value {
			return []*ir.Value{first(b, op.Result().Type, identity)}
		},
		step: func(b *ir.Builder, op *ir.Op, _ *chunks, carried []*ir.Value) []*ir.Value {
			part := b.Emit(&ir.Op{Code: reduce, Args: op.Args, Over: op.Over})[0]
			return []*ir.Value{b.Op(combine, carried[0], part)}
		},
		join: func(*ir.Op) joiner { return elementwiseJoin(combine) },
	}
}

// mean carries the sum and divides it by the number of elements in the end.
func mean() *combiner {
	c := reduction(lang.OpSum, lang.OpAdd, func(lang.DType) ir.Const { return ir.Const{} })
	c.finish = func(b *ir.Builder, op *ir.Op, carried []*ir.Value) *ir.Value {
		d := op.Result().Type.DType
		known := int64(1)
		var count *ir.Value
		for _, a := range op.Over {
			if a.Kind == ir.Whole {
				known *= a.Len
				continue
			}
			end := b.Emit(&ir.Op{Code: lang.OpEnd, Axis: a})[0]
			start := b.Emit(&ir.Op{Code: lang.OpStart, Axis: a})[0]
			n := b.Cast(b.Op(lang.OpSub, end, start), d)
			if count != nil {
				n = b.Op(lang.OpMul, count, n)
			}
			count = n
		}
		total := constant(b, ir.Scalar(d), ir.Const{Int: known, Float: float64(known)})
		if count != nil {
			total = b.Op(lang.OpMul, count, total)
		}
		return b.Op(lang.OpDiv, carried[0], total)
	}
	return c
}

// position carries the best value and its position. Within a chunk the position
// is the least of those that hold the chunk's best value, or NaN.
func position(reduce, better lang.Op, identity func(lang.DType) ir.Const) *combiner {
	return &combiner{
		init: func(b *ir.Builder, op *ir.Op, lo int64) []*ir.Value {
			axes := op.Result().Type.Axes
			d := op.Args[0].Type.DType
			return []*ir.Value{
				constant(b, op.Result().Type, ir.Const{Int: lo}),
				first(b, ir.Type{DType: d, Axes: axes}, identity),
			}
		},
		step: func(b *ir.Builder, op *ir.Op, c *chunks, carried []*ir.Value) []*ir.Value {
			x := op.Args[0]
			float := x.Type.DType.IsFloat()
			m := b.Emit(&ir.Op{Code: reduce, Args: []*ir.Value{x}, Over: op.Over})[0]
			holds := b.Op(lang.OpEq, x, m)
			if float { // where m is NaN it equals nothing: its position is the first NaN's
				holds = b.Op(lang.OpLogicOr, holds, b.Op(lang.OpIsNaN, x))
			}
			index := b.Emit(&ir.Op{Code: lang.OpIndex, Axis: c.axis()})[0]
			candidates := b.Op(lang.OpWhere, holds, index, b.Const(index.Type.DType, highest(index.Type.DType)))
			least := b.Emit(&ir.Op{Code: lang.OpReduceMin, Args: []*ir.Value{candidates}, Over: op.Over})[0]
			return laterWins(b, better, carried, []*ir.Value{least, m})
		},
		join: func(*ir.Op) joiner {
			return func(b *ir.Builder, x, y []*ir.Value) []*ir.Value { return laterWins(b, better, x, y) }
		},
	}
}

// laterWins gives, of two positions with their values, the later one where its value is better, or the first NaN.
func laterWins(b *ir.Builder, better lang.Op, x, y []*ir.Value) []*ir.Value {
	wins := b.Op(better, y[1], x[1])
	if y[1].Type.DType.IsFloat() {
		newNaN := b.Op(lang.OpLogicAnd, b.Op(lang.OpIsNaN, y[1]), b.Op(lang.OpLogicNot, b.Op(lang.OpIsNaN, x[1])))
		wins = b.Op(lang.OpLogicOr, wins, newNaN)
	}
	return []*ir.Value{b.Op(lang.OpWhere, wins, y[0], x[0]), b.Op(lang.OpWhere, wins, y[1], x[1])}
}

// largest carries the best values so far and their positions: each chunk goes on from them.
func largest() *combiner {
	return &combiner{
		init: func(b *ir.Builder, op *ir.Op, _ int64) []*ir.Value {
			if len(op.Args) > 1 {
				return op.Args[1:]
			}
			return []*ir.Value{
				first(b, op.Results[0].Type, lowest),
				constant(b, op.Results[1].Type, ir.Const{Int: -1}),
			}
		},
		step: func(b *ir.Builder, op *ir.Op, _ *chunks, carried []*ir.Value) []*ir.Value {
			return b.Emit(&ir.Op{Code: lang.OpTopK, Args: append(op.Args[:1:1], carried...), Over: op.Over, Axis: op.Axis})
		},
	}
}

// contractions carry the accumulator.
func contractions() *combiner {
	return &combiner{
		init: func(b *ir.Builder, op *ir.Op, _ int64) []*ir.Value {
			if op.Code == lang.OpMma {
				return []*ir.Value{op.Args[2]}
			}
			return []*ir.Value{constant(b, op.Result().Type, ir.Const{})}
		},
		step: func(b *ir.Builder, op *ir.Op, _ *chunks, carried []*ir.Value) []*ir.Value {
			return []*ir.Value{b.Accumulate(op, carried[0])}
		},
		join: func(*ir.Op) joiner { return elementwiseJoin(lang.OpAdd) },
	}
}
