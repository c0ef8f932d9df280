package jit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/target"
	"tilec/lang"
)

// Program is a graph or a kernel bound to the shapes of its arguments: a list
// of launches over planned memory. It is data; Run replays it.
type Program struct {
	// mu is held while the program runs: its launches and their arguments are one at a time.
	mu       sync.Mutex
	closed   bool
	compiler *Compiler
	device   Device
	name     string
	// inputs are the tensor arguments in order; accepted says that those that the last run had lie apart.
	inputs   []input
	accepted bool
	// made are the tensors that the program filled when it was bound, by what they hold.
	made      []Tensor
	madeNames map[string]int
	// scalarTypes are the scalar arguments in order.
	scalarTypes []lang.DType
	steps       []step
	temps       []temp
	// arena has the temporaries, and the scratch memory of the launches, which run one after the other;
	// own says that no other program uses it. The sizes are what this program needs, or nothing.
	arena                   *Arena
	own                     bool
	tempBytes, scratchBytes int64
	outputs                 []view
	scratch                 []lang.Literal
	// observer looks at the launches; nil for none.
	observer Observer
}

// slot is where a tensor's memory comes from: argument n, temporary n, or tensor n that the program filled.
type slot struct {
	temp, made bool
	index      int
}

// view is a tensor of a program, known but for the memory.
type view struct {
	slot    slot
	dtype   lang.DType
	shape   []int64
	strides []int64 // always given
	offset  int64   // elements
}

func (v *view) contiguous() bool {
	want := int64(1)
	for i := len(v.shape) - 1; i >= 0; i-- {
		if v.shape[i] != 1 && v.strides[i] != want {
			return false
		}
		want *= v.shape[i]
	}
	return true
}

// temp is a temporary: where in the arena it lies, and from which step to which it is needed.
type temp struct {
	size        int64
	first, last int
	offset      int64
}

// step is one launch.
type step struct {
	spec     *Spec
	compiled *Compiled
	// tensors and scalars follow the kernel's parameters, inputs then outputs.
	tensors []view
	scalars []scalar
	// sizes are the launch's dimensions and strides, in the order of ir.Func.Params.
	sizes []uint64
	empty bool // no block to run
	// ranged: scalars decide what part of a dimension the grid walks.
	ranged bool
	// fills are the tensors that are filled with zeros before the launch.
	fills []int
	// kept is the bytes of scratch memory that the launch needs, for atOnce thread blocks.
	kept, atOnce int64
	// debug is where the kernel leaves what it says; nil for one that says nothing.
	debug *debugOutput
	args  []launchArg
}

// compile compiles every step, several at once, and prepares its arguments.
func (p *Program) compile() error {
	specs := make([]*Spec, len(p.steps))
	for i := range p.steps {
		specs[i] = p.steps[i].spec
	}
	compiled, err := p.compiler.compileAll(specs, p.device)
	if err != nil {
		return err
	}
	most := int64(0)
	for i := range p.steps {
		s := &p.steps[i]
		if err := s.prepare(compiled[i], p.device); err != nil {
			return err
		}
		most = max(most, s.kept)
	}
	p.tempBytes, p.scratchBytes = nothing, nothing
	if most > 0 {
		p.scratchBytes = most
	}
	if n := p.planMemory(); len(p.temps) > 0 { // results may have no elements, and still lie somewhere
		p.tempBytes = n
	}
	return p.arena.reserve(p)
}

// prepare computes what does not change from run to run.
func (s *step) prepare(c *Compiled, d Device) error {
	s.compiled = c
	b := s.spec
	if err := c.dims.checkCounted(b); err != nil {
		return err
	}
	grid, err := s.grid(nil)
	if err != nil {
		return err
	}
	s.empty = slices.Contains(grid, 0)
	for _, part := range c.dims.parts {
		s.ranged = s.ranged || part.byScalars()
	}
	if d.Target().IsGPU() && !s.empty {
		if n := Elements(grid); n > target.MaxBlocks {
			return launchError(b.Kernel.Decl.Name.Span(), lang.ErrPlan, "%s has %d blocks on %s, where a launch has at most %d: give the axes of its grid larger extents", b.Kernel.Name, n, d.Target().Name, target.MaxBlocks)
		}
	}
	if !s.empty {
		if err := c.dims.checkNonEmpty(b); err != nil {
			return err
		}
	}
	if c.Func.HasDebug() && !s.empty {
		if s.debug, err = newDebugOutput(d, c.Func, grid); err != nil {
			return err
		}
	}
	blocks := int64(1)
	for _, n := range grid {
		blocks *= n
	}
	if !s.empty {
		s.kept, s.atOnce = c.exe.scratch(blocks)
	}
	tensors := make([]*view, 0, len(s.tensors))
	for i := range s.tensors {
		tensors = append(tensors, &s.tensors[i])
	}
	for _, p := range c.params {
		arg := launchArg{}
		switch p.Kind {
		case ir.ParamDim:
			n, err := c.dims.size(p.Dim, b)
			if err != nil {
				return err
			}
			if n > ir.NarrowSize && !p.Dim.Wide {
				return bug.New("run", "kernel %s is compiled for sizes that 32 bits count, and %s is %d", b.Kernel.Name, p.Dim.Name, n)
			}
			arg.bits = uint64(n)
		case ir.ParamStride:
			at, ok := c.dims.strides[p.Dim.Name]
			if !ok {
				return bug.New("run", "kernel %s has a stride %s that no launch can compute", b.Kernel.Name, p.Dim.Name)
			}
			arg.bits = uint64(tensors[at.tensor].strides[at.dim] * at.times / at.by)
		}
		s.args = append(s.args, arg)
	}
	return nil
}

// Run runs the program on arguments of the shapes that it was bound to. The
// results live in the program's arena until its next Run, or, where the arena is
// shared, until another program of it is bound or runs.
// It may be called from several goroutines, which wait for each other. A tensor that cannot be
// used is an *ArgError, a program that is closed a *UseError.
func (p *Program) Run(args []Value) ([]Value, error) {
	return p.RunContext(context.Background(), args)
}

// RunContext is Run until a context is done: then the error is the context's cause,
// and what the arguments and results hold is undefined. A kernel on a GPU that was
// started ends by itself, or never.
func (p *Program) RunContext(ctx context.Context, args []Value) (_ []Value, err error) {
	defer bug.Catch(&err, "run")
	if err := p.usable("Program.Run"); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, &UseError{"Program.Run", p.name + " is closed", ErrClosed}
	}
	if err := usable(p.device, "Program.Run"); err != nil {
		return nil, err
	}
	var tensors []*Tensor
	scalars := p.scratch[:0]
	for _, a := range args {
		tensors, scalars = a.leaves(tensors, scalars)
	}
	p.scratch = scalars
	if err := p.accept(tensors, scalars); err != nil {
		return nil, err
	}
	if err := p.arena.reserve(p); err != nil { // another program's growth may have failed, or it was closed
		return nil, err
	}
	logs := p.compiler.Logs
	watch := watch{program: p, tensors: tensors, scalars: scalars}
	for i := range p.steps {
		s := &p.steps[i]
		if err := watch.begin(i); err != nil {
			return nil, err
		}
		if err := p.ready(i); err != nil { // also where no block runs
			return nil, err
		}
		if s.empty {
			continue
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", s.spec.Kernel.Name, context.Cause(ctx))
		}
		if s.ranged {
			if empty, err := s.ranges(s.scalarsOf(scalars)); err != nil || empty {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		t, c := 0, 0
		for j, param := range s.compiled.params {
			switch param.Kind {
			case ir.ParamPointer:
				v := &s.tensors[s.compiled.tensorParam[t]]
				t++
				switch {
				case v.slot.temp:
					s.args[j] = launchArg{memory: p.arena.temps, offset: p.temps[v.slot.index].offset + v.dtype.Bytes(v.offset)}
				case v.slot.made:
					s.args[j] = launchArg{memory: p.made[v.slot.index].Memory, offset: v.dtype.Bytes(v.offset)}
				default:
					in := tensors[v.slot.index]
					s.args[j] = launchArg{memory: in.Memory, offset: v.dtype.Bytes(in.Offset + v.offset)}
				}
			case ir.ParamScalar:
				s.args[j] = launchArg{bits: scalarBits(s.scalars[c].value(scalars))}
				c++
			case ir.ParamDebug:
				s.args[j] = launchArg{memory: s.debug.memory}
			case ir.ParamScratch:
				s.args[j] = launchArg{memory: p.arena.scratch}
			case ir.ParamFirst:
				s.args[j] = launchArg{bits: uint64(s.atOnce)}
			}
		}
		if err := s.begin(p.device, scalars); err != nil {
			return nil, err
		}
		var begin time.Time
		if logs.On(StageLaunch) || logs.On(StageTime) {
			begin = time.Now()
		}
		if err := s.compiled.exe.launch(ctx, s.args); err != nil {
			return nil, fmt.Errorf("%s: %w", s.spec.Kernel.Name, bug.In(err, s.about))
		}
		if s.debug != nil {
			if err := s.debug.report(p.device, p.compiler.Output); err != nil {
				return nil, err
			}
		}
		if logs.On(StageLaunch) { // the description costs more than a small launch
			logs.Line(StageLaunch, "%s %s", s.spec.Kernel.Name, s.describe())
		}
		if logs.On(StageTime) {
			if err := p.device.Sync(); err != nil {
				return nil, err
			}
			logs.Line(StageTime, "%s %.1f us", s.spec.Kernel.Name, float64(time.Since(begin).Nanoseconds())/1e3)
		}
	}
	if err := watch.begin(len(p.steps)); err != nil {
		return nil, err
	}
	out := make([]Value, len(p.outputs))
	for i := range p.outputs {
		out[i] = TensorValue(p.tensor(&p.outputs[i], tensors))
	}
	return out, nil
}

// about adds what the launch tells of a bug.
func (s *step) about(e *Bug) {
	if e.IR == "" {
		e.IR = textOf(s.compiled.Func)
	}
	e.Set("target", "%s", s.compiled.Plan.Target)
	e.Set("pins", "%s", planPins(s.compiled.Plan))
	e.Set("sizes", "%s", irSizes(s.compiled.Func, func(d *ir.Dim) (int64, error) { return s.compiled.dims.size(d, s.spec) }))
	s.spec.about(e)
}

// begin checks what the kernel assumes of its scalars, and makes the memory for what it says ready.
func (s *step) begin(d Device, args []lang.Literal) error {
	if len(s.spec.Kernel.Assumes) > 0 {
		if err := checkScalars(s.spec, s.scalarsOf(args)); err != nil {
			return err
		}
	}
	if s.debug != nil {
		return s.debug.clear(d)
	}
	return nil
}

// describe is the launch's plan and shapes on one line.
func (s *step) describe() string {
	text := s.compiled.Plan.String()
	for i, p := range params(s.spec.Kernel) {
		if p.IsTensor {
			text += fmt.Sprintf(" %s:%s%s", p.Name, s.tensors[i].dtype, FormatShape(s.tensors[i].shape))
		}
	}
	return text
}

// usable reports a program that nothing bound.
func (p *Program) usable(call string) error {
	if p == nil || p.compiler == nil {
		return unset(call, "the program is nothing that BindKernel or BindGraph gave")
	}
	return nil
}

// Close gives the program's memory back, once no run uses it. A second Close does nothing.
func (p *Program) Close() {
	if p.usable("") != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.own {
		p.arena.Close()
	}
	for i := range p.steps {
		if s := p.steps[i].debug; s != nil {
			p.device.Free(s.memory)
			p.steps[i].debug = nil
		}
	}
	for i := range p.made {
		p.device.Free(p.made[i].Memory)
	}
	p.made = nil
}

// scalarBits is a scalar as launch parameters hold it: the bits of its type, in the low end.
func scalarBits(l lang.Literal) uint64 {
	if l.DType.IsFloat() {
		return l.DType.FloatBits(eval.Round(l.Float, l.DType))
	}
	return uint64(l.Int) & (1<<l.DType.Bits() - 1)
}
