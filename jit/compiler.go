package jit

import (
	"io"
	"time"

	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/compile"
	"tilec/jit/graph"
	"tilec/jit/log"
	"tilec/jit/misuse"
	"tilec/jit/run"
	"tilec/jit/tensor"
	"tilec/typecheck/typed"
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
	return compile.Spent(&c.Compiler)
}

// usable reports a compiler that cannot compile.
func (c *Compiler) usable(call string) error {
	if c == nil {
		return misuse.Unset(call, "the compiler is nil: NewCompiler gives one")
	}
	return backend.Usable(c.Device, call)
}

// BindGraph binds a graph to its arguments' types and shapes, compiles every
// kernel that it launches, and plans its memory.
func (c *Compiler) BindGraph(g *typed.Graph, args []tensor.Value, opts Options) (_ *Program, err error) {
	defer bug.Catch(&err, "bind")
	const call = "Compiler.BindGraph"
	if g == nil || g.Decl == nil {
		return nil, misuse.Unset(call, "the graph is nothing that the checker made")
	}
	if err := c.usable(call); err != nil {
		return nil, err
	}
	if err := opts.Check(g.Name, g.Consts, g.TypeParams); err != nil {
		return nil, err
	}
	b, err := graph.Bind(&c.Compiler, g, args, opts)
	if err != nil {
		return nil, err
	}
	c.Logs.Print(log.Graph, g.Name, b.String)
	apart := opts
	apart.Separate, apart.Dump = true, nil
	p, err := run.New(&c.Compiler, c.Output, b, opts.Arena, func() (*Program, error) {
		own := apart
		own.Arena = nil // it runs while the other is there
		return c.BindGraph(g, args, own)
	})
	if err != nil && b.Fused() { // kernels that fit a device one after the other may be too much for it as one
		c.Logs.Line(log.Launch, "%s: every call is a launch of its own: %v", g.Name, err)
		return c.BindGraph(g, args, apart)
	}
	return p, err
}

// BindKernel binds one kernel. Args follow its parameters; outputs are made by the program.
func (c *Compiler) BindKernel(k *typed.Kernel, args []tensor.Value, opts Options) (_ *Program, err error) {
	defer bug.Catch(&err, "bind")
	const call = "Compiler.BindKernel"
	if k == nil || k.Decl == nil {
		return nil, misuse.Unset(call, "the kernel is nothing that the checker made")
	}
	if err := c.usable(call); err != nil {
		return nil, err
	}
	if err := opts.Check(k.Name, k.Consts, k.TypeParams); err != nil {
		return nil, err
	}
	b, err := graph.BindKernel(&c.Compiler, k, KernelFunction(k).Params, args, opts)
	if err != nil {
		return nil, err
	}
	return run.New(&c.Compiler, c.Output, b, opts.Arena, func() (*Program, error) {
		own := opts
		own.Separate, own.Dump, own.Arena = true, nil, nil // it runs while the other is there
		return c.BindKernel(k, args, own)
	})
}
