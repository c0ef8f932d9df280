package jit

import (
	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
	"tilec/jit/backend/emulator"
	"tilec/jit/backend/nvidia"
	"tilec/jit/bug"
	"tilec/jit/graph"
	"tilec/jit/log"
	"tilec/jit/misuse"
	"tilec/jit/run"
	"tilec/jit/tensor"
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

// Functions of the rooms below.
var (
	// OpenCPU gives the CPU.
	OpenCPU = cpu.Open
	// OpenGPU opens the CUDA device of an ordinal.
	OpenGPU = nvidia.Open
	// OpenEmulator gives an emulator of a GPU target by name.
	OpenEmulator = emulator.Open
	// ParseLogs reads the value of CUTILE_LOGS.
	ParseLogs = log.Parse
	// Measure gives how long the device took for each of several runs of work.
	Measure = backend.Measure
)

// Tensors, and what is passed to kernels and graphs.
type (
	// Tensor is an array in a device's memory.
	Tensor = tensor.Tensor
	// Value is an argument or a result: a tensor, a scalar, or the elements of a struct or an array.
	Value = tensor.Value
)

// Functions of tensors.
var (
	// TensorValue, IntValue and FloatValue make values.
	TensorValue = tensor.TensorValue
	IntValue    = tensor.IntValue
	FloatValue  = tensor.FloatValue
	// Upload puts data on a device.
	Upload = tensor.Upload
	// ReadTensor copies a tensor's elements from its device.
	ReadTensor = tensor.ReadTensor
	// Elements is the number of elements of a shape.
	Elements = tensor.Elements
	// FormatShape shows a shape: `[8, 768]`.
	FormatShape = tensor.FormatShape
)

// NewBug makes a Bug of what recover gave; it must be called by the deferred function that recovered.
func NewBug(value any) *bug.Error { return bug.Recovered("", value) }

// Graphs and kernels that are bound, and their runs.
type (
	// Program is a graph or a kernel bound to the shapes of its arguments.
	Program = run.Program
	// Options bind what the arguments do not tell.
	Options = graph.Options
	// Arena is a device's memory for the intermediate results of programs that never run at the same time.
	Arena = backend.Arena
	// Observer looks at the launches of a program, Observation is one of them, Operand what it is given for a parameter.
	Observer    = run.Observer
	Observation = run.Observation
	Operand     = run.Operand
)

// Functions of these.
var (
	// NewArena makes an arena that has no memory yet.
	NewArena = backend.NewArena
	// Specialise makes a specialisation of a kernel from sizes, element types and constants by name.
	Specialise = graph.Specialise
)
