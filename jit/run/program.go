// Package run runs what is bound: it compiles the launches, gives them memory, and starts them in order. It must not know
// the source.
package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/graph"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/misuse"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/jit/tensor"
	"tilec/lang"
)

// Program is a graph or a kernel bound to the shapes of its arguments: a list
// of launches over planned memory. It is data; Run replays it.
type Program struct {
	// mu is held while the program runs: its launches and their arguments are one at a time.
	mu       sync.Mutex
	closed   bool
	compiler *compile.Compiler
	// output gets what kernels print; os.Stderr when it is nil.
	output io.Writer
	device backend.Device
	bound  *graph.Bound
	// accepted says that the tensors that the last run had lie apart.
	accepted bool
	steps    []step
	// arena has the temporaries, and the scratch memory of the launches, which run one after the other;
	// own says that no other program uses it. The sizes are what this program needs, or nothing.
	arena                   *backend.Arena
	own                     bool
	tempBytes, scratchBytes int64
	scratch                 []lang.Literal
	// observer looks at the launches; nil for none.
	observer Observer
	// bindApart is of a program whose launches are not the calls of the source, and apartly what it gave; see observed.
	bindApart func() (*Program, error)
	apartly   *Program
	recorded  recorded
	// placed are temporaries that the caller of RunInto has memory for, while intoMu is held.
	intoMu sync.Mutex
	placed []location
	// lastInto is where arguments and results of the last RunInto lay.
	lastInto placement
	// times is where launches that are timed leave when they began and ended; nil for others.
	times *backend.Memory
	// turn is behind the last run in the program's own memory, where C code makes runs too; nil where it does not.
	turn *cuda.Event
}

// step is one launch.
type step struct {
	*graph.Call
	compiled *compile.Compiled
	// sizes are the launch's dimensions and strides, in the order of ir.Func.Params.
	sizes []uint64
	empty bool // no block to run
	// ranged: scalars decide what part of a dimension the grid walks.
	ranged bool
	// kept is the bytes of scratch memory that the launch needs, for atOnce thread blocks.
	kept, atOnce int64
	// debug is where the kernel leaves what it says; nil for one that says nothing.
	debug *debugOutput
	args  []backend.Arg
	// number counts the program's launches.
	number int
}

// New makes a program of what was bound: it compiles every launch, several at once, and prepares their arguments.
// Output gets what kernels print; os.Stderr when it is nil. Where launches are not the calls of the source, apart binds the program
// anew with a launch for each call, for observers.
func New(c *compile.Compiler, output io.Writer, b *graph.Bound, arena *backend.Arena, apart func() (*Program, error)) (*Program, error) {
	p := &Program{compiler: c, output: output, device: c.Device, bound: b, arena: arena}
	if !b.AsWritten() {
		p.bindApart = apart
	}
	if p.arena == nil {
		p.arena, p.own = backend.NewArena(c.Device), true
	}
	err := p.compile()
	if err == nil {
		err = p.once()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// once computes what no argument changes, and keeps it.
func (p *Program) once() error {
	o := p.bound.Once
	if o == nil {
		return nil
	}
	q, err := New(p.compiler, p.output, o.Bound, nil, nil)
	if err != nil {
		return err
	}
	defer q.Close()
	results, err := q.Run(nil)
	if err != nil {
		return err
	}
	for n, v := range results {
		data := make([]byte, v.Tensor.Bytes())
		if err := tensor.ReadTensor(p.device, v.Tensor, data); err != nil {
			return err
		}
		if err := p.device.Write(p.bound.Made[o.Into[n]].Memory, 0, data); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) compile() error {
	if err := p.apart(); err != nil {
		return err
	}
	p.accepted = true
	p.steps = make([]step, len(p.bound.Calls))
	specs := make([]*spec.Spec, len(p.steps))
	for i := range p.steps {
		p.steps[i].Call, p.steps[i].number = &p.bound.Calls[i], i
		specs[i] = p.bound.Calls[i].Spec
	}
	compiled, err := compile.All(p.compiler, specs, p.device)
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
	if err := p.keepTimes(); err != nil {
		return err
	}
	p.tempBytes, p.scratchBytes = backend.Nothing, backend.Nothing
	if most > 0 {
		p.scratchBytes = most
	}
	if n := p.bound.PlanMemory(); len(p.bound.Temps) > 0 { // results may have no elements, and still lie somewhere
		p.tempBytes = n
	}
	return p.arena.Reserve(p.device, p.bound.Name, p.scratchBytes, p.tempBytes)
}

// prepare computes what does not change from run to run.
func (s *step) prepare(c *compile.Compiled, d backend.Device) error {
	s.compiled = c
	b := s.Spec
	if err := c.Dims.CheckCounted(b); err != nil {
		return err
	}
	grid, err := s.grid(nil)
	if err != nil {
		return err
	}
	s.empty = slices.Contains(grid, 0)
	for _, part := range c.Dims.Ranges {
		s.ranged = s.ranged || part.ByScalars()
	}
	if d.Target().IsGPU() && !s.empty {
		if n := tensor.Elements(grid); n > target.MaxBlocks {
			return spec.Errorf(b.Kernel.Decl.Name.Span(), lang.ErrPlan, "%s has %d blocks on %s, where a launch has at most %d: give the axes of its grid larger extents", b.Kernel.Name, n, d.Target().Name, target.MaxBlocks)
		}
	}
	if !s.empty {
		if err := c.Dims.CheckNonEmpty(b); err != nil {
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
		s.kept, s.atOnce = c.Exe.Scratch(blocks)
	}
	tensors := make([]*graph.View, 0, len(s.Tensors))
	for i := range s.Tensors {
		tensors = append(tensors, &s.Tensors[i])
	}
	for _, p := range c.Params {
		arg := backend.Arg{}
		switch p.Kind {
		case ir.ParamDim:
			n, err := c.Dims.Size(p.Dim, b)
			if err != nil {
				return err
			}
			if n > ir.NarrowSize && !p.Dim.Wide {
				return bug.New("run", "kernel %s is compiled for sizes that 32 bits count, and %s is %d", b.Kernel.Name, p.Dim.Name, n)
			}
			arg.Bits = uint64(n)
		case ir.ParamStride:
			at, ok := c.Dims.Strides[p.Dim.Name]
			if !ok {
				return bug.New("run", "kernel %s has a stride %s that no launch can compute", b.Kernel.Name, p.Dim.Name)
			}
			arg.Bits = uint64(tensors[at.Tensor].Strides[at.Dim] * at.Times / at.By)
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
func (p *Program) Run(args []tensor.Value) ([]tensor.Value, error) {
	return p.RunContext(context.Background(), args)
}

// RunContext is Run until a context is done: then the error is the context's cause,
// and what the arguments and results hold is undefined. A kernel on a GPU that was
// started ends by itself, or never.
func (p *Program) RunContext(ctx context.Context, args []tensor.Value) (_ []tensor.Value, err error) {
	defer bug.Catch(&err, "run")
	if err := p.usable("Program.Run"); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, misuse.New("Program.Run", p.bound.Name+" is closed", misuse.ErrClosed)
	}
	if err := backend.Usable(p.device, "Program.Run"); err != nil {
		return nil, err
	}
	if p.observer != nil && p.bindApart != nil {
		q, err := p.observed()
		if err != nil {
			return nil, err
		}
		return q.RunContext(ctx, args)
	}
	tensors, scalars, err := p.leaves(args)
	if err != nil {
		return nil, err
	}
	if err := p.clearTimes(); err != nil {
		return nil, err
	}
	replayed, err := p.replay(ctx, tensors, scalars)
	if err == nil && !replayed {
		err = p.launchAll(ctx, tensors, scalars)
	}
	if err != nil {
		return nil, err
	}
	out := make([]tensor.Value, len(p.bound.Outputs))
	for i := range p.bound.Outputs {
		out[i] = tensor.TensorValue(p.tensor(&p.bound.Outputs[i], tensors))
	}
	return out, nil
}

// leaves are the tensors and scalars in arguments, which the program accepts, and its arena has memory.
func (p *Program) leaves(args []tensor.Value) (tensors []*tensor.Tensor, scalars []lang.Literal, err error) {
	scalars = p.scratch[:0]
	for _, a := range args {
		tensors, scalars = a.Leaves(tensors, scalars)
	}
	p.scratch = scalars
	if err := p.accept(tensors, scalars); err != nil {
		return nil, nil, err
	}
	if err := p.arena.Reserve(p.device, p.bound.Name, p.scratchBytes, p.tempBytes); err != nil { // another program's growth may have failed, or it was closed
		return nil, nil, err
	}
	return tensors, scalars, nil
}

// launchAll starts the launches in order.
func (p *Program) launchAll(ctx context.Context, tensors []*tensor.Tensor, scalars []lang.Literal) error {
	logs := p.compiler.Logs
	watch := watch{program: p, tensors: tensors, scalars: scalars}
	for i := range p.steps {
		s := &p.steps[i]
		if err := watch.begin(i); err != nil {
			return err
		}
		if err := p.ready(i); err != nil { // also where no block runs
			return err
		}
		if s.empty {
			continue
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", s.Spec.Kernel.Name, context.Cause(ctx))
		}
		if s.ranged {
			if empty, err := s.ranges(s.scalarsOf(scalars)); err != nil || empty {
				if err != nil {
					return err
				}
				continue
			}
		}
		p.arguments(s, tensors, scalars)
		if err := s.begin(p.device, scalars); err != nil {
			return err
		}
		measures := logs.MeasuresLaunches(p.device.Target().IsGPU())
		begin := time.Time{}
		if measures {
			begin = time.Now()
		}
		if err := s.compiled.Exe.Launch(ctx, s.args); err != nil {
			return fmt.Errorf("%s: %w", s.Spec.Kernel.Name, bug.In(err, s.about))
		}
		if s.debug != nil {
			if err := s.debug.report(p.device, p.output); err != nil {
				return err
			}
		}
		if logs.On(log.Launch) { // the description costs more than a small launch
			logs.Line(log.Launch, "%s %s", s.Spec.Name(), s.describe())
		}
		if measures {
			if err := p.device.Sync(); err != nil {
				return err
			}
			logs.Spent(time.Since(begin), "run", s.Spec.Name())
		}
	}
	if err := watch.begin(len(p.steps)); err != nil {
		return err
	}
	return nil
}

// arguments sets what the launch gets in a run.
func (p *Program) arguments(s *step, tensors []*tensor.Tensor, scalars []lang.Literal) {
	t, c := 0, 0
	for j, param := range s.compiled.Params {
		switch param.Kind {
		case ir.ParamPointer:
			v := &s.Tensors[s.compiled.TensorParam[t]]
			t++
			switch {
			case v.Slot.Temp:
				at := p.temp(v.Slot.Index)
				s.args[j] = backend.Arg{Memory: at.memory, Offset: at.offset + v.DType.Bytes(v.Offset)}
			case v.Slot.Made:
				s.args[j] = backend.Arg{Memory: p.bound.Made[v.Slot.Index].Memory, Offset: v.DType.Bytes(v.Offset)}
			default:
				in := tensors[v.Slot.Index]
				s.args[j] = backend.Arg{Memory: in.Memory, Offset: v.DType.Bytes(in.Offset + v.Offset)}
			}
		case ir.ParamScalar:
			s.args[j] = backend.Arg{Bits: graph.ScalarBits(s.Scalars[c].Value(scalars))}
			c++
		case ir.ParamDebug:
			s.args[j] = backend.Arg{Memory: s.debug.memory}
		case ir.ParamScratch:
			s.args[j] = backend.Arg{Memory: p.arena.Scratch}
		case ir.ParamFirst:
			s.args[j] = backend.Arg{Bits: uint64(s.atOnce)}
		case ir.ParamTimes:
			s.args[j] = backend.Arg{Memory: p.times, Offset: int64(s.number) * ir.TimesBytes}
		}
	}
}

// about adds what the launch tells of a bug.
func (s *step) about(e *bug.Error) {
	if e.IR == "" {
		e.IR = compile.TextOf(s.compiled.Func)
	}
	e.Set("target", "%s", s.compiled.Plan.Target)
	e.Set("pins", "%s", compile.PinsOf(s.compiled.Plan))
	e.Set("sizes", "%s", compile.SizesOf(s.compiled.Func, func(d *ir.Dim) (int64, error) { return s.compiled.Dims.Size(d, s.Spec) }))
	s.Spec.About(e)
}

// begin checks what the kernel assumes of its scalars, and makes the memory for what it says ready.
func (s *step) begin(d backend.Device, args []lang.Literal) error {
	if len(s.Spec.Kernel.Assumes) > 0 {
		if err := spec.CheckScalars(s.Spec, s.scalarsOf(args)); err != nil {
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
	for i, p := range s.Spec.Params() {
		if p.IsTensor {
			text += fmt.Sprintf(" %s:%s%s", p.Name, s.Tensors[i].DType, tensor.FormatShape(s.Tensors[i].Shape))
		}
	}
	return text
}

// usable reports a program that nothing bound.
func (p *Program) usable(call string) error {
	if p == nil || p.compiler == nil {
		return misuse.Unset(call, "the program is nothing that BindKernel or BindGraph gave")
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
	if p.apartly != nil {
		p.apartly.Close()
	}
	p.recorded.forget()
	if p.turn != nil {
		_ = p.turn.Close()
		p.turn = nil
	}
	if p.times != nil {
		p.device.Free(p.times)
		p.times = nil
	}
	if p.own {
		p.arena.Close()
	}
	for i := range p.steps {
		if s := p.steps[i].debug; s != nil {
			p.device.Free(s.memory)
			p.steps[i].debug = nil
		}
	}
	p.bound.Free(p.device)
}
