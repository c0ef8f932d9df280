// Package backend says what a back end is: a device that holds memory, compiles planned kernels and launches them.
// It knows IR, plans and PTX as data; it must not know the programs, the graphs and the arguments that launches come
// from. The back ends are packages of their own beside it; package jit lists them.
package backend

import (
	"context"

	"tilec/jit/cache"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/target"
)

// Device is a machine that runs kernels. Work is done in the order in which it
// is given; Read and Sync wait for it. A device may be used from several
// goroutines. Calls that cannot be are a *UseError: on a device that is nil or
// closed, with memory that is freed, of another device or too small.
type Device interface {
	// Name is what a person calls the device: "NVIDIA H200", "CPU (2 cores)".
	Name() string
	// ID is the device's name on the command line: "cpu", "cuda:0".
	ID() string
	Target() target.Machine
	// Alloc gives n bytes of memory with undefined contents, aligned to 256 bytes.
	Alloc(n int64) (*Memory, error)
	// Free gives memory back, which nothing may be using. It does nothing to what is freed already, to a part of
	// memory, and to memory of another device.
	Free(*Memory)
	// Write copies data to m from a byte offset on.
	Write(m *Memory, offset int64, data []byte) error
	// Read copies bytes of m, from a byte offset on, to data.
	Read(data []byte, m *Memory, offset int64) error
	// Fill sets n bytes of m, from a byte offset on, to one value. It does not wait for that.
	Fill(m *Memory, offset, n int64, value byte) error
	Sync() error
	// Close gives back what the device holds; neither it nor its memory can be used after. A second Close does nothing.
	Close() error

	// State is whether the device is open, space which memory is its own: devices with equal spaces share theirs.
	State() State
	Space() any
	// Poison makes the device fill what nothing may rely on with bytes that no result has: memory that Alloc gives, and before
	// each launch the results that it makes and its scratch memory. For tests, in which an element then shows that is neither
	// stored nor filled.
	Poison()
	Poisons() bool
	// Undefine does so with a part of memory.
	Undefine(m *Memory, offset, n int64) error

	// Compile makes a kernel ready to be launched.
	Compile(c *Code, t Tools) (Executable, error)
}

// Wrapper is a device that can use memory of the host where it lies; wrap gives nil for what it cannot.
type Wrapper interface {
	Wrap(data []byte, align int) *Memory
}

// Tools are what a device compiles with.
type Tools struct {
	// Logs prints stages; nil prints none.
	Logs *log.Logs
	// Cache holds machine code between runs; nil for none.
	Cache *cache.Cache
}

// Executable is a kernel compiled for a device.
type Executable interface {
	// Launch starts the kernel; args are in the order of ir.Func.Params. Where the kernel has
	// ended when launch returns, it ends early, with the context's cause, once the context is done.
	Launch(ctx context.Context, args []Arg) error
	// Scratch is the bytes of scratch memory that a launch over so many blocks needs beside its arguments, and for
	// how many thread blocks at once that is, which is the launch's argument for the first block: it runs the
	// others after them.
	Scratch(blocks int64) (bytes, atOnce int64)
}

// Arg is one launch parameter: the address of an element in memory, or
// the bits of a scalar, a size or a stride.
type Arg struct {
	Memory *Memory
	// Offset of element 0 of a tensor, in bytes.
	Offset int64
	Bits   uint64
}

// Fixed gives what a launch fixes by its arguments: the sizes of dimensions and strides, and where tensors lie.
func Fixed(params []ir.Param, args []Arg) (size func(*ir.Dim) int64, address func(*ir.Tensor) uint64) {
	sizes, addresses := map[*ir.Dim]int64{}, map[*ir.Tensor]uint64{}
	for i, p := range params {
		switch p.Kind {
		case ir.ParamPointer:
			addresses[p.Tensor] = args[i].Memory.Address() + uint64(args[i].Offset)
		case ir.ParamDim, ir.ParamStride:
			sizes[p.Dim] = int64(args[i].Bits)
		}
	}
	return func(d *ir.Dim) int64 { return sizes[d] }, func(t *ir.Tensor) uint64 { return addresses[t] }
}
