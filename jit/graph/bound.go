package graph

import (
	"slices"

	"tilec/jit/backend"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// Bound is a graph or a kernel bound to the shapes of its arguments: the launches that it makes, over tensors whose memory
// is not there yet. It is data.
type Bound struct {
	Name string
	// Deterministic is that of the options: no launch knows how many rows there are, up to spec.SameRows.
	Deterministic bool
	// Inputs are the tensor arguments in order.
	Inputs []Input
	// Made are the tensors that were filled when the graph was bound, by what they hold.
	Made      []tensor.Tensor
	madeNames map[string]int
	// borrows: what was filled is another graph's.
	borrows bool
	// ScalarTypes are the scalar arguments in order.
	ScalarTypes []lang.DType
	Calls       []Call
	Temps       []Temp
	Outputs     []View
	// Once is what is computed when the graph is bound; nil for nothing.
	Once *Once
	// Apart are the launches that could be fewer and are not, and Notes what became smaller.
	Apart []Apart
	Notes []Note
}

// Call is one launch.
type Call struct {
	Spec *spec.Spec
	// Tensors and scalars follow the kernel's parameters, inputs then outputs.
	Tensors []View
	Scalars []Scalar
	// Fills are the tensors that are filled with zeros before the launch.
	Fills []int
	// At is the call that the source has; of a launch of several kernels, that of one of them.
	At lang.Span
	// copies is, of a launch that lays an operand of later ones out anew, how these see it; nil of others.
	copies *lie
	// params are the parameters of the specialisation paramsOf, which passes ask for again and again.
	params   []*typed.Param
	paramsOf *spec.Spec
}

// depend notes at the launches of a program of several that each may begin before the one before it has ended, and what
// they may read then: tensors that no launch up to it writes, and of those that grow what was there. What a launch behind it writes
// is as good as a constant, since that waits for all before it: a step of decoding reads the token and the position to which its last launch moves.
func (b *Bound) depend(target string) {
	if len(b.Calls) < 2 {
		return
	}
	written := map[Slot]bool{}
	for i := range b.Calls {
		c := &b.Calls[i]
		c.Spec.Dependent = true
		c.each(func(_ int, v *View, mode lang.ParamMode) {
			if mode != lang.In {
				written[v.Slot] = true
			}
		})
		for j, o := range c.Spec.Operands() {
			if o.IsTensor {
				at := c.Tensors[j].Slot
				o.Layout.Constant = !at.Temp && !written[at]
			}
		}
	}
	b.grow(target)
}

// Fused reports launches of several kernels each.
func (b *Bound) Fused() bool {
	return slices.ContainsFunc(b.Calls, func(c Call) bool { return len(c.Spec.Fused) > 0 }) || b.Once != nil && b.Once.Fused()
}

// AsWritten reports launches that are the calls of the source, one each: none of several kernels, of half of one, or of one whose operands
// others have laid out anew.
func (b *Bound) AsWritten() bool {
	return !b.Fused() && !slices.ContainsFunc(b.Calls, func(c Call) bool {
		return c.Spec.Cut != nil || c.copies != nil
	})
}

// Free gives back the memory of the tensors that were filled.
func (b *Bound) Free(d backend.Device) {
	for i := range b.Made {
		if !b.borrows {
			d.Free(b.Made[i].Memory)
		}
	}
	b.Made = nil
}

// Slot is where a tensor's memory comes from: argument n, temporary n, or tensor n that the program filled.
type Slot struct {
	Temp, Made bool
	Index      int
}

// View is a tensor of a program, known but for the memory.
type View struct {
	Slot    Slot
	DType   lang.DType
	Shape   []int64
	Strides []int64 // always given
	Offset  int64   // elements
}

// Contiguous reports elements in row-major order without gaps.
func (v *View) Contiguous() bool {
	want := int64(1)
	for i := len(v.Shape) - 1; i >= 0; i-- {
		if v.Shape[i] != 1 && v.Strides[i] != want {
			return false
		}
		want *= v.Shape[i]
	}
	return true
}

// Temp is a temporary: where in the arena it lies, and from which step to which it is needed.
type Temp struct {
	Size        int64
	First, last int
	Offset      int64
}
