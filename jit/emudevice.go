package jit

import (
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"tilec/jit/bug"
	"tilec/jit/cuda"
	"tilec/jit/emu"
	"tilec/jit/ir"
	"tilec/jit/ptx"
	"tilec/jit/target"
)

// Emulator is a GPU that exists only in software: it runs the PTX that a GPU of
// its target would get, and checks what hardware does not.
type Emulator struct {
	// OnLaunch, where it is set, gets what each launch cost; counting that takes time.
	OnLaunch func(kernel string, r *emu.Report)
	// Workers is how many blocks run at once, and MaxSteps after how many warp
	// instructions a launch counts as running for ever; 0 for emu's own choice.
	Workers  int
	MaxSteps int64
	// First is the number of the first block of each launch that runs, for tests of large launches.
	First int

	poisoning
	target target.Machine
	memory *emu.Memory
	closed atomic.Bool
}

// DefaultEmulatorTarget is what the device "emu" is; "emu:sm_80" is another.
const DefaultEmulatorTarget = target.Default

// OpenEmulator gives an emulator of a GPU target by name, as target.Find knows it. Any other name is a *NameError.
func OpenEmulator(name string) (*Emulator, error) {
	t, err := target.Find(name)
	if err != nil || !t.IsGPU() {
		var gpus []string
		for _, m := range target.GPUs() {
			gpus = append(gpus, m.Name)
		}
		return nil, &NameError{What: "GPU target", Name: name, Known: gpus, unlike: true}
	}
	return &Emulator{target: t, memory: emu.NewMemory()}, nil
}

func (d *Emulator) state() state {
	switch {
	case d == nil || d.memory == nil:
		return stateUnset
	case d.closed.Load():
		return stateClosed
	}
	return stateOpen
}

func (d *Emulator) space() any { return d.memory }

// Name is "PTX emulator" with the target.
func (d *Emulator) Name() string {
	if d.state() == stateUnset {
		return "no device"
	}
	return fmt.Sprintf("PTX emulator (%s)", d.target.Name)
}

// ID is "emu", with the target where it is not the default.
func (d *Emulator) ID() string {
	if d.state() == stateUnset || d.target.Name == DefaultEmulatorTarget {
		return "emu"
	}
	return "emu:" + d.target.Name
}

// Target describes the emulated GPU to the planner.
func (d *Emulator) Target() target.Machine {
	if d == nil {
		return target.Machine{}
	}
	return d.target
}

// word is what an atomic on one byte swaps: the four bytes around it, which GPUs' memory always has.
const word = 4

// Alloc gives memory whose reading before it is written is found.
func (d *Emulator) Alloc(n int64) (*Memory, error) {
	if err := allocation(d, "Emulator.Alloc", n); err != nil {
		return nil, err
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
	return deviceMemory(d, n, at), nil
}

// Free gives memory back; a kernel that touches it afterwards is found.
func (d *Emulator) Free(m *Memory) {
	if m.free(d) {
		d.memory.Free(m.block.address)
	}
}

// Write copies data to m.
func (d *Emulator) Write(m *Memory, offset int64, data []byte) error {
	if err := m.access(d, "Emulator.Write", offset, int64(len(data))); err != nil || len(data) == 0 {
		return err
	}
	return d.memory.Write(m.address()+uint64(offset), data)
}

// Read copies from m.
func (d *Emulator) Read(data []byte, m *Memory, offset int64) error {
	if err := m.access(d, "Emulator.Read", offset, int64(len(data))); err != nil || len(data) == 0 {
		return err
	}
	return d.memory.Read(data, m.address()+uint64(offset))
}

// Fill sets bytes of m. What is behind them in the last word stays as it is and may be read.
func (d *Emulator) Fill(m *Memory, offset, n int64, value byte) error {
	if err := m.access(d, "Emulator.Fill", offset, n); err != nil || n == 0 {
		return err
	}
	end := m.address() + uint64(offset+n)
	if err := d.memory.Fill(m.address()+uint64(offset), int(n), value); err != nil || end%word == 0 {
		return err
	}
	rest := make([]byte, word-end%word)
	if err := d.memory.Read(rest, end); err != nil {
		return err
	}
	return d.memory.Write(end, rest)
}

// poison takes back that memory was written: reading it is found, and a result that lies there shows.
func (d *Emulator) poison(m *Memory, offset, n int64) error {
	return d.memory.Undefine(m.address()+uint64(offset), int(n), poisonByte)
}

// Sync has nothing to wait for: a launch returns when it is done.
func (d *Emulator) Sync() error { return usable(d, "Emulator.Sync") }

// Close has nothing to give back.
func (d *Emulator) Close() error {
	if d != nil {
		d.closed.Store(true)
	}
	return nil
}

func (d *Emulator) compile(l *Lowered, c *Compiler) (executable, error) {
	m := l.module
	c.Logs.Print(StagePTX, l.Func.Name, func() string { return m.Text })
	parsed, err := emu.Parse(m.Text)
	if err != nil {
		return nil, bug.New("ptx", "the emulator cannot read what was made: %w", err)
	}
	k := &emulatedKernel{device: d, text: m, module: parsed, params: l.Func.Params()}
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
	device *Emulator
	text   *ptx.Module
	module *emu.Module
	params []ir.Param
	// registers of a thread, 0 where nobody knows
	registers int
}

// EmulationError is what the emulator found wrong with a kernel.
type EmulationError struct {
	Kernel   string
	Findings []emu.Finding
}

func (e *EmulationError) Error() string {
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

func (k *emulatedKernel) scratch(blocks int64) (bytes, atOnce int64) {
	return k.text.ScratchShare(blocks, scratchLimit)
}

// emuTypes and emuSwizzles are the emulator's names for elements and swizzles of so many bytes.
var (
	emuTypes    = map[int]emu.TensorType{1: emu.TensorUint8, 2: emu.TensorUint16, 4: emu.TensorUint32, 8: emu.TensorUint64}
	emuSwizzles = map[int]emu.Swizzle{32: emu.Swizzle32, 64: emu.Swizzle64, 128: emu.Swizzle128}
)

func (k *emulatedKernel) launch(ctx context.Context, args []launchArg) error {
	if n := k.device.First; n < 0 {
		return &UseError{"Emulator.First", fmt.Sprintf("the first block is to be number %d", n), ErrRange}
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
		bits := args[i].bits
		switch param.Kind {
		case ir.ParamPointer, ir.ParamDebug, ir.ParamScratch:
			bits = args[i].memory.address() + uint64(args[i].offset)
		case ir.ParamFirst:
			first, atOnce = i, int64(bits)
		}
		put(i, bits)
	}
	sizes, addresses := fixedBy(k.params, args)
	maps := map[string]*emu.TensorMap{}
	for _, m := range k.text.Maps {
		s := m.Shape(sizes)
		maps[m.Name] = &emu.TensorMap{
			Type: emuTypes[m.Tensor.DType.Size()], Address: addresses(m.Tensor),
			Dims: s.Dims, Strides: s.Strides, Box: s.Box, Swizzle: emuSwizzles[m.Swizzle],
		}
	}
	blocks := k.text.Blocks(sizes)
	return inParts(blocks, atOnce, func(from, blocks int64) error {
		if first >= 0 {
			put(first, uint64(from))
		}
		return k.run(ctx, space, blocks, maps)
	})
}

// run launches so many blocks on the parameters.
func (k *emulatedKernel) run(ctx context.Context, space []byte, blocks int64, maps map[string]*emu.TensorMap) error {
	report, err := emu.Launch(k.module, k.text.Entry, [3]int{int(blocks), 1, 1}, [3]int{k.text.Threads, 1, 1},
		k.text.Shared, space, k.device.memory, emu.Options{Context: ctx, Profile: k.device.OnLaunch != nil, Workers: k.device.Workers, MaxSteps: k.device.MaxSteps, First: k.device.First, Registers: k.registers, TensorMaps: maps})
	if err != nil {
		return err
	}
	if k.device.OnLaunch != nil {
		k.device.OnLaunch(k.text.Entry, report)
	}
	if len(report.Findings) > 0 {
		return &EmulationError{Kernel: k.text.Entry, Findings: report.Findings}
	}
	return nil
}
