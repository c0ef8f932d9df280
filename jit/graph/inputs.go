package graph

import (
	"fmt"
	"slices"
	"tilec/jit/backend"
	"tilec/jit/misuse"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file notes the arguments that a graph is bound to.

// Input is a tensor argument of a program, as it was bound, where it lay when it was last looked at.
type Input struct {
	tensor.Tensor
	// Name is the parameter, or the part of one: "w.blocks[0].bias".
	Name  string
	Inout bool
	// End is the bytes from element 0 to behind the last one; 0 where there is none.
	End int64
	// plain: the elements lie row-major, without gaps.
	plain bool
	// Align is what the program was compiled for: the power of two, up to 16, that divides the place of element 0.
	Align int64
}

// Refuse is the error of an argument that cannot be.
func (p *Bound) Refuse(in *Input, reason string, kind error) error {
	return &misuse.ArgError{Function: p.Name, Name: in.Name, Reason: reason, Err: kind}
}

// bindInput notes a tensor among the arguments that a program is bound to.
func (p *Bound) bindInput(d backend.Device, t *tensor.Tensor, name string, inout bool) (*Input, error) {
	end, reason, kind := t.Misuse(d)
	if kind != nil {
		return nil, p.Refuse(&Input{Name: name}, reason, kind)
	}
	in := Input{Tensor: *t, Name: name, Inout: inout, End: end, Align: t.Divisor(0)}
	in.Shape, in.Strides = slices.Clone(t.Shape), t.GivenStrides()
	in.plain = slices.Equal(in.Strides, tensor.Contiguous(in.Shape))
	p.Inputs = append(p.Inputs, in)
	return &p.Inputs[len(p.Inputs)-1], nil
}

// leaf is a part of a parameter of a graph: its name, and its type where that is known.
type leaf struct {
	name  string
	inout bool
	t     *typed.GType
}

// element is number i of a struct or an array.
func (l leaf) element(i int) leaf {
	out := leaf{name: fmt.Sprintf("%s[%d]", l.name, i), inout: l.inout}
	switch {
	case l.t == nil:
	case l.t.Kind == typed.GStruct && i < len(l.t.Fields):
		out.name, out.t = l.name+"."+l.t.Fields[i].Name, &l.t.Fields[i].Type
	case l.t.Kind == typed.GArray:
		out.t = l.t.Elem
	}
	return out
}

// leafOf is parameter i of a kernel or a graph.
func leafOf(params []*typed.GParam, i int) leaf {
	if i >= len(params) {
		return leaf{name: fmt.Sprintf("argument %d", i)}
	}
	p := params[i]
	return leaf{p.Name, p.Mode == lang.InOut, &p.Type}
}

// inputs registers the arguments of a kernel or a graph.
func (b *binder) inputs(params []*typed.GParam, args []tensor.Value) ([]Value, error) {
	out := make([]Value, len(args))
	for i, a := range args {
		var err error
		if out[i], err = b.input(a, leafOf(params, i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// input registers the leaves of an argument.
func (b *binder) input(v tensor.Value, l leaf) (Value, error) {
	p := b.prog
	switch {
	case v.Tensor != nil:
		t, err := p.bindInput(b.env.Device, v.Tensor, l.name, l.inout)
		if err != nil {
			return Value{}, err
		}
		return Value{View: &View{Slot: Slot{Index: len(p.Inputs) - 1}, DType: t.DType, Shape: t.Shape, Strides: t.Strides}}, nil
	case v.Scalar != nil:
		if !v.Scalar.DType.IsValid() {
			return Value{}, &misuse.ArgError{Function: p.Name, Name: l.name, Reason: "is a scalar without an element type", Err: misuse.ErrUnset}
		}
		p.ScalarTypes = append(p.ScalarTypes, v.Scalar.DType)
		return Value{Scalar: &Scalar{DType: v.Scalar.DType, input: len(p.ScalarTypes)}}, nil
	}
	g := Value{elems: []Value{}}
	for i, e := range v.Elems {
		x, err := b.input(e, l.element(i))
		if err != nil {
			return Value{}, err
		}
		g.elems = append(g.elems, x)
	}
	return g, nil
}

// Like reports whether a tensor has the type, the shape and the strides of the one that was bound.
func (in *Input) Like(t *tensor.Tensor) bool {
	if t == nil || t.Memory == nil || t.DType != in.DType || !slices.Equal(t.Shape, in.Shape) || t.Strides != nil && len(t.Strides) != len(t.Shape) {
		return false
	}
	if t.Strides == nil {
		return in.plain
	}
	for i, n := range in.Shape {
		if n > 1 && t.Strides[i] != in.Strides[i] {
			return false
		}
	}
	return true
}
