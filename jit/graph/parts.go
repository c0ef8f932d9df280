package graph

import (
	"slices"

	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
)

// This file computes a product in the launch that reads it in parts: of a step of decoding, the queries, keys and values of a head in the block
// of attention to that head, where a head's weights are few.

// readsAll reports that launch number n alone reads a memory.
func (r *rewriter) readsAll(n int, s Slot) bool {
	return !slices.ContainsFunc(r.reads[s], func(k int) bool { return k != n })
}

// sourceOfParts computes what one launch would store where another reads it in parts.
func (r *rewriter) sourceOfParts(first, n int, s Slot) bool {
	a, b := &r.Calls[first], &r.Calls[n]
	stored := r.stored(first, s)
	w := &a.Tensors[stored]
	var all []spec.Shared
	fits := true
	b.each(func(place int, v *View, mode lang.ParamMode) {
		if v.Slot != s {
			return
		}
		parts, ok := spec.PartOf(w.Shape, v.Shape, v.Strides, v.Offset)
		fits = fits && ok && mode == lang.In && v.DType == w.DType
		all = append(all, spec.Shared{Into: place, From: stored, Parts: parts})
	})
	if !fits {
		return false
	}
	one, err := r.joined(b, a, spec.Fusion{Role: spec.Source, Spec: a.Spec, Into: all[0].Into, From: stored, Parts: all[0].Parts, More: all[1:]})
	return r.settle(first, n, one, err)
}

// paysInParts decides whether a source, which may be a product, is computed by the blocks that read parts of it: as these are fewer than
// those of a launch of its own, each reads more, which must take less time than a launch.
func (r *rewriter) paysInParts(s *spec.Spec, fusion *spec.Fusion) error {
	if !r.target.IsGPU() || s.Deterministic { // of a batch of other rows, a product of its own would have another order of sums
		return errRepeat
	}
	joined := *s
	joined.Fused = append(slices.Clip(s.Fused), *fusion)
	before, _, err := r.bytesOfBlock(s)
	if err != nil {
		return err
	}
	after, blocks, err := r.bytesOfBlock(&joined)
	if err != nil {
		return err
	}
	t := r.target
	if seconds := float64((after-before)/(t.L2/float64(t.SMs))) * max(1, blocks/float64(t.SMs)); seconds > t.LaunchInProgram() {
		return errFewBlocks
	}
	return nil
}

// bytesOfBlock is how many bytes a block of a launch loads, of a loop all that it may go through, and how many blocks there are.
func (r *rewriter) bytesOfBlock(s *spec.Spec) (bytes, blocks float64, err error) {
	f, dims, err := build.Kernel(s, r.target.Name)
	if err != nil {
		return 0, 0, err
	}
	blocks = 1
	for _, a := range f.Grid() {
		blocks *= float64(positionsOf(a, dims, s))
	}
	f.Walk(func(op *ir.Op) bool {
		if op.Code != lang.OpLoad {
			return true
		}
		n := float64(op.Tensor.DType.Bits()) / 8
		for _, a := range op.AccessAxes() {
			switch a.Kind {
			case ir.Grid:
				n *= float64(min(positionsOf(a, dims, s), partRows))
			case ir.Whole:
				n *= float64(a.Len)
			default:
				n *= float64(positionsOf(a, dims, s))
			}
		}
		bytes += n
		return true
	})
	return bytes, blocks, nil
}
