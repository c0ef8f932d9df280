package graph

import (
	"fmt"
	"maps"

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
	if err := opts.Check(g.Name, g.Consts, g.TypeParams); err != nil {
		return nil, err
	}
	at := g.Decl.Name.Span()
	given := newBindings(g.Name)
	if err := given.constants(g.Consts, opts.constants(g.Consts), at); err != nil {
		return nil, err
	}
	for _, d := range g.Dims {
		n, ok := opts.Dims[d.Name]
		if !ok {
			n, ok = g.SizeHints[d]
		}
		if !ok {
			return nil, spec.Errorf(at, lang.ErrArgMissing, "the size of dimension %s of %s is not known: give it, as in %s=1024, or write @sizes(%s = 1024) above the graph", d.Name, g.Name, d.Name, d.Name)
		}
		given.dims[d] = n
	}
	for _, p := range g.TypeParams {
		d, ok := opts.Types[p.Name]
		if !ok {
			d, ok = g.TypeHints[p]
		}
		if !ok {
			return nil, spec.Errorf(at, lang.ErrArgMissing, "element type %s of %s is not known: give it, as in %s=f32, or write @sizes(%s = f32) above the graph", p.Name, g.Name, p.Name, p.Name)
		}
		given.types[p] = d
	}
	m := &maker{env: env, bindings: given, at: at}
	defer m.free()
	var args []tensor.Value
	for _, p := range g.Params {
		v, err := m.value(p.Name, p.Type)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	opts.Dims, opts.Types = maps.Clone(opts.Dims), maps.Clone(opts.Types)
	if opts.Dims == nil {
		opts.Dims = map[string]int64{}
	}
	if opts.Types == nil {
		opts.Types = map[string]lang.DType{}
	}
	for d, n := range given.dims {
		opts.Dims[d.Name] = n
	}
	for p, d := range given.types {
		opts.Types[p.Name] = d
	}
	return Bind(env, g, args, opts)
}

// maker makes arguments of the sizes that are given.
type maker struct {
	env *compile.Compiler
	*bindings
	at   lang.Span
	made []*tensor.Tensor
}

func (m *maker) free() {
	for _, t := range m.made {
		m.env.Device.Free(t.Memory)
	}
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
		memory, err := m.env.Device.Alloc(max(1, d.Bytes(tensor.Elements(shape))))
		if err != nil {
			return out, err
		}
		made := &tensor.Tensor{DType: d, Shape: shape, Memory: memory}
		m.made = append(m.made, made)
		return tensor.TensorValue(made), nil
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
