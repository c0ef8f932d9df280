package graph

import (
	"fmt"

	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file binds what picks a part of a value of a graph: elements and parts of
// arrays, slices and views of tensors. Nothing is copied.

func (f *frame) elem(x *typed.GElem) (Value, error) {
	v, err := f.eval(x.X)
	if err != nil {
		return Value{}, err
	}
	n, err := f.index(x.Index, "an index of an array")
	if err != nil {
		return Value{}, err
	}
	if n < 0 || n >= int64(len(v.elems)) {
		return Value{}, spec.Errorf(x.At, lang.ErrArgShape, "index %d is outside an array of %d", n, len(v.elems))
	}
	return v.elems[n], nil
}

// arrayRange gives elements lo .. hi of an array.
func (f *frame) arrayRange(x *typed.GRange) (Value, error) {
	v, err := f.eval(x.X)
	if err != nil {
		return Value{}, err
	}
	lo, hi, err := f.ends(x.Lo, x.Hi, int64(len(v.elems)), x.At, func() string { return fmt.Sprintf("an array of %d", len(v.elems)) })
	if err != nil {
		return Value{}, err
	}
	return Value{elems: v.elems[lo:hi:hi]}, nil
}

// ends evaluates the ends of a range of positions from 0 to size; nil is that end of all.
func (f *frame) ends(from, to typed.GExpr, size int64, at lang.Span, what func() string) (lo, hi int64, err error) {
	hi = size
	if from != nil {
		if lo, err = f.index(from, "the start of a range"); err != nil {
			return 0, 0, err
		}
	}
	if to != nil {
		if hi, err = f.index(to, "the end of a range"); err != nil {
			return 0, 0, err
		}
	}
	if lo < 0 || hi > size || lo > hi {
		return 0, 0, spec.Advise(at, lang.ErrArgShape, fmt.Sprintf("a range begins at 0 or later, ends at %d or before, and not before it begins", size), "%d..%d is outside %s", lo, hi, what())
	}
	return lo, hi, nil
}

func (f *frame) reshape(x *typed.GView) (Value, error) {
	v, err := f.eval(x.X)
	if err != nil {
		return Value{}, err
	}
	shape, err := f.shape("a view", x.Type.Shape, x.At)
	if err != nil {
		return Value{}, err
	}
	if tensor.Elements(shape) != tensor.Elements(v.View.Shape) {
		return Value{}, spec.Advise(x.At, lang.ErrArgShape, "a view has as many elements as what it shows: write one of its sizes as a quotient of the others", "view of %s as %s: %d elements and %d", tensor.FormatShape(v.View.Shape), tensor.FormatShape(shape), tensor.Elements(v.View.Shape), tensor.Elements(shape))
	}
	strides, ok := reshapeStrides(v.View.Shape, v.View.Strides, shape)
	if !ok {
		return Value{}, spec.Advise(x.At, lang.ErrArgShape, "the elements do not lie one behind the other, as in a slice: take the view first and the slice of it, or copy by a kernel, as in `y[i, j] = x[i, j]`",
			"view of %s as %s would need a copy: its strides are %v", tensor.FormatShape(v.View.Shape), tensor.FormatShape(shape), v.View.Strides)
	}
	w := *v.View
	w.Shape, w.Strides = shape, strides
	w.DType = x.Type.DType.Resolve(f.types) // a bitcast is a view too
	return Value{View: &w}, nil
}

// reshapeStrides gives the strides that show the same elements in another
// shape, when there are any: runs of dimensions whose elements are evenly
// spaced are cut anew.
func reshapeStrides(shape, strides, want []int64) ([]int64, bool) {
	out := make([]int64, len(want))
	if tensor.Elements(shape) == 0 {
		return tensor.Contiguous(want), true
	}
	i, j := len(shape)-1, len(want)-1
	for i >= 0 || j >= 0 {
		if i < 0 {
			if want[j] != 1 {
				return nil, false
			}
			// One position needs none; as far as all that lies inside, it divides as that does.
			if out[j] = 1; j+1 < len(want) {
				out[j] = want[j+1] * out[j+1]
			}
			j--
			continue
		}
		if shape[i] == 1 {
			i--
			continue
		}
		// A run: dimensions i down to k hold n elements evenly spaced by step.
		n, step := shape[i], strides[i]
		k := i
		for k > 0 && (shape[k-1] == 1 || strides[k-1] == step*n) {
			k--
			n *= shape[k]
		}
		rest := n
		for j >= 0 && rest > 1 {
			if rest%want[j] != 0 {
				return nil, false
			}
			out[j] = step
			step *= want[j]
			rest /= want[j]
			j--
		}
		if rest != 1 {
			return nil, false
		}
		i = k - 1
	}
	return out, true
}

func (f *frame) slice(x *typed.GSlice) (Value, error) {
	v, err := f.eval(x.X)
	if err != nil {
		return Value{}, err
	}
	w := *v.View
	w.Shape, w.Strides = nil, nil
	for d, item := range x.Items {
		size, stride := v.View.Shape[d], v.View.Strides[d]
		if item.Index != nil {
			n, err := f.index(item.Index, "an index of a slice")
			if err != nil {
				return Value{}, err
			}
			if n < 0 || n >= size {
				return Value{}, spec.Errorf(item.Index.Span(), lang.ErrArgShape, "index %d is outside dimension %d of %s", n, d, tensor.FormatShape(v.View.Shape))
			}
			w.Offset += n * stride
			continue
		}
		lo, hi, err := f.ends(item.Lo, item.Hi, size, x.At, func() string { return fmt.Sprintf("dimension %d of %s", d, tensor.FormatShape(v.View.Shape)) })
		if err != nil {
			return Value{}, err
		}
		w.Offset += lo * stride
		w.Shape = append(w.Shape, hi-lo)
		w.Strides = append(w.Strides, stride)
	}
	if !w.DType.WholeAt(w.Offset) {
		return Value{}, spec.Errorf(x.At, lang.ErrSlice, "the slice begins with element %d of %s%s, which lies within a byte: it must begin with an element that does not, or be a copy that a kernel makes",
			w.Offset-v.View.Offset, w.DType, tensor.FormatShape(v.View.Shape))
	}
	return Value{View: &w}, nil
}
