package jit

import (
	"io"
	"time"

	"tilec/jit/backend"
	"tilec/jit/compile"
	"tilec/jit/log"
	"tilec/jit/misuse"
)

// Compiler compiles kernels and graphs for one device and keeps what it compiled. It is
// safe for concurrent use.
type Compiler struct {
	compile.Compiler
	// Output gets what kernels print; os.Stderr when it is nil.
	Output io.Writer
}

// NewCompiler makes a compiler for a device.
func NewCompiler(d backend.Device, logs *log.Logs) *Compiler {
	return &Compiler{Compiler: compile.Compiler{Device: d, Logs: logs}}
}

// CompileTime is the wall-clock time spent compiling so far.
func (c *Compiler) CompileTime() time.Duration {
	if c == nil {
		return 0
	}
	return c.Spent()
}

// usable reports a compiler that cannot compile.
func (c *Compiler) usable(call string) error {
	if c == nil {
		return misuse.Unset(call, "the compiler is nil: NewCompiler gives one")
	}
	return backend.Usable(c.Device, call)
}
