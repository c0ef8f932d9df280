package jit

import (
	"fmt"
	"math/bits"
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file decides which tensors a program takes: those that lie in memory of its device, of which no element lies
// outside that memory, and of which those that are written share no element with others.

// input is a tensor argument of a program, as it was bound, where it lay when it was last looked at.
type input struct {
	Tensor
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

// end is the bytes from element 0 of a tensor to behind its last one, whatever lies between, or why there is no such number.
func (t *Tensor) end() (n int64, reason string, kind error) {
	if t.Strides != nil && len(t.Strides) != len(t.Shape) {
		return 0, fmt.Sprintf("the tensor has the shape %s and %d strides: each dimension has one", FormatShape(t.Shape), len(t.Strides)), ErrMismatch
	}
	for i, d := range t.Shape {
		if d < 0 {
			return 0, fmt.Sprintf("its shape %s has a negative size", FormatShape(t.Shape)), ErrRange
		}
		if t.Strides != nil && t.Strides[i] < 0 {
			return 0, fmt.Sprintf("its strides %s have a negative one: elements lie behind the first", FormatShape(t.Strides)), ErrRange
		}
	}
	if slices.Contains(t.Shape, 0) {
		return 0, "", nil
	}
	beyond := func() (int64, string, error) {
		return 0, fmt.Sprintf("its shape %s with the strides %s reaches further than any memory", FormatShape(t.Shape), FormatShape(t.Strides)), ErrRange
	}
	if t.Strides == nil {
		if n = Elements(t.Shape); n >= maxElements {
			return beyond()
		}
		return t.DType.Bytes(n), "", nil
	}
	last := uint64(0)
	for i, d := range t.Shape {
		high, reach := bits.Mul64(uint64(d-1), uint64(t.Strides[i]))
		if last += reach; high != 0 || reach >= maxElements || last >= maxElements {
			return beyond()
		}
	}
	return t.DType.Bytes(int64(last) + 1), "", nil
}

// misuse says why a device cannot use the tensor, and of what kind that is; otherwise it gives the tensor's end.
func (t *Tensor) misuse(d Device) (end int64, reason string, kind error) {
	switch {
	case t == nil:
		return 0, "is a nil *Tensor", ErrUnset
	case t.Memory == nil || !t.DType.IsValid():
		return 0, "is a *Tensor without memory or element type: Upload gives memory", ErrUnset
	}
	if end, reason, kind = t.end(); kind != nil {
		return 0, reason, kind
	}
	reason, kind = t.place(d, end)
	return end, reason, kind
}

// place checks where a tensor lies of which the elements take so many bytes.
func (t *Tensor) place(d Device, end int64) (reason string, kind error) {
	if reason, kind := t.Memory.misuse(d); kind != nil {
		return reason, kind
	}
	size := int64(t.DType.Size())
	if t.Offset < 0 || t.Offset > t.DType.Elements(t.Memory.Size) {
		return fmt.Sprintf("its offset is %d elements, and its memory has room for %d", t.Offset, t.DType.Elements(t.Memory.Size)), ErrRange
	}
	if err := t.Memory.within(t.DType.Bytes(t.Offset), end); err != nil {
		return fmt.Sprintf("%s from element %d on does not lie in its memory: %v", t, t.Offset, err), ErrRange
	}
	if t.Memory.address()%uint64(size) != 0 {
		return fmt.Sprintf("its memory does not begin at a multiple of the %d bytes of an element", size), ErrMismatch
	}
	return "", nil
}

// divisor is the power of two up to 16 that divides where an element of the tensor lies.
func (t *Tensor) divisor(element int64) int64 {
	return powerDivisor(t.Memory.offset + t.DType.Bytes(t.Offset+element))
}

// strides are the tensor's own, or those that it has without gaps. What has one position at most needs none.
func (t *Tensor) strides() []int64 {
	plain := contiguous(t.Shape)
	if t.Strides == nil {
		return plain
	}
	out := slices.Clone(t.Strides)
	for i, n := range t.Shape {
		if n <= 1 {
			out[i] = plain[i]
		}
	}
	return out
}

func (p *Program) refuse(in *input, reason string, kind error) error {
	return &ArgError{Function: p.name, Name: in.name, Reason: reason, Err: kind}
}

// bindInput notes a tensor among the arguments that a program is bound to.
func (p *Program) bindInput(t *Tensor, name string, inout bool) (*input, error) {
	end, reason, kind := t.misuse(p.device)
	if kind != nil {
		return nil, p.refuse(&input{name: name}, reason, kind)
	}
	in := input{Tensor: *t, name: name, inout: inout, end: end, align: t.divisor(0)}
	in.Shape, in.Strides = slices.Clone(t.Shape), t.strides()
	in.plain = slices.Equal(in.Strides, contiguous(in.Shape))
	p.inputs = append(p.inputs, in)
	return &p.inputs[len(p.inputs)-1], nil
}

// accept checks the arguments of a run: they are as the program was bound to, but for where they lie.
func (p *Program) accept(tensors []*Tensor, scalars []lang.Literal) error {
	if len(tensors) != len(p.inputs) || len(scalars) != len(p.scalarTypes) {
		return &UseError{"Program.Run", fmt.Sprintf("%s is bound to %d tensors and %d scalars, and run with %d and %d", p.name, len(p.inputs), len(p.scalarTypes), len(tensors), len(scalars)), ErrMismatch}
	}
	for i, s := range scalars {
		if s.DType != p.scalarTypes[i] {
			return &UseError{"Program.Run", fmt.Sprintf("scalar %d of %s is %s, and %s is given", i, p.name, p.scalarTypes[i], s.DType), ErrMismatch}
		}
	}
	moved := false
	for i, t := range tensors {
		in := &p.inputs[i]
		if !in.like(t) {
			return p.refuse(in, fmt.Sprintf("was bound to %s, and %s is given", describe(&in.Tensor), describe(t)), ErrMismatch)
		}
		if reason, kind := t.place(p.device, in.end); kind != nil {
			return p.refuse(in, reason, kind)
		}
		if t.Memory == in.Memory && t.Offset == in.Offset {
			continue
		}
		if d := t.divisor(0); d < in.align {
			return p.refuse(in, fmt.Sprintf("was bound to a place at a multiple of %d bytes, and is given at one of %d: bind again", in.align, d), ErrMismatch)
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
func (in *input) like(t *Tensor) bool {
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

// describe is a tensor's type, with its strides.
func describe(t *Tensor) string {
	if t == nil || t.Memory == nil {
		return "no tensor"
	}
	if t.Strides == nil || slices.Equal(t.Strides, contiguous(t.Shape)) {
		return t.String()
	}
	return t.String() + " with the strides " + FormatShape(t.Strides)
}

// apart checks that what the program writes shares no element with another argument or with itself.
func (p *Program) apart() error {
	lies := make([]lie, len(p.inputs))
	for i := range p.inputs {
		in := &p.inputs[i]
		lies[i] = lieOf(&in.Tensor, in.end)
		if p.arena.temps != nil && in.Memory.block == p.arena.temps.block {
			return p.refuse(in, "lies in the memory of the program's own results, which a run overwrites: copy it", ErrOverlap)
		}
		for j := range p.made {
			if in.inout && in.Memory.block == p.made[j].Memory.block {
				return p.refuse(in, "is changed, and lies in memory of the program that must stay as it is: copy it", ErrOverlap)
			}
		}
	}
	for i := range p.inputs {
		in := &p.inputs[i]
		if !in.inout {
			continue
		}
		if lies[i].meetsItself() {
			return p.refuse(in, fmt.Sprintf("is changed, and several of its elements lie in one place: its shape is %s and its strides are %s", FormatShape(in.Shape), FormatShape(in.Strides)), ErrOverlap)
		}
		for j := range p.inputs {
			if other := &p.inputs[j]; (j < i || j > i && !other.inout) && lies[i].meets(lies[j]) {
				return p.refuse(in, fmt.Sprintf("is changed, and shares elements with %s: copy one of them", other.name), ErrOverlap)
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
func (b *binder) inputs(f *Function, args []Value) ([]gval, error) {
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
func (b *binder) input(v Value, l leaf) (gval, error) {
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
			return gval{}, &ArgError{Function: p.name, Name: l.name, Reason: "is a scalar without an element type", Err: ErrUnset}
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
