package build

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file makes the tensors of the IR: the kernel's parameters, and the views
// of their memory as elements of another type. A view is a tensor of its own,
// with a pointer that the launch sets to the same place, so that no stage after
// this one knows of it.

// declareTensor declares the tensor at a place among the kernel's parameters.
func (b *builder) declareTensor(place int, p *typed.Param) {
	t := &ir.Tensor{Name: p.Name, DType: p.DType.Resolve(b.spec.Types), Mode: p.Mode}
	b.places[p] = place
	if as := b.spec.Layouts[place].As; as.IsValid() {
		t.DType = as
	}
	b.lay(t, p, place, 1, 1)
	if l := b.spec.Layouts[place]; l.Order == nil {
		t.Grows, t.Starts = l.Grows, l.Starts
	}
	b.tensors[p] = t
}

// lay says where the elements of a tensor lie, which are times/by as many as
// those of the parameter at a place, and adds the tensor to the kernel.
func (b *builder) lay(t *ir.Tensor, p *typed.Param, place int, times, by int64) {
	l := b.spec.Layouts[place]
	t.Align, t.Constant = l.Align, l.Constant
	for d := range p.Shape {
		t.Shape = append(t.Shape, b.dim(p.Shape[d]))
	}
	if !l.Contiguous {
		for d := range p.Shape {
			s := &ir.Dim{Name: fmt.Sprintf("%s.stride%d", t.Name, d), Value: -1, Divisor: min(max(l.Divisors[d]*times/by, 1), 16)}
			if d == len(p.Shape)-1 && l.Inner == 1 {
				s.Value = 1
			} else {
				b.launch.Strides[s.Name] = spec.Stride{Tensor: place, Dim: d, Times: times, By: by}
			}
			t.Strides = append(t.Strides, s)
		}
	}
	b.f.Tensors = append(b.f.Tensors, t)
}

// tensor is the tensor that a load reads. Views are declared by their first
// load; views of one type and shape are one tensor.
func (b *builder) tensor(p *typed.Param) *ir.Tensor {
	if t := b.tensors[p]; t != nil {
		return t
	}
	base := b.tensors[p.Of]
	d := p.DType.Resolve(b.spec.Types)
	for q, t := range b.tensors {
		if (q == p.Of || q.Of == p.Of) && t.DType == d && slices.EqualFunc(q.Shape, p.Shape, size.Size.Equal) {
			b.tensors[p] = t
			return t
		}
	}
	t := &ir.Tensor{Mode: base.Mode, DType: d}
	t.Name = fmt.Sprintf("%s.%s", base.Name, d)
	for n := 1; slices.ContainsFunc(b.f.Tensors, func(u *ir.Tensor) bool { return u.Name == t.Name }); n++ {
		t.Name = fmt.Sprintf("%s.%s.%d", base.Name, d, n)
	}
	place := b.places[p.Of]
	from, to := int64(base.DType.Bits()), int64(d.Bits())
	if why := misfit(b.spec.Layouts[place], from, to); why != "" {
		k := b.spec.Kernel
		panic(&lang.Diagnostic{Code: lang.ErrArgShape, At: p.Of.At,
			Message: fmt.Sprintf("%s looks at %s as elements of %s, and the argument %s", k.Name, p.Of.Name, d, why),
			Labels:  []lang.Label{{At: p.At, Text: "the view"}},
			Fix:     &lang.Fix{Message: "give a copy, which begins at a multiple of 16 bytes and has no gaps"}})
	}
	b.lay(t, p, place, max(from/to, 1), max(to/from, 1))
	b.launch.Views = append(b.launch.Views, place)
	b.tensors[p] = t
	return t
}

// order gives tensors, and the views of them, their dimensions in the order in which these lie in memory (spec.Layout), in all accesses. A tensor that is seen in another shape has none of
// its own: that is an *Unfit.
func order(f *ir.Func, dims *spec.LaunchDims, operands []spec.Operand) error {
	orders := map[*ir.Tensor][]int{}
	n := 0
	for _, o := range operands {
		if !o.IsTensor {
			continue
		}
		t := f.Tensors[n]
		n++
		if orders[t] = o.Layout.Order; orders[t] != nil && (len(orders[t]) != len(t.Shape) || o.Flat && len(t.Shape) == len(o.Shape)) {
			return &Unfit{t.Name + " is seen in another shape, and its dimensions do not lie in the order of declaration"}
		}
	}
	for i, place := range dims.Views {
		orders[f.Tensors[n+i]] = operands[place].Layout.Order
	}
	for t, order := range orders {
		t.Shape = ordered(order, t.Shape)
	}
	f.Walk(func(op *ir.Op) bool {
		if order := orders[op.Tensor]; order != nil {
			op.Args, op.Checked = ordered(order, op.Args), ordered(order, op.Checked)
		}
		return true
	})
	return nil
}

// ordered gives what stands for each dimension of a tensor in another order; what comes behind the dimensions stays there.
func ordered[T any](order []int, of []T) []T {
	if order == nil || of == nil {
		return of
	}
	out := make([]T, len(of))
	copy(out[len(order):], of[len(order):])
	for i, d := range order {
		out[i] = of[d]
	}
	return out
}

// misfit says why memory of elements of from bits cannot be looked at as elements of to bits; "" when it can.
func misfit(l spec.Layout, from, to int64) string {
	if 8*l.Align < to {
		return fmt.Sprintf("begins at an address that is no multiple of %d bytes", to/8)
	}
	if from == to {
		return ""
	}
	if l.Order != nil {
		return "has the elements of its last dimension at a distance"
	}
	if l.Contiguous {
		return ""
	}
	if l.Inner != 1 {
		return "has gaps between the elements of its last dimension"
	}
	for _, divisor := range l.Divisors[:len(l.Divisors)-1] {
		if divisor*from%to != 0 {
			return fmt.Sprintf("has rows whose distance is no multiple of %d bytes", to/8)
		}
	}
	return ""
}
