package graph

import (
	"errors"
	"slices"

	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

var fuse = Pass{
	Name: "fuse",
	Doc:  "computes what one launch alone reads in that launch, or that launch's elements where they are stored, so that both are one",
	run:  (*rewriter).fuseAll,
	Source: `import "std/math"

kernel scale(x: f32[N], a: f32) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] * a
}

graph g(x: f32[N]) -> y: f32[N] {
    y = relu(scale(x, 2)) + 1.0
}
`,
	Before: `graph g, 2 launches
  %0:f32[100] = scale(x x:f32[100], a 2)
  %1:f32[100] = elementwise_10(x %0:f32[100])
  result %1:f32[100]
`,
	After: `graph g, 1 launch
  %1:f32[100] = scale > elementwise_10(scale.x x:f32[100], scale.a 2)
  result %1:f32[100]
`,
}

// fuseAll goes through the launches in order, so that what a launch reads has taken in what it can when it is its turn: first
// what is computed where elements are stored, which repeats nothing, then what is computed where it is read, and last what several
// launches read.
func (r *rewriter) fuseAll() {
	for _, role := range []spec.Role{spec.Sink, spec.Source} {
		for i := range r.Calls {
			for r.Calls[i].Spec != nil && r.fuseInto(i, role) {
			}
		}
	}
	for i := range r.Calls {
		if r.Calls[i].Spec != nil {
			r.sourceOfAll(i)
		}
	}
}

// fuseInto makes one launch of number n and one that it reads a result of.
func (r *rewriter) fuseInto(n int, role spec.Role) bool {
	done := false
	r.Calls[n].each(func(place int, v *View, mode lang.ParamMode) {
		if done || mode != lang.In || !v.Slot.Temp || len(r.writes[v.Slot]) != 1 || r.writes[v.Slot][0] >= n {
			return
		}
		first := r.writes[v.Slot][0]
		whole, alone := r.whole(first, v), len(r.reads[v.Slot]) == 1 && !r.results[v.Slot]
		switch {
		case role == spec.Source && whole && alone && (tiedToPlan(r.Calls[first].Spec) || tiedToPlan(r.Calls[n].Spec)):
			r.refuse(first, n, errTied)
		case !r.joinable(first, n):
		case role == spec.Sink && whole:
			done = r.sink(first, n, place)
		case role == spec.Sink:
			done = r.sinkOfPart(first, n, place)
		case whole && alone && r.shared(first, n) == 1:
			done = r.source(first, n, place)
		case !whole && !r.results[v.Slot] && r.readsAll(n, v.Slot):
			done = r.sourceOfParts(first, n, v.Slot)
		}
	})
	return done
}

// whole reports a tensor that is all of the result of launch number n, in order.
func (r *rewriter) whole(n int, v *View) bool {
	stored := r.stored(n, v.Slot)
	w := &r.Calls[n].Tensors[stored]
	return v.Offset == 0 && v.Contiguous() && w.DType == v.DType && tensor.Elements(w.Shape) == tensor.Elements(v.Shape)
}

// stored is the place of a result of launch number n among its operands.
func (r *rewriter) stored(n int, s Slot) int {
	stored := -1
	r.Calls[n].each(func(i int, v *View, mode lang.ParamMode) {
		if mode == lang.Out && v.Slot == s {
			stored = i
		}
	})
	return stored
}

// joinable reports that launch number first, which stores temporaries that number n reads, can be put off until that: nothing
// reads or writes what it stores before, number n no more of it than the temporaries, and what it reads stays as it is.
func (r *rewriter) joinable(first, n int) bool {
	a := &r.Calls[first]
	if !r.free(first, n) {
		return false
	}
	fits := true
	a.each(func(_ int, w *View, mode lang.ParamMode) {
		between := func(of []int, last int) bool {
			return slices.ContainsFunc(of, func(k int) bool { return k > first && k <= last })
		}
		until := n
		if mode == lang.Out && w.Slot.Temp {
			until = n - 1
			fits = fits && w.Offset == 0 && w.Contiguous()
		}
		if between(r.writes[w.Slot], n) || mode != lang.In && between(r.reads[w.Slot], until) {
			fits = false
		}
	})
	return fits
}

// free reports two launches of which neither says how it runs, and that are not too many kernels together.
func (r *rewriter) free(first, n int) bool {
	a, b := &r.Calls[first], &r.Calls[n]
	return len(a.Fills) == 0 && !tiedToPlan(a.Spec) && !tiedToPlan(b.Spec) && a.Spec.Kernels()+b.Spec.Kernels() <= mostFused
}

// mostFused is how many kernels become one launch at most: a kernel is made anew with each that joins it.
const mostFused = 16

// tiedToPlan reports a kernel whose source or launch says how it runs, or whose scalars each run checks: it stays a launch of its own.
func tiedToPlan(s *spec.Spec) bool {
	k := s.Kernel
	if len(k.Hints)+len(k.Targets) > 0 {
		return true
	}
	for _, a := range k.Axes {
		if s.Pins[a.Tile] > 0 || s.Pins[a.Name] > 0 {
			return true
		}
	}
	for _, a := range k.Assumes {
		if _, ofScalar := typed.Find(a.Cond, func(*typed.ScalarRef) bool { return true }); ofScalar {
			return true
		}
	}
	return slices.ContainsFunc(s.Fused, func(f spec.Fusion) bool { return tiedToPlan(f.Spec) })
}

// sink computes what one launch makes of the elements that another stores where that stores them.
func (r *rewriter) sink(first, n, place int) bool {
	a, b := &r.Calls[first], &r.Calls[n]
	f := spec.Fusion{Role: spec.Sink, Spec: b.Spec, Into: -1}
	fits, shape := true, b.Tensors[place].Shape
	if stored := a.Tensors[r.stored(first, b.Tensors[place].Slot)].Shape; !slices.Equal(shape, stored) {
		b.each(func(i int, v *View, _ lang.ParamMode) {
			if slices.Equal(v.Shape, shape) {
				f.Flat = append(f.Flat, i)
			}
		})
		f.Along = spec.AlongOf(shape, stored)
		f.Split = split(b, place, &f)
	}
	b.each(func(i int, v *View, mode lang.ParamMode) {
		into := r.stored(first, v.Slot)
		if into < 0 {
			return
		}
		others := slices.ContainsFunc(r.reads[v.Slot], func(k int) bool { return k != n })
		one := spec.Shared{Into: into, From: i, Kept: others || r.results[v.Slot]}
		fits = fits && mode == lang.In && r.whole(first, v) && slices.Equal(v.Shape, shape)
		if f.Into < 0 {
			f.Into, f.From, f.Kept = one.Into, one.From, one.Kept
			return
		}
		f.More = append(f.More, one)
	})
	if !fits {
		return false
	}
	one, err := r.joined(a, b, f)
	return r.settle(first, n, one, err)
}

// source computes what one launch would store where another reads it.
func (r *rewriter) source(first, n, place int) bool {
	a, b := &r.Calls[first], &r.Calls[n]
	stored := r.stored(first, b.Tensors[place].Slot)
	one, err := Call{}, errShape
	if groups, alike := spec.GroupShapes(b.Tensors[place].Shape, a.Tensors[stored].Shape); alike {
		f := spec.Fusion{Role: spec.Source, Spec: a.Spec, Into: place, From: stored, Groups: groups}
		if r.classOf(a.Spec).heavy {
			f.Same = common(b, a)
		}
		if r.classOf(a.Spec).multiplies {
			f.Separate = r.separate(b, place, groups)
		}
		one, err = r.joined(b, a, f)
		if err != nil && f.Separate != nil {
			f.Separate = nil
			one, err = r.joined(b, a, f)
		}
	}
	return r.settle(first, n, one, err)
}

// common are the tensors that two launches read, each of them all and in one order.
func common(into, other *Call) (both []spec.Common) {
	other.each(func(from int, v *View, mode lang.ParamMode) {
		at := -1
		into.each(func(i int, w *View, as lang.ParamMode) {
			if mode == lang.In && as == lang.In && v.sameAs(w) {
				at = i
			}
		})
		if at >= 0 && !slices.Contains(into.Fills, at) && !slices.Contains(other.Fills, from) {
			both = append(both, spec.Common{Into: at, From: from})
		}
	})
	return both
}

// settle puts one launch in the place of two, or says why they stay two.
func (r *rewriter) settle(first, n int, one Call, err error) bool {
	if err != nil {
		r.refuse(first, n, err)
		return false
	}
	r.replace(first, n, one)
	return true
}

// sinkOfPart makes one launch of two where the second reads a part of what the first stores, and others read that too: of few rows,
// for the places at which the second stores are then computed one by one.
func (r *rewriter) sinkOfPart(first, n, place int) bool {
	a, b := &r.Calls[first], &r.Calls[n]
	stored := r.stored(first, r.Calls[n].Tensors[place].Slot)
	v, w := &b.Tensors[place], &a.Tensors[stored]
	rows := int64(1)
	for _, size := range w.Shape[:max(len(w.Shape)-1, 0)] {
		rows *= a.Spec.Reckoned(size)
	}
	parts, ok := spec.PartOf(w.Shape, v.Shape, v.Strides, v.Offset)
	if !ok || v.DType != w.DType || r.shared(first, n) > 1 {
		return false
	}
	f := spec.Fusion{Role: spec.Sink, Spec: b.Spec, Into: stored, From: place, Parts: parts}
	if rows > partRows {
		return r.sinkOfRuns(first, n, f)
	}
	one, err := Call{}, errOneByOne
	if r.target.IsGPU() && r.target.PartLatency <= r.target.LaunchInProgram() {
		one, err = r.joined(a, b, f)
	}
	return r.settle(first, n, one, err)
}

// shared is how many operands of launch number n are what number first stores.
func (r *rewriter) shared(first, n int) int {
	count := 0
	r.Calls[n].each(func(_ int, v *View, _ lang.ParamMode) {
		if r.stored(first, v.Slot) >= 0 {
			count++
		}
	})
	return count
}

// replace puts one launch in the place of two.
func (r *rewriter) replace(first, n int, one Call) {
	r.put(first, Call{})
	r.put(n, one)
}

// put puts a launch in the place of number n, or none.
func (r *rewriter) put(n int, one Call) {
	for _, of := range []map[Slot][]int{r.reads, r.writes} {
		r.Calls[n].each(func(_ int, v *View, _ lang.ParamMode) {
			list := of[v.Slot] // in order
			from, _ := slices.BinarySearch(list, n)
			to, _ := slices.BinarySearch(list, n+1)
			of[v.Slot] = slices.Delete(list, from, to)
		})
	}
	r.Calls[n], r.changed = one, true
	add := func(of map[Slot][]int, s Slot) {
		at, _ := slices.BinarySearch(of[s], n)
		of[s] = slices.Insert(of[s], at, n)
	}
	one.each(func(_ int, v *View, mode lang.ParamMode) {
		if mode != lang.In {
			add(r.writes, v.Slot)
		}
		if mode != lang.Out {
			add(r.reads, v.Slot)
		}
	})
}

// joined is a launch with another fused into it, where that can be and pays.
func (r *rewriter) joined(into, other *Call, f spec.Fusion) (Call, error) {
	s := *into.Spec
	s.Fused = append(slices.Clip(s.Fused), f)
	if err := r.judge(&s, into.Spec, &f); err != nil {
		return Call{}, err
	}
	one := Call{Spec: &s, Scalars: slices.Concat(into.Scalars, other.Scalars), At: into.At}
	gone, known, place := f.Gone(), f.Known(), 0
	take := func(c *Call, without []int) {
		for i := range c.Tensors {
			if slices.Contains(without, i) {
				continue
			}
			if slices.Contains(c.Fills, i) {
				one.Fills = append(one.Fills, place)
			}
			place++
		}
		one.Tensors = append(one.Tensors, spec.Left(c.Tensors, without)...)
	}
	take(into, gone)
	kept := len(one.Tensors)
	take(other, known)
	reshape(&one, into, other, &f, kept)
	return one, nil
}

// Why two launches that could be one stay two.
var (
	errShape     = errors.New("it is read in another shape")
	errExchange  = errors.New("the second is not elementwise, and others read it too")
	errCut       = errors.New("one of them reduces very much to one number, for which it is cut in two launches")
	errHeavy     = errors.New("the second is not elementwise, and would compute the first, which has loops or products, several times")
	errWindows   = errors.New("it reads the windows of the first in another shape: their places would take divisions for each element that it reduces")
	errRows      = errors.New("a product of many rows reads its factors from memory ahead of time")
	errOneByOne  = errors.New("storing a part at places that are computed one by one takes longer than a launch")
	errTied      = errors.New("one of them says how it runs, or assumes something of a scalar, which each run checks")
	errFewBlocks = errors.New("the second has fewer blocks: reading all that the first reads, they take longer than a launch")
	errNorm      = errors.New("it reduces so many elements that each block of the second would wait for it longer than a launch takes")
	errRepeat    = errors.New("computing the first again in each block of the second takes longer than a launch")
	errSlower    = errors.New("one launch of both is predicted to take longer than two")
)

// factorRows is of how many rows a product may compute a factor where it needs it: a block of more has more to compute than
// a launch takes. partRows is of how many rows a result may be stored in part again, at places that are computed one by one.
const factorRows, partRows = 16, 32

// normDepth, normElements and normReduced bound what is reduced in each block of a product before its rows are there: rows of at most so many elements, or so many in all that are reduced so many times. Of more,
// a launch of its own takes less, in which the weights are on their way (an H200, steps of 1, 2, 4, 8 and 16 texts, norms apart and in the products: GPT-2 124M, 768 elements, 127, 140, 154, 169, 206 and
// 109, 128, 147, 161, 194 us; 355M, 1,024, 322, 335, 336, 381, 505 and 269, 321, 378, 408, 566; 774M, 1,280, 670, 776, 722, 871, 1,111 and 584, 771, 816, 1,168, 1,292; 1.5B, 1,600, one text, 1,326
// and 1,401; Llama's 1B, 2,048, whose norm reduces once, 760, -, 952, 937, 1,066 and 719, -, 1,137, 1,069, 1,295; its 3B, 3,072, 1,845, 2,741, 2,966, 2,532, 2,876 and 2,123, 2,870, 3,116, 2,806, 2,891).
const normDepth, normElements, normReduced = 768, 2048, 2560

// What a launch of few rows is like, before it has a plan: how many columns a block of a product by a vector has, and how many such
// blocks a multiprocessor runs at a time.
const (
	columnsOfBlock = 32
	blocksAtOnce   = 2
)

// portBytes is how many bytes a multiprocessor takes from the L2 in a clock, where its threads ask for all at once, which is up to so many bytes (an H100,
// behind 48 blocks' wait: 12 parts of a row of 768 took 0.3 us; four parts of 8 rows, which is 100 KB and more, 3.6).
const portBytes, atOnce = 64, 48 << 10

// pays decides whether a source is computed where it is read: what that repeats must take less time than a launch.
func (r *rewriter) pays(s *spec.Spec, fusion *spec.Fusion) error {
	if fusion.Parts != nil {
		return r.paysInParts(s, fusion)
	}
	f, dims, err := build.Kernel(s, r.target.Name)
	if err != nil {
		return err
	}
	part, partDims, err := build.Kernel(fusion.Spec, r.target.Name)
	if err != nil {
		return err
	}
	into := tensorOf(f, s, fusion.Into)
	size := func(a *ir.Axis) int64 { return positionsOf(a, dims, s) }
	// reads is how many bytes more are read for an element than where it lies ready.
	reads, stored := -float64(into.DType.Bits())/8, elements(tensorOf(part, fusion.Spec, fusion.From), partDims, fusion.Spec)
	for _, t := range part.Tensors {
		if t.Mode == lang.In {
			times := elements(t, partDims, fusion.Spec) / stored
			reads += float64(float64(t.DType.Bits()) / 8 * times)
		}
	}
	reads = max(reads, 0)
	operations, reductions := workOf(part, func(a *ir.Axis) int64 { return positionsOf(a, partDims, fusion.Spec) })
	operations /= stored
	reduces := reductions > 0 && !r.classOf(fusion.Spec).multiplies // each element of a product has its own
	if c := r.classOf(fusion.Spec); r.target.IsGPU() && c.multiplies && keptFrom(f, into) > rowOfProduct {
		return errSlower // a planner says that too, after a long search
	}
	if c := r.classOf(fusion.Spec); r.target.IsGPU() && c.multiplies && c.reduces && r.isFactor(f, into) {
		return nil // attention, if it is one launch: predictions say
	}
	var failed error
	walkLoops(f.Body, nil, func(op *ir.Op, loops []*ir.Axis) {
		if op.Code != lang.OpLoad || op.Tensor != into || failed != nil {
			return
		}
		axes := op.AccessAxes()
		if over, product := factorOf(f, op); product {
			rows := int64(1)
			for _, a := range ir.Without(axes, over) {
				rows *= spec.Class(size(a))
			}
			if rows > factorRows || op.Tensor.DType.Bits() > 16 {
				failed = errRows
				return
			}
			depth := int64(1)
			for _, a := range over {
				depth *= size(a)
			}
			if reduces && depth > normDepth && (rows*depth > normElements || reductions*depth > normReduced) {
				failed = errNorm
				return
			}
		}
		has := func(a *ir.Axis) bool {
			return slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool {
				return v.Type.Has(a) || v.Def != nil && v.Def.Code == lang.OpStart && v.Def.Axis == a
			})
		}
		repeated := false
		for _, a := range slices.Concat(f.Grid(), loops) {
			repeated = repeated || (!has(a) || reduces && wanted(op, a)) && size(a) > 1
		}
		if !repeated {
			return
		}
		if !r.target.IsGPU() { // a launch costs next to nothing there
			failed = errRepeat
			return
		}
		elements := 1.0
		for _, a := range axes {
			n := size(a)
			if a.Kind == ir.Grid {
				n = min(n, 16) // at least so many are in a block
			}
			elements *= float64(n)
		}
		t := r.target
		blocks := 1.0 // that read it, of few columns
		for _, a := range f.Grid() {
			if !has(a) {
				blocks *= max(1, float64(size(a))/columnsOfBlock)
			}
		}
		rate := float64(t.L2) / float64(t.SMs)
		if elements*reads <= atOnce { // and few blocks share the L2
			rate = min(float64(t.L2)/min(blocks, float64(t.SMs)), float64(portBytes*t.Clock))
		}
		seconds := float64(elements*reads/rate) + float64(elements*operations/(float64(t.Lanes)*t.Clock))
		if reduces {
			// Blocks that run one after the other on a multiprocessor each wait for it.
			seconds += float64(t.ReduceLatency * max(1, blocks/float64(blocksAtOnce*t.SMs)))
		}
		saved := t.LaunchInProgram()
		if reduces {
			saved = float64(saved + t.ReduceLatency) // the launch reduces too, once
		}
		if seconds > saved {
			failed = errRepeat
		}
	})
	return failed
}

// rowOfProduct is how many bytes of a row or a channel of a product blocks have room for at most between the passes of a kernel: a tensor core gives eight columns at least, and a cluster has a megabyte of registers.
const rowOfProduct = 128 << 10

// keptFrom is how many bytes of a tensor a kernel goes through again behind a reduction of them: those of a row of a norm, and of a batch norm those of a channel in all images.
func keptFrom(f *ir.Func, t *ir.Tensor) (most float64) {
	reduced := map[*ir.Axis]bool{}
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group == lang.GroupReduce {
			for _, a := range op.Over {
				reduced[a] = true
			}
		}
		return true
	})
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpStore {
			bytes := float64(t.DType.Bits()) / 8
			for _, a := range op.AccessAxes() {
				if reduced[a] {
					bytes *= float64(a.Len)
				}
			}
			most = max(most, bytes)
		}
		return true
	})
	return most
}

// isFactor reports a tensor of which all loads are factors of products.
func (r *rewriter) isFactor(f *ir.Func, t *ir.Tensor) bool {
	all := true
	walkLoops(f.Body, nil, func(op *ir.Op, _ []*ir.Axis) {
		if op.Code == lang.OpLoad && op.Tensor == t {
			_, product := factorOf(f, op)
			all = all && product
		}
	})
	return all
}

// slower decides by prediction that two launches are faster than the one of both, where the first multiplies, or reduces for what does not: the second says in what order the first computes its elements then, and how often.
func (r *rewriter) slower(both, into, other *spec.Spec) bool {
	one, err := r.foreseen(both)
	if err != nil {
		return true
	}
	second := r.target.LaunchInProgram() - r.target.Launch
	for _, s := range []*spec.Spec{into, other} {
		n, err := r.foreseen(s)
		if err != nil {
			return false
		}
		second += n
	}
	return second < one
}

// foreseen is how many seconds a launch is predicted to take, with its operands laid out anew where it is faster so.
func (r *rewriter) foreseen(s *spec.Spec) (float64, error) {
	n, err := r.env.Predicted(s)
	if err != nil {
		return 0, err
	}
	if !r.classOf(s).multiplies {
		return n.Seconds, nil
	}
	launches, _, err := Relaid(s, r.target)
	if err != nil || len(launches) == 0 {
		return n.Seconds, err
	}
	time := float64(float64(len(launches)-1) * (r.target.LaunchInProgram() - r.target.Launch))
	for _, s := range launches {
		n, err := r.env.Predicted(s)
		if err != nil {
			return 0, err
		}
		time += n.Seconds
	}
	return min(n.Seconds, time), nil
}

// wanted reports an axis that a load has at the last of its dimensions alone: along it a source that reduces computes nothing of its own.
func wanted(op *ir.Op, a *ir.Axis) bool {
	rows := op.Indices()[:max(len(op.Indices())-1, 0)]
	return !slices.ContainsFunc(rows, func(v *ir.Value) bool {
		return v.Type.Has(a) || v.Def != nil && v.Def.Code == lang.OpStart && v.Def.Axis == a
	})
}

// tensorOf is the tensor at a place among the operands.
func tensorOf(f *ir.Func, s *spec.Spec, place int) *ir.Tensor {
	n := 0
	for _, p := range s.Params()[:place] {
		if p.IsTensor {
			n++
		}
	}
	return f.Tensors[n]
}

// sizeOf is a dimension of a launch, at least 1.
func sizeOf(d *ir.Dim, dims *spec.LaunchDims, s *spec.Spec) int64 {
	n := d.Value
	if !d.Known() {
		var err error
		if n, err = dims.Size(d, s); err != nil {
			n = 1
		}
		if s.Deterministic {
			n = s.Reckoned(n)
		}
	}
	return max(n, 1)
}

// positionsOf is how many positions an axis of a launch has, at least 1.
func positionsOf(a *ir.Axis, dims *spec.LaunchDims, s *spec.Spec) int64 {
	if a.Dim == nil {
		return a.Len
	}
	return sizeOf(a.Dim, dims, s)
}

// elements is how many a tensor of a launch has.
func elements(t *ir.Tensor, dims *spec.LaunchDims, s *spec.Spec) float64 {
	n := 1.0
	for _, d := range t.Shape {
		n *= float64(sizeOf(d, dims, s))
	}
	return n
}

// workOf counts the operations of a kernel, of all elements, and the reductions for which threads reduce together.
func workOf(f *ir.Func, size func(*ir.Axis) int64) (operations float64, reductions int64) {
	f.Walk(func(op *ir.Op) bool {
		row := op.Code.Row()
		if row.Group == lang.GroupReduce && reducedTogether(op) {
			reductions++
		}
		if !row.Elementwise && row.Group != lang.GroupReduce {
			return true
		}
		most := 1.0
		for _, v := range op.Args {
			n := 1.0
			for _, a := range v.Type.Axes {
				n *= float64(size(a))
			}
			most = max(most, n)
		}
		operations += most
		return true
	})
	return operations, reductions
}

// reducedTogether reports an operation that goes over an axis which threads share: more positions than a thread has by itself.
func reducedTogether(op *ir.Op) bool {
	return slices.ContainsFunc(op.Over, func(a *ir.Axis) bool { return !a.Few() })
}

// walkLoops visits operations with the axes of the loops around them.
func walkLoops(b *ir.Block, loops []*ir.Axis, visit func(*ir.Op, []*ir.Axis)) {
	for _, op := range b.Ops {
		visit(op, loops)
		inner := loops
		if op.Code == lang.OpFor && op.Axis != nil {
			inner = append(slices.Clip(loops), op.Axis)
		}
		for _, block := range op.Blocks {
			walkLoops(block, inner, visit)
		}
	}
}

// factorOf reports a load of which elementwise operations make a factor of a contraction, or a term of a sum that has axes which
// the load has not; over are the axes that it is added up over.
func factorOf(f *ir.Func, load *ir.Op) (over []*ir.Axis, found bool) {
	of := map[*ir.Value]bool{load.Result(): true}
	f.Walk(func(op *ir.Op) bool {
		uses := slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return of[v] })
		row := op.Code.Row()
		switch {
		case !uses:
		case row.Group == lang.GroupContract && (of[op.Args[0]] || of[op.Args[1]]),
			op.Code == lang.OpSum && len(ir.Without(op.Args[0].Type.Axes, load.Result().Type.Axes)) > 0:
			over, found = op.Over, true
		case row.Elementwise || op.Code == lang.OpFull || op.Code == lang.OpRename:
			of[op.Result()] = true
		}
		return true
	})
	return over, found
}
