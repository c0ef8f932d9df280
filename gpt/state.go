package gpt

import (
	"fmt"

	"tilec/jit"
	"tilec/typecheck"
)

// state makes the zeroed tensors of a struct that the graph keeps between runs: the KV cache.
func (f *filler) state(path string, t typecheck.GType) (jit.Value, error) {
	switch t.Kind {
	case typecheck.GTensor:
		tensor := &jit.Tensor{DType: f.resolve(t.DType)}
		for _, s := range t.Shape {
			n, err := f.eval(s)
			if err != nil {
				return jit.Value{}, fmt.Errorf("the size %s in %s: %w: name it in @config", s, path, err)
			}
			tensor.Shape = append(tensor.Shape, n)
		}
		m, err := f.alloc(tensor.Bytes())
		if err != nil {
			return jit.Value{}, fmt.Errorf("%s: %w", path, err)
		}
		tensor.Memory = m
		return jit.TensorValue(tensor), f.clear(m)
	case typecheck.GStruct:
		v := jit.Value{Elems: []jit.Value{}}
		for _, field := range t.Fields {
			e, err := f.state(path+"."+field.Name, field.Type)
			if err != nil {
				return jit.Value{}, err
			}
			v.Elems = append(v.Elems, e)
		}
		return v, nil
	case typecheck.GArray:
		n, err := f.eval(t.Len)
		if err != nil {
			return jit.Value{}, fmt.Errorf("the length %s of %s: %w: name it in @config", t.Len, path, err)
		}
		v := jit.Value{Elems: []jit.Value{}}
		for i := range n {
			e, err := f.state(fmt.Sprintf("%s[%d]", path, i), *t.Elem)
			if err != nil {
				return jit.Value{}, err
			}
			v.Elems = append(v.Elems, e)
		}
		return v, nil
	}
	return jit.Value{}, fmt.Errorf("%s: state is tensors, structs and arrays of structs", path)
}

// clear writes zeros over memory. The CPU's comes as zeros, and is left
// untouched: the system gives pages only to the part that a text reaches.
func (f *filler) clear(m *jit.Memory) error {
	if _, ok := f.device.(*jit.CPU); ok {
		return nil
	}
	zeros := make([]byte, min(m.Size, 1<<20))
	for at := int64(0); at < m.Size; at += int64(len(zeros)) {
		if err := f.device.Write(m, at, zeros[:min(int64(len(zeros)), m.Size-at)]); err != nil {
			return err
		}
	}
	return nil
}
