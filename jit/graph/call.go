package graph

import (
	"slices"
	"strings"

	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file writes down the launches of a graph.

// Call writes down the launches of a kernel, of which a formula may have several, and gives the kernel's outputs. Dims and types are
// by name, for what the arguments do not tell; shapes are those of the first
// output that the arguments do not tell.
func (b *binder) Call(k *typed.Kernel, args []Value, consts map[*size.Symbol]lang.Literal, shapes [][]int64, dims map[string]int64, types map[string]lang.DType, at lang.Span) (Value, error) {
	bound := newBindings(k.Name)
	for _, d := range k.Dims {
		if n, ok := dims[d.Name]; ok {
			bound.dims[d], bound.from[d] = n, "its given value"
		}
	}
	for _, p := range k.TypeParams {
		if d, ok := types[p.Name]; ok {
			bound.types[p] = d
		}
	}
	if len(args) != len(k.Params) {
		return Value{}, spec.Errorf(at, lang.ErrArgMissing, "%s has %d parameters, %d arguments are given", k.Name, len(k.Params), len(args))
	}
	if err := bound.constants(k.Consts, consts, at); err != nil {
		return Value{}, err
	}
	if k.Decl.Body == nil { // made for an expression of whole tensors
		if err := oneShape(k, args, shapes, at); err != nil {
			return Value{}, err
		}
	}
	var tensors []View
	scalars := map[string]Scalar{}
	for i, p := range k.Params {
		switch a := args[i]; {
		case p.IsTensor && a.View == nil:
			return Value{}, spec.Errorf(at, lang.ErrArgMissing, "%s of %s must be a tensor %s%s", p.Name, k.Name, p.DType, formatSizes(p.Shape))
		case p.IsTensor:
			if err := bound.dtype(p.Name, p.DType, a.View.DType, at); err != nil {
				return Value{}, err
			}
			if err := bound.rank(p.Name, p.Shape, a.View.Shape, at); err != nil {
				return Value{}, err
			}
			tensors = append(tensors, *a.View)
		case a.Scalar == nil && p.Default == nil:
			return Value{}, spec.Errorf(at, lang.ErrArgMissing, "%s of %s must be a scalar %s", p.Name, k.Name, p.DType)
		default:
			v := a.Scalar
			if v == nil {
				v = knownScalar(*p.Default)
			}
			if err := bound.dtype(p.Name, p.DType, v.DType, at); err != nil {
				return Value{}, err
			}
			scalars[p.Name] = *v
			tensors = append(tensors, View{})
		}
	}
	for _, shape := range shapes {
		if err := bound.rank("a tensor that the graph makes", k.Outputs[0].Shape, shape, at); err != nil {
			return Value{}, err
		}
	}
	each := func(check shapeCheck) error {
		for i, p := range k.Params {
			if p.IsTensor {
				if err := check(p.Name, p.Shape, args[i].View.Shape, at); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := bound.solved(func() error { return each(bound.solve) }); err != nil {
		return Value{}, err
	}
	if err := each(bound.sizes); err != nil {
		return Value{}, err
	}
	for _, p := range k.TypeParams {
		if _, ok := bound.types[p]; !ok {
			return Value{}, spec.Errorf(at, lang.ErrArgMissing, "element type %s of %s is not bound by any argument: give it by name", p.Name, k.Name)
		}
	}
	out := Value{elems: []Value{}}
	for _, p := range k.Outputs {
		shape, err := bound.shape(p.Name, p.Shape, at)
		if err != nil {
			return Value{}, err
		}
		v := b.fresh(p.DType.Resolve(bound.types), shape)
		tensors = append(tensors, *v)
		out.elems = append(out.elems, Value{View: v})
	}
	whole := &spec.Spec{Kernel: k, Types: bound.types, Consts: bound.consts, Dims: bound.dims, Pins: b.opts.Pins, Precision: b.opts.Precision, Debug: b.opts.Debug || b.env.Debug, Wide: b.env.Wide, Deterministic: b.opts.Deterministic, Vary: b.env.Extents}
	for i, p := range spec.Params(k) {
		if !p.IsTensor {
			whole.Layouts = append(whole.Layouts, spec.Layout{})
			continue
		}
		whole.Layouts = append(whole.Layouts, b.prog.layout(&tensors[i]))
	}
	for _, one := range whole.Launches() {
		if err := spec.CheckConditions(one); err != nil {
			return Value{}, err
		}
		s := Call{Spec: one, At: at}
		for _, i := range whole.Places(one.Kernel) {
			s.Tensors = append(s.Tensors, tensors[i])
			b.use(&tensors[i], len(b.prog.Calls))
		}
		fills := one.Fills()
		for i, p := range spec.Params(one.Kernel) {
			if slices.Contains(fills, p.Name) {
				s.Fills = append(s.Fills, i)
			}
		}
		for _, p := range one.Kernel.Params {
			if !p.IsTensor {
				s.Scalars = append(s.Scalars, scalars[p.Name])
			}
		}
		b.prog.Calls = append(b.prog.Calls, s)
	}
	if len(out.elems) == 1 {
		return out.elems[0], nil
	}
	return out, nil
}

// oneShape checks that the tensors of one expression have one shape, and so have those that it makes.
func oneShape(k *typed.Kernel, args []Value, made [][]int64, at lang.Span) error {
	var first []int64
	text := ""
	differs := func(shape []int64, name string) error {
		if text == "" {
			first, text = shape, name
		}
		if slices.Equal(first, shape) {
			return nil
		}
		return spec.Errorf(at, lang.ErrArgShape, "the tensors of one expression have one shape, but %s has %s and %s has %s", text, tensor.FormatShape(first), name, tensor.FormatShape(shape))
	}
	for i, p := range k.Params {
		if args[i].View == nil {
			continue
		}
		name := p.At.Text()
		if strings.Contains(name, "\n") {
			name = p.Name
		}
		if err := differs(args[i].View.Shape, name); err != nil {
			return err
		}
	}
	for _, shape := range made {
		if err := differs(shape, "a tensor that it makes"); err != nil {
			return err
		}
	}
	return nil
}

// acrossRows reports a matrix that launches only read, of which the columns lie one behind the other without gaps: for them the matrix that has these as its rows.
func (b *Bound) acrossRows(v *View) bool {
	if v.Slot.Temp || v.Slot.Made || b.Inputs[v.Slot.Index].Inout || len(v.Shape) != 2 {
		return false
	}
	return v.Shape[0] > 1 && v.Shape[1] > 1 && v.Strides[0] == 1 && v.Strides[1] == v.Shape[0]
}

// layout is what a launch knows of a tensor's place.
func (b *Bound) layout(v *View) spec.Layout {
	l := spec.Layout{Contiguous: v.Contiguous()}
	if b.Deterministic { // also where dimensions have one position, as they may have more
		l.Contiguous = slices.Equal(v.Strides, tensor.Contiguous(v.Shape))
	}
	// Allocations and temporaries begin at multiples of 16 bytes, so the offset decides.
	if v.Slot.Temp || v.Slot.Made {
		l.Align = tensor.PowerDivisor(v.DType.Bytes(v.Offset))
	} else {
		l.Align = b.Inputs[v.Slot.Index].Divisor(v.Offset)
	}
	if l.Contiguous {
		return l
	}
	if b.acrossRows(v) {
		l.Contiguous, l.Order = true, []int{1, 0}
		return l
	}
	n := len(v.Shape)
	if n > 0 && v.Strides[n-1] == 1 {
		l.Inner = 1
	}
	for _, s := range v.Strides {
		l.Divisors = append(l.Divisors, tensor.PowerDivisor(s))
	}
	return l
}
