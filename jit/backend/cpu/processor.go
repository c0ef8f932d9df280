// Package cpu is the back end that runs tile IR on this machine's processor.
package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"tilec/jit/backend"
	"tilec/jit/cpu"
	"tilec/jit/host"
	"tilec/jit/ir"
	"tilec/jit/misuse"
	"tilec/jit/target"
)

// Device is the processor as a device: the default where there is no GPU, and the reference.
type Device struct {
	backend.Poisoning
	target target.Machine
	closed atomic.Bool
}

// Open gives the CPU.
func Open() *Device {
	t, err := target.Find("cpu")
	if err != nil {
		panic(err) // the table of targets has it
	}
	return &Device{target: t}
}

// State is whether the device is open.
func (d *Device) State() backend.State {
	switch {
	case d == nil || d.target.Name == "":
		return backend.StateUnset
	case d.closed.Load():
		return backend.StateClosed
	}
	return backend.StateOpen
}

// Space is one for all: any CPU may use the memory of any other.
func (d *Device) Space() any { return "cpu" }

// Cores is how many blocks run at once.
func (d *Device) Cores() int { return runtime.GOMAXPROCS(0) }

// Name is "CPU" with the number of cores.
func (d *Device) Name() string {
	if d.State() == backend.StateUnset {
		return "no device"
	}
	return fmt.Sprintf("CPU (%d cores)", d.Cores())
}

// ID is "cpu".
func (d *Device) ID() string { return "cpu" }

// Target describes a CPU to the planner, the same on every machine: sums are
// added up as plans cut them, and a result does not depend on the number of cores.
func (d *Device) Target() target.Machine {
	if d == nil {
		return target.Machine{}
	}
	return d.target
}

// hostAlign is the alignment of CPU memory: a cache line, and what vector loads like.
const hostAlign = 64

// Alloc gives memory with undefined contents.
func (d *Device) Alloc(n int64) (*backend.Memory, error) {
	if err := backend.CheckAlloc(d, "CPU.Alloc", n); err != nil {
		return nil, err
	}
	if have := host.Memory(); n > 1<<46 || have > 0 && n > have {
		return nil, &backend.MemoryError{Need: n, Have: have}
	}
	raw := make([]byte, n+hostAlign)
	host.LargePages(raw)
	skip := -int64(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (hostAlign - 1)
	m := backend.OnHost(d, raw[skip:skip+n:skip+n])
	if d.Poisons() {
		return m, d.Undefine(m, 0, n)
	}
	return m, nil
}

// Room is how many bytes of the machine's memory this process can still get, and how many the machine has.
func (d *Device) Room() (free, total int64, err error) { return host.Available(), host.Memory(), nil }

// Wrap uses data where it lies, when it is aligned; nil otherwise.
func (d *Device) Wrap(data []byte, align int) *backend.Memory {
	if len(data) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(align) != 0 {
		return nil
	}
	return backend.OnHost(d, data)
}

// Free leaves the memory to the garbage collector.
func (d *Device) Free(m *backend.Memory) {
	if m.Free(d) {
		m.Release()
	}
}

// Write copies data to m.
func (d *Device) Write(m *backend.Memory, offset int64, data []byte) error {
	if err := m.Access(d, "CPU.Write", offset, int64(len(data))); err != nil {
		return err
	}
	copy(m.Bytes()[offset:], data)
	return nil
}

// Read copies from m.
func (d *Device) Read(data []byte, m *backend.Memory, offset int64) error {
	if err := m.Access(d, "CPU.Read", offset, int64(len(data))); err != nil {
		return err
	}
	copy(data, m.Bytes()[offset:])
	return nil
}

// Fill sets bytes of m.
func (d *Device) Fill(m *backend.Memory, offset, n int64, value byte) error {
	if err := m.Access(d, "CPU.Fill", offset, n); err != nil {
		return err
	}
	part := m.Bytes()[offset : offset+n]
	if value == 0 {
		clear(part)
		return nil
	}
	if n > 0 {
		part[0] = value
	}
	for i := 1; i < len(part); i *= 2 { // twice as many at a time are moved faster than bytes one by one
		copy(part[i:], part[:i])
	}
	return nil
}

// Poison turns the poisoning of memory on.
func (d *Device) Poison() {
	if d != nil {
		d.TurnOn()
	}
}

// Undefine fills memory with the bytes of poison.
func (d *Device) Undefine(m *backend.Memory, offset, n int64) error {
	return d.Fill(m, offset, n, backend.PoisonByte)
}

// Sync has nothing to wait for.
func (d *Device) Sync() error { return backend.Usable(d, "CPU.Sync") }

// Close has nothing to give back.
func (d *Device) Close() error {
	if d != nil {
		d.closed.Store(true)
	}
	return nil
}

// Compile makes a program of the IR.
func (d *Device) Compile(c *backend.Code, _ backend.Tools) (backend.Executable, error) {
	p, err := cpu.Compile(c.Func)
	if err != nil {
		return nil, err
	}
	return &cpuKernel{program: p, params: c.Func.Params()}, nil
}

type cpuKernel struct {
	program *cpu.Program
	params  []ir.Param
	mu      sync.Mutex
	args    cpu.Args
}

// Scratch is no matter of the launch: each worker has its own.
func (k *cpuKernel) Scratch(int64) (bytes, atOnce int64) { return 0, 0 }

// Launch starts the kernel.
func (k *cpuKernel) Launch(ctx context.Context, args []backend.Arg) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := &k.args
	a.Context = ctx
	a.Tensors, a.Scalars, a.Dims, a.Strides = a.Tensors[:0], a.Scalars[:0], a.Dims[:0], a.Strides[:0]
	for i, p := range k.params {
		switch arg := args[i]; p.Kind {
		case ir.ParamPointer:
			data := arg.Memory.Bytes()
			if int64(len(data)) < arg.Offset { // freed since it was looked at
				return misuse.New("Program.Run", "the memory was freed while a kernel ran", misuse.ErrFreed)
			}
			a.Tensors = append(a.Tensors, data[arg.Offset:])
		case ir.ParamScalar:
			a.Scalars = append(a.Scalars, arg.Bits)
		case ir.ParamDim:
			a.Dims = append(a.Dims, int64(arg.Bits))
		case ir.ParamStride:
			a.Strides = append(a.Strides, int64(arg.Bits))
		case ir.ParamDebug:
			a.Debug = arg.Memory.Bytes()[arg.Offset:]
		}
	}
	return k.program.Run(*a)
}

// Opener finds the device "cpu".
var Opener = backend.Opener{Names: []string{"cpu"}, Open: func(name string) (backend.Device, error) {
	if name != "cpu" {
		return nil, nil
	}
	return Open(), nil
}}
