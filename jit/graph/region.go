package graph

import (
	"slices"

	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
)

// This file finds out which positions of a temporary are read.

// run is which positions of a dimension are read: so many from start on, each a step behind the one before. dims are the
// dimensions of what reads that go along it, outermost first.
type run struct {
	start, step, count int64
	dims               []int
}

// runsOf says of each dimension of a contiguous tensor which positions a view of it shows; false where these are no runs.
func runsOf(shape []int64, v *View) ([]run, bool) {
	strides := tensor.Contiguous(shape)
	runs := make([]run, len(shape))
	rest := v.Offset
	for k := range shape {
		if shape[k] == 0 {
			return nil, false
		}
		runs[k] = run{start: rest / strides[k], step: 1, count: 1}
		rest %= strides[k]
	}
	for d, n := range v.Shape {
		if n == 1 {
			continue
		}
		if n == 0 || v.Strides[d] <= 0 {
			return nil, false
		}
		k := slices.IndexFunc(strides, func(s int64) bool { return s <= v.Strides[d] })
		for k >= 0 && k+1 < len(shape) && shape[k] == 1 && strides[k+1] == strides[k] {
			k++
		}
		if k < 0 || v.Strides[d]%strides[k] != 0 {
			return nil, false
		}
		g := &runs[k]
		if last := len(g.dims) - 1; last >= 0 && v.Strides[g.dims[last]] != n*v.Strides[d] {
			return nil, false
		}
		g.dims, g.step, g.count = append(g.dims, d), v.Strides[d]/strides[k], g.count*n
	}
	for k, g := range runs {
		if g.start+(g.count-1)*g.step >= shape[k] {
			return nil, false
		}
	}
	return runs, true
}

// readOf are the positions of a tensor that are read, where all that read it read the same.
func (r *rewriter) readOf(w *View) (runs []run, ok bool) {
	ok = true
	read := func(v *View) {
		of, found := runsOf(w.Shape, v)
		if !found || v.DType != w.DType || runs != nil && !slices.EqualFunc(runs, of, func(a, b run) bool {
			return a.start == b.start && a.step == b.step && a.count == b.count
		}) {
			ok = false
		}
		runs = of
	}
	r.eachRead(w.Slot, read)
	return runs, ok && runs != nil
}

// eachRead visits what is read of a memory: by launches, and as results.
func (r *rewriter) eachRead(s Slot, visit func(v *View)) {
	for i, k := range r.reads[s] {
		if i > 0 && r.reads[s][i-1] == k {
			continue // it is there once for each of its tensors
		}
		r.Calls[k].each(func(_ int, v *View, mode lang.ParamMode) {
			if v.Slot == s && mode != lang.Out {
				visit(v)
			}
		})
	}
	for i := range r.Outputs {
		if r.Outputs[i].Slot == s {
			visit(&r.Outputs[i])
		}
	}
}

// readNarrowed lets all that read a tensor read one in its place that has, of some dimensions, only the positions that are read.
func (r *rewriter) readNarrowed(n int, old, w *View, narrowed []bool) {
	strides := tensor.Contiguous(old.Shape)
	r.eachRead(old.Slot, func(v *View) {
		runs, _ := runsOf(old.Shape, v)
		u := *w
		u.Shape, u.Strides = v.Shape, tensor.Contiguous(v.Shape)
		for k, g := range runs {
			first, step := g.start, g.step
			if narrowed[k] {
				first, step = 0, 1
			}
			u.Offset += first * w.Strides[k]
			for _, d := range g.dims {
				u.Strides[d] = v.Strides[d] / (strides[k] * g.step) * step * w.Strides[k]
			}
		}
		*v = u
	})
	// Readers keep their numbers.
	r.reads[w.Slot], r.writes[w.Slot], r.results[w.Slot] = r.reads[old.Slot], []int{n}, r.results[old.Slot]
	delete(r.reads, old.Slot)
	delete(r.writes, old.Slot)
	delete(r.results, old.Slot)
	r.relayout(r.reads[w.Slot])
}

// relayout notes where the tensors of launches lie now.
func (r *rewriter) relayout(calls []int) {
	for _, k := range calls {
		c := &r.Calls[k]
		s := *c.Spec
		s.Layouts = slices.Clone(s.Layouts)
		for i := range s.Layouts {
			if c.Tensors[i].DType.IsValid() {
				s.Layouts[i] = r.laid(s.Layouts[i], &c.Tensors[i])
			}
		}
		c.Spec = &s
	}
}

// laid is a parameter's layout where its tensor lies now. What others do with its elements stays.
func (r *rewriter) laid(was spec.Layout, v *View) spec.Layout {
	l := r.layout(v)
	l.Rounded = was.Rounded
	return l
}
