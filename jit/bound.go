package jit

import (
	"tilec/jit/backend"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
)

// bound is a graph or a kernel bound to the shapes of its arguments: the launches that it makes, over tensors whose memory
// is not there yet. It is data.
type bound struct {
	name string
	// inputs are the tensor arguments in order.
	inputs []input
	// made are the tensors that were filled when the graph was bound, by what they hold.
	made      []tensor.Tensor
	madeNames map[string]int
	// scalarTypes are the scalar arguments in order.
	scalarTypes []lang.DType
	calls       []call
	temps       []temp
	outputs     []view
}

// call is one launch.
type call struct {
	spec *spec.Spec
	// tensors and scalars follow the kernel's parameters, inputs then outputs.
	tensors []view
	scalars []scalar
	// fills are the tensors that are filled with zeros before the launch.
	fills []int
}

// free gives back the memory of the tensors that were filled.
func (b *bound) free(d backend.Device) {
	for i := range b.made {
		d.Free(b.made[i].Memory)
	}
	b.made = nil
}

// slot is where a tensor's memory comes from: argument n, temporary n, or tensor n that the program filled.
type slot struct {
	temp, made bool
	index      int
}

// view is a tensor of a program, known but for the memory.
type view struct {
	slot    slot
	dtype   lang.DType
	shape   []int64
	strides []int64 // always given
	offset  int64   // elements
}

func (v *view) contiguous() bool {
	want := int64(1)
	for i := len(v.shape) - 1; i >= 0; i-- {
		if v.shape[i] != 1 && v.strides[i] != want {
			return false
		}
		want *= v.shape[i]
	}
	return true
}

// temp is a temporary: where in the arena it lies, and from which step to which it is needed.
type temp struct {
	size        int64
	first, last int
	offset      int64
}
