package jit

import (
	"io"
	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
	"tilec/jit/backend/emulator"
	"tilec/jit/backend/nvidia"
	"tilec/jit/bug"
	"tilec/jit/graph"
	"tilec/jit/log"
	"tilec/jit/misuse"
	"tilec/jit/run"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
	"time"
)

// What a Go program needs of the rooms below, under one name.
type (
	// Device is a machine that runs kernels.
	Device = backend.Device
	// Memory is a piece of a device's memory.
	Memory = backend.Memory
	// CPU is this machine's processor as a device.
	CPU = cpu.Device
	// GPU is a CUDA device.
	GPU = nvidia.Device
	// Emulator is a GPU that exists only in software.
	Emulator = emulator.Device
	// EmulationError is what the emulator found wrong with a kernel.
	EmulationError = emulator.Error
	// Logs prints the stages that CUTILE_LOGS names.
	Logs = log.Logs
	// UseError is a call that cannot be.
	UseError = misuse.UseError
	// ArgError is an argument that its parameter cannot have.
	ArgError = misuse.ArgError
	// NameError is a name that nothing has.
	NameError = misuse.NameError
	// MemoryError says that a device has too little memory.
	MemoryError = backend.MemoryError
	// Bug is a failure of the compiler itself.
	Bug = bug.Error
)

// What makes a value unusable; errors.Is finds each in the *UseError or the *ArgError that a call gives.
var (
	ErrUnset       = misuse.ErrUnset
	ErrClosed      = misuse.ErrClosed
	ErrFreed       = misuse.ErrFreed
	ErrOtherDevice = misuse.ErrOtherDevice
	ErrRange       = misuse.ErrRange
	ErrMismatch    = misuse.ErrMismatch
	ErrOverlap     = misuse.ErrOverlap
)

// DefaultEmulatorTarget is what the device "emu" is; "emu:sm_80" is another.
const DefaultEmulatorTarget = emulator.DefaultTarget

// Tensors, and what is passed to kernels and graphs.
type (
	// Tensor is an array in a device's memory.
	Tensor = tensor.Tensor
	// Value is an argument or a result: a tensor, a scalar, or the elements of a struct or an array.
	Value = tensor.Value
)

// NewBug makes a Bug of what recover gave; it must be called by the deferred function that recovered.
func NewBug(value any) *bug.Error { return bug.Recovered("", value) }

// Graphs and kernels that are bound, and their runs.
type (
	// Program is a graph or a kernel bound to the shapes of its arguments.
	Program = run.Program
	// LaunchTime is when a launch of a program began and ended, and what it had to do.
	LaunchTime = run.LaunchTime
	// BareRun is a run of a program as data, and BareLaunch one of its launches.
	BareRun    = run.BareRun
	BareLaunch = run.BareLaunch
	// Options bind what the arguments do not tell.
	Options = graph.Options
	// Arena is a device's memory for the intermediate results of programs that never run at the same time.
	Arena = backend.Arena
	// Mailbox is memory in which launches leave results that the host looks at while the device goes on.
	Mailbox = backend.Mailbox
	// Observer looks at the launches of a program, Observation is one of them, Operand what it is given for a parameter.
	Observer    = run.Observer
	Observation = run.Observation
	Operand     = run.Operand
)

// SameRows is up to how many rows Options.Deterministic gives the same bits.
const SameRows = spec.SameRows

// OpenCPU gives the CPU.
func OpenCPU() *CPU { return cpu.Open() }

// OpenGPU opens the CUDA device of an ordinal.
func OpenGPU(ordinal int) (*GPU, error) { return nvidia.Open(ordinal) }

// OpenEmulator gives an emulator of a GPU target by name, such as "sm_80". Any other name is a *NameError.
func OpenEmulator(target string) (*Emulator, error) { return emulator.Open(target) }

// ParseLogs reads the value of CUTILE_LOGS: a comma list of stages and passes, or `all`.
func ParseLogs(value string, w io.Writer) (*Logs, error) { return log.Parse(value, w) }

// Measure gives how long the device took for each of n runs of work; the memory flush, if any, is overwritten before each.
func Measure(d Device, n int, flush *Memory, work func() error) ([]time.Duration, error) {
	return backend.Measure(d, n, flush, work)
}

// NewMailbox makes a mailbox of a device, of so many bytes, for so many posts that nobody has taken.
func NewMailbox(d Device, size, room int) (Mailbox, error) { return backend.NewMailbox(d, size, room) }

// NewArena makes an arena that has no memory yet. Options.Arena gives it to programs.
func NewArena(d Device) *Arena { return backend.NewArena(d) }

// Room is how many bytes of a device's memory are free, for every process, and how many it has. It is not ok where the device does not know.
func Room(d Device) (free, total int64, ok bool) { return backend.Room(d) }

// FormatBytes is a size as people read it: "1.4 GiB".
func FormatBytes(n int64) string { return backend.FormatBytes(n) }

// Upload puts data on a device. The CPU uses it where it lies when its address is a multiple of align bytes.
func Upload(d Device, data []byte, align int) (*Memory, error) { return tensor.Upload(d, data, align) }

// ReadTensor copies a tensor's elements, row-major without gaps, to data, which has room for just these.
func ReadTensor(d Device, t *Tensor, data []byte) error { return tensor.ReadTensor(d, t, data) }

// TensorValue is a tensor as a Value.
func TensorValue(t *Tensor) Value { return tensor.TensorValue(t) }

// IntValue is an integer scalar.
func IntValue(d lang.DType, n int64) Value { return tensor.IntValue(d, n) }

// FloatValue is a float scalar.
func FloatValue(d lang.DType, f float64) Value { return tensor.FloatValue(d, f) }

// Elements is the number of elements of a shape.
func Elements(shape []int64) int64 { return tensor.Elements(shape) }

// FormatShape shows a shape: `[8, 768]`.
func FormatShape(shape []int64) string { return tensor.FormatShape(shape) }

// Specialise makes a specialisation of a kernel from sizes, element types and constants by name, for tools that look at a
// kernel with no launch at hand.
func Specialise(k *typed.Kernel, opts Options) (*spec.Spec, error) { return graph.Specialise(k, opts) }
