package ptx

import (
	"math"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// A topk is written with other operations before lowering: of a row that a block has by itself a threshold is found (see threshold). Of others
// a loop finds one element a step, the largest of those behind the one found before, by one
// reduction where elements have up to 32 bits (see selection), else by two or
// three. For as few results as topk is used for, that takes less
// time than sorting, and any length that fits registers works.

// expandTopK gives the kernel with its topk operations written out; one that has none is given back.
func expandTopK(f *ir.Func, form int64) *ir.Func {
	found := false
	f.Walk(func(op *ir.Op) bool {
		found = found || op.Code == lang.OpTopK
		return true
	})
	if !found {
		return f
	}
	// The copy has operations of its own, and the axes, dimensions and tensors that launches know.
	g := *f
	g.Body, g.Axes = &ir.Block{}, slices.Clone(f.Axes)
	m := &ir.Mapping{}
	for _, op := range f.Body.Ops {
		g.Body.Ops = append(g.Body.Ops, g.CopyOp(op, m))
	}
	instead := map[*ir.Value]*ir.Value{}
	expandBlock(&g, g.Body, form, instead)
	g.Body.Replace(instead)
	return &g
}

func expandBlock(f *ir.Func, body *ir.Block, form int64, instead map[*ir.Value]*ir.Value) {
	out := &ir.Builder{Func: f, Block: &ir.Block{}}
	for _, op := range body.Ops {
		for _, inner := range op.Blocks {
			expandBlock(f, inner, form, instead)
		}
		if op.Code != lang.OpTopK {
			out.Block.Ops = append(out.Block.Ops, op)
			continue
		}
		out.At = op.At
		x := &extraction{Builder: out, op: op}
		write := x.loop
		switch {
		case block.Selection(op, form):
			write = (&selection{x}).byThreshold
		case block.Ranked(op):
			write = (&selection{x}).write
		}
		values := write()
		instead[op.Results[0]], instead[op.Results[1]] = values[0], values[1]
	}
	body.Ops = out.Block.Ops
}

// extraction writes out one topk.
type extraction struct {
	*ir.Builder
	op *ir.Op
}

// element is a value with its position, i32.
type element struct{ value, position *ir.Value }

// loop finds one element a step. It carries the last one found, and the results so far.
func (x *extraction) loop() []*ir.Value {
	op := x.op
	rows := ir.Without(op.Args[0].Type.Axes, op.Over)
	d := op.Args[0].Type.DType
	none := x.Int(-1)
	greatest := ir.Const{Float: math.NaN()}
	if !d.IsFloat() {
		_, greatest.Int = eval.Limits(d)
	}
	least := bound(-1)(d)
	all := op.Results[0].Type.Axes
	loop := &ir.Op{Code: lang.OpFor, At: op.At, Args: []*ir.Value{
		x.Int(0), x.Int(op.Axis.Len),
		x.over(x.Const(d, greatest), rows), x.over(none, rows),
		x.over(x.Const(d, least), all), x.over(none, all),
	}}
	body := &ir.Block{Params: []*ir.Value{x.Func.NewValue(ir.Scalar(lang.I32), nil)}}
	for _, init := range loop.Args[2:] {
		body.Params = append(body.Params, x.Func.NewValue(init.Type, nil))
	}
	loop.Blocks = []*ir.Block{body}
	outer := x.Block
	x.Block = body
	last := element{body.Params[1], body.Params[2]}
	best := x.best(element{op.Args[0], x.index(op.Over[0])}, op.Over, nil, last)
	if len(op.Args) > 1 { // what chunks before this one have given
		prior := element{op.Args[1], op.Args[2]}
		exists := x.Op(lang.OpGe, prior.position, x.Int(0))
		other := x.best(prior, []*ir.Axis{op.Axis}, exists, last)
		wins := x.before(other, best)
		best = element{x.Op(lang.OpWhere, wins, other.value, best.value), x.Op(lang.OpWhere, wins, other.position, best.position)}
	}
	missing := x.Op(lang.OpEq, best.position, x.Int(math.MaxInt32))
	value := x.Op(lang.OpWhere, missing, x.Const(d, least), best.value)
	position := x.Op(lang.OpWhere, missing, x.Int(-1), best.position)
	here := x.Op(lang.OpEq, x.index(op.Axis), body.Params[0])
	body.Yield = []*ir.Value{
		x.Op(lang.OpWhere, missing, last.value, value), x.Op(lang.OpWhere, missing, last.position, position),
		x.Op(lang.OpWhere, here, value, body.Params[3]), x.Op(lang.OpWhere, here, position, body.Params[4]),
	}
	x.Block = outer
	return x.Emit(loop)[2:]
}

// index is the positions along an axis, which a topk gives as i32.
func (x *extraction) index(a *ir.Axis) *ir.Value {
	return x.Cast(x.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0], lang.I32)
}

func (x *extraction) over(v *ir.Value, axes []*ir.Axis) *ir.Value {
	if len(axes) == 0 {
		return v
	}
	return x.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{v}, Axes: axes})[0]
}

// best is the largest of the elements behind last, over axes: of equals the one
// at the lowest position. Its position is the greatest i32 where there is none.
func (x *extraction) best(e element, over []*ir.Axis, exists *ir.Value, last element) element {
	reduce := func(op lang.Op, v *ir.Value) *ir.Value {
		return x.Emit(&ir.Op{Code: op, Args: []*ir.Value{v}, Over: over})[0]
	}
	open := x.before(last, e)
	if exists != nil {
		open = x.Op(lang.OpLogicAnd, open, exists)
	}
	d := e.value.Type.DType
	least := x.Const(d, bound(-1)(d))
	candidates := x.Op(lang.OpWhere, open, e.value, least)
	largest := reduce(lang.OpReduceMax, candidates)
	holds := x.Op(lang.OpLogicAnd, open, x.same(e.value, largest))
	position := reduce(lang.OpReduceMin, x.Op(lang.OpWhere, holds, e.position, x.Int(math.MaxInt32)))
	if d.IsFloat() { // the sign of a zero is that of the element
		chosen := x.Op(lang.OpLogicAnd, open, x.Op(lang.OpEq, e.position, position))
		largest = reduce(lang.OpReduceMax, x.Op(lang.OpWhere, chosen, e.value, least))
	}
	return element{largest, position}
}

// before reports a standing in front of b: it is larger, or equal and at a lower position.
func (x *extraction) before(a, b element) *ir.Value {
	larger := x.Op(lang.OpLt, b.value, a.value)
	if a.value.Type.DType.IsFloat() {
		onlyA := x.Op(lang.OpLogicAnd, x.Op(lang.OpIsNaN, a.value), x.Op(lang.OpLogicNot, x.Op(lang.OpIsNaN, b.value)))
		larger = x.Op(lang.OpLogicOr, larger, onlyA)
	}
	tie := x.Op(lang.OpLogicAnd, x.same(a.value, b.value), x.Op(lang.OpLt, a.position, b.position))
	return x.Op(lang.OpLogicOr, larger, tie)
}

// same reports equal values; two NaN are.
func (x *extraction) same(a, b *ir.Value) *ir.Value {
	equal := x.Op(lang.OpEq, a, b)
	if !a.Type.DType.IsFloat() {
		return equal
	}
	return x.Op(lang.OpLogicOr, equal, x.Op(lang.OpLogicAnd, x.Op(lang.OpIsNaN, a), x.Op(lang.OpIsNaN, b)))
}
