package gpt

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// filler makes the values of a graph's parameters from a checkpoint.
type filler struct {
	ckpt   *Checkpoint
	device jit.Device
	// dtype is what the weights are converted to.
	dtype lang.DType
	// dims are the dimensions that are known by name.
	dims map[string]int64
}

func (f *filler) eval(s size.Size) (int64, error) {
	return s.Eval(func(sym *size.Symbol) (int64, bool) {
		n, ok := f.dims[sym.Name]
		return n, ok
	})
}

func (f *filler) resolve(d typed.DType) lang.DType {
	if d.Param != nil {
		return f.dtype
	}
	return d.Of
}

// weights fills a struct of weights: each field with @name from the checkpoint's
// tensor of that name, with the index of the enclosing array for `{i}`.
func (f *filler) weights(path string, t typed.GType, bind string, index int) (jit.Value, error) {
	switch t.Kind {
	case typed.GTensor:
		if bind == "" {
			return jit.Value{}, fmt.Errorf("%s has no @name: which tensor of the checkpoint is it?", path)
		}
		return f.tensor(path, t, strings.ReplaceAll(bind, "{i}", fmt.Sprint(index)))
	case typed.GStruct:
		v := jit.Value{Elems: []jit.Value{}}
		for _, field := range t.Fields {
			e, err := f.weights(path+"."+field.Name, field.Type, field.Bind, index)
			if err != nil {
				return jit.Value{}, err
			}
			v.Elems = append(v.Elems, e)
		}
		return v, nil
	case typed.GArray:
		n, err := f.eval(t.Len)
		if err != nil {
			return jit.Value{}, fmt.Errorf("the length %s of %s: %w: name it in @config", t.Len, path, err)
		}
		v := jit.Value{Elems: []jit.Value{}}
		for i := range n {
			e, err := f.weights(fmt.Sprintf("%s[%d]", path, i), *t.Elem, bind, int(i))
			if err != nil {
				return jit.Value{}, err
			}
			v.Elems = append(v.Elems, e)
		}
		return v, nil
	}
	return jit.Value{}, fmt.Errorf("%s: weights are tensors, structs and arrays of structs", path)
}

// find looks a tensor up by its name, alone or behind the prefix that some exports put before it.
func (f *filler) find(name string) (safetensors.Tensor, error) {
	if t, ok := f.ckpt.Tensors.Lookup("transformer." + name); ok {
		return t, nil
	}
	return f.ckpt.Tensors.Tensor(name)
}

func (f *filler) tensor(path string, t typed.GType, name string) (jit.Value, error) {
	src, err := f.find(name)
	if err != nil {
		return jit.Value{}, fmt.Errorf("%w (for %s)", err, path)
	}
	shape := make([]int64, len(src.Shape))
	for i, n := range src.Shape {
		shape[i] = int64(n)
	}
	want, exact := f.wanted(t.Shape)
	bad := len(want) != len(shape)
	for i := range want {
		bad = bad || exact[i] && want[i] != shape[i]
	}
	if bad {
		return jit.Value{}, fmt.Errorf("%s: tensor %q of %s has the shape %v and must have %s", path, name, f.ckpt.Tensors.Name(), src.Shape, f.describe(t.Shape))
	}
	dtype := f.resolve(t.DType)
	data, err := convert(src, dtype)
	if err != nil {
		return jit.Value{}, fmt.Errorf("%s: %w", path, err)
	}
	m, err := jit.Upload(f.device, data, dtype.Size())
	if err != nil {
		return jit.Value{}, fmt.Errorf("%s: %w", path, err)
	}
	return jit.TensorValue(&jit.Tensor{DType: dtype, Shape: shape, Memory: m}), nil
}

// wanted evaluates a shape as far as the dimensions are known.
func (f *filler) wanted(sizes []size.Size) (shape []int64, exact []bool) {
	for _, s := range sizes {
		n, err := f.eval(s)
		shape, exact = append(shape, n), append(exact, err == nil)
	}
	return shape, exact
}

func (f *filler) describe(sizes []size.Size) string {
	parts := make([]string, len(sizes))
	for i, s := range sizes {
		parts[i] = s.String()
		if n, err := f.eval(s); err == nil && parts[i] != fmt.Sprint(n) {
			parts[i] = fmt.Sprintf("%s = %d", parts[i], n)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// state makes the zeroed tensors of a struct that the graph keeps between runs: the KV cache.
func (f *filler) state(path string, t typed.GType) (jit.Value, error) {
	switch t.Kind {
	case typed.GTensor:
		tensor := &jit.Tensor{DType: f.resolve(t.DType)}
		for _, s := range t.Shape {
			n, err := f.eval(s)
			if err != nil {
				return jit.Value{}, fmt.Errorf("the size %s in %s: %w: name it in @config", s, path, err)
			}
			tensor.Shape = append(tensor.Shape, n)
		}
		m, err := f.device.Alloc(tensor.Bytes())
		if err != nil {
			return jit.Value{}, fmt.Errorf("%s: %w", path, err)
		}
		tensor.Memory = m
		return jit.TensorValue(tensor), f.device.Write(m, 0, make([]byte, tensor.Bytes()))
	case typed.GStruct:
		v := jit.Value{Elems: []jit.Value{}}
		for _, field := range t.Fields {
			e, err := f.state(path+"."+field.Name, field.Type)
			if err != nil {
				return jit.Value{}, err
			}
			v.Elems = append(v.Elems, e)
		}
		return v, nil
	case typed.GArray:
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

// convert gives a tensor's elements in another float type; in its own type the file's memory itself.
func convert(t safetensors.Tensor, to lang.DType) ([]byte, error) {
	if t.DType == to {
		return t.Data, nil
	}
	var values []float32
	if t.DType == lang.BF16 {
		// By far the most common, and a shift.
		values = make([]float32, len(t.Data)/2)
		for i := range values {
			values[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.Data[2*i:])) << 16)
		}
	} else {
		var err error
		if values, err = t.Float32s(); err != nil {
			return nil, err
		}
	}
	if to == lang.F32 {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values)), nil
	}
	var bits func(float32) uint16
	switch to {
	case lang.F16:
		bits = lang.F16Bits
	case lang.BF16:
		bits = lang.BF16Bits
	default:
		return nil, fmt.Errorf("tensor %q: cannot compute in %s: use f32, bf16 or f16", t.Name, to)
	}
	out := make([]byte, 2*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint16(out[2*i:], bits(v))
	}
	return out, nil
}
