package build

import (
	"fmt"
	"maps"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
)

// This file joins the tile IR of kernels that are launched as one.
//
// A kernel whose result another reads says what an element of the result is by its position: its statements, with the
// positions of its grid axes and of the axes of its store replaced by those at which the other kernel loads, give the value
// that the load would have given. Reductions over a whole axis are computed once, over an axis of their own; what depends on
// the position along a whole axis is computed again at the positions of the load, which may be those of a loop.
//
// A kernel that reads what another stores, and of one element of that makes one of its own, is the same the other way round:
// the positions of the store replace those of its load, and the value stored replaces the load.
//
// The value is rounded to the type of the tensor that is no longer there, as the store would have: a store takes a value of
// its tensor's type.

// Unfit says why kernels cannot be launched as one. It is no error of a program: they are launched one after the other then.
type Unfit struct{ Why string }

// Error is the reason.
func (u *Unfit) Error() string { return u.Why }

// unfit ends a fusion, and says why it cannot be.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func unfit(format string, args ...any) { panic(&Unfit{fmt.Sprintf(format, args...)}) }

// fuse joins the kernels that are fused into a specialisation with its IR, in order.
func fuse(s *spec.Spec, f *ir.Func, dims *spec.LaunchDims, target string) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Unfit:
			err = r
		case string: // the IR builder's: an operation that is of other axes than in its kernel
			err = &Unfit{r}
		default:
			panic(r)
		}
	}()
	before := *s
	for i := range s.Fused {
		fusion := &s.Fused[i]
		part, partDims, err := joined(fusion.Spec, target)
		if err != nil {
			return err
		}
		before.Fused = s.Fused[:i]
		j := &joining{Builder: ir.Builder{Func: f}, f: f, part: part, values: map[*ir.Value]*ir.Value{}, dims: map[*ir.Dim]*ir.Dim{},
			tensors: map[*ir.Tensor]*ir.Tensor{}, axes: map[*ir.Axis]*ir.Axis{}, at: map[*ir.Axis]*ir.Value{},
			spread: map[*ir.Axis][]*ir.Axis{}, groups: fusion.Groups, parts: fusion.Parts, expands: fusion.Expand, rest: fusion.Rest, along: fusion.Along, known: map[*ir.Tensor]*ir.Tensor{}, same: map[*ir.Tensor]*ir.Tensor{}, gone: map[*ir.Tensor]bool{}, renamed: map[string]string{}, name: fusion.Spec.Kernel.Name}
		j.into = tensorAt(f, before.Operands(), fusion.Into)
		j.from = tensorAt(part, fusion.Spec.Operands(), fusion.From)
		for _, place := range fusion.Flat {
			if j.flat == nil {
				j.flat = map[*ir.Tensor]bool{}
			}
			j.flat[tensorAt(part, fusion.Spec.Operands(), place)] = true
		}
		for _, x := range fusion.Separate {
			if j.several == nil {
				j.several = map[*ir.Tensor][][]int{}
			}
			j.several[tensorAt(f, before.Operands(), x.Place)] = x.Dims
		}
		for _, x := range fusion.Split {
			if j.split == nil {
				j.split = map[*ir.Tensor][][]int{}
			}
			j.split[tensorAt(part, fusion.Spec.Operands(), x.Place)] = x.Dims
		}
		j.suits(dims, partDims)
		gone, known := fusion.Gone(), fusion.Known()
		for _, s := range fusion.All() {
			into, from := tensorAt(f, before.Operands(), s.Into), tensorAt(part, fusion.Spec.Operands(), s.From)
			if slices.Contains(dims.Views, s.Into) || slices.Contains(partDims.Views, s.From) {
				unfit("%s is looked at as elements of another type", into.Name)
			}
			j.known[from] = into
			j.gone[into] = j.gone[into] || !s.Kept
			j.reads = append(j.reads, read{into, s.Parts})
		}
		for _, s := range fusion.Same {
			into, from := tensorAt(f, before.Operands(), s.Into), tensorAt(part, fusion.Spec.Operands(), s.From)
			if slices.Contains(dims.Views, s.Into) || slices.Contains(partDims.Views, s.From) {
				unfit("%s is looked at as elements of another type", into.Name)
			}
			j.same[from] = into
		}
		switch fusion.Role {
		case spec.Source:
			j.source()
		case spec.Sink:
			j.sink()
		case spec.Beside:
			j.beside()
		}
		kept := len(before.Operands()) - len(gone)
		from := func(place int) int { return kept + spec.Shift(place, known) }
		into := func(place int) int { return spec.Shift(place, gone) }
		j.declareRest(len(dims.Views), len(partDims.Views))
		dims.Join(partDims, j.renamed, into, from)
	}
	f.Name = s.Name()
	return ir.Verify(f)
}

// tensorAt is the tensor at a place among the operands.
func tensorAt(f *ir.Func, operands []spec.Operand, place int) *ir.Tensor {
	n := 0
	for _, o := range operands[:place] {
		if o.IsTensor {
			n++
		}
	}
	return f.Tensors[n]
}

// joining is a kernel that is being fused into another.
type joining struct {
	ir.Builder
	f, part *ir.Func
	// name is that of the kernel that is fused, for names.
	name string
	// into and from are the tensor that is no longer in memory, in f and in part; known are all such of part, with those of f
	// that they are, and gone those of f that are no longer in memory.
	into, from *ir.Tensor
	known      map[*ir.Tensor]*ir.Tensor
	gone       map[*ir.Tensor]bool
	// same are tensors of part that are operands of f, by those.
	same map[*ir.Tensor]*ir.Tensor
	// groups are spec.Fusion's.
	groups []spec.Group
	parts  []spec.Part
	// reads are, of a source, the tensors of f that stand for what part stores, or for parts of it.
	reads []read
	// expands is spec.Fusion's Expand.
	expands []spec.Expanded
	// rest is spec.Fusion's.
	rest spec.Rest
	// flat are tensors of part that are seen in the shape of into, and along is spec.Fusion's.
	flat  map[*ir.Tensor]bool
	along []spec.Along
	// places are the dimensions of into that axes of part are along, which reads into in another shape; split are tensors of part with a dimension that is several of those.
	places map[*ir.Axis][]int
	split  map[*ir.Tensor][][]int
	// several are tensors of f with a dimension that becomes several of what part stores (spec.Fusion's Separate).
	several map[*ir.Tensor][][]int
	dims    map[*ir.Dim]*ir.Dim
	tensors map[*ir.Tensor]*ir.Tensor
	values  map[*ir.Value]*ir.Value
	// at are the positions that stand for those along an axis of part, spread the axes that they have; axes are axes of f that
	// stand for one of part as a whole.
	at     map[*ir.Axis]*ir.Value
	spread map[*ir.Axis][]*ir.Axis
	axes   map[*ir.Axis]*ir.Axis
	// moved are the whole axes of part along which the value is wanted at positions, and shifted what is computed at those.
	moved   []*ir.Axis
	wanted  map[*ir.Axis]*ir.Value
	shifted map[*ir.Value]*ir.Value
	renamed map[string]string
}

// read is a tensor of f that is what part stores; parts are spec.Shared's.
type read struct {
	tensor *ir.Tensor
	parts  []spec.Part
}

// suits refuses what kernels that are launched as one cannot have.
func (j *joining) suits(dims, partDims *spec.LaunchDims) {
	if len(dims.Ranges)+len(partDims.Ranges) > 0 {
		unfit("a grid walks a part of a dimension")
	}
	if j.f.HasRanges() || j.part.HasRanges() {
		unfit("a grid walks ranges that lie in memory")
	}
	if j.f.Approx != j.part.Approx {
		unfit("one is @approx and the other is not")
	}
	for _, f := range []*ir.Func{j.f, j.part} {
		if f.HasDebug() {
			unfit("%s prints or asserts", f.Name)
		}
		for _, a := range f.Axes {
			if a.Split > 1 {
				unfit("%s is split over blocks", f.Name)
			}
		}
		f.Walk(func(op *ir.Op) bool {
			if op.Code.IsAtomic() || op.Code == lang.OpRandomBits {
				unfit("%s has %s", f.Name, op.Code)
			}
			return true
		})
	}
	for _, t := range j.part.Tensors {
		if t.Scratch {
			unfit("%s has scratch memory", j.part.Name)
		}
	}
}

// along is the axis whose positions a value is, each once: all positions of a tile's axis, or the position of a scalar one.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func along(v *ir.Value) *ir.Axis {
	if op := v.Def; op != nil && (op.Code == lang.OpIndex || op.Code == lang.OpStart && op.Axis.Scalar) {
		return op.Axis
	}
	return nil
}

// plainly gives the axes of an access that goes through all of a tensor, each dimension by an axis of its own; nil for any other.
func plainly(op *ir.Op) []*ir.Axis {
	var axes []*ir.Axis
	for d, v := range op.Indices() {
		a := along(v)
		if a == nil || op.Checked[d] || slices.Contains(axes, a) || a.Dim != op.Tensor.Shape[d] || a.Kind == ir.Whole && (a.Lo != 0 || a.Len != a.Dim.Value) {
			return nil
		}
		axes = append(axes, a)
	}
	return axes
}

// accesses are the loads and stores of a tensor.
func accesses(f *ir.Func, t *ir.Tensor) (loads, stores []*ir.Op) {
	f.Walk(func(op *ir.Op) bool {
		switch {
		case op.Tensor != t:
		case op.Code == lang.OpLoad:
			loads = append(loads, op)
		default:
			stores = append(stores, op)
		}
		return true
	})
	return loads, stores
}

// onlyStore is the one store of a tensor among the statements of a kernel, through all of the tensor, with its axes.
func onlyStore(f *ir.Func, t *ir.Tensor) (*ir.Op, []*ir.Axis) {
	loads, stores := accesses(f, t)
	if len(loads) > 0 || len(stores) != 1 || stores[0].Code != lang.OpStore || !slices.Contains(f.Body.Ops, stores[0]) {
		unfit("%s does not store %s once, among its statements", f.Name, t.Name)
	}
	axes := plainly(stores[0])
	if len(axes) != len(t.Shape) {
		unfit("%s does not store %s element by element of its axes", f.Name, t.Name)
	}
	for _, a := range f.Grid() {
		if !slices.Contains(axes, a) {
			unfit("%s stores %s by several blocks", f.Name, t.Name)
		}
	}
	return stores[0], axes
}

// source puts what part computes in the place of the loads of it.
func (j *joining) source() {
	store, axes := onlyStore(j.part, j.from)
	for _, t := range j.part.Tensors {
		if t != j.from && t.Mode != lang.In {
			unfit("%s stores %s too", j.part.Name, t.Name)
		}
	}
	if j.parts != nil {
		j.sourceOfParts(store, axes)
		return
	}
	loads, stores := accesses(j.f, j.into)
	if len(stores) > 0 || len(loads) == 0 {
		unfit("%s does not only read %s", j.f.Name, j.into.Name)
	}
	loads = oneOfEach(j.f, loads)
	walks := slices.ContainsFunc(j.part.Axes, func(a *ir.Axis) bool { return a.Kind == ir.Loop || a.Kind == ir.Whole && !addedUp(j.part, a) })
	if walks && len(loads) > 1 && !j.multiplied(loads) {
		unfit("%s reads %s in several places", j.f.Name, j.into.Name)
	}
	for _, load := range loads {
		if slices.Contains(load.Checked, true) {
			unfit("%s reads %s where it may not be", j.f.Name, j.into.Name)
		}
	}
	j.declare(j.shapes())
	j.separateRead(loads, axes)
	scalars := maps.Clone(j.values)
	for _, load := range loads {
		j.values = maps.Clone(scalars)
		j.insert(load, func() *ir.Value {
			positions, plain := j.stored(j.counted(load.Indices()))
			return j.covering(j.computed(store, axes, positions, plain), load.Result().Type.Axes)
		})
	}
}

// oneOfEach has a kernel load once, of loads of a tensor that is only read, what it loads twice among its statements, as x[i, j] where a formula names it twice. It gives the loads that are left.
func oneOfEach(f *ir.Func, loads []*ir.Op) (left []*ir.Op) {
	same := func(a, b *ir.Op) bool {
		return slices.Equal(a.Checked, b.Checked) && slices.EqualFunc(a.Args, b.Args, func(v, w *ir.Value) bool {
			return v == w || along(v) != nil && along(v) == along(w)
		})
	}
	for _, load := range loads {
		n := slices.IndexFunc(left, func(o *ir.Op) bool {
			return same(o, load) && slices.Contains(f.Body.Ops, o)
		})
		if n < 0 || !slices.Contains(f.Body.Ops, load) {
			left = append(left, load)
			continue
		}
		f.Body.Ops = slices.DeleteFunc(f.Body.Ops, func(op *ir.Op) bool { return op == load })
		f.Body.Replace(map[*ir.Value]*ir.Value{load.Result(): left[n].Result()})
	}
	return left
}

// multiplied reports loads that are factors of products and nothing else, of a source without loops: several products of the same rows go through
// these by one axis (the pass `abreast`), so that what is reduced of the rows is reduced once.
func (j *joining) multiplied(loads []*ir.Op) bool {
	factors := true
	j.f.Walk(func(op *ir.Op) bool {
		for _, load := range loads {
			factors = factors && (op.Code.Row().Group == lang.GroupContract || !slices.Contains(op.Args, load.Result()))
		}
		return true
	})
	return factors && !slices.ContainsFunc(j.part.Axes, func(a *ir.Axis) bool { return a.Kind == ir.Loop })
}

// addedUp reports an axis of few positions that reductions of loads alone go over: of a few parts, which are as easily added up in several places.
func addedUp(f *ir.Func, a *ir.Axis) bool {
	few := a.Dim != nil && a.Dim.Known() && a.Few()
	f.Walk(func(op *ir.Op) bool {
		for _, v := range op.Args {
			few = few && (!v.Type.Has(a) || op.Code == lang.OpLoad || len(op.Over) == 1 && op.Over[0] == a && op.Code.Row().Group == lang.GroupReduce)
		}
		few = few && (op.Code != lang.OpStore || !slices.Contains(op.AccessAxes(), a))
		return few
	})
	return few
}

// computed builds what part stores at positions along the axes of its store; plain are those at which f reads.
func (j *joining) computed(store *ir.Op, axes []*ir.Axis, positions []*ir.Value, plain []bool) *ir.Value {
	j.moved, j.wanted, j.shifted = nil, map[*ir.Axis]*ir.Value{}, map[*ir.Value]*ir.Value{}
	for d, a := range axes {
		position := positions[d]
		switch b := along(position); {
		case a.Kind == ir.Grid:
			j.stand(a, position)
		case b != nil && b.Kind == ir.Whole && b.Lo == 0 && b.Len == a.Len && plain[d] && !elsewhereToo(positions, d, b):
			j.stand(a, position)
			j.axes[a] = b
		default:
			j.moved = append(j.moved, a)
			j.wanted[a] = position
		}
	}
	for _, op := range j.part.Body.Ops {
		if op != store {
			j.emit(op, j.value)
		}
	}
	return j.elsewhere(store.Stored())
}

// counted are positions within the tensor that is no longer there as its dimensions count them: what f computes in 64 bits, lest it
// wraps, fits 32 where the dimension does.
func (j *joining) counted(read []*ir.Value) []*ir.Value {
	read = slices.Clone(read)
	for d, v := range read {
		if v.Type.DType == lang.I64 && !j.into.Shape[d].Wide {
			read[d] = j.Cast(v, lang.I32)
		}
	}
	return read
}

// stored are the positions at which part stores what f reads at positions, and which of them f reads at: where the shape is
// another, they are computed from how many elements are before.
func (j *joining) stored(read []*ir.Value) (positions []*ir.Value, plain []bool) {
	if j.groups == nil {
		plain = make([]bool, len(read))
		for d := range plain {
			plain[d] = true
		}
		return read, plain
	}
	i := 0
	for _, g := range j.groups {
		from := len(positions)
		if g == (spec.Group{Read: 1, Stored: 1}) {
			positions, plain = append(positions, read[i]), append(plain, true)
			i++
			continue
		}
		flat := read[i]
		for d := i + 1; d < i+g.Read; d++ {
			flat = j.Op(lang.OpAdd, j.Op(lang.OpMul, flat, j.size(j.into.Shape[d])), read[d])
		}
		i += g.Read
		at := make([]*ir.Value, g.Stored)
		for d := g.Stored - 1; d > 0; d-- {
			n := j.size(j.dims[j.from.Shape[from+d]])
			at[d], flat = j.Op(lang.OpMod, flat, n), j.Op(lang.OpDiv, flat, n)
		}
		at[0] = flat
		positions, plain = append(positions, at...), append(plain, make([]bool, g.Stored)...)
	}
	return positions, plain
}

// elsewhereToo reports an axis that another position than number d has.
func elsewhereToo(positions []*ir.Value, d int, a *ir.Axis) bool {
	for n, v := range positions {
		if n != d && v.Type.Has(a) {
			return true
		}
	}
	return false
}

// shapes are the dimensions of the tensor that is no longer there: in part, and the same in f.
func (j *joining) shapes() map[*ir.Dim]*ir.Dim {
	same := map[*ir.Dim]*ir.Dim{}
	unite := func(d, of *ir.Dim) {
		if same[of] == nil {
			same[of] = d
		}
	}
	for _, r := range j.reads {
		for k, p := range r.parts {
			if p.All && len(p.Dims) == 1 {
				unite(r.tensor.Shape[p.Dims[0]], j.from.Shape[k])
			}
		}
	}
	if j.groups == nil && j.parts == nil {
		for _, from := range j.part.Tensors {
			for d, of := range from.Shape {
				if into := j.known[from]; into != nil {
					unite(into.Shape[d], of)
				}
			}
		}
	}
	for _, from := range j.part.Tensors {
		if into := j.same[from]; into != nil {
			for d, of := range from.Shape {
				unite(into.Shape[d], of)
			}
		}
	}
	i, k := 0, 0
	for _, g := range j.groups {
		if g == (spec.Group{Read: 1, Stored: 1}) {
			unite(j.into.Shape[i], j.from.Shape[k])
		}
		i, k = i+g.Read, k+g.Stored
	}
	return same
}

// sink puts what part computes of an element behind the store of that: of several tensors that it reads, the last store.
func (j *joining) sink() {
	store, axes := onlyStore(j.f, j.into)
	stored := map[*ir.Tensor]*ir.Op{}
	var loads []*ir.Op
	for _, from := range j.part.Tensors {
		into := j.known[from]
		if into == nil {
			continue
		}
		of, stores := accesses(j.part, from)
		if len(stores) > 0 || len(of) == 0 {
			unfit("%s does not only read %s", j.part.Name, from.Name)
		}
		loads = append(loads, of...)
		other, its := onlyStore(j.f, into)
		if !slices.Equal(its, axes) {
			unfit("%s stores %s and %s along other axes", j.f.Name, j.into.Name, into.Name)
		}
		stored[from] = other
		if slices.Index(j.f.Body.Ops, other) > slices.Index(j.f.Body.Ops, store) {
			store = other
		}
	}
	of := plainly(loads[0])
	for _, load := range loads {
		if len(of) != len(load.Tensor.Shape) || j.parts == nil && j.flat == nil && len(of) != len(axes) || !slices.Equal(plainly(load), of) {
			unfit("%s does not read %s element by element", j.part.Name, load.Tensor.Name)
		}
	}
	for _, a := range j.part.Axes {
		if !slices.Contains(of, a) {
			unfit("%s walks axis %s, which %s has not", j.part.Name, a.Name, j.from.Name)
		}
	}
	for _, op := range j.part.Body.Ops {
		if len(op.Blocks) > 0 || len(op.Over) > 0 || op.Fn != nil {
			unfit("%s is not elementwise: it has %s", j.part.Name, op.Code)
		}
	}
	j.refuseExchange()
	switch {
	case j.parts != nil:
		j.sinkOfPart(store, loads, axes, of)
	case j.flat != nil:
		j.flatten(store, of)
		j.behind(store, loads, stored, func(op *ir.Op) { j.emitFlat(op, store) })
	default:
		j.declare(j.shapes())
		for d, a := range of {
			j.stand(a, store.Args[d])
			if a.Kind == ir.Whole {
				j.axes[a] = axes[d]
			}
		}
		j.behind(store, loads, stored, func(op *ir.Op) { j.emit(op, j.value) })
	}
}

// behind puts the operations of part behind a store, without the loads of what is stored there, and drops the stores of what
// is no longer in memory.
func (j *joining) behind(store *ir.Op, loads []*ir.Op, stored map[*ir.Tensor]*ir.Op, emit func(*ir.Op)) {
	j.insert(store, func() *ir.Value {
		if !j.gone[store.Tensor] {
			j.Block.Ops = append(j.Block.Ops, store)
		}
		for _, load := range loads {
			s := stored[load.Tensor]
			j.values[load.Result()] = j.covering(s.Stored(), s.AccessAxes())
		}
		for _, op := range j.part.Body.Ops {
			if j.known[op.Tensor] == nil {
				emit(op)
			}
		}
		return nil
	})
	j.f.Body.Ops = slices.DeleteFunc(j.f.Body.Ops, func(op *ir.Op) bool { return op.Code == lang.OpStore && j.gone[op.Tensor] })
}

// refuseExchange refuses a kernel whose elements exchange something through memory: within one of its blocks they may, and other
// blocks compute them now.
func (j *joining) refuseExchange() {
	for _, t := range j.part.Tensors {
		loads, stores := accesses(j.part, t)
		for _, load := range loads {
			for _, store := range stores {
				for d, v := range load.Indices() {
					if a := along(v); a == nil || a != along(store.Args[d]) {
						unfit("%s reads elements of %s that it stores", j.part.Name, t.Name)
					}
				}
			}
		}
	}
}

// beside puts the statements of part behind those of f, over the same grid.
func (j *joining) beside() {
	j.into, j.from = nil, nil
	if len(j.f.Axes) != len(j.part.Axes) {
		unfit("%s and %s have not the same axes", j.f.Name, j.part.Name)
	}
	same := map[*ir.Dim]*ir.Dim{}
	for n, a := range j.part.Axes {
		b := j.f.Axes[n]
		if a.Kind != b.Kind || a.Kind == ir.Loop || a.Scalar != b.Scalar || a.Lo != b.Lo || a.Len != b.Len || (a.Dim == nil) != (b.Dim == nil) {
			unfit("axis %s of %s is no axis %s of %s", a.Name, j.part.Name, b.Name, j.f.Name)
		}
		if a.Dim != nil {
			if d := same[a.Dim]; d != nil && d != b.Dim {
				unfit("axes %s and %s walk dimensions of their own", a.Name, b.Name)
			}
			same[a.Dim] = b.Dim
		}
	}
	j.declare(same)
	j.Block = j.f.Body
	for n, a := range j.part.Axes {
		b := j.f.Axes[n]
		code := lang.OpIndex
		if a.Scalar {
			code = lang.OpStart
		}
		j.stand(a, j.Emit(&ir.Op{Code: code, Axis: b, At: b.At})[0])
		j.axes[a] = b
	}
	for _, op := range j.part.Body.Ops {
		j.emit(op, j.value)
	}
}
