package jit

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"tilec/jit/cpu"
	"tilec/jit/ir"
	"tilec/jit/target"
)

// CPU is the processor as a device: the default where there is no GPU, and the reference.
type CPU struct {
	poisoning
	target target.Machine
	closed atomic.Bool
}

// OpenCPU gives the CPU.
func OpenCPU() *CPU {
	t, err := target.Find("cpu")
	if err != nil {
		panic(err) // the table of targets has it
	}
	return &CPU{target: t}
}

func (d *CPU) state() state {
	switch {
	case d == nil || d.target.Name == "":
		return stateUnset
	case d.closed.Load():
		return stateClosed
	}
	return stateOpen
}

// space is one for all: any CPU may use the memory of any other.
func (d *CPU) space() any { return "cpu" }

// Cores is how many blocks run at once.
func (d *CPU) Cores() int { return runtime.GOMAXPROCS(0) }

// Name is "CPU" with the number of cores.
func (d *CPU) Name() string {
	if d.state() == stateUnset {
		return "no device"
	}
	return fmt.Sprintf("CPU (%d cores)", d.Cores())
}

// ID is "cpu".
func (d *CPU) ID() string { return "cpu" }

// Target describes a CPU to the planner, the same on every machine: sums are
// added up as plans cut them, and a result does not depend on the number of cores.
func (d *CPU) Target() target.Machine {
	if d == nil {
		return target.Machine{}
	}
	return d.target
}

// hostAlign is the alignment of CPU memory: a cache line, and what vector loads like.
const hostAlign = 64

// Alloc gives memory with undefined contents.
func (d *CPU) Alloc(n int64) (*Memory, error) {
	if err := allocation(d, "CPU.Alloc", n); err != nil {
		return nil, err
	}
	if have := HostMemory(); n > 1<<46 || have > 0 && n > have {
		return nil, fmt.Errorf("cannot allocate %d bytes: this machine has %d", n, have)
	}
	raw := make([]byte, n+hostAlign)
	skip := -int64(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (hostAlign - 1)
	m := hostMemory(d, raw[skip:skip+n:skip+n])
	if d.poisons() {
		return m, d.poison(m, 0, n)
	}
	return m, nil
}

// wrap uses data where it lies, when it is aligned; nil otherwise.
func (d *CPU) wrap(data []byte, align int) *Memory {
	if len(data) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(align) != 0 {
		return nil
	}
	return hostMemory(d, data)
}

// Free leaves the memory to the garbage collector.
func (d *CPU) Free(m *Memory) {
	if m.free(d) {
		m.block.host.Store(nil)
	}
}

// Write copies data to m.
func (d *CPU) Write(m *Memory, offset int64, data []byte) error {
	if err := m.access(d, "CPU.Write", offset, int64(len(data))); err != nil {
		return err
	}
	copy(m.bytes()[offset:], data)
	return nil
}

// Read copies from m.
func (d *CPU) Read(data []byte, m *Memory, offset int64) error {
	if err := m.access(d, "CPU.Read", offset, int64(len(data))); err != nil {
		return err
	}
	copy(data, m.bytes()[offset:])
	return nil
}

// Fill sets bytes of m.
func (d *CPU) Fill(m *Memory, offset, n int64, value byte) error {
	if err := m.access(d, "CPU.Fill", offset, n); err != nil {
		return err
	}
	part := m.bytes()[offset : offset+n]
	if value == 0 {
		clear(part)
		return nil
	}
	for i := range part {
		part[i] = value
	}
	return nil
}

func (d *CPU) poison(m *Memory, offset, n int64) error { return d.Fill(m, offset, n, poisonByte) }

// Sync has nothing to wait for.
func (d *CPU) Sync() error { return usable(d, "CPU.Sync") }

// Close has nothing to give back.
func (d *CPU) Close() error {
	if d != nil {
		d.closed.Store(true)
	}
	return nil
}

func (d *CPU) compile(l *Lowered, _ *Compiler) (executable, error) {
	p, err := cpu.Compile(l.Func)
	if err != nil {
		return nil, err
	}
	return &cpuKernel{program: p, params: l.Func.Params()}, nil
}

type cpuKernel struct {
	program *cpu.Program
	params  []ir.Param
	mu      sync.Mutex
	args    cpu.Args
}

// scratch is no matter of the launch: each worker has its own.
func (k *cpuKernel) scratch(int64) (bytes, atOnce int64) { return 0, 0 }

func (k *cpuKernel) launch(ctx context.Context, args []launchArg) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := &k.args
	a.Context = ctx
	a.Tensors, a.Scalars, a.Dims, a.Strides = a.Tensors[:0], a.Scalars[:0], a.Dims[:0], a.Strides[:0]
	for i, p := range k.params {
		switch arg := args[i]; p.Kind {
		case ir.ParamPointer:
			data := arg.memory.bytes()
			if int64(len(data)) < arg.offset { // freed since it was looked at
				return &UseError{"Program.Run", "the memory was freed while a kernel ran", ErrFreed}
			}
			a.Tensors = append(a.Tensors, data[arg.offset:])
		case ir.ParamScalar:
			a.Scalars = append(a.Scalars, arg.bits)
		case ir.ParamDim:
			a.Dims = append(a.Dims, int64(arg.bits))
		case ir.ParamStride:
			a.Strides = append(a.Strides, int64(arg.bits))
		case ir.ParamDebug:
			a.Debug = arg.memory.bytes()[arg.offset:]
		}
	}
	return k.program.Run(*a)
}
