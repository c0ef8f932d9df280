package graph

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file makes the tensors that a graph fills itself: one value, ranges,
// lists. They are made on the host, once, when the graph is bound.

// choice runs the branch of an `if` that its condition tells.
func (f *frame) choice(x *typed.GIf) (Value, error) {
	cond, err := f.index(x.Cond, "the condition of `if`")
	if err != nil {
		return Value{}, err
	}
	body := &x.Else
	if cond != 0 {
		body = &x.Then
	}
	out, err := f.run(body.Stmts, body.Results)
	if err != nil {
		return Value{}, err
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return Value{elems: out}, nil
}

// copied gives the results of a call, copied where they are views of the caller's state.
func (f *frame) copied(x *typed.GInvoke, args []Value, out Value) (Value, error) {
	results := []Value{out}
	if out.elems != nil {
		results = out.elems
	}
	for i, r := range results {
		shared := false
		for j, a := range args {
			shared = shared || x.State[j] && a.holds(r.View.Slot)
		}
		if !shared {
			continue
		}
		c, err := f.Call(x.Copies[i].Kernel, []Value{r}, nil, nil, nil, f.named(x.Copies[i].Types), x.At)
		if err != nil {
			return Value{}, err
		}
		results[i] = c
	}
	if out.elems != nil {
		return Value{elems: results}, nil
	}
	return results[0], nil
}

// holds reports whether a tensor of a value lies in a slot.
func (v Value) holds(s Slot) bool {
	if v.View != nil {
		return v.View.Slot == s
	}
	for _, e := range v.elems {
		if e.holds(s) {
			return true
		}
	}
	return false
}

// make fills a tensor, unless the program has one like it.
func (f *frame) make(x *typed.GMake) (Value, error) {
	shape, err := f.shape("a tensor", x.Type.Shape, x.At)
	if err != nil {
		return Value{}, err
	}
	d := x.Type.DType.Resolve(f.types)
	value := lang.Literal{}
	if x.Value != nil {
		v, err := f.eval(x.Value)
		if err != nil {
			return Value{}, err
		}
		if v.Scalar == nil || !v.Scalar.Known() {
			return Value{}, spec.Errorf(x.At, lang.ErrArgType, "the value of a tensor must be known when the graph is bound: it depends on a scalar argument")
		}
		value = v.Scalar.literal
	}
	p := f.prog
	name := fmt.Sprint(x.Rule, d, shape, value)
	if x.Rule == typed.MakeList {
		name += fmt.Sprintf(" %p", x)
	}
	n, ok := p.madeNames[name]
	if !ok {
		t, err := f.fill(d, shape, elementOf(x, d, value))
		if err != nil {
			return Value{}, spec.Errorf(x.At, lang.ErrArgShape, "%s%s: %v", d, tensor.FormatShape(shape), err)
		}
		n = len(p.Made)
		p.Made = append(p.Made, *t)
		if p.madeNames == nil {
			p.madeNames = map[string]int{}
		}
		p.madeNames[name] = n
	}
	return Value{View: &View{Slot: Slot{Made: true, Index: n}, DType: d, Shape: shape, Strides: tensor.Contiguous(shape)}}, nil
}

// maxMade is how many bytes a tensor may have that a graph fills: it is made on the host.
const maxMade = 1 << 30

// fill makes a tensor on the device of the elements that a function gives, in row-major order.
func (b *binder) fill(d lang.DType, shape []int64, element func(i int64) ir.Const) (*tensor.Tensor, error) {
	n := tensor.Elements(shape)
	bytes := d.Bytes(n)
	if bytes > maxMade {
		return nil, fmt.Errorf("%d bytes in one tensor that a graph fills; the most is %d", bytes, int64(maxMade))
	}
	data := make([]byte, bytes)
	for i := range n {
		c := element(i)
		d.PutRawBitsAt(data, i, ScalarBits(lang.Literal{DType: d, Int: c.Int, Float: c.Float}))
	}
	device := b.env.Device
	m, err := device.Alloc(max(1, bytes))
	if err != nil {
		return nil, err
	}
	return &tensor.Tensor{DType: d, Shape: shape, Memory: m}, device.Write(m, 0, data)
}

// elementOf gives the elements of a tensor by its rule. Numbers are rounded to
// the type as a conversion rounds them.
func elementOf(x *typed.GMake, d lang.DType, value lang.Literal) func(int64) ir.Const {
	rounded := func(l lang.Literal) ir.Const {
		return eval.Cast(ir.Const{Int: l.Int, Float: l.Float}, l.DType, d)
	}
	switch x.Rule {
	case typed.MakeList:
		return func(i int64) ir.Const { return rounded(x.Elems[i]) }
	case typed.MakeRange:
		return func(i int64) ir.Const { return rounded(lang.Literal{DType: lang.I64, Int: i}) }
	}
	c := rounded(value)
	return func(int64) ir.Const { return c }
}
