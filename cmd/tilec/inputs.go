package main

import (
	"fmt"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// input makes the value of a parameter, or of a part of one, as jit.Args takes it.
func (b *binding) input(path string, t typed.GType, p *typed.GParam) (any, error) {
	switch t.Kind {
	case typed.GTensor:
		x, err := b.tensor(path, t)
		if err != nil {
			return nil, err
		}
		return x.Array, nil
	case typed.GScalar:
		return b.scalar(path, t, p)
	case typed.GStruct:
		fields := jit.Args{}
		for _, f := range t.Fields {
			e, err := b.input(path+"."+f.Name, f.Type, p)
			if err != nil {
				return nil, err
			}
			fields[f.Name] = e
		}
		return fields, nil
	case typed.GArray:
		n, err := t.Len.Eval(b.value)
		if err != nil {
			return nil, fmt.Errorf("the length %s of %s: %w: give it, as in %s=2", t.Len, path, err, t.Len)
		}
		elems := []jit.Args{}
		for i := range n {
			e, err := b.input(fmt.Sprintf("%s[%d]", path, i), *t.Elem, p)
			if err != nil {
				return nil, err
			}
			elems = append(elems, e.(jit.Args)) // the elements of an array are structs
		}
		return elems, nil
	}
	return nil, fmt.Errorf("%s: no argument can have its type", path)
}

func (b *binding) scalar(path string, t typed.GType, p *typed.GParam) (any, error) {
	a := b.values[path]
	if a == nil {
		if p.Default == nil {
			return nil, fmt.Errorf("scalar %s: %s of %s is not given: add %s=...", path, t.DType, b.to.Name, path)
		}
		return *p.Default, nil
	}
	l, err := parseScalar(b.resolve(t.DType), a.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

func (b *binding) tensor(path string, t typed.GType) (*array, error) {
	x, a := b.arrays[path], b.values[path]
	if x == nil {
		x = &array{name: path, Array: &jit.Array{Shape: []int64{}}}
		for _, s := range t.Shape {
			n, err := s.Eval(b.value)
			if err != nil {
				return nil, fmt.Errorf("the size %s of %s in %s: %w: give it by name, or give %s with a shape", s, path, b.to.Name, err, path)
			}
			x.Shape = append(x.Shape, n)
		}
		if a != nil {
			x.DType = a.dtype
		}
	}
	if x.Data != nil {
		return x, nil
	}
	if x.DType == lang.Invalid {
		x.DType = b.resolve(t.DType)
	}
	n, err := elements(x)
	if err != nil {
		return nil, err
	}
	b.bytes += x.DType.Bytes(n)
	if have := jit.HostMemory(); have > 0 && b.bytes > have {
		return nil, fmt.Errorf("%s is too large: the arguments take %.0f GB, and this machine has %.0f GB", x, float64(b.bytes)/1e9, float64(have)/1e9)
	}
	if a != nil {
		x.Data = a.generator.generate(a.parameters, x.DType, n, b.seed, path)
		if a.generator == &listed && !x.DType.IsFloat() {
			for i, v := range a.parameters {
				if x.DType.ElementAt(x.Data, int64(i)) != v {
					return nil, fmt.Errorf("%s: %v is no %s", path, v, x.DType)
				}
			}
		}
		return x, nil
	}
	name, parameters := usual(x.DType)
	x.Data = generators[name].generate(parameters, x.DType, n, b.seed, path)
	b.note("%s is random (%s, seed %d)", x, name, b.seed)
	return x, nil
}

// elements counts an array's elements, within what this machine could hold.
func elements(x *array) (int64, error) {
	const most = 1 << 40
	n := int64(1)
	for _, d := range x.Shape {
		if d != 0 && n > most/d {
			return 0, fmt.Errorf("%s is too large: more than 2^40 elements", x)
		}
		n *= d
	}
	return n, nil
}
