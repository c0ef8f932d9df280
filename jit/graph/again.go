package graph

import (
	"slices"

	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
)

// This file computes again, in each of several launches that read it, what is little to compute: the launch that did it once, and what it stored, are gone.

// mostReaders is how many launches compute again, each where it reads it, what one would store for all of them.
const mostReaders = 4

// sourceOfAll computes what one launch would store where others read it, in each of them: all of them, or none. It is little, as the sum of a few parts:
// threads need not wait for each other, as for a norm, and what they read more takes less time than a launch.
func (r *rewriter) sourceOfAll(first int) {
	a := &r.Calls[first]
	if of := r.classOf(a.Spec); !r.target.IsGPU() || a.Spec.Deterministic || of.heavy || of.together {
		return
	}
	stored, read, written, outputs := -1, 0.0, 0.0, 0
	a.each(func(i int, v *View, mode lang.ParamMode) {
		bytes := float64(v.DType.Bytes(tensor.Elements(v.Shape)))
		if mode != lang.Out {
			read += bytes
		}
		if mode != lang.In {
			stored, written, outputs = i, bytes, outputs+1
		}
	})
	if outputs != 1 || !a.Tensors[stored].Slot.Temp || r.results[a.Tensors[stored].Slot] {
		return
	}
	s := a.Tensors[stored].Slot
	readers := slices.Compact(slices.Clone(r.reads[s]))
	n := float64(len(readers))
	if more := float64((n-1)*read) - float64((n+1)*written); len(readers) < 2 || len(readers) > mostReaders || len(r.writes[s]) != 1 ||
		more > float64(r.target.L2*r.target.LaunchInProgram()) || r.writtenBetween(first, readers[len(readers)-1]) {
		return
	}
	ones := make([]Call, len(readers))
	for i, n := range readers {
		b, place := &r.Calls[n], -1
		b.each(func(k int, v *View, mode lang.ParamMode) {
			if v.Slot == s && mode == lang.In && r.whole(first, v) {
				place = k
			}
		})
		if place < 0 || n < first || r.shared(first, n) > 1 || !r.free(first, n) {
			return
		}
		groups, alike := spec.GroupShapes(b.Tensors[place].Shape, a.Tensors[stored].Shape)
		if !alike {
			return
		}
		var err error
		if ones[i], err = r.joined(b, a, spec.Fusion{Role: spec.Source, Spec: a.Spec, Into: place, From: stored, Groups: groups}); err != nil {
			r.refuse(first, n, err)
			return
		}
	}
	for i, n := range readers {
		r.put(n, ones[i])
	}
	r.put(first, Call{})
}

// writtenBetween reports that something which a launch reads is written behind it, up to launch number last and with it.
func (r *rewriter) writtenBetween(first, last int) (written bool) {
	r.Calls[first].each(func(_ int, v *View, mode lang.ParamMode) {
		written = written || mode == lang.In && slices.ContainsFunc(r.writes[v.Slot], func(k int) bool { return k > first && k <= last })
	})
	return written
}
