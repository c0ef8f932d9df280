package backend

import "tilec/jit/cuda"

// BareLauncher is an executable whose launches can be made without it.
type BareLauncher interface {
	// BareLaunch is a launch as data: C code makes it by itself, with addresses and scalars of its own in place of those of args, in the order of
	// ir.Func.Params, and in any stream of the device's. The other args, and memory that the kernel needs, must be those of every such launch.
	BareLaunch(args []Arg) (*cuda.BareLaunch, error)
}
