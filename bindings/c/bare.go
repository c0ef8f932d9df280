package main

// #include "bare.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/cuda"
	"tilec/jit/graph"
	"tilec/lang"
)

// This file makes what bare.c launches.

// arm gives a bound function that is only launches on a GPU what C needs to make them. Meanwhile no device is closed: one that is closed later takes that
// away (disarmOn), and one that was closed before is not among the handles.
func (h *handles) arm(n uint64, b *bound) {
	r := b.launch.BareRun()
	if r == nil || len(b.arguments)+len(b.outputs) > C.BARE_VALUES || slices.ContainsFunc(r.Launches, tooLarge) {
		return
	}
	m := &cMemory{}
	c := m.bareOf(b, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isOpen(b.device) || C.bare_arm(C.uint64_t(n), c) == 0 {
		m.free()
		return
	}
	b.turns = turns{handle: C.uint64_t(n), taken: c.takes_turns != 0, turn: r.Turn}
	b.disarm = func() {
		if C.bare_disarm(C.uint64_t(n)) != nil {
			m.free()
		}
	}
}

// tooLarge reports a launch for which C has no room.
func tooLarge(l jit.BareLaunch) bool {
	return len(l.Offsets) > C.BARE_PARAMETERS || len(l.Parameters) > C.BARE_BYTES
}

// turns are how runs that Go makes of a bound function come between those of C's.
type turns struct {
	handle C.uint64_t
	// taken: runs come one after the other; turn is the event behind the last one, nil where they share no memory.
	taken bool
	turn  *cuda.Event
}

// run does a run of Go's in its turn, and tells C what was recorded of it.
func (t *turns) run(b *bound, arguments, outputs []unsafe.Pointer, work func() error) error {
	C.bare_begin_turn(t.handle)
	defer C.bare_end_turn(t.handle)
	C.bare_recorded(t.handle, 0, 1, nil) // work may give up what was recorded before
	run := work
	if d, ok := b.device.(backend.BareDevice); ok && t.turn != nil {
		run = func() error { return d.InTurn(t.turn, work) }
	}
	if err := run(); err != nil {
		return err
	}
	recorded, possible := b.launch.Recorded()
	values := make([]C.uint64_t, 0, len(arguments)+len(outputs)+1)
	for i, at := range arguments {
		if a := &b.arguments[i]; a.scalar {
			bits := graph.ScalarBits(literal(a.dtype, at))
			values = append(values, C.uint64_t(bits))
		} else {
			values = append(values, C.uint64_t(uintptr(at)))
		}
	}
	for _, at := range outputs {
		values = append(values, C.uint64_t(uintptr(at)))
	}
	may := C.int(0)
	if possible {
		may = 1
	}
	C.bare_recorded(t.handle, C.uintptr_t(recorded), may, unsafe.SliceData(values))
	return nil
}

// tilecBroken says that the driver refused a launch behind others that it had taken.
//
//export tilecBroken
func tilecBroken(code C.int, to **C.char) C.int {
	return done(fmt.Errorf("a launch behind others of the function, which were made: %w", cuda.Code(code)), to)
}

// cMemory is memory of C's that is given back together.
type cMemory struct{ all []unsafe.Pointer }

func (m *cMemory) free() {
	for _, at := range m.all {
		C.free(at)
	}
}

// zeroed is room for n of something.
func zeroed[T any](m *cMemory, n int) []T {
	var one T
	at := C.calloc(C.size_t(max(n, 1)), C.size_t(unsafe.Sizeof(one)))
	m.all = append(m.all, at)
	return unsafe.Slice((*T)(at), n)
}

// point makes a pointer of C's of what the driver is called by or with.
func point[T any](to *T, address uintptr) { *(*uintptr)(unsafe.Pointer(to)) = address }

// bareOf is a run in C's memory.
func (m *cMemory) bareOf(b *bound, r *jit.BareRun) *C.bare {
	c := &zeroed[C.bare](m, 1)[0]
	point(&c.launch, r.LaunchKernel)
	point(&c.zeros, r.Fill)
	point(&c.replay, r.GraphLaunch)
	point(&c.current, r.GetCurrent)
	point(&c.enter, r.SetCurrent)
	point(&c.wait, r.WaitEvent)
	point(&c.record, r.RecordEvent)
	point(&c.capturing, r.IsCapturing)
	point(&c.encode, r.EncodeTiled)
	point(&c.context, r.Context)
	c.arguments, c.outputs = C.uint32_t(len(b.arguments)), C.uint32_t(len(b.outputs))
	bytes := zeroed[C.uint8_t](m, len(b.arguments))
	for i, a := range b.arguments {
		if a.scalar {
			bytes[i] = C.uint8_t(a.dtype.Size())
		}
	}
	c.scalar_bytes = unsafe.SliceData(bytes)

	// The numbers of tensors and of scalars among the values of a run.
	var of numbers
	for i, leaf := range b.leaves {
		if leaf.Value.Scalar != nil {
			of.scalars, of.defaults = append(of.scalars, b.of[i]), append(of.defaults, leaf.Value.Scalar)
		} else {
			of.tensors = append(of.tensors, b.of[i])
		}
	}
	for i := range b.outputs {
		of.tensors = append(of.tensors, len(b.arguments)+i)
	}
	tensors := zeroed[C.bare_tensor](m, len(r.Tensors))[:0]
	for _, written := range []C.uint32_t{1, 0} {
		for i, t := range r.Tensors {
			if t.Written == (written == 1) {
				tensors = append(tensors, C.bare_tensor{value: C.uint32_t(of.tensors[i]), written: written, mask: C.uint64_t(t.Align - 1), bytes: C.uint64_t(t.Bytes)})
			}
		}
	}
	c.tensors, c.tensor_count = unsafe.SliceData(tensors), C.uint32_t(len(tensors))

	launches := zeroed[C.bare_launch](m, len(r.Launches))
	for i := range r.Launches {
		m.launch(&launches[i], &r.Launches[i], &of)
	}
	c.launches, c.launch_count = unsafe.SliceData(launches), C.uint32_t(len(launches))
	if len(launches) > 1 || r.Turn != nil {
		c.takes_turns = 1
		count := len(b.arguments) + len(b.outputs)
		c.last, c.graph_values = unsafe.SliceData(zeroed[C.uint64_t](m, count)), unsafe.SliceData(zeroed[C.uint64_t](m, count))
		if _, possible := b.launch.Recorded(); possible {
			c.recorded = 1
		}
	}
	if r.Turn != nil {
		point(&c.turn, r.Turn.Handle())
	}
	return c
}

// numbers are which values of a run its tensors and scalars are; of a scalar that is not given, -1 and its default.
type numbers struct {
	tensors, scalars []int
	defaults         []*lang.Literal
}

// launch sets one of a run.
func (m *cMemory) launch(c *C.bare_launch, l *jit.BareLaunch, of *numbers) {
	point(&c.function, l.Function)
	c.grid, c.block, c.shared, c.zeros = C.uint(l.Grid.X), C.uint(l.Block.X), C.uint(l.Shared), C.uint64_t(l.Zeros)
	offsets := zeroed[C.uint32_t](m, len(l.Offsets))
	for i, at := range l.Offsets {
		offsets[i] = C.uint32_t(at)
	}
	parameters := zeroed[byte](m, len(l.Parameters)+8) // a scalar is set by the 8 bytes that it is passed in
	copy(parameters, l.Parameters)
	c.offsets, c.parameters = unsafe.SliceData(offsets), (*C.uint8_t)(unsafe.SliceData(parameters))
	c.parameter_count, c.parameter_bytes = C.uint32_t(len(l.Offsets)), C.uint32_t(len(l.Parameters))

	changing := zeroed[C.bare_parameter](m, len(l.Addresses)+len(l.Scalars))[:0]
	for _, a := range l.Addresses {
		changing = append(changing, C.bare_parameter{value: C.uint32_t(of.tensors[a.Tensor]), bytes: 8, at: offsets[a.Parameter], add: C.uint64_t(a.Add)})
	}
	for _, s := range l.Scalars {
		if n := of.scalars[s.Scalar]; n >= 0 {
			changing = append(changing, C.bare_parameter{value: C.uint32_t(n), bytes: C.uint32_t(s.Bytes), at: offsets[s.Parameter]})
			continue
		}
		bits := graph.ScalarBits(*of.defaults[s.Scalar])
		copy(parameters[offsets[s.Parameter]:], unsafe.Slice((*byte)(unsafe.Pointer(&bits)), s.Bytes))
	}
	c.changing, c.changing_count = unsafe.SliceData(changing), C.uint32_t(len(changing))

	maps := zeroed[C.bare_map](m, len(l.Maps))
	first := len(l.Offsets) - len(l.Maps)
	for i := range l.Maps {
		setMap(&maps[i], &l.Maps[i], offsets[first+i], offsets[l.Maps[i].Of])
	}
	c.maps, c.map_count = unsafe.SliceData(maps), C.uint32_t(len(maps))
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
