// Package target is the machines that code is made for, one row a machine: what it can do, asked for by name,
// its limits, and the coefficients of the planner's model of it. No other package knows which machine can do what:
// to add one is to add a row in machines.go.
package target

import (
	"fmt"
	"slices"
	"strings"
)

// Machine describes a machine to compile for. What is said of it belongs to the machine, never to a kernel.
type Machine struct {
	// Name is "cpu" or the PTX target, "sm_90a".
	Name string
	// compute is the compute capability times ten (90); 0 for the CPU. Only this package compares it: what follows
	// from it is a capability or a limit of the row.
	compute int
	// only: code for it runs on devices of its own compute capability alone, not on later ones.
	only bool
	// has is what the machine can do.
	has Capability
	// PTX is ten times the first version of PTX that knows the target; 0 for the CPU.
	PTX int

	Limits
	Rates
	Times
	HostTimes
}

// Limits is what a machine has of everything.
type Limits struct {
	// SMs is the number of multiprocessors. Of the CPU it is the cores that plans are balanced for, however many
	// a machine has: sums are added up as plans cut them, and must not depend on the machine.
	SMs int
	// SharedPerBlock is the largest shared memory of a block, in bytes.
	SharedPerBlock int
	// RegistersPerSM counts 32-bit registers.
	RegistersPerSM int
	// WarpsPerBlock is how many warps a block has at most, ThreadsPerSM and BlocksPerSM what a multiprocessor holds at once.
	WarpsPerBlock, ThreadsPerSM, BlocksPerSM int
	// Groups is how many groups the multiprocessors of a machine with clusters lie in: the blocks of a cluster are in one.
	Groups int
	// L2Size is in bytes; of the CPU, it is what a core has for itself.
	L2Size int64
}

// Limits that all GPUs share.
const (
	// MaxBlocks is how many blocks a launch has at most.
	MaxBlocks = 1<<31 - 1
	// RegistersPerThread is how many registers an instruction can name.
	RegistersPerThread = 255
	// SharedReserved is what the system takes of shared memory for each block, in bytes.
	SharedReserved = 1024
)

// Rates is how fast a machine is when it does one thing alone.
type Rates struct {
	// DRAM and L2 are bandwidths in bytes a second, L2Boxes is that of copies by the TMA of what several
	// blocks read at the same time.
	DRAM, L2, L2Boxes float64
	// Tensor8 is the rate of i8 and u8 contractions, Tensor16 of f16 and bf16, Tensor32 of tf32, Tensor64 of f64 (of machines
	// with MmaF64), FMA32 of plain f32: in FLOP/s, or as many operations of integers.
	Tensor8, Tensor16, Tensor32, Tensor64, FMA32 float64
	// MmaSync16 and MmaSync32 are the parts of Tensor8 and Tensor16, and of Tensor32, that mma.sync reaches where wgmma reaches all, and
	// OneWarpgroup the part of a rate that wgmma reaches with one warpgroup on a multiprocessor.
	MmaSync16, MmaSync32, OneWarpgroup float64
	// Turned8 is the part of Tensor8 that wgmma reaches with rows of bytes that threads load from where they lie across the depth, and turn.
	Turned8 float64
	// Clock is the rate of the multiprocessors in cycles a second.
	Clock float64
}

// Times is what things cost on a GPU beside the rates, in seconds and in what a multiprocessor does each clock.
type Times struct {
	// Launch is the cost of one kernel launch, DependentLaunch that of one more in a recorded program, on machines with DependentLaunch.
	Launch, DependentLaunch float64
	// LoadLatency is the time from a load to its value, StepOverhead that of a pipelined loop's step.
	LoadLatency, StepOverhead float64
	// DispatchTime is between the starts of two blocks anywhere on the machine.
	DispatchTime float64
	// BlockOverhead is the time to start a block and to end it.
	BlockOverhead float64
	// JoinLatency is the time of the two barriers of a cluster and of a read from another block between them.
	JoinLatency float64
	// SendLatency is the time until what a block of a cluster sends has come to another, which waits for it.
	SendLatency float64
	// PartLatency is by how much a block takes longer that stores a part of its result again, at places that are computed one by one.
	PartLatency float64
	// ReduceLatency is the time of a block's reduction: its exchanges and barriers.
	ReduceLatency float64
	// StageLatency is by how much a contraction takes longer that has to bring an operand through registers to shared memory.
	StageLatency float64
	// ExchangeLatency is the time in which the warps of a block exchange a few numbers through shared memory.
	ExchangeLatency float64
	// L2BytesPerClock and SharedBytesPerClock are what one multiprocessor moves, RemoteBytesPerClock what it reads
	// of other ones' shared memory, RoundedBytesPerClock what mma.sync gets of it as tf32: warps read f32 and round each element.
	L2BytesPerClock, SharedBytesPerClock, RemoteBytesPerClock, RoundedBytesPerClock float64
	// TurnTime is for what a tile takes more than its product where teams of warps take turns at tiles.
	TurnTime float64
	// TurnoverTime is by how much each wave of blocks after the first makes products take longer whose blocks share a multiprocessor:
	// these store and start at about the same time, and little of it is hidden.
	TurnoverTime float64
	// Lanes is the elementwise operations that a multiprocessor does each clock.
	Lanes float64
	// SectorBytes is the least that the L2 moves.
	SectorBytes float64
}

// HostTimes is what things cost on the CPU, which runs the IR operation by operation, blocks in parallel; times are in seconds.
type HostTimes struct {
	// OpOverhead is the time to start one operation on a tile.
	OpOverhead float64
	// ElementTime is for one element of a simple operation.
	ElementTime float64
	// FlopTime is for one multiplication or addition of the blocked matrix product, PackTime for one element of an operand.
	FlopTime, PackTime float64
	// RunTime is to start on a run of neighbours in memory.
	RunTime float64
	// ColdFactor slows work on tiles that do not fit the core's cache, RemoteFactor on those that are larger still by RemoteSets.
	ColdFactor, RemoteFactor float64
	RemoteSets               int64
	// Alone is the time for which a launch has one core, until it is worth while to wake others and they have come.
	Alone float64
	// BlocksPerCore is from how many blocks a core on that the cores are balanced.
	BlocksPerCore int64
}

// LaunchInProgram is the time that a launch adds to a program of several, in seconds.
func (m Machine) LaunchInProgram() float64 {
	if m.Has(DependentLaunch) {
		return m.DependentLaunch
	}
	return m.Launch
}

// Default is the target of what nobody names one for.
const Default = "sm_90a"

// Find gives a machine by name.
func Find(name string) (Machine, error) {
	for _, m := range machines {
		if m.Name == name {
			return m, nil
		}
	}
	return Machine{}, fmt.Errorf("unknown target %q: known are %s", name, strings.Join(Names(), ", "))
}

// Names lists the machines, as `@target(sm_90a, ...)` and `--target` name them: the CPU first, then GPUs, the oldest first.
func Names() []string {
	names := make([]string, len(machines))
	for i, m := range machines {
		names[i] = m.Name
	}
	return names
}

// GPUs lists the machines that are GPUs, the oldest first.
func GPUs() []Machine {
	return slices.DeleteFunc(slices.Clone(machines), func(m Machine) bool { return !m.IsGPU() })
}

// First is the oldest GPU that can do something; ok is false where none can.
func First(c Capability) (m Machine, ok bool) {
	for _, m := range GPUs() {
		if m.Has(c) {
			return m, true
		}
	}
	return Machine{}, false
}

// ForDevice gives the machine whose code suits a device of a compute capability, times ten, best: the newest of the
// device's generation, or the oldest of all, whose code runs on every later one. It is an error if no code runs on the device.
func ForDevice(compute int) (Machine, error) {
	best := Machine{}
	for i, m := range GPUs() {
		if m.runsOn(compute) && (i == 0 || m.compute/10 == compute/10) {
			best = m
		}
	}
	if !best.IsGPU() {
		return best, fmt.Errorf("compute capability %s, need %s or more", capability(compute), GPUs()[0].ComputeCapability())
	}
	return best, nil
}

// ForPTX gives the machine that a module's `.target` names, with or without the letter behind the number: sm_90 is
// sm_90a. Of a target that is none of ours, it is the default.
func ForPTX(name string) Machine {
	base := func(s string) string { return strings.TrimRight(s, "af") }
	for _, m := range GPUs() {
		if base(m.Name) == base(name) {
			return m
		}
	}
	m, err := Find(Default)
	if err != nil {
		panic(err) // the table has it
	}
	return m
}

// TakesPTX reports a machine whose code is PTX; others run tile IR.
func (m Machine) TakesPTX() bool { return m.PTX > 0 }

// IsGPU reports a machine that runs blocks of threads side by side.
func (m Machine) IsGPU() bool { return m.compute > 0 }

// Has reports a machine that can do all of what is asked for.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (m Machine) Has(c Capability) bool { return m.has&c == c }

// Without is the machine as if it could not do something, for tests of what is done instead.
func (m Machine) Without(c Capability) Machine {
	m.has &^= c
	return m
}

// ComputeCapability is the number by which the vendor calls what a GPU can do, "9.0".
func (m Machine) ComputeCapability() string { return capability(m.compute) }

func capability(compute int) string { return fmt.Sprintf("%d.%d", compute/10, compute%10) }

// runsOn reports that the machine's code runs on a device of a compute capability.
func (m Machine) runsOn(compute int) bool {
	return m.compute == compute || m.compute < compute && !m.only
}

// Runs reports that code for another machine runs on this one.
func (m Machine) Runs(code Machine) bool { return code.IsGPU() && code.runsOn(m.compute) }

// MachineCode names the architecture of which a device of a compute capability, times ten, takes machine code: the
// machine's own where the device is of that capability.
func (m Machine) MachineCode(compute int) string {
	if m.compute == compute {
		return m.Name
	}
	return fmt.Sprintf("sm_%d", compute)
}

// ClusterSMs is how many multiprocessors clusters of so many blocks can be sure to fill, with a block on each. How many each group
// has differs from chip to chip, but they come in pairs.
func (m Machine) ClusterSMs(blocks int) int {
	if blocks <= 2 {
		return m.SMs
	}
	return max(m.SMs-m.Groups*(blocks-2), blocks)
}

// SharedPerSM is the shared memory of a multiprocessor, in bytes.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (m Machine) SharedPerSM() int { return m.SharedPerBlock + SharedReserved }

// RegistersShare is the most registers of a thread when so many blocks, of so many warps each, share a multiprocessor: its four
// schedulers have a quarter of the registers each, for the warps that fall to them, in eights.
func (m Machine) RegistersShare(blocks, warps int) int {
	each := m.RegistersPerSM / schedulers / ((blocks*warps + schedulers - 1) / schedulers) / warpThreads
	return min(each/8*8, RegistersPerThread)
}

// schedulers is how many parts a multiprocessor has, each with warps of its own, and warpThreads the threads of a warp.
const schedulers, warpThreads = 4, 32

// SharedShare is the shared memory of a block when so many share a
// multiprocessor; each has some reserved beside what it can use.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (m Machine) SharedShare(blocks int) int64 {
	if blocks <= 1 {
		return int64(m.SharedPerBlock)
	}
	return max(int64(m.SharedPerSM())/int64(blocks)-SharedReserved, 0)
}
