package graph

import (
	"fmt"
	"maps"

	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/compile"
	"tilec/jit/misuse"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// BindSizes binds a graph with no arguments at hand, for tools that look at its launches: sizes, element types and constants are
// those of the options, by name, or of its @sizes; tensors are contiguous, and scalars 0. What it gives is not to be run.
func BindSizes(env *compile.Compiler, g *typed.Graph, opts Options) (_ *Bound, err error) {
	defer bug.Catch(&err, "bind")
	if g == nil || g.Decl == nil {
		return nil, misuse.Unset("BindSizes", "the graph is nothing that the checker made")
	}
	of := signature{"graph", g.Name, g.Decl.Name.Span(), g.Consts, g.Dims, g.SizeHints, g.TypeParams, g.TypeHints, g.Params}
	m, args, err := of.arguments(env, opts)
	if err != nil {
		return nil, err
	}
	opts.Dims, opts.Types = maps.Clone(opts.Dims), maps.Clone(opts.Types)
	if opts.Dims == nil {
		opts.Dims = map[string]int64{}
	}
	if opts.Types == nil {
		opts.Types = map[string]lang.DType{}
	}
	for d, n := range m.dims {
		opts.Dims[d.Name] = n
	}
	for p, d := range m.types {
		opts.Types[p.Name] = d
	}
	return Bind(env, g, args, opts)
}

// BindKernelSizes is BindSizes for one kernel; params are its parameters as a graph's.
func BindKernelSizes(env *compile.Compiler, k *typed.Kernel, params []*typed.GParam, opts Options) (_ *Bound, err error) {
	defer bug.Catch(&err, "bind")
	if k == nil || k.Decl == nil {
		return nil, misuse.Unset("BindKernelSizes", "the kernel is nothing that the checker made")
	}
	of := signature{"kernel", k.Name, k.Decl.Name.Span(), k.Consts, k.Dims, k.SizeHints, k.TypeParams, k.TypeHints, params}
	_, args, err := of.arguments(env, opts)
	if err != nil {
		return nil, err
	}
	return BindKernel(env, k, params, args, opts)
}

// signature is what there is to give of a graph or of a kernel, as what says which, and what it says of that itself.
type signature struct {
	what, name string
	at         lang.Span
	consts     []*size.Symbol
	dims       []*size.Symbol
	sizes      map[*size.Symbol]int64
	types      []*typed.TypeParam
	hints      map[*typed.TypeParam]lang.DType
	params     []*typed.GParam
}

// arguments makes arguments of the sizes and types that are given or hinted. What made them knows these.
func (o *signature) arguments(env *compile.Compiler, opts Options) (*maker, []tensor.Value, error) {
	if err := opts.Check(o.name, o.consts, o.types); err != nil {
		return nil, nil, err
	}
	given := newBindings(o.name)
	if err := given.constants(o.consts, opts.constants(o.consts), o.at); err != nil {
		return nil, nil, err
	}
	for _, d := range o.dims {
		n, ok := opts.Dims[d.Name]
		if !ok {
			n, ok = o.sizes[d]
		}
		if !ok {
			return nil, nil, spec.Errorf(o.at, lang.ErrArgMissing, "the size of dimension %s of %s is not known: give it, as in %s=1024, or write @sizes(%s = 1024) above the %s", d.Name, o.name, d.Name, d.Name, o.what)
		}
		given.dims[d] = n
	}
	for _, p := range o.types {
		d, ok := opts.Types[p.Name]
		if !ok {
			d, ok = o.hints[p]
		}
		if !ok {
			return nil, nil, spec.Errorf(o.at, lang.ErrArgMissing, "element type %s of %s is not known: give it, as in %s=f32, or write @sizes(%s = f32) above the %s", p.Name, o.name, p.Name, p.Name, o.what)
		}
		given.types[p] = d
	}
	m := &maker{env: env, bindings: given, at: o.at}
	var args []tensor.Value
	for _, p := range o.params {
		v, err := m.value(p.Name, p.Type)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, v)
	}
	return m, args, nil
}

// maker makes arguments of the sizes that are given. Their memory is nowhere.
type maker struct {
	env *compile.Compiler
	*bindings
	at lang.Span
}

func (m *maker) value(name string, t typed.GType) (tensor.Value, error) {
	out := tensor.Value{Elems: []tensor.Value{}}
	add := func(name string, t typed.GType) error {
		v, err := m.value(name, t)
		out.Elems = append(out.Elems, v)
		return err
	}
	switch t.Kind {
	case typed.GTensor:
		shape, err := m.shape(name, t.Shape, m.at)
		if err != nil {
			return out, err
		}
		d := t.DType.Resolve(m.types)
		memory := backend.Promised(m.env.Device, 0, max(1, d.Bytes(tensor.Elements(shape))))
		return tensor.TensorValue(&tensor.Tensor{DType: d, Shape: shape, Memory: memory}), nil
	case typed.GScalar:
		return tensor.Value{Scalar: &lang.Literal{DType: t.DType.Resolve(m.types)}}, nil
	case typed.GStruct:
		for _, f := range t.Fields {
			if err := add(name+"."+f.Name, f.Type); err != nil {
				return out, err
			}
		}
	case typed.GArray:
		n, err := m.shape(name, []size.Size{t.Len}, m.at)
		if err != nil {
			return out, err
		}
		for i := range n[0] {
			if err := add(fmt.Sprintf("%s[%d]", name, i), *t.Elem); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}
