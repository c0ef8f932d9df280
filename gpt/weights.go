package gpt

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

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

// each visits the tensors of a parameter with their place, as in "w.blocks[0].fc_w", and the name
// that @name gives them, "" for none, where `{i}` is the index in the array around them. It gives the value
// whose tensors are those that visit gives.
func (f *filler) each(path string, t typed.GType, visit visitor) (jit.Value, error) {
	return f.eachWithin(path, t, "", 0, visit)
}

type visitor func(path string, t typed.GType, name string) (jit.Value, error)

func (f *filler) eachWithin(path string, t typed.GType, name string, index int, visit visitor) (jit.Value, error) {
	v := jit.Value{Elems: []jit.Value{}}
	add := func(path string, t typed.GType, name string, index int) error {
		e, err := f.eachWithin(path, t, name, index, visit)
		v.Elems = append(v.Elems, e)
		return err
	}
	switch t.Kind {
	case typed.GTensor:
		return visit(path, t, strings.ReplaceAll(name, "{i}", fmt.Sprint(index)))
	case typed.GStruct:
		for _, field := range t.Fields {
			if err := add(path+"."+field.Name, field.Type, field.Bind, index); err != nil {
				return v, err
			}
		}
		return v, nil
	case typed.GArray:
		n, err := f.eval(t.Len)
		if err != nil {
			return v, fmt.Errorf("the length %s of %s: %w: name it in @config", t.Len, path, err)
		}
		for i := range n {
			if err := add(fmt.Sprintf("%s[%d]", path, i), *t.Elem, name, int(i)); err != nil {
				return v, err
			}
		}
		return v, nil
	}
	return v, fmt.Errorf("%s: weights and state are tensors, structs and arrays of structs", path)
}

// check compares what a parameter asks for with the checkpoint's header, before any memory is taken.
func (f *filler) check(path string, t typed.GType) error {
	_, err := f.each(path, t, func(path string, t typed.GType, name string) (jit.Value, error) {
		if name == "" {
			return jit.Value{}, fmt.Errorf("%s has no @name: which tensor of the checkpoint is it?", path)
		}
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
	total := f.weightBytes()
	done := int64(0)
	f.report(done, total)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, w := range tensors {
		g.Go(func() error {
			if failed[i] = f.loadOne(w, &device); failed[i] == nil {
				device.Lock()
				defer device.Unlock()
				done += f.bytes(w)
				f.report(done, total)
			}
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

// report says how many bytes of all are loaded.
func (f *filler) report(done, total int64) {
	if f.ckpt.Loading != nil {
		f.ckpt.Loading(done, total)
	}
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
func (f *filler) weights(path string, t typed.GType) (jit.Value, error) {
	return f.each(path, t, func(_ string, t typed.GType, name string) (jit.Value, error) {
		src, err := f.ckpt.find(name)
		return jit.TensorValue(f.ready[wantedTensor{src.Name, f.resolve(t.DType)}]), err
	})
}

// sizes evaluates a shape as far as the dimensions are known.
func (f *filler) sizes(sizes []size.Size) (shape []int64, exact []bool) {
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
