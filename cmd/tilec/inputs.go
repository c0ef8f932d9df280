package main

import (
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

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

// tensor is the array of a tensor, whose elements may be left for makeElements.
func (b *binding) tensor(path string, t typed.GType) (*array, error) {
	x, a := b.arrays[path], b.valueOf(path)
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
	g, name := (*generator)(nil), ""
	var parameters []float64
	if a != nil {
		g, parameters = a.generator, a.parameters
	} else {
		name, parameters = usual(x.DType)
		g = generators[name]
		b.note("%s is random (%s, seed %d)", x, name, b.seed)
	}
	if g == &listed && !x.DType.IsFloat() {
		x.Data = g.generate(parameters, x.DType, n, b.seed, path, &b.made)
		for i, v := range parameters {
			if x.DType.ElementAt(x.Data, int64(i)) != v {
				return nil, fmt.Errorf("%s: %v is no %s", path, v, x.DType)
			}
		}
		return x, nil
	}
	b.making = append(b.making, func() { x.Data = g.generate(parameters, x.DType, n, b.seed, path, &b.made) })
	b.elements += n
	return x, nil
}

// valueOf is the argument that gives a tensor its elements: the tensor's own, or that of a struct which holds the tensor; nil when there is none.
func (b *binding) valueOf(path string) *argument {
	for {
		if a := b.values[path]; a != nil {
			return a
		}
		end := strings.LastIndexAny(path, ".[")
		if end < 0 {
			return nil
		}
		path = path[:end]
	}
}

// makeElements makes the elements that tensor left, side by side: each tensor has random numbers of its own. They are made last,
// since what else is wrong with the arguments is to be told before so long a work.
func (b *binding) makeElements() {
	if b.working != nil {
		defer b.working(func() string {
			return fmt.Sprintf("making tensors: %.0f of %.0f million elements", float64(b.made.Load())/1e6, float64(b.elements)/1e6)
		})()
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, fill := range b.making {
		group.Go(func() error { fill(); return nil })
	}
	_ = group.Wait() // none of them fails
	b.making = nil
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
