package jit

import (
	"context"

	"tilec/jit/ir"
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

	// state is whether the device is open, space which memory is its own: devices with equal spaces share theirs.
	state() state
	space() any
	// Poison makes the device fill what nothing may rely on with bytes that no result has: memory that Alloc gives, and before
	// each launch the results that it makes and its scratch memory. For tests, in which an element then shows that is neither
	// stored nor filled.
	Poison()
	poisons() bool
	// poison does so with a part of memory.
	poison(m *Memory, offset, n int64) error

	compile(l *Lowered, c *Compiler) (executable, error)
}

// executable is a kernel compiled for a device.
type executable interface {
	// launch starts the kernel; args are in the order of ir.Func.Params. Where the kernel has
	// ended when launch returns, it ends early, with the context's cause, once the context is done.
	launch(ctx context.Context, args []launchArg) error
	// scratch is the bytes of scratch memory that a launch over so many blocks needs beside its arguments, and for
	// how many thread blocks at once that is, which is the launch's argument for the first block: it runs the
	// others after them.
	scratch(blocks int64) (bytes, atOnce int64)
}

// launchArg is one launch parameter: the address of an element in memory, or
// the bits of a scalar, a size or a stride.
type launchArg struct {
	memory *Memory
	// offset of element 0 of a tensor, in bytes.
	offset int64
	bits   uint64
}

// fixedBy gives what a launch fixes by its arguments: the sizes of dimensions and strides, and where tensors lie.
func fixedBy(params []ir.Param, args []launchArg) (size func(*ir.Dim) int64, address func(*ir.Tensor) uint64) {
	sizes, addresses := map[*ir.Dim]int64{}, map[*ir.Tensor]uint64{}
	for i, p := range params {
		switch p.Kind {
		case ir.ParamPointer:
			addresses[p.Tensor] = args[i].memory.address() + uint64(args[i].offset)
		case ir.ParamDim, ir.ParamStride:
			sizes[p.Dim] = int64(args[i].bits)
		}
	}
	return func(d *ir.Dim) int64 { return sizes[d] }, func(t *ir.Tensor) uint64 { return addresses[t] }
}
