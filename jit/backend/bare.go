package backend

import "tilec/jit/cuda"

// BareLauncher is an executable whose launches can be made without it.
type BareLauncher interface {
	// BareLaunch is a launch as data: C code makes it by itself, with addresses and scalars of its own in place of those of args, in the order of
	// ir.Func.Params, and in any stream of the device's. The other args, and memory that the kernel needs, must be those of every such launch.
	BareLaunch(args []Arg) (*cuda.BareLaunch, error)
}

// BareDevice is a device whose launches C code can make. What it makes and what the device makes of a program take turns, where they work in memory of the
// program's own, or the driver would have several streams at work there at once.
type BareDevice interface {
	// BareCalls are what C code calls.
	BareCalls() (*cuda.BareCalls, error)
	// NewTurn makes the event that is behind what had the last turn.
	NewTurn() (*cuda.Event, error)
	// InTurn does work, which gives the device launches, behind what had the last turn, and puts the event behind it. Nobody else may have a
	// turn meanwhile.
	InTurn(turn *cuda.Event, work func() error) error
}

// BareRecording is a recording that C code can replay, by the handle of the driver's graph.
type BareRecording interface{ Handle() uintptr }
