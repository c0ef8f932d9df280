package main

import (
	"fmt"
	"slices"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck"
)

// input is the value of a parameter, or of a part of one, in the host's memory.
// Exactly one of its parts is set, or none for a scalar with a default.
type input struct {
	array  *array
	mode   lang.ParamMode
	scalar *typecheck.Literal
	elems  []*input
}

// inputs makes the values of all parameters; what the command line leaves out is made up, and said.
func (b *binding) inputs() ([]*input, error) {
	var all []*input
	for _, p := range b.to.params {
		v, err := b.input(p.Name, p.Type, p)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func (b *binding) input(path string, t typecheck.GType, p *typecheck.GParam) (*input, error) {
	switch t.Kind {
	case typecheck.GTensor:
		x, err := b.tensor(path, t)
		return &input{array: x, mode: p.Mode}, err
	case typecheck.GScalar:
		return b.scalar(path, t, p)
	case typecheck.GStruct:
		v := &input{elems: []*input{}}
		for _, f := range t.Fields {
			e, err := b.input(path+"."+f.Name, f.Type, p)
			if err != nil {
				return nil, err
			}
			v.elems = append(v.elems, e)
		}
		return v, nil
	case typecheck.GArray:
		n, err := t.Len.Eval(b.value)
		if err != nil {
			return nil, fmt.Errorf("the length %s of %s: %w: give it, as in %s=2", t.Len, path, err, t.Len)
		}
		v := &input{elems: []*input{}}
		for i := range n {
			e, err := b.input(fmt.Sprintf("%s[%d]", path, i), *t.Elem, p)
			if err != nil {
				return nil, err
			}
			v.elems = append(v.elems, e)
		}
		return v, nil
	}
	return nil, fmt.Errorf("%s: no argument can have its type", path)
}

func (b *binding) scalar(path string, t typecheck.GType, p *typecheck.GParam) (*input, error) {
	a := b.values[path]
	if a == nil {
		if p.Default == nil {
			return nil, fmt.Errorf("scalar %s: %s of %s is not given: add %s=...", path, t.DType, b.to.name, path)
		}
		return &input{scalar: p.Default}, nil
	}
	l, err := parseScalar(b.resolve(t.DType), a.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &input{scalar: &l}, nil
}

func (b *binding) tensor(path string, t typecheck.GType) (*array, error) {
	x, a := b.arrays[path], b.values[path]
	if x == nil {
		x = &array{name: path, shape: []int64{}}
		for _, s := range t.Shape {
			n, err := s.Eval(b.value)
			if err != nil {
				return nil, fmt.Errorf("the size %s of %s in %s: %w: give it by name, or give %s with a shape", s, path, b.to.name, err, path)
			}
			x.shape = append(x.shape, n)
		}
		if a != nil {
			x.dtype = a.dtype
		}
	}
	if x.data != nil {
		return x, nil
	}
	if x.dtype == lang.Invalid {
		x.dtype = b.resolve(t.DType)
	}
	n, err := elements(x)
	if err != nil {
		return nil, err
	}
	b.bytes += n * int64(x.dtype.Size())
	if have := jit.HostMemory(); have > 0 && b.bytes > have {
		return nil, fmt.Errorf("%s is too large: the arguments take %.0f GB, and this machine has %.0f GB", x, float64(b.bytes)/1e9, float64(have)/1e9)
	}
	if a != nil {
		x.data = a.generator.generate(a.parameters, x.dtype, n, b.seed, path)
		return x, nil
	}
	name, parameters := usual(x.dtype)
	x.data = generators[name].generate(parameters, x.dtype, n, b.seed, path)
	b.note("%s is random (%s, seed %d)", x, name, b.seed)
	return x, nil
}

// elements counts an array's elements, within what this machine could hold.
func elements(x *array) (int64, error) {
	const most = 1 << 40
	n := int64(1)
	for _, d := range x.shape {
		if d != 0 && n > most/d {
			return 0, fmt.Errorf("%s is too large: more than 2^40 elements", x)
		}
		n *= d
	}
	return n, nil
}

// upload puts an input on a device. What the kernel may write is a copy, so
// that the input stays as it is.
func (v *input) upload(d jit.Device) (jit.Value, error) {
	switch {
	case v.array != nil:
		data := v.array.data
		if v.mode != lang.In {
			data = slices.Clone(data)
		}
		m, err := jit.Upload(d, data, v.array.dtype.Size())
		if err != nil {
			return jit.Value{}, fmt.Errorf("%s: %w", v.array, err)
		}
		return jit.TensorValue(&jit.Tensor{DType: v.array.dtype, Shape: v.array.shape, Memory: m}), nil
	case v.scalar != nil:
		return jit.Value{Scalar: v.scalar}, nil
	}
	out := jit.Value{Elems: []jit.Value{}}
	for _, e := range v.elems {
		u, err := e.upload(d)
		if err != nil {
			return jit.Value{}, err
		}
		out.Elems = append(out.Elems, u)
	}
	return out, nil
}

// arrays lists the arrays inside.
func (v *input) arrays() []*input {
	if v.array != nil {
		return []*input{v}
	}
	var all []*input
	for _, e := range v.elems {
		all = append(all, e.arrays()...)
	}
	return all
}
