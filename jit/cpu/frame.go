package cpu

import (
	"sync"
	"unsafe"

	"tilec/jit/ir"
)

// axisState is where an axis stands: the first position and how many positions
// there are in this block or step. Ragged ends are simply shorter.
type axisState struct{ start, n int }

// rowChunk is the most elements that a group of elementwise operations handles
// at once: a few such runs fit in the nearest cache.
const rowChunk = 1024

// maxOutside bounds the operands of a group.
const maxOutside = 16

// frame is what one worker needs to run blocks: the buffers of every value and
// the state of every axis. Frames are pooled and shared by all programs.
type frame struct {
	arena []uint64
	// base is the first element of arena, aligned to a cache line.
	base   unsafe.Pointer
	axes   []axisState
	launch *launch
	// op is the operation that runs, for error messages.
	op *ir.Op
	// block is the number of the block that runs, said the bytes of its records so far, words room for one.
	block, said int
	words       []uint64
	// step has the strides, in bytes, of the operands of a group along its outer axes.
	step [maxOutside][maxRank]int
	// scratch are the kernel's scratch tensors, which lie in the buffer tempScratch.
	scratch []tensorView
	// temps are scratch buffers that grow on demand.
	temps [numTemps][]uint64
}

// The uses of scratch buffers; an operation may use several at once.
const (
	tempA = iota
	tempB
	tempC
	tempPackA
	tempPackB
	tempTile
	tempSpread
	tempWide
	tempSums
	tempScratch
	numTemps
)

var frames = sync.Pool{New: func() any { return new(frame) }}

// newFrame takes a frame with at least the arena and the axes asked for.
func newFrame(arenaBytes, axes int) *frame {
	fr := frames.Get().(*frame)
	fr.arena, fr.base = grow(fr.arena, arenaBytes)
	if cap(fr.axes) < axes {
		fr.axes = make([]axisState, axes)
	}
	fr.axes = fr.axes[:axes]
	return fr
}

func (fr *frame) release() {
	fr.launch, fr.op, fr.scratch = nil, nil, nil
	frames.Put(fr)
}

// tensor is a tensor by its number: those of the launch come first, then the scratch tensors.
func (fr *frame) tensor(n int) *tensorView {
	if given := len(fr.launch.tensors); n >= given {
		return &fr.scratch[n-given]
	}
	return &fr.launch.tensors[n]
}

// provide gives the frame the kernel's scratch tensors. What they hold at first is undefined.
func (fr *frame) provide(f *ir.Func) {
	n := f.ScratchBytes()
	if n == 0 {
		return
	}
	base := fr.temp(tempScratch, int(n))
	for _, t := range f.Tensors {
		if !t.Scratch {
			continue
		}
		v := tensorView{unsafe.Add(base, f.ScratchOffset(t)), make([]int, len(t.Shape)), make([]int, len(t.Shape))}
		stride := 1
		for i := len(t.Shape) - 1; i >= 0; i-- {
			v.shape[i], v.strides[i] = int(t.Shape[i].Value), stride
			stride *= v.shape[i]
		}
		fr.scratch = append(fr.scratch, v)
	}
}

// at is the address at an offset of the arena.
func (fr *frame) at(off int) unsafe.Pointer { return unsafe.Add(fr.base, off) }

// temp is a scratch buffer of at least the bytes asked for. Its contents are undefined.
func (fr *frame) temp(i, bytes int) unsafe.Pointer {
	var p unsafe.Pointer
	fr.temps[i], p = grow(fr.temps[i], bytes)
	return p
}

const cacheLine = 64

func grow(buf []uint64, bytes int) ([]uint64, unsafe.Pointer) {
	words := (bytes+7)/8 + 2*cacheLine/8
	if len(buf) < words {
		buf = make([]uint64, words+words/4)
	}
	p := unsafe.Pointer(unsafe.SliceData(buf))
	if over := uintptr(p) % cacheLine; over != 0 {
		p = unsafe.Add(p, cacheLine-over)
	}
	return buf, p
}

// count is the number of elements over the axes as they stand.
func (fr *frame) count(axes []int) int {
	n := 1
	for _, a := range axes {
		n *= fr.axes[a].n
	}
	return n
}

// scalar reads an i32 or i64 scalar.
func (fr *frame) scalar(s scalarRef) int { return fr.integer(s.off, 0, s.wide) }

// integer reads element e of a tile of i32 or, where it is wide, i64.
func (fr *frame) integer(off, e int, wide bool) int {
	if wide {
		return int(*(*int64)(fr.at(off + 8*e)))
	}
	return int(*(*int32)(fr.at(off + 4*e)))
}

// setScalar writes an i32 or i64 scalar.
func (fr *frame) setScalar(s scalarRef, v int) {
	if s.wide {
		*(*int64)(fr.at(s.off)) = int64(v)
		return
	}
	*(*int32)(fr.at(s.off)) = int32(v)
}

// scalarRef is a scalar integer in the arena.
type scalarRef struct {
	off  int
	wide bool // i64
}
