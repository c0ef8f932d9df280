package main

// #include "bare.h"
// #include <stdlib.h>
import "C"

import (
	"unsafe"

	"tilec/jit"
	"tilec/jit/cuda"
	"tilec/jit/graph"
	"tilec/lang"
)

// This file makes what bare.c launches.

// arm gives a bound function that is one kernel on a GPU what C needs to launch it. Meanwhile no device is closed: one that is closed later takes that
// away (disarmOn), and one that was closed before is not among the handles.
func (h *handles) arm(n uint64, b *bound) {
	l := b.launch.BareLaunch()
	if l == nil {
		return
	}
	c := newBare(b, l)
	if c == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isOpen(b.device) || C.bare_arm(C.uint64_t(n), c) == 0 {
		freeBare(c)
		return
	}
	b.disarm = func() {
		if c := C.bare_disarm(C.uint64_t(n)); c != nil {
			freeBare(c)
		}
	}
}

func freeBare(c *C.bare) {
	C.free(unsafe.Pointer(c.maps))
	C.free(unsafe.Pointer(c))
}

// newBare is a launch in C's memory; nil where it has more of something than there is room for.
func newBare(b *bound, l *jit.BareLaunch) *C.bare {
	values := len(b.arguments) + len(b.outputs)
	if max(values, len(l.Offsets)) > C.BARE_PARAMETERS || len(l.Parameters) > C.BARE_BYTES {
		return nil
	}
	c := (*C.bare)(C.calloc(1, C.sizeof_bare))
	*(*uintptr)(unsafe.Pointer(&c.launch)) = l.LaunchKernel
	*(*uintptr)(unsafe.Pointer(&c.enter)) = l.SetCurrent
	*(*uintptr)(unsafe.Pointer(&c.encode)) = l.EncodeTiled
	*(*uintptr)(unsafe.Pointer(&c.context)) = l.Context
	*(*uintptr)(unsafe.Pointer(&c.function)) = l.Function
	c.grid, c.block, c.shared = C.uint(l.Grid.X), C.uint(l.Block.X), C.uint(l.Shared)
	c.arguments, c.outputs = C.uint32_t(len(b.arguments)), C.uint32_t(len(b.outputs))
	for i, a := range b.arguments {
		if a.scalar {
			c.scalar_bytes[i] = C.uint8_t(a.dtype.Size())
		}
	}
	for i, at := range l.Offsets {
		c.offsets[i] = C.uint32_t(at)
	}
	c.parameter_count, c.parameter_bytes = C.uint32_t(len(l.Offsets)), C.uint32_t(len(l.Parameters))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&c.parameters)), C.BARE_BYTES), l.Parameters)

	// The numbers of tensors and of scalars among the values of a launch.
	var tensors, scalars []int
	var defaults []*lang.Literal
	for i, leaf := range b.leaves {
		if leaf.Value.Scalar != nil {
			scalars, defaults = append(scalars, b.of[i]), append(defaults, leaf.Value.Scalar)
		} else {
			tensors = append(tensors, b.of[i])
		}
	}
	for i := range b.outputs {
		tensors = append(tensors, len(b.arguments)+i)
	}
	for i, t := range l.Tensors {
		to := &c.tensors[i]
		to.value, to.mask, to.bytes = C.uint32_t(tensors[i]), C.uint64_t(t.Align-1), C.uint64_t(t.Bytes)
		if t.Written {
			to.written = 1
		}
	}
	c.tensor_count = C.uint32_t(len(l.Tensors))
	change := func(p C.bare_parameter) {
		c.changing[c.changing_count] = p
		c.changing_count++
	}
	for _, a := range l.Addresses {
		change(C.bare_parameter{value: C.uint32_t(tensors[a.Tensor]), bytes: 8, at: c.offsets[a.Parameter], add: C.uint64_t(a.Add)})
	}
	for _, s := range l.Scalars {
		if n := scalars[s.Scalar]; n >= 0 {
			change(C.bare_parameter{value: C.uint32_t(n), bytes: C.uint32_t(s.Bytes), at: c.offsets[s.Parameter]})
			continue
		}
		bits := graph.ScalarBits(*defaults[s.Scalar])
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&c.parameters)), C.BARE_BYTES)[c.offsets[s.Parameter]:], unsafe.Slice((*byte)(unsafe.Pointer(&bits)), s.Bytes))
	}
	if len(l.Maps) > 0 {
		c.maps = (*C.bare_map)(C.calloc(C.size_t(len(l.Maps)), C.sizeof_bare_map))
	}
	c.map_count = C.uint32_t(len(l.Maps))
	first := len(l.Offsets) - len(l.Maps)
	for i := range l.Maps {
		setMap(&unsafe.Slice(c.maps, len(l.Maps))[i], &l.Maps[i], c.offsets[first+i], c.offsets[l.Maps[i].Of])
	}
	return c
}

// setMap describes a tensor map to C: where it and the address of its tensor are among the parameters, and what it is.
func setMap(c *C.bare_map, m *cuda.BareMap, at, addressAt C.uint32_t) {
	c.at, c.address_at = at, addressAt
	c._type, c.rank, c.swizzle, c.l2 = C.uint32_t(m.Type), C.uint32_t(len(m.Dims)), C.uint32_t(m.Swizzle), C.uint32_t(m.L2)
	for i := range m.Dims {
		c.dims[i], c.box[i], c.steps[i] = C.uint64_t(m.Dims[i]), C.uint32_t(m.Box[i]), 1
	}
	for i, s := range m.Strides {
		c.strides[i] = C.uint64_t(s)
	}
	if m.SmallTensor {
		c.clear, c.clear_word = 1<<cuda.SmallTensorBit, cuda.SmallTensorWord
	}
}
