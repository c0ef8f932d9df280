package graph

import (
	"slices"

	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
)

// This file is about launches that see one tensor in two shapes, as a convolution's image is rows of places for what reduces its channels. What is one launch then sees some of its operands
// in other shapes than their kernels do: the elements lie as before.

// split gives the parameters of a launch that has the operand at a place as a flat sink: those of its other operands with a dimension that is several of the tensor's.
func split(b *Call, place int, f *spec.Fusion) (all []spec.Split) {
	operands := b.Spec.Operands()
	b.each(func(i int, v *View, mode lang.ParamMode) {
		o := &operands[i]
		if mode != lang.In || o.Flat || o.Of != operands[place].Of || slices.Contains(f.Flat, i) || !v.Contiguous() {
			return
		}
		one, several := spec.Split{Place: i}, false
		for _, size := range o.Shape {
			for _, a := range f.Along {
				if size.Equal(operands[place].Shape[a.Read]) {
					one.Dims, several = append(one.Dims, a.Stored), several || len(a.Stored) > 1
					break
				}
			}
		}
		if several && len(one.Dims) == len(o.Shape) {
			all = append(all, one)
		}
	})
	return all
}

// separate gives the operands of a launch with a dimension of the one at a place that is several of what stores that: nil where there are none, or they cannot all be seen so.
func (r *rewriter) separate(b *Call, place int, groups []spec.Group) []spec.Split {
	f, dims, err := build.Kernel(b.Spec, r.target.Name)
	if err != nil || len(dims.Views) > 0 {
		return nil
	}
	several := map[*ir.Tensor]map[int][]int{} // dimensions of what is stored, by those of what is read
	i, k := 0, 0
	for _, g := range groups {
		if g.Read == 1 && g.Stored > 1 {
			along, ok := build.AlongOne(f, tensorOf(f, b.Spec, place), i)
			if !ok {
				return nil
			}
			for t, at := range along {
				if several[t] == nil {
					several[t] = map[int][]int{}
				}
				for d := range g.Stored {
					several[t][at] = append(several[t][at], k+d)
				}
			}
		}
		i, k = i+g.Read, k+g.Stored
	}
	var all []spec.Split
	fits := true
	b.each(func(n int, v *View, _ lang.ParamMode) {
		dims := several[tensorOf(f, b.Spec, n)]
		if dims == nil {
			return
		}
		one := spec.Split{Place: n, Dims: make([][]int, len(v.Shape))}
		for at, of := range dims {
			one.Dims[at] = of
		}
		fits, all = fits && v.Contiguous(), append(all, one)
	})
	if !fits {
		return nil
	}
	return all
}

// reshape gives the operands of a launch of two, of which the first so many are those of the one that the other was fused into, the shapes in which it sees them.
func reshape(one, into, other *Call, f *spec.Fusion, kept int) {
	gone, known := f.Gone(), f.Known()
	see := func(v *View, shape []int64) { v.Shape, v.Strides = shape, tensor.Contiguous(shape) }
	of := func(i int) *View { return &one.Tensors[kept+spec.Shift(i, known)] }
	shape, stored := into.Tensors[f.Into].Shape, other.Tensors[f.From].Shape
	for _, i := range f.Flat {
		if !slices.Contains(known, i) {
			see(of(i), shape)
		}
	}
	for _, x := range f.Split {
		see(of(x.Place), x.Shape(nil, shape))
	}
	for _, x := range f.Separate {
		if !slices.Contains(gone, x.Place) {
			v := &one.Tensors[spec.Shift(x.Place, gone)]
			see(v, x.Shape(v.Shape, stored))
		}
	}
}
