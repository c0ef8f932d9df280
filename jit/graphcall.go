package jit

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file writes down the launches of a graph.

// call writes down the launches of a kernel, of which a formula may have several, and gives the kernel's outputs. Dims and types are
// by name, for what the arguments do not tell; shapes are those of the first
// output that the arguments do not tell.
func (b *binder) call(k *typed.Kernel, args []gval, consts map[*size.Symbol]lang.Literal, shapes [][]int64, dims map[string]int64, types map[string]lang.DType, at lang.Span) (gval, error) {
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
		return gval{}, launchError(at, lang.ErrArgMissing, "%s has %d parameters, %d arguments are given", k.Name, len(k.Params), len(args))
	}
	if err := bound.constants(k.Consts, consts, at); err != nil {
		return gval{}, err
	}
	if k.Decl.Body == nil { // made for an expression of whole tensors
		if err := oneShape(k, args, shapes, at); err != nil {
			return gval{}, err
		}
	}
	var tensors []view
	scalars := map[string]scalar{}
	for i, p := range k.Params {
		switch a := args[i]; {
		case p.IsTensor && a.view == nil:
			return gval{}, launchError(at, lang.ErrArgMissing, "%s of %s must be a tensor %s%s", p.Name, k.Name, p.DType, formatSizes(p.Shape))
		case p.IsTensor:
			if err := bound.dtype(p.Name, p.DType, a.view.dtype, at); err != nil {
				return gval{}, err
			}
			if err := bound.rank(p.Name, p.Shape, a.view.shape, at); err != nil {
				return gval{}, err
			}
			tensors = append(tensors, *a.view)
		case a.scalar == nil && p.Default == nil:
			return gval{}, launchError(at, lang.ErrArgMissing, "%s of %s must be a scalar %s", p.Name, k.Name, p.DType)
		default:
			v := a.scalar
			if v == nil {
				v = knownScalar(*p.Default)
			}
			if err := bound.dtype(p.Name, p.DType, v.dtype, at); err != nil {
				return gval{}, err
			}
			scalars[p.Name] = *v
			tensors = append(tensors, view{})
		}
	}
	for _, shape := range shapes {
		if err := bound.rank("a tensor that the graph makes", k.Outputs[0].Shape, shape, at); err != nil {
			return gval{}, err
		}
	}
	for i, p := range k.Params {
		if p.IsTensor {
			if err := bound.sizes(p.Name, p.Shape, args[i].view.shape, at); err != nil {
				return gval{}, err
			}
		}
	}
	for _, p := range k.TypeParams {
		if _, ok := bound.types[p]; !ok {
			return gval{}, launchError(at, lang.ErrArgMissing, "element type %s of %s is not bound by any argument: give it by name", p.Name, k.Name)
		}
	}
	out := gval{elems: []gval{}}
	for _, p := range k.Outputs {
		shape, err := bound.shape(p.Name, p.Shape, at)
		if err != nil {
			return gval{}, err
		}
		v := b.fresh(p.DType.Resolve(bound.types), shape)
		tensors = append(tensors, *v)
		out.elems = append(out.elems, gval{view: v})
	}
	whole := &Spec{Kernel: k, Types: bound.types, Consts: bound.consts, Dims: bound.dims, Pins: b.opts.Pins, Precision: b.opts.Precision, Debug: b.opts.Debug || b.prog.compiler.Debug, Wide: b.prog.compiler.wide, extents: b.prog.compiler.extents}
	for i, p := range params(k) {
		if !p.IsTensor {
			whole.Layouts = append(whole.Layouts, Layout{})
			continue
		}
		whole.Layouts = append(whole.Layouts, b.layout(&tensors[i]))
	}
	for _, spec := range whole.Launches() {
		if err := checkConditions(spec); err != nil {
			return gval{}, err
		}
		s := step{spec: spec}
		for _, i := range whole.places(spec.Kernel) {
			s.tensors = append(s.tensors, tensors[i])
			b.use(&tensors[i], len(b.prog.steps))
		}
		fills := spec.fills()
		for i, p := range params(spec.Kernel) {
			if slices.Contains(fills, p.Name) {
				s.fills = append(s.fills, i)
			}
		}
		for _, p := range spec.Kernel.Params {
			if !p.IsTensor {
				s.scalars = append(s.scalars, scalars[p.Name])
			}
		}
		b.prog.steps = append(b.prog.steps, s)
	}
	if len(out.elems) == 1 {
		return out.elems[0], nil
	}
	return out, nil
}

// oneShape checks that the tensors of one expression have one shape, and so have those that it makes.
func oneShape(k *typed.Kernel, args []gval, made [][]int64, at lang.Span) error {
	var first []int64
	text := ""
	differs := func(shape []int64, name string) error {
		if text == "" {
			first, text = shape, name
		}
		if slices.Equal(first, shape) {
			return nil
		}
		return launchError(at, lang.ErrArgShape, "the tensors of one expression have one shape, but %s has %s and %s has %s", text, FormatShape(first), name, FormatShape(shape))
	}
	for i, p := range k.Params {
		if args[i].view == nil {
			continue
		}
		name := p.At.Text()
		if strings.Contains(name, "\n") {
			name = p.Name
		}
		if err := differs(args[i].view.shape, name); err != nil {
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

// layout is what a launch knows of a tensor's place.
func (b *binder) layout(v *view) Layout {
	l := Layout{Contiguous: v.contiguous()}
	// Allocations and temporaries begin at multiples of 16 bytes, so the offset decides.
	if v.slot.temp || v.slot.made {
		l.Align = powerDivisor(v.dtype.Bytes(v.offset))
	} else {
		l.Align = b.prog.inputs[v.slot.index].divisor(v.offset)
	}
	if l.Contiguous {
		return l
	}
	n := len(v.shape)
	if n > 0 && v.strides[n-1] == 1 {
		l.Inner = 1
	}
	for _, s := range v.strides {
		l.Divisors = append(l.Divisors, powerDivisor(s))
	}
	return l
}

// powerDivisor is the largest power of two up to 16 that divides n.
func powerDivisor(n int64) int64 {
	d := int64(16)
	for n%d != 0 {
		d /= 2
	}
	return d
}
