package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// combine builds a reduction or a scan by a function. One over several axes is
// one along the last of them and then along those before it: the order of the
// positions stays the same.
func (b *builder) combine(x *typed.Combine) []*ir.Value {
	code, args := x.Op, b.all(x.Args)
	identity := b.all(x.Identity)
	var fn func() []*ir.Value
	var params []*ir.Value
	switch code {
	case lang.OpCumSum, lang.OpCumProd:
		step, first := lang.OpAdd, int64(0)
		if code == lang.OpCumProd {
			step, first = lang.OpMul, 1
		}
		code = lang.OpScan
		d := args[0].Type.DType.Accumulator()
		args[0] = b.Cast(b.summand(args[0]), d)
		identity = one(b.constant(d, first, float64(first)))
		params = b.parametersOf(args)
		fn = func() []*ir.Value { return one(b.Op(step, params...)) }
	default:
		params = b.parametersOf(args)
		for i, p := range x.Params {
			params[i].Name = p.Name
			b.locals[p] = params[i]
		}
		fn = func() []*ir.Value { return b.body(x.Fn) }
	}
	reverse := false
	if x.Reverse != nil {
		reverse, _ = constBool(b.value(x.Reverse))
	}
	block, captured := b.closed(params, fn)
	b.At = x.At
	axes := b.mapAxes(x.Over)
	for i, a := range slices.Backward(axes) {
		f := block
		if i > 0 {
			f = b.f.CopyBlock(block)
		}
		op := &ir.Op{Code: code, Args: slices.Concat(args, identity, captured), Over: []*ir.Axis{a}, Fn: f, Reverse: reverse}
		args = b.Emit(op)
	}
	return args
}

// parametersOf makes the parameters of a function that combines the operands.
func (b *builder) parametersOf(args []*ir.Value) []*ir.Value {
	var params []*ir.Value
	for range 2 {
		for _, v := range args {
			params = append(params, b.f.NewValue(ir.Scalar(v.Type.DType), nil))
		}
	}
	return params
}

// closed builds a function of the parameters, to which what it takes from
// outside is added. What depends on no parameter is computed once, before it;
// constants are copied into it.
func (b *builder) closed(params []*ir.Value, build func() []*ir.Value) (fn *ir.Block, captured []*ir.Value) {
	outer := b.combining
	b.combining = true
	var yield []*ir.Value
	block := b.in(func() { yield = build() })
	b.combining = outer

	fn = &ir.Block{Params: params}
	within := map[*ir.Value]*ir.Value{} // what stands for a value inside
	for _, p := range params {
		within[p] = p
	}
	inside := ir.Builder{Func: b.f, Block: fn, At: b.At}
	take := func(vs []*ir.Value) []*ir.Value {
		out := make([]*ir.Value, len(vs))
		for i, v := range vs {
			switch {
			case within[v] != nil:
			case isConst(v):
				within[v] = inside.Const(v.Type.DType, v.Def.Const)
			default:
				within[v] = b.f.NewValue(v.Type, nil)
				captured, fn.Params = append(captured, v), append(fn.Params, within[v])
			}
			out[i] = within[v]
		}
		return out
	}
	for _, op := range block.Ops {
		if !slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return within[v] == v }) {
			b.Block.Ops = append(b.Block.Ops, op)
			continue
		}
		op.Args = take(op.Args)
		fn.Ops = append(fn.Ops, op)
		within[op.Result()] = op.Result()
	}
	fn.Yield = take(yield)
	return fn, captured
}
