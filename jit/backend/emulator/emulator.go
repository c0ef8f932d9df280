// Package emulator is the back end that runs PTX in software and reports what hardware hides.
package emulator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/cuda"
	"tilec/jit/emu"
	"tilec/jit/host"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/misuse"
	"tilec/jit/ptx"
	"tilec/jit/target"
)

// Device is a GPU that exists only in software: it runs the PTX that a GPU of
// its target would get, and checks what hardware does not.
type Device struct {
	// OnLaunch, where it is set, gets what each launch cost; counting that takes time.
	OnLaunch func(kernel string, r *emu.Report)
	// Progress, where it is set, is called as the blocks of a launch end, with how many of it have; by several goroutines at once.
	Progress func(kernel string, blocks, of int64)
	// Workers is how many blocks run at once, and MaxSteps after how many warp
	// instructions a launch counts as running for ever; 0 for emu's own choice.
	Workers  int
	MaxSteps int64
	// First is the number of the first block of each launch that runs, for tests of large launches.
	First int

	backend.Poisoning
	target target.Machine
	memory *emu.Memory
	closed atomic.Bool
}

// DefaultTarget is what the device "emu" is; "emu:sm_80" is another.
const DefaultTarget = target.Default

// Open gives an emulator of a GPU target by name, as target.Find knows it. Any other name is a *NameError.
func Open(name string) (*Device, error) {
	t, err := target.Find(name)
	if err != nil || !t.IsGPU() {
		var gpus []string
		for _, m := range target.GPUs() {
			gpus = append(gpus, m.Name)
		}
		return nil, &misuse.NameError{What: "GPU target", Name: name, Known: gpus, Unlike: true}
	}
	return New(t), nil
}

// New gives an emulator of a machine, which may lack what those of the table have.
func New(m target.Machine) *Device { return &Device{target: m, memory: emu.NewMemory()} }

// State is whether the device is open.
func (d *Device) State() backend.State {
	switch {
	case d == nil || d.memory == nil:
		return backend.StateUnset
	case d.closed.Load():
		return backend.StateClosed
	}
	return backend.StateOpen
}

// Space is its own.
func (d *Device) Space() any { return d.memory }

// Name is "PTX emulator" with the target.
func (d *Device) Name() string {
	if d.State() == backend.StateUnset {
		return "no device"
	}
	return fmt.Sprintf("PTX emulator (%s)", d.target.Name)
}

// ID is "emu", with the target where it is not the default.
func (d *Device) ID() string {
	if d.State() == backend.StateUnset || d.target.Name == DefaultTarget {
		return "emu"
	}
	return "emu:" + d.target.Name
}

// Target describes the emulated GPU to the planner.
func (d *Device) Target() target.Machine {
	if d == nil {
		return target.Machine{}
	}
	return d.target
}

// word is what an atomic on one byte swaps: the four bytes around it, which GPUs' memory always has.
const word = 4

// Alloc gives memory whose reading before it is written is found.
func (d *Device) Alloc(n int64) (*backend.Memory, error) {
	if err := backend.CheckAlloc(d, "Emulator.Alloc", n); err != nil {
		return nil, err
	}
	if have := host.Memory(); have > 0 && n > have/2 { // each byte has another that says whether it was written
		return nil, &backend.MemoryError{Need: n, Have: have / 2}
	}
	at, err := d.memory.Alloc((n + word - 1) / word * word)
	if err != nil {
		return nil, err
	}
	if rest := n % word; rest > 0 {
		if err := d.memory.Write(at+uint64(n), make([]byte, word-rest)); err != nil {
			return nil, err
		}
	}
	return backend.OnDevice(d, n, at), nil
}

// Free gives memory back; a kernel that touches it afterwards is found.
func (d *Device) Free(m *backend.Memory) {
	if m.Free(d) {
		d.memory.Free(m.Address())
	}
}

// Write copies data to m.
func (d *Device) Write(m *backend.Memory, offset int64, data []byte) error {
	if err := m.Access(d, "Emulator.Write", offset, int64(len(data))); err != nil || len(data) == 0 {
		return err
	}
	return d.memory.Write(m.Address()+uint64(offset), data)
}

// Read copies from m.
func (d *Device) Read(data []byte, m *backend.Memory, offset int64) error {
	if err := m.Access(d, "Emulator.Read", offset, int64(len(data))); err != nil || len(data) == 0 {
		return err
	}
	return d.memory.Read(data, m.Address()+uint64(offset))
}

// Fill sets bytes of m. What is behind them in the last word stays as it is and may be read.
func (d *Device) Fill(m *backend.Memory, offset, n int64, value byte) error {
	if err := m.Access(d, "Emulator.Fill", offset, n); err != nil || n == 0 {
		return err
	}
	end := m.Address() + uint64(offset+n)
	if err := d.memory.Fill(m.Address()+uint64(offset), int(n), value); err != nil || end%word == 0 {
		return err
	}
	rest := make([]byte, word-end%word)
	if err := d.memory.Read(rest, end); err != nil {
		return err
	}
	return d.memory.Write(end, rest)
}

// Poison turns the poisoning of memory on.
func (d *Device) Poison() {
	if d != nil {
		d.TurnOn()
	}
}

// Undefine takes back that memory was written: reading it is found, and a result that lies there shows.
func (d *Device) Undefine(m *backend.Memory, offset, n int64) error {
	return d.memory.Undefine(m.Address()+uint64(offset), int(n), backend.PoisonByte)
}

// Sync has nothing to wait for: a launch returns when it is done.
func (d *Device) Sync() error { return backend.Usable(d, "Emulator.Sync") }

// Close has nothing to give back.
func (d *Device) Close() error {
	if d != nil {
		d.closed.Store(true)
	}
	return nil
}

// Compile reads the PTX.
func (d *Device) Compile(c *backend.Code, t backend.Tools) (backend.Executable, error) {
	m := c.PTX
	t.Logs.Print(log.PTX, c.Func.Name, func() string { return m.Text })
	parsed, err := emu.Parse(m.Text)
	if err != nil {
		if emu.Limit(err) {
			return nil, fmt.Errorf("%w: kernel %s, %w: give smaller tiles", ErrTooLarge, c.Func.Name, err)
		}
		return nil, bug.New("ptx", "the emulator cannot read what was made: %w", err)
	}
	k := &emulatedKernel{device: d, text: m, module: parsed, params: c.Func.Params(), dependent: c.Func.Dependent && d.target.Has(target.DependentLaunch)}
	if d.OnLaunch != nil {
		k.registers = assembledRegisters(m.Text, d.target.Name)
	}
	return k, nil
}

// assembledRegisters is how many registers ptxas gives a thread of a module's one
// kernel: PTX does not say it. It is 0 where there is no ptxas or it does not know the target.
func assembledRegisters(text, target string) int {
	assembler, err := cuda.FindAssembler()
	if err != nil {
		return 0
	}
	_, log, err := assembler.Compile(context.Background(), []byte(text), target, cuda.CompileOptions{Verbose: true})
	if err != nil {
		return 0
	}
	used := regexp.MustCompile(`Used (\d+) registers`).FindStringSubmatch(log)
	if used == nil {
		return 0
	}
	n, _ := strconv.Atoi(used[1])
	return n
}

type emulatedKernel struct {
	device *Device
	text   *ptx.Module
	module *emu.Module
	params []ir.Param
	// dependent kernels wait for the launches before by themselves.
	dependent bool
	// registers of a thread, 0 where nobody knows
	registers int
}

// ErrTooLarge: a kernel has more code than the emulator takes.
var ErrTooLarge = errors.New("more code than the emulator takes")

// Error is what the emulator found wrong with a kernel.
type Error struct {
	Kernel   string
	Findings []emu.Finding
}

// Error is the first findings.
func (e *Error) Error() string {
	const most = 5
	lines := make([]string, 0, most+1)
	for _, f := range e.Findings[:min(most, len(e.Findings))] {
		lines = append(lines, f.String())
	}
	if n := len(e.Findings) - most; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("kernel %s: the emulator found:\n\t%s", e.Kernel, strings.Join(lines, "\n\t"))
}

// Scratch is what the blocks that run at once need.
func (k *emulatedKernel) Scratch(blocks int64) (bytes, atOnce int64) {
	return k.text.ScratchShare(blocks, backend.ScratchLimit)
}

// emuTypes and emuSwizzles are the emulator's names for elements and swizzles of so many bytes.
var (
	emuTypes    = map[int]emu.TensorType{1: emu.TensorUint8, 2: emu.TensorUint16, 4: emu.TensorUint32, 8: emu.TensorUint64}
	emuSwizzles = map[int]emu.Swizzle{32: emu.Swizzle32, 64: emu.Swizzle64, 128: emu.Swizzle128}
)

// Launch starts the kernel.
func (k *emulatedKernel) Launch(ctx context.Context, args []backend.Arg) error {
	return k.launch(ctx, args, nil)
}

// launch starts the kernel behind launches that may not have ended, of which it gets what they write.
func (k *emulatedKernel) launch(ctx context.Context, args []backend.Arg, written []emu.Range) error {
	if n := k.device.First; n < 0 {
		return misuse.New("Emulator.First", fmt.Sprintf("the first block is to be number %d", n), misuse.ErrRange)
	}
	entry := k.module.Kernels[k.text.Entry]
	if entry == nil || len(entry.Params) != len(k.params)+len(k.text.Maps) {
		return bug.New("ptx", "the PTX of %s does not have its %d parameters", k.text.Entry, len(k.params)+len(k.text.Maps))
	}
	space := make([]byte, entry.ParamSize)
	put := func(i int, bits uint64) {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], bits)
		place := entry.Params[i]
		copy(space[place.Offset:place.Offset+place.Size], word[:])
	}
	atOnce, first := int64(0), -1
	for i, param := range k.params {
		if have := entry.Params[i].Size; have != param.Bytes() { // the driver is given as many
			return bug.New("ptx", "parameter %d of %s has %d bytes in its PTX, and is given %d", i, k.text.Entry, have, param.Bytes())
		}
		bits := args[i].Bits
		switch param.Kind {
		case ir.ParamPointer, ir.ParamDebug, ir.ParamScratch, ir.ParamTimes:
			bits = args[i].Memory.Address() + uint64(args[i].Offset)
		case ir.ParamFirst:
			first, atOnce = i, int64(bits)
		}
		put(i, bits)
	}
	sizes, addresses := backend.Fixed(k.params, args)
	maps := map[string]*emu.TensorMap{}
	for _, m := range k.text.Maps {
		s := m.Shape(sizes)
		of := emuTypes[m.Tensor.DType.Size()]
		if m.TF32 {
			of = emu.TensorTFloat32
		}
		maps[m.Name] = &emu.TensorMap{
			Type: of, Address: addresses(m.Tensor),
			Dims: s.Dims, Strides: s.Strides, Box: s.Box, Swizzle: emuSwizzles[m.Swizzle],
		}
	}
	unfinished := append(k.unfinished(sizes, addresses), k.mistaken(sizes, addresses, written)...)
	blocks := k.text.Blocks(sizes)
	return backend.InBatches(blocks, atOnce, func(from, batch int64) error {
		if first >= 0 {
			put(first, uint64(from))
		}
		var progress func(int64)
		if report := k.device.Progress; report != nil {
			progress = func(ended int64) { report(k.text.Entry, from+ended, blocks) }
		}
		return k.run(ctx, space, batch, emu.Options{Context: ctx, TensorMaps: maps, Unfinished: unfinished, Progress: progress})
	})
}

// unfinished is what launches before a dependent one may write or read while it begins: all but constants, and what tensors that grow held before.
func (k *emulatedKernel) unfinished(size func(*ir.Dim) int64, address func(*ir.Tensor) uint64) []emu.Range {
	if !k.dependent {
		return nil
	}
	var all []emu.Range
	for _, t := range k.tensors() {
		shape, strides := extent(t, size)
		if t.Constant || slices.Contains(shape, 0) {
			continue
		}
		if starts := k.starts(); starts != nil && t.Grows != nil && t.Grows.By < t.Grows.Dim {
			all = append(all, k.grown(t, shape, strides, address(t), address(starts))...)
			continue
		}
		all = append(all, between(t, shape, strides, address(t)))
	}
	return all
}

// tensors are those of the arguments.
func (k *emulatedKernel) tensors() []*ir.Tensor {
	var all []*ir.Tensor
	for _, p := range k.params {
		if p.Kind == ir.ParamPointer && !p.Tensor.Scratch {
			all = append(all, p.Tensor)
		}
	}
	return all
}

// extent is a tensor's shape in a launch, and its strides.
func extent(t *ir.Tensor, size func(*ir.Dim) int64) (shape, strides []int64) {
	of := func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		return size(d)
	}
	shape, strides = make([]int64, len(t.Shape)), make([]int64, len(t.Shape))
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		shape[i] = of(t.Shape[i])
		if strides[i] = step; t.Strides != nil {
			strides[i] = of(t.Strides[i])
		}
		step = shape[i] * strides[i]
	}
	return shape, strides
}

// between is the memory from the first to the last element of a tensor of such a shape.
func between(t *ir.Tensor, shape, strides []int64, address uint64) emu.Range {
	last := int64(0)
	for i, n := range shape {
		last += (n - 1) * strides[i]
	}
	return emu.Range{Address: address, Bytes: uint64(t.DType.Bytes(last + 1))}
}

// starts is the tensor that holds where those that grow are written from; nil for none.
func (k *emulatedKernel) starts() *ir.Tensor {
	for _, p := range k.params {
		if p.Kind == ir.ParamPointer && p.Tensor.Starts {
			return p.Tensor
		}
	}
	return nil
}

// grown is what the program may write of a tensor that grows: for each index of the dimensions before it, what stands behind the start.
func (k *emulatedKernel) grown(t *ir.Tensor, shape, strides []int64, address, starts uint64) []emu.Range {
	var all []emu.Range
	var visit func(dim int, first, by int64)
	visit = func(dim int, first, by int64) {
		if dim < t.Grows.Dim {
			for i := range shape[dim] {
				if dim == t.Grows.By {
					by = i
				}
				visit(dim+1, first+i*strides[dim], by)
			}
			return
		}
		var word [4]byte
		if err := k.device.memory.Read(word[:], starts+uint64(4*by)); err != nil {
			return // the launch reads it too, and tells
		}
		start := min(max(int64(int32(binary.LittleEndian.Uint32(word[:]))), 0), shape[dim])
		if behind := slices.Clone(shape[dim:]); start < shape[dim] {
			behind[0] -= start
			all = append(all, between(t, behind, strides[dim:], address+uint64(t.DType.Bytes(first+start*strides[dim]))))
		}
	}
	visit(0, 0, 0)
	return all
}

// run launches so many blocks on the parameters, with the options of this launch and those of the device.
func (k *emulatedKernel) run(ctx context.Context, space []byte, blocks int64, o emu.Options) error {
	o.Profile, o.Workers, o.MaxSteps, o.First, o.Registers = k.device.OnLaunch != nil, k.device.Workers, k.device.MaxSteps, k.device.First, k.registers
	report, err := emu.Launch(k.module, k.text.Entry, [3]int{int(blocks), 1, 1}, [3]int{k.text.Threads, 1, 1}, k.text.Shared, space, k.device.memory, o)
	if err != nil {
		return err
	}
	if k.device.OnLaunch != nil {
		k.device.OnLaunch(k.text.Entry, report)
	}
	if len(report.Findings) > 0 {
		return &Error{Kernel: k.text.Entry, Findings: report.Findings}
	}
	return nil
}

// Opener finds the devices "emu" and, for a target, "emu:sm_80".
var Opener = backend.Opener{Names: []string{"emu", "emu:TARGET"}, Open: func(name string) (backend.Device, error) {
	machine, ok := strings.CutPrefix(name, "emu:")
	switch {
	case name == "emu":
		machine = DefaultTarget
	case !ok:
		return nil, nil
	}
	d, err := Open(machine)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", name, err)
	}
	return d, nil
}}
