package gpt

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck"
)

// filler makes the values of a graph's parameters from a checkpoint.
type filler struct {
	ckpt   *Checkpoint
	device jit.Device
	// dtype is what the weights are converted to.
	dtype lang.DType
	// dims are the dimensions that are known by name.
	dims map[string]int64
	// wanted are the tensors that the graph asks for, in its order, once checked.
	wanted []wantedTensor
	// ready are the weights on the device: two parameters may be one tensor.
	ready map[wantedTensor]*jit.Tensor
	// memory is what was taken on the device.
	memory []*jit.Memory
}

// wantedTensor is a tensor of the checkpoint, and the type that its elements get.
type wantedTensor struct {
	name  string
	dtype lang.DType
}

// alloc takes memory that the model holds.
func (f *filler) alloc(n int64) (*jit.Memory, error) {
	m, err := f.device.Alloc(n)
	if err == nil {
		f.memory = append(f.memory, m)
	}
	return m, err
}

// free gives memory back.
func (f *filler) free(memory *[]*jit.Memory) {
	for _, m := range *memory {
		f.device.Free(m)
	}
	*memory = nil
}

func (f *filler) eval(s typecheck.Size) (int64, error) {
	return s.Eval(func(sym *typecheck.Symbol) (int64, bool) {
		n, ok := f.dims[sym.Name]
		return n, ok
	})
}

func (f *filler) resolve(d typecheck.DType) lang.DType {
	if d.Param != nil {
		return f.dtype
	}
	return d.Of
}

// each visits the tensors of a struct of weights: each field with @name is the
// checkpoint's tensor of that name, with the index of the enclosing array for `{i}`.
// It gives the value of which visit gives the tensors.
func (f *filler) each(path string, t typecheck.GType, bind string, index int, visit func(path string, t typecheck.GType, name string) (jit.Value, error)) (jit.Value, error) {
	switch t.Kind {
	case typecheck.GTensor:
		if bind == "" {
			return jit.Value{}, fmt.Errorf("%s has no @name: which tensor of the checkpoint is it?", path)
		}
		return visit(path, t, strings.ReplaceAll(bind, "{i}", fmt.Sprint(index)))
	case typecheck.GStruct:
		v := jit.Value{Elems: []jit.Value{}}
		for _, field := range t.Fields {
			e, err := f.each(path+"."+field.Name, field.Type, field.Bind, index, visit)
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
			e, err := f.each(fmt.Sprintf("%s[%d]", path, i), *t.Elem, bind, int(i), visit)
			if err != nil {
				return jit.Value{}, err
			}
			v.Elems = append(v.Elems, e)
		}
		return v, nil
	}
	return jit.Value{}, fmt.Errorf("%s: weights are tensors, structs and arrays of structs", path)
}

// check compares what a parameter asks for with the checkpoint's header, before any memory is taken.
func (f *filler) check(path string, t typecheck.GType) error {
	_, err := f.each(path, t, "", 0, func(path string, t typecheck.GType, name string) (jit.Value, error) {
		src, err := f.ckpt.find(name)
		if err != nil {
			return jit.Value{}, fmt.Errorf("%w (for %s)", err, path)
		}
		want, exact := f.sizes(t.Shape)
		bad := len(want) != len(src.Shape)
		for i := 0; i < len(want) && !bad; i++ {
			bad = exact[i] && want[i] != int64(src.Shape[i])
		}
		if bad {
			return jit.Value{}, fmt.Errorf("%s: tensor %q of %s has the shape %v and must have %s", path, name, f.ckpt.Tensors.Name(), src.Shape, f.describe(t.Shape))
		}
		f.wanted = append(f.wanted, wantedTensor{src.Name, f.resolve(t.DType)})
		return jit.Value{}, nil
	})
	return err
}

// checkUnused refuses tensors of the checkpoint that the graph does not ask for: a network without
// some of its weights computes something, and nobody would notice.
func (f *filler) checkUnused(graph string) error {
	used := map[string]bool{}
	for _, w := range f.wanted {
		used[w.name] = true
	}
	var unused []string
	for _, t := range f.ckpt.Tensors.Tensors() {
		if used[t.Name] || buffers.MatchString(t.Name) {
			continue
		}
		if strings.TrimPrefix(t.Name, prefix) == head && f.ckpt.Config.TieWordEmbeddings {
			if err := f.ckpt.checkTied(t.Name); err != nil {
				return err
			}
			continue
		}
		unused = append(unused, t.Name)
	}
	if len(unused) == 0 {
		return nil
	}
	const most = 3
	names := strings.Join(unused[:min(most, len(unused))], ", ")
	if n := len(unused) - most; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%s has tensors that graph %s leaves out: %s: is n_layer = %d of config.json right, and is the network the graph's?", f.ckpt.Tensors.Name(), graph, names, f.ckpt.Config.NLayer)
}

// load puts the tensors that the graph asks for on the device. Reading and converting them
// takes the most time of a start, so that it is done for several at once.
func (f *filler) load() error {
	f.ready = map[wantedTensor]*jit.Tensor{}
	var tensors []wantedTensor
	for _, w := range f.wanted {
		if _, ok := f.ready[w]; !ok {
			f.ready[w] = nil
			tensors = append(tensors, w)
		}
	}
	failed := make([]error, len(tensors))
	var device sync.Mutex
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, w := range tensors {
		g.Go(func() error {
			failed[i] = f.loadOne(w, &device)
			return nil
		})
	}
	_ = g.Wait() // the errors are in failed: the first in order, whichever came first
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// loadOne puts one tensor on the device, of which one use at a time is made.
func (f *filler) loadOne(w wantedTensor, device *sync.Mutex) error {
	src, err := f.ckpt.Tensors.Tensor(w.name)
	if err != nil {
		return err
	}
	data, err := convert(src, w.dtype)
	if err != nil {
		return fmt.Errorf("%s: %w", f.ckpt.Tensors.Name(), err)
	}
	device.Lock()
	defer device.Unlock()
	m, err := jit.Upload(f.device, data, w.dtype.Size())
	if err != nil {
		return fmt.Errorf("tensor %q: %w", w.name, err)
	}
	f.memory = append(f.memory, m)
	t := &jit.Tensor{DType: w.dtype, Memory: m}
	for _, n := range src.Shape {
		t.Shape = append(t.Shape, int64(n))
	}
	f.ready[w] = t
	return nil
}

// weights gives the weights of a parameter, which are on the device.
func (f *filler) weights(path string, t typecheck.GType) (jit.Value, error) {
	return f.each(path, t, "", 0, func(_ string, t typecheck.GType, name string) (jit.Value, error) {
		src, err := f.ckpt.find(name)
		return jit.TensorValue(f.ready[wantedTensor{src.Name, f.resolve(t.DType)}]), err
	})
}

// sizes evaluates a shape as far as the dimensions are known.
func (f *filler) sizes(sizes []typecheck.Size) (shape []int64, exact []bool) {
	for _, s := range sizes {
		n, err := f.eval(s)
		shape, exact = append(shape, n), append(exact, err == nil)
	}
	return shape, exact
}

func (f *filler) describe(sizes []typecheck.Size) string {
	parts := make([]string, len(sizes))
	for i, s := range sizes {
		parts[i] = s.String()
		if n, err := f.eval(s); err == nil && parts[i] != fmt.Sprint(n) {
			parts[i] = fmt.Sprintf("%s = %d", parts[i], n)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// convert gives a tensor's elements in another float type; in its own type the tensor's memory itself.
// A weight that is no number, or that the type cannot hold, is an error.
func convert(t safetensors.Tensor, to lang.DType) ([]byte, error) {
	if t.DType == to && finite(t) {
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
	refuse := func(i int) error {
		value := float64(values[i])
		if t.DType == lang.F64 {
			value = math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:]))
		}
		at := fmt.Sprintf("tensor %q: element %s is %g", t.Name, position(i, t.Shape), value)
		switch {
		case math.IsNaN(value) || math.IsInf(value, 0):
			return fmt.Errorf("%s, weights must be finite numbers: the checkpoint is damaged", at)
		case to == lang.F16:
			return fmt.Errorf("%s, which f16 cannot hold, at most 65504: use --dtype bf16 or f32", at)
		}
		return fmt.Errorf("%s, which %s cannot hold", at, to)
	}
	for i, v := range values {
		if v-v != 0 { // neither an infinity nor a NaN is 0 without itself
			return nil, refuse(i)
		}
	}
	if to == lang.F32 {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values)), nil
	}
	var bits func(float32) uint16
	infinity := uint16(0) // without its sign
	switch to {
	case lang.F16:
		bits, infinity = lang.F16Bits, 0x7c00
	case lang.BF16:
		bits, infinity = lang.BF16Bits, 0x7f80
	default:
		return nil, fmt.Errorf("tensor %q: cannot compute in %s: use f32, bf16 or f16", t.Name, to)
	}
	out := make([]byte, 2*len(values))
	for i, v := range values {
		b := bits(v)
		if b&0x7fff >= infinity {
			return nil, refuse(i)
		}
		binary.LittleEndian.PutUint16(out[2*i:], b)
	}
	return out, nil
}

// position is where element i of a shape is, as in "[3, 17]".
func position(i int, shape []int) string {
	at := make([]int64, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = int64(i % shape[d])
		i /= shape[d]
	}
	return jit.FormatShape(at)
}

// exponents are the bits of the float types' exponents, which are all ones in an infinity or a NaN.
var exponents = map[lang.DType]uint64{
	lang.F32: 0x7f800000, lang.BF16: 0x7f80, lang.F16: 0x7c00,
}

// finite reports that no element of a tensor is an infinity or a NaN.
func finite(t safetensors.Tensor) bool {
	mask, ok := exponents[t.DType]
	if !ok {
		return false // of other types the elements are looked at one by one
	}
	// A word has several elements. Adding the lowest bit of its exponent to an exponent
	// of ones carries into the sign's place, and no other sum does.
	bits := t.DType.Bits()
	each := ^uint64(0) / (1<<bits - 1) // a 1 in each element's lowest bit
	lowest, mask, signs := mask&-mask*each, mask*each, each<<(bits-1)
	data, found := t.Data, uint64(0)
	for ; len(data) >= 8; data = data[8:] {
		found |= binary.LittleEndian.Uint64(data)&mask + lowest
	}
	var rest [8]byte
	copy(rest[:], data)
	found |= binary.LittleEndian.Uint64(rest[:])&mask + lowest
	return found&signs == 0
}
