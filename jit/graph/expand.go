package graph

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
)

// This file stores a part of what a launch of many rows computes where another has it, such as keys and values in a cache. The launch is seen in
// the dimensions of the part: see build.expand.

// sinkOfRuns makes one launch of two where the second reads a part of what the first stores that is made of whole runs: the dimensions of
// what the first stores become those that the second sees, so that a block is in the part or not, and stores whole tiles.
func (r *rewriter) sinkOfRuns(first, n int, f spec.Fusion) bool {
	a, b := &r.Calls[first], &r.Calls[n]
	w, v := &a.Tensors[f.Into], &b.Tensors[f.From]
	expand, shape, ok := spec.ExpandBy(w.Shape, v.Shape, f.Parts)
	if !ok || !r.target.IsGPU() {
		return false
	}
	if a.Spec.Deterministic { // with the axes of the part, another order of sums: only some lengths of a prompt have them
		return r.settle(first, n, Call{}, errOneByOne)
	}
	if slices.ContainsFunc(expand, spec.Expanded.Several) {
		for k := range expand {
			e := &expand[k]
			least := int64(wholeRows)
			switch {
			case len(e.Dims) == 0:
				continue
			case e.Outer > 0:
				least = wholeColumns
			case !e.Several() && (k == len(expand)-1 || r.placesBy(b, f.From, e.Dims[0])): // threads store such rows one by one
				continue
			}
			last := v.Shape[e.Dims[len(e.Dims)-1]]
			if e.Multiple = min(last&-last, mostRows); e.Multiple < least {
				return r.settle(first, n, Call{}, errOneByOne)
			}
		}
		f.Expand = expand
		if f.Parts, ok = spec.PartOf(shape, v.Shape, v.Strides, v.Offset); !ok {
			return false
		}
	} else if !slices.ContainsFunc(a.Spec.Fused, func(f spec.Fusion) bool { return f.Expand != nil }) {
		return false
	}
	f.Rest = r.restOf(w, shape, n)
	one, err := r.joined(a, b, f)
	if err == nil {
		u := &one.Tensors[f.Into]
		u.Shape, u.Strides = shape, tensor.Contiguous(shape)
	}
	return r.settle(first, n, one, err)
}

// placesBy reports a launch that reads, beside number from of its tensors, something for each position along a dimension of that.
func (r *rewriter) placesBy(c *Call, from, dim int) bool {
	kernel := r.classOf(c.Spec).f
	if kernel == nil {
		return false
	}
	t, along := tensorOf(kernel, c.Spec, from), map[*ir.Axis]bool{}
	axisOf := func(v *ir.Value) *ir.Axis {
		if v.Def == nil {
			return nil
		}
		return v.Def.Axis
	}
	kernel.Walk(func(op *ir.Op) bool {
		if op.Tensor == t && op.Code == lang.OpLoad {
			if a := axisOf(op.Indices()[dim]); a != nil {
				along[a] = true
			}
		}
		return true
	})
	found := false
	kernel.Walk(func(op *ir.Op) bool {
		if op.Tensor != t && op.Code == lang.OpLoad {
			found = found || slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool { return along[axisOf(v)] })
		}
		return true
	})
	return found
}

// restOf is the run of positions along one dimension of a tensor, seen in a shape, that all launches but number n read.
func (r *rewriter) restOf(w *View, shape []int64, n int) (rest spec.Rest) {
	if r.results[w.Slot] {
		return rest
	}
	first := true
	for _, k := range r.reads[w.Slot] {
		if k == n {
			continue
		}
		r.Calls[k].each(func(_ int, v *View, mode lang.ParamMode) {
			if v.Slot != w.Slot || mode == lang.Out {
				return
			}
			runs, ok := runsOf(shape, v)
			one := spec.Rest{}
			for d, run := range runs {
				if ok && run.count < shape[d] && run.step == 1 && one.Count == 0 {
					one = spec.Rest{Dim: d, Begin: run.start, Count: run.count}
				}
			}
			if first {
				rest = one
			} else if rest != one {
				rest = spec.Rest{}
			}
			first = false
		})
	}
	return rest
}

// Of sequences of a multiple of wholeRows positions, and runs of a multiple of wholeColumns, blocks have whole tiles; that mostRows divide a
// sequence is the most that code is made for.
const wholeRows, wholeColumns, mostRows = 64, 16, 128
