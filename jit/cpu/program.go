// Package cpu runs tile IR on the CPU: the default where there is no GPU, and
// the reference everywhere. A block's tiles are dense buffers over their axes'
// true extents, so ragged ends need no mask; blocks run in parallel.
package cpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	failure "tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/lang"
)

// Args are the arguments of one launch.
type Args struct {
	// Tensors are the bytes of each tensor, in the order of Func.Tensors: the
	// first byte is element 0.
	Tensors [][]byte
	// Scalars are the scalar parameters, in order: the bits of the value in its
	// own type, in the low bits.
	Scalars []uint64
	// Dims are the sizes of the dimensions that are not known, in order.
	Dims []int64
	// Strides are the unknown strides, in elements, in the order of Func.Params.
	Strides []int64
	// Debug is the memory for what the kernel says, where it says something.
	Debug []byte
	// Context ends the run when it is done, with its cause as the error; nil for never.
	Context context.Context
}

// Program is a compiled kernel. It is immutable; any number of goroutines may run it.
type Program struct {
	f     *ir.Func
	body  steps
	setup steps // constants: run once by each worker
	arena int   // bytes
	axes  int
	grid  []gridAxis
	// ranges are those that an axis of the grid goes through where they lie in memory, nil where none does.
	ranges *rangesGrid
	dims   []*ir.Dim // dimensions that launches look up by number
	given  []int     // the numbers of the unknown dimensions and strides, in order of Args
	nDims  int       // how many of given are dimensions
	// tensors gives, for each tensor, the dim numbers of its shape and strides.
	tensors []tensorShape
	scalars []scalarParam
	// debugTable is where in that memory the table of the blocks is; 0 for a kernel that says nothing.
	debugTable int
	edges      []int // by axis, what ir.Axis.Edges says
	cost       func(l *launch) float64
	pool       sync.Pool // of *launch
}

type gridAxis struct {
	axis, dim int
	extent    int
}

type tensorShape struct {
	name    string
	dtype   lang.DType
	shape   []int
	strides []int // nil when contiguous
}

type scalarParam struct {
	off, size int
	narrow    lang.DType // Invalid, or the float type that is held as float32
}

// tensorView is a tensor of a launch.
type tensorView struct {
	base    unsafe.Pointer
	shape   []int
	strides []int
}

// launch is what all the blocks of one run share.
type launch struct {
	dims    []int
	tensors []tensorView
	scalars []uint64
	blocks  int
	grid    []int // blocks by grid axis
	// tiles are the parts of ranges in memory that blocks have.
	tiles  []rangeTile
	next   atomic.Int64
	failed atomic.Pointer[error]
	wait   sync.WaitGroup
	// debug is the memory for what the kernel says; failing guards the failed assert in it.
	debug   []byte
	table   int
	edges   []int // by axis, what ir.Axis.Edges says
	failing sync.Mutex
}

var errDebugOutput = errors.New("the memory for what the kernel says is too small")

// parallelFrom is the estimated cost, in nanoseconds, from which a launch is
// worth waking other cores for.
const parallelFrom = 20e3

// Run runs every block of the grid. The tensors may be read and written from
// several goroutines until it returns. An error says what is wrong with the
// arguments, or names a compiler bug.
func (p *Program) Run(args Args) error {
	l := p.pool.Get().(*launch)
	defer func() {
		l.forget()
		p.pool.Put(l)
	}()
	if err := p.bind(l, args); err != nil {
		return fmt.Errorf("kernel %s: %w", p.f.Name, err)
	}
	if l.blocks == 0 {
		return nil
	}
	workers := min(runtime.GOMAXPROCS(0), l.blocks)
	if workers > 1 && p.cost(l)*float64(l.blocks) < parallelFrom {
		workers = 1
	}
	l.next.Store(0)
	l.failed.Store(nil)
	defer l.endWith(args.Context)()
	// Chunks are small enough to balance and large enough to be rare.
	chunk := max(1, l.blocks/(workers*8))
	if workers == 1 {
		chunk = l.blocks
	}
	l.wait.Add(workers - 1)
	for range workers - 1 {
		go func() {
			defer l.wait.Done()
			p.work(l, chunk)
		}()
	}
	p.work(l, chunk)
	l.wait.Wait()
	if err := l.failed.Load(); err != nil {
		return fmt.Errorf("kernel %s: %w", p.f.Name, *err)
	}
	return nil
}

// endWith makes the launch fail once a context is done, until what it gives is called.
func (l *launch) endWith(ctx context.Context) (stop func()) {
	if ctx == nil || ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	unregister := context.AfterFunc(ctx, func() {
		defer close(done)
		err := context.Cause(ctx)
		l.failed.CompareAndSwap(nil, &err)
	})
	return func() {
		if !unregister() {
			<-done // the launch is used again
		}
	}
}

// forget lets go of the tensors, so that a pooled launch keeps none alive.
func (l *launch) forget() {
	for i := range l.tensors {
		l.tensors[i].base = nil
	}
	l.debug = nil
}

// work runs chunks of blocks until there are none left.
func (p *Program) work(l *launch, chunk int) {
	fr := newFrame(p.arena, p.axes)
	fr.launch = l
	fr.provide(p.f)
	defer func() {
		if r := recover(); r != nil {
			err := blockError(fr, r)
			l.failed.CompareAndSwap(nil, &err)
		}
		fr.release()
	}()
	for i, s := range p.scalars {
		v := l.scalars[i]
		switch {
		case s.narrow != lang.Invalid:
			bits := v
			loader(s.narrow)(fr.at(s.off), 1, unsafe.Pointer(&bits), 1, 1)
		default:
			copier(s.size)(fr.at(s.off), 1, unsafe.Pointer(&v), 1, 1)
		}
	}
	p.setup.run(fr)
	for l.failed.Load() == nil {
		end := int(l.next.Add(int64(chunk)))
		begin := end - chunk
		if begin >= l.blocks {
			return
		}
		for b := begin; b < min(end, l.blocks) && l.failed.Load() == nil; b++ {
			rest := b
			for i := len(p.grid) - 1; i >= 0; i-- {
				g := p.grid[i]
				number := rest % l.grid[i]
				start := number * g.extent
				rest /= l.grid[i]
				if p.ranges != nil && i == p.ranges.of {
					continue
				}
				if p.ranges != nil && i == p.ranges.axis {
					t := l.tiles[number]
					fr.axes[g.axis], fr.axes[p.grid[p.ranges.of].axis] = t.part, axisState{t.of, 1}
					continue
				}
				fr.axes[g.axis] = axisState{start, min(g.extent, l.dims[g.dim]-start)}
			}
			fr.block, fr.said = b, 0
			p.body.run(fr)
		}
	}
}

// goOn ends the block where another one has failed, or the context of the launch is done.
// Every round of a loop asks: one load of what hardly ever changes.
func (fr *frame) goOn() {
	if fr.launch.failed.Load() != nil {
		panic(bug("the launch has ended")) // nobody reads it, for there is a failure
	}
}

// bug is a panic whose message is meant to be read.
type bug string

func blockError(fr *frame, r any) error {
	where := "setup"
	if fr.op != nil {
		where = fr.op.Code.String()
		if fr.op.Tensor != nil {
			where += " " + fr.op.Tensor.Name
		}
		if fr.op.At.IsValid() {
			where += fmt.Sprintf(" at %v", fr.op.At)
		}
	}
	b := failure.Recovered("cpu", r)
	if err, ok := r.(error); ok {
		b.Value = fmt.Errorf("%s: %w", where, err)
	} else {
		b.Value = fmt.Errorf("%s: %v", where, r)
	}
	return b
}

// bind fills in the launch from the arguments, and checks that each tensor holds its shape.
func (p *Program) bind(l *launch, args Args) error {
	if len(args.Tensors) != len(p.tensors) || len(args.Scalars) != len(p.scalars) ||
		len(args.Dims) != p.nDims || len(args.Strides) != len(p.given)-p.nDims {
		return fmt.Errorf("launched with %d tensors, %d scalars, %d sizes and %d strides, needs %d, %d, %d and %d",
			len(args.Tensors), len(args.Scalars), len(args.Dims), len(args.Strides),
			len(p.tensors), len(p.scalars), p.nDims, len(p.given)-p.nDims)
	}
	for i, d := range p.given {
		var v int64
		if i < p.nDims {
			v = args.Dims[i]
			if m := p.dims[d].Multiple(); v < 0 || v%m != 0 {
				return fmt.Errorf("dimension %s is %d, needs a multiple of %d that is not negative", p.dims[d].Name, v, m)
			}
		} else {
			v = args.Strides[i-p.nDims]
		}
		l.dims[d] = int(v)
	}
	copy(l.scalars, args.Scalars)
	if err := p.bindDebug(l, args.Debug); err != nil {
		return err
	}
	for i, t := range p.tensors {
		view := &l.tensors[i]
		low, high, empty := 0, 0, false
		stride := 1
		for d := len(t.shape) - 1; d >= 0; d-- {
			n := l.dims[t.shape[d]]
			if t.strides != nil {
				stride = l.dims[t.strides[d]]
			}
			view.shape[d], view.strides[d] = n, stride
			empty = empty || n == 0
			if reach := (n - 1) * stride; reach < 0 {
				low += reach
			} else {
				high += reach
			}
			stride *= n
		}
		data := args.Tensors[i]
		if need := t.dtype.Bytes(int64(high) + 1); !empty && (low < 0 || need > int64(len(data))) {
			return fmt.Errorf("tensor %s has %d bytes, its shape %v with strides %v needs %d", t.name, len(data), view.shape, view.strides, need)
		}
		view.base = unsafe.Pointer(unsafe.SliceData(data))
	}
	l.blocks = 1
	for i, g := range p.grid {
		n := l.dims[g.dim]
		l.grid[i] = (n + g.extent - 1) / g.extent
	}
	if p.ranges != nil {
		l.tiles = p.tilesOfRanges(l)
		l.grid[p.ranges.axis], l.grid[p.ranges.of] = len(l.tiles), 1
	}
	for _, n := range l.grid {
		l.blocks *= n
	}
	return nil
}

// step is one operation, ready to run on a frame.
type step struct {
	op  *ir.Op
	run func(fr *frame)
}

type steps []step

func (s steps) run(fr *frame) {
	for i := range s {
		fr.op = s[i].op
		s[i].run(fr)
	}
}
