package graph

import (
	"tilec/jit/bug"
	"tilec/jit/misuse"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file serves tools that look at a kernel with no launch at hand.

// Specialise makes a specialisation of a kernel from sizes, element types and
// constants by name; @sizes gives what the options leave out. Tensors are taken
// to be contiguous and aligned, as fresh ones are.
func Specialise(k *typed.Kernel, opts Options) (_ *spec.Spec, err error) {
	defer bug.Catch(&err, "bind")
	if k == nil || k.Decl == nil {
		return nil, misuse.Unset("Specialise", "the kernel is nothing that the checker made")
	}
	if err := opts.Check(k.Name, k.Consts, k.TypeParams); err != nil {
		return nil, err
	}
	b := newBindings(k.Name)
	at := k.Decl.Name.Span()
	given := map[*size.Symbol]lang.Literal{}
	for _, c := range k.Consts {
		if v, ok := opts.Consts[c.Name]; ok {
			given[c] = v
		} else if n, ok := k.SizeHints[c]; ok && c.DType.IsInt() {
			given[c] = lang.Literal{DType: c.DType, Int: n}
		}
	}
	if err := b.constants(k.Consts, given, at); err != nil {
		return nil, err
	}
	for _, d := range k.Dims {
		n, ok := opts.Dims[d.Name]
		if !ok {
			n, ok = k.SizeHints[d]
		}
		if !ok {
			return nil, spec.Errorf(at, lang.ErrArgMissing, "the size of dimension %s of %s is not known: give it, as in %s=1024, or write @sizes(%s = 1024) above the kernel", d.Name, k.Name, d.Name, d.Name)
		}
		b.dims[d] = n
	}
	for _, p := range k.TypeParams {
		d, ok := opts.Types[p.Name]
		if !ok {
			d, ok = k.TypeHints[p]
		}
		if !ok {
			return nil, spec.Errorf(at, lang.ErrArgMissing, "element type %s of %s is not known: give it, as in %s=f32, or write @sizes(%s = f32) above the kernel", p.Name, k.Name, p.Name, p.Name)
		}
		if !p.Accepts(d) {
			return nil, spec.Errorf(at, lang.ErrArgType, "%s of %s must be of a type that %s allows, and %s is not", p.Name, k.Name, p.Bound, d)
		}
		b.types[p] = d
	}
	s := &spec.Spec{Kernel: k, Types: b.types, Consts: b.consts, Dims: b.dims, Pins: opts.Pins, Precision: opts.Precision, Debug: opts.Debug, Deterministic: opts.Deterministic}
	for _, p := range spec.Params(k) {
		l := spec.Layout{}
		if p.IsTensor {
			if _, err := b.shape(p.Name, p.Shape, at); err != nil {
				return nil, err
			}
			l = spec.Layout{Contiguous: true, Align: tensor.PowerDivisor(0)}
		}
		s.Layouts = append(s.Layouts, l)
	}
	for _, launch := range s.Launches() {
		if err := spec.CheckConditions(launch); err != nil {
			return nil, err
		}
	}
	return s, nil
}
