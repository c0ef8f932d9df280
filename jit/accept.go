package jit

import (
	"fmt"
	"slices"

	"tilec/jit/misuse"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file decides which tensors a program takes: those that lie in memory of its device, of which no element lies
// outside that memory, and of which those that are written share no element with others.

// input is a tensor argument of a program, as it was bound, where it lay when it was last looked at.
type input struct {
	tensor.Tensor
	// name is the parameter, or the part of one: "w.blocks[0].bias".
	name  string
	inout bool
	// end is the bytes from element 0 to behind the last one; 0 where there is none.
	end int64
	// plain: the elements lie row-major, without gaps.
	plain bool
	// align is what the program was compiled for: the power of two, up to 16, that divides the place of element 0.
	align int64
}

func (p *Program) refuse(in *input, reason string, kind error) error {
	return &misuse.ArgError{Function: p.name, Name: in.name, Reason: reason, Err: kind}
}

// bindInput notes a tensor among the arguments that a program is bound to.
func (p *Program) bindInput(t *tensor.Tensor, name string, inout bool) (*input, error) {
	end, reason, kind := t.Misuse(p.device)
	if kind != nil {
		return nil, p.refuse(&input{name: name}, reason, kind)
	}
	in := input{Tensor: *t, name: name, inout: inout, end: end, align: t.Divisor(0)}
	in.Shape, in.Strides = slices.Clone(t.Shape), t.GivenStrides()
	in.plain = slices.Equal(in.Strides, tensor.Contiguous(in.Shape))
	p.inputs = append(p.inputs, in)
	return &p.inputs[len(p.inputs)-1], nil
}

// accept checks the arguments of a run: they are as the program was bound to, but for where they lie.
func (p *Program) accept(tensors []*tensor.Tensor, scalars []lang.Literal) error {
	if len(tensors) != len(p.inputs) || len(scalars) != len(p.scalarTypes) {
		return misuse.New("Program.Run", fmt.Sprintf("%s is bound to %d tensors and %d scalars, and run with %d and %d", p.name, len(p.inputs), len(p.scalarTypes), len(tensors), len(scalars)), misuse.ErrMismatch)
	}
	for i, s := range scalars {
		if s.DType != p.scalarTypes[i] {
			return misuse.New("Program.Run", fmt.Sprintf("scalar %d of %s is %s, and %s is given", i, p.name, p.scalarTypes[i], s.DType), misuse.ErrMismatch)
		}
	}
	moved := false
	for i, t := range tensors {
		in := &p.inputs[i]
		if !in.like(t) {
			return p.refuse(in, fmt.Sprintf("was bound to %s, and %s is given", tensor.Describe(&in.Tensor), tensor.Describe(t)), misuse.ErrMismatch)
		}
		if reason, kind := t.Place(p.device, in.end); kind != nil {
			return p.refuse(in, reason, kind)
		}
		if t.Memory == in.Memory && t.Offset == in.Offset {
			continue
		}
		if d := t.Divisor(0); d < in.align {
			return p.refuse(in, fmt.Sprintf("was bound to a place at a multiple of %d bytes, and is given at one of %d: bind again", in.align, d), misuse.ErrMismatch)
		}
		in.Memory, in.Offset = t.Memory, t.Offset
		moved = true
	}
	if !moved && p.accepted {
		return nil
	}
	err := p.apart()
	p.accepted = err == nil
	return err
}

// like reports whether a tensor has the type, the shape and the strides of the one that was bound.
func (in *input) like(t *tensor.Tensor) bool {
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

// apart checks that what the program writes shares no element with another argument or with itself.
func (p *Program) apart() error {
	lies := make([]tensor.Footprint, len(p.inputs))
	for i := range p.inputs {
		in := &p.inputs[i]
		lies[i] = tensor.FootprintOf(&in.Tensor, in.end)
		if p.arena.temps != nil && in.Memory.Shares(p.arena.temps) {
			return p.refuse(in, "lies in the memory of the program's own results, which a run overwrites: copy it", misuse.ErrOverlap)
		}
		for j := range p.made {
			if in.inout && in.Memory.Shares(p.made[j].Memory) {
				return p.refuse(in, "is changed, and lies in memory of the program that must stay as it is: copy it", misuse.ErrOverlap)
			}
		}
	}
	for i := range p.inputs {
		in := &p.inputs[i]
		if !in.inout {
			continue
		}
		if lies[i].OverlapsItself() {
			return p.refuse(in, fmt.Sprintf("is changed, and several of its elements lie in one place: its shape is %s and its strides are %s", tensor.FormatShape(in.Shape), tensor.FormatShape(in.Strides)), misuse.ErrOverlap)
		}
		for j := range p.inputs {
			if other := &p.inputs[j]; (j < i || j > i && !other.inout) && lies[i].Overlaps(lies[j]) {
				return p.refuse(in, fmt.Sprintf("is changed, and shares elements with %s: copy one of them", other.name), misuse.ErrOverlap)
			}
		}
	}
	return nil
}

// leaf is a part of a parameter of a graph: its name, and its type where that is known.
type leaf struct {
	name  string
	inout bool
	t     *typed.GType
}

// part is number i of a struct or an array.
func (l leaf) part(i int) leaf {
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
func leafOf(f *Function, i int) leaf {
	if i >= len(f.Params) {
		return leaf{name: fmt.Sprintf("argument %d", i)}
	}
	p := f.Params[i]
	return leaf{p.Name, p.Mode == lang.InOut, &p.Type}
}

// inputs registers the arguments of a kernel or a graph.
func (b *binder) inputs(f *Function, args []tensor.Value) ([]gval, error) {
	out := make([]gval, len(args))
	for i, a := range args {
		var err error
		if out[i], err = b.input(a, leafOf(f, i)); err != nil {
			return nil, err
		}
	}
	err := b.prog.apart()
	b.prog.accepted = err == nil
	return out, err
}

// input registers the leaves of an argument.
func (b *binder) input(v tensor.Value, l leaf) (gval, error) {
	p := b.prog
	switch {
	case v.Tensor != nil:
		t, err := p.bindInput(v.Tensor, l.name, l.inout)
		if err != nil {
			return gval{}, err
		}
		return gval{view: &view{slot: slot{index: len(p.inputs) - 1}, dtype: t.DType, shape: t.Shape, strides: t.Strides}}, nil
	case v.Scalar != nil:
		if !v.Scalar.DType.IsValid() {
			return gval{}, &misuse.ArgError{Function: p.name, Name: l.name, Reason: "is a scalar without an element type", Err: misuse.ErrUnset}
		}
		p.scalarTypes = append(p.scalarTypes, v.Scalar.DType)
		return gval{scalar: &scalar{dtype: v.Scalar.DType, input: len(p.scalarTypes)}}, nil
	}
	g := gval{elems: []gval{}}
	for i, e := range v.Elems {
		x, err := b.input(e, l.part(i))
		if err != nil {
			return gval{}, err
		}
		g.elems = append(g.elems, x)
	}
	return g, nil
}
