package gpt

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

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
	// types are what the type parameters of the graph stand for.
	types map[*typed.TypeParam]lang.DType
	// dims are the dimensions that are known by name.
	dims map[string]int64
	// wanted are the tensors that the graph asks for, in its order, once checked.
	wanted []wantedTensor
	// stacks are the wanted tensors that are several of the checkpoint, by their names.
	stacks map[string]stack
	// tied are tensors of the checkpoint that the graph has no use for, since they are others that it asks for.
	tied map[string]string
	// ready are the weights on the device: two parameters may be one tensor.
	ready map[wantedTensor]*jit.Tensor
	// memory is what was taken on the device.
	memory []*jit.Memory
}

// wantedTensor is a tensor of the checkpoint, and the type that its elements get.
type wantedTensor struct {
	name  string
	dtype lang.DType
	// transposed is a matrix whose rows are the columns of the checkpoint's.
	transposed bool
	// scaled is a tensor whose scales are made when it is loaded, one for each index of its first dimension; isScale is
	// that of those scales, which have the name of what they scale.
	scaled, isScale bool
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
		return f.types[d.Param]
	}
	return d.Of
}

// place is a tensor of a parameter: where it is, as in "w.blocks[0].fc_w", and what @name and @scale say of it.
type place struct {
	path string
	t    typed.GType
	// names are those of @name, of each tensor that the field is made of, with the index of the array around in the place of `{i}`; none without it.
	names [][]string
	// transposed: the tensor has the checkpoint's two dimensions in the other order.
	transposed bool
	// scales are the names of the tensors that scale this one, by a field with @scale; none where nothing does.
	scales [][]string
	// of is what this one scales; nil for a tensor that is no scale.
	of *place
}

// visitor looks at a tensor of a parameter and gives the value that it is to have.
type visitor func(place) (jit.Value, error)

// each visits the tensors of a parameter. It gives the value whose tensors are those that visit gives.
func (f *filler) each(path string, t typed.GType, visit visitor) (jit.Value, error) {
	return f.eachWithin(place{path: path, t: t}, 0, visit)
}

func (f *filler) eachWithin(p place, index int, visit visitor) (jit.Value, error) {
	v := jit.Value{Elems: []jit.Value{}}
	add := func(p place, index int) error {
		e, err := f.eachWithin(p, index, visit)
		v.Elems = append(v.Elems, e)
		return err
	}
	switch p.t.Kind {
	case typed.GTensor:
		return visit(p)
	case typed.GStruct:
		places := fieldPlaces(p, index)
		for _, field := range places {
			if err := add(field, index); err != nil {
				return v, err
			}
		}
		return v, nil
	case typed.GArray:
		n, err := f.eval(p.t.Len)
		if err != nil {
			return v, fmt.Errorf("the length %s of %s: %w: name it in @config", p.t.Len, p.path, err)
		}
		for i := range n {
			if err := add(place{path: fmt.Sprintf("%s[%d]", p.path, i), t: *p.t.Elem, names: p.names}, int(i)); err != nil {
				return v, err
			}
		}
		return v, nil
	}
	return v, fmt.Errorf("%s: weights and state are tensors, structs and arrays of structs", p.path)
}

// fieldPlaces are the fields of a struct, each with what scales it or what it scales. A scale without a name has that of what it scales,
// with `_scale` behind it, as checkpoints have.
func fieldPlaces(p place, index int) []place {
	places := make([]place, len(p.t.Fields))
	for i, field := range p.t.Fields {
		places[i] = place{path: p.path + "." + field.Name, t: field.Type, transposed: field.Transposed}
		for _, names := range field.Names {
			var of []string
			for _, name := range names {
				of = append(of, strings.ReplaceAll(name, "{i}", fmt.Sprint(index)))
			}
			places[i].names = append(places[i].names, of)
		}
	}
	for i, field := range p.t.Fields {
		for j, of := range p.t.Fields {
			if field.ScaleOf != of.Name {
				continue
			}
			if field.Names == nil {
				for _, names := range places[j].names {
					places[i].names = append(places[i].names, []string{names[0] + "_scale"})
				}
			}
			scaled := places[j]
			places[i].of, places[j].scales = &scaled, places[i].names
		}
	}
	return places
}

// want finds the tensor of the checkpoint that a field is made from.
func (f *filler) want(p place) (safetensors.Tensor, wantedTensor, error) {
	if p.of != nil {
		own, found, err := f.scaleSource(p.names, p.of.names)
		if found || err != nil {
			return own, wantedTensor{name: own.Name, dtype: f.resolve(p.t.DType), isScale: true}, err
		}
		src, err := f.source(p.of.names)
		return src, wantedTensor{name: src.Name, dtype: f.resolve(p.of.t.DType), transposed: p.of.transposed, isScale: true, scaled: true}, err
	}
	src, err := f.source(p.names)
	w := wantedTensor{name: src.Name, dtype: f.resolve(p.t.DType), transposed: p.transposed}
	if len(p.scales) > 0 && err == nil {
		var has bool
		_, has, err = f.scaleSource(p.scales, p.names)
		w.scaled = !has
	}
	return src, w, err
}

// check compares what a parameter asks for with the checkpoint's header, before any memory is taken.
func (f *filler) check(path string, t typed.GType) error {
	_, err := f.each(path, t, func(p place) (jit.Value, error) {
		if len(p.names) == 0 {
			return jit.Value{}, fmt.Errorf("%s has no @name: which tensor of the checkpoint is it?", p.path)
		}
		src, w, err := f.want(p)
		if err != nil {
			return jit.Value{}, fmt.Errorf("%w (for %s)", err, p.path)
		}
		if w.isScale && w.scaled {
			return jit.Value{}, nil // made with what it scales
		}
		if own, ok := f.ckpt.lookup(p.names[0][0]); ok && len(p.names) == 1 && own.Name != src.Name {
			f.tied[own.Name] = src.Name
		}
		if err := f.checkShape(p, src, w); err != nil {
			return jit.Value{}, err
		}
		if stored := src.DType; stored.Bits() == 8 && !w.isScale {
			if w.dtype.Bits() == 8 && w.dtype != stored || len(p.scales) == 0 || w.scaled {
				return jit.Value{}, f.misfit(p, src, w)
			}
		} else if w.dtype.Bits() == 8 && !w.scaled {
			return jit.Value{}, f.misfit(p, src, w)
		}
		f.wanted = append(f.wanted, w)
		return jit.Value{}, nil
	})
	return err
}

// misfit says why weights in 8 bits cannot be what the program asks for.
func (f *filler) misfit(p place, src safetensors.Tensor, w wantedTensor) error {
	at := fmt.Sprintf("%s: tensor %q of %s is %s", p.path, src.Name, f.ckpt.Tensors.Name(), src.DType)
	switch {
	case len(p.scales) == 0:
		return fmt.Errorf("%s, to be %s, and the program has no scales for it: add a field `s: f32[...] @scale(...)`", at, w.dtype)
	case w.scaled:
		return fmt.Errorf("%s, and the file has no tensor %q of its scales", at, firstNames(p.scales))
	case src.DType.Bits() == 8:
		return fmt.Errorf("%s, and cannot be %s: leave --weights out, or give a type of 16 bits or more", at, w.dtype)
	}
	return fmt.Errorf("%s, and the file has scales for it, %q: give --weights a type of 16 bits or more", at, firstNames(p.scales))
}

// checkShape compares the shape of a tensor with that of its field. Scales of a checkpoint may have dimensions of 1 behind
// those of the field, or be one for all.
func (f *filler) checkShape(p place, src safetensors.Tensor, w wantedTensor) error {
	want, exact := f.sizes(p.t.Shape)
	have := slices.Clone(src.Shape)
	if w.transposed {
		slices.Reverse(want)
		slices.Reverse(exact)
	}
	if w.isScale {
		for len(have) > len(want) && have[len(have)-1] == 1 {
			have = have[:len(have)-1]
		}
		if len(have) == 0 || len(have) == 1 && have[0] == 1 {
			return nil
		}
	}
	bad := len(want) != len(have)
	for i := 0; i < len(want) && !bad; i++ {
		bad = exact[i] && want[i] != int64(have[i])
	}
	if bad {
		return fmt.Errorf("%s: tensor %q of %s has the shape %v and must have %s", p.path, firstNames(p.names), f.ckpt.Tensors.Name(), src.Shape, f.describe(stored(p)))
	}
	return nil
}

// stored is the shape of the checkpoint's tensor for a place.
func stored(p place) []size.Size {
	shape := slices.Clone(p.t.Shape)
	if p.transposed {
		slices.Reverse(shape)
	}
	return shape
}

// checkUnused refuses tensors of the checkpoint that a graph does not ask for: a network without
// some of its weights computes something, and nobody would notice.
func (f *filler) checkUnused(g *typed.Graph) error {
	used := map[string]bool{}
	for _, w := range f.wanted {
		for _, name := range f.tensors(w.name) {
			used[name] = true
		}
	}
	var unused []string
	for _, t := range f.ckpt.Tensors.Tensors() {
		if used[t.Name] || buffers.MatchString(t.Name) {
			continue
		}
		if as := f.tied[t.Name]; as != "" {
			if err := f.ckpt.checkTied(t.Name, as); err != nil {
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
	return fmt.Errorf("%s has tensors that graph %s leaves out: %s: %sis the network the graph's?", f.ckpt.Tensors.Name(), g.Name, names, f.lengthsAsked(g))
}

// lengthsAsked asks whether config.json gives the right lengths of a graph's arrays: "is n_layer = 6 of config.json right, and ".
func (f *filler) lengthsAsked(g *typed.Graph) string {
	text := ""
	for _, p := range g.Params {
		p.Type.Walk(func(t typed.GType) {
			if t.Kind != typed.GArray || t.Len.Symbol() == nil {
				return
			}
			if row := g.ConfigRow(t.Len.Symbol().Name); row != nil {
				text += fmt.Sprintf("is %s = %d of config.json right, and ", row.Keys[0], f.dims[row.Name])
			}
		})
	}
	return text
}

// checkAll compares what a graph asks for with the checkpoint's header: all that can be seen to be wrong is said before any memory is taken.
func (f *filler) checkAll(g *typed.Graph) error {
	for _, p := range g.Params {
		if isWeights(p) {
			if err := f.check(p.Name, p.Type); err != nil {
				return fmt.Errorf("graph %s: %w", g.Name, err)
			}
		}
	}
	return f.checkUnused(g)
}

// isWeights reports a parameter that a checkpoint fills.
func isWeights(p *typed.GParam) bool { return p.Mode == lang.In && p.Type.Kind == typed.GStruct }

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
	src, err := f.read(w.name)
	if err != nil {
		return err
	}
	var data []byte
	var scales []float32
	switch {
	case w.scaled && w.dtype.Bits() == 8:
		if w.transposed {
			src, err = widenedTransposed(src)
		}
		if err == nil {
			data, scales, err = quantise(src, w.dtype)
		}
	case src.DType.Bits() == 8 && src.DType == w.dtype:
		if data = src.Data; src.DType.IsFloat() {
			_, err = convert(src, lang.F32) // which refuses what is no number
		}
	default:
		data, err = convert(src, w.dtype)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.ckpt.Tensors.Name(), err)
	}
	t := jit.Tensor{DType: w.dtype}
	for _, n := range src.Shape {
		t.Shape = append(t.Shape, int64(n))
	}
	if w.transposed && scales == nil {
		slices.Reverse(t.Shape)
		if f.device.Target().IsGPU() {
			data = safetensors.Transposed(data, src.Shape[0], src.Shape[1], w.dtype.Size())
		} else { // which reads the rows of the checkpoint as well, and its memory needs no copy
			t.Strides = []int64{1, t.Shape[0]}
		}
	}
	device.Lock()
	defer device.Unlock()
	if err := f.put(w, data, t); err != nil || !w.scaled {
		return err
	}
	if scales == nil { // of weights that need none
		for range t.Shape[0] {
			scales = append(scales, 1)
		}
	}
	w.isScale = true
	return f.put(w, jit.Bytes(scales), jit.Tensor{DType: lang.F32, Shape: t.Shape[:1]})
}

// put makes a tensor of the device, of these elements, ready to be an argument.
func (f *filler) put(w wantedTensor, data []byte, t jit.Tensor) (err error) {
	if t.Memory, err = jit.Upload(f.device, data, t.DType.Size()); err != nil {
		return fmt.Errorf("tensor %q: %w", w.name, err)
	}
	f.memory = append(f.memory, t.Memory)
	f.ready[w] = &t
	return nil
}

// weights gives the weights of a parameter, which are on the device.
func (f *filler) weights(path string, t typed.GType) (jit.Value, error) {
	return f.each(path, t, func(p place) (jit.Value, error) {
		_, w, err := f.want(p)
		if err != nil {
			return jit.Value{}, err
		}
		ready := f.ready[w]
		if w.isScale {
			ready, err = f.scaleLike(p, *ready)
		}
		return jit.TensorValue(ready), err
	})
}

// scaleLike gives scales the shape of their field; one for all is the same for each.
func (f *filler) scaleLike(p place, t jit.Tensor) (*jit.Tensor, error) {
	n := jit.Elements(t.Shape)
	t.Shape = nil
	for _, s := range p.t.Shape {
		d, err := f.eval(s)
		if err != nil {
			return nil, err
		}
		t.Shape = append(t.Shape, d)
	}
	if n == 1 {
		t.Strides = make([]int64, len(t.Shape))
	}
	return &t, nil
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
