package jit

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/lang"
)

// Program is a graph or a kernel bound to the shapes of its arguments: a list
// of launches over planned memory. It is data; Run replays it.
type Program struct {
	compiler *Compiler
	name     string
	// inputs are the tensor arguments in order, as the program was bound to them.
	inputs []Tensor
	// made are the tensors that the program filled when it was bound, by what they hold.
	made      []Tensor
	madeNames map[string]int
	// scalarTypes are the scalar arguments in order.
	scalarTypes []lang.DType
	steps       []step
	temps       []temp
	arena       *Memory
	// kept is the scratch memory of the launches, which run one after the other; nil where none needs any.
	kept    *Memory
	outputs []view
	scratch []lang.Literal
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

const tempAlign = 256

// planMemory gives the temporaries places in one arena: first fit, a place being free before its temporary's first step and after its last.
func (p *Program) planMemory() int64 {
	order := make([]int, len(p.temps))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return p.temps[order[a]].first < p.temps[order[b]].first })
	total := int64(0)
	var placed []*temp
	for _, i := range order {
		t := &p.temps[i]
		var busy []*temp
		for _, u := range placed {
			if u.first <= t.last && t.first <= u.last {
				busy = append(busy, u)
			}
		}
		sort.Slice(busy, func(a, b int) bool { return busy[a].offset < busy[b].offset })
		at := int64(0)
		for _, u := range busy {
			if at+t.size <= u.offset {
				break
			}
			at = max(at, u.offset+u.size)
		}
		t.offset = at
		placed = append(placed, t)
		total = max(total, at+t.size)
	}
	return total
}

// compile compiles every step, several at once, and prepares its arguments.
func (p *Program) compile() error {
	specs := make([]*Spec, len(p.steps))
	for i := range p.steps {
		specs[i] = p.steps[i].spec
	}
	compiled, err := p.compiler.compileAll(specs)
	if err != nil {
		return err
	}
	most := int64(0)
	for i := range p.steps {
		s := &p.steps[i]
		if err := s.prepare(compiled[i], p.compiler.Device); err != nil {
			return err
		}
		most = max(most, s.kept)
	}
	if most > 0 {
		if p.kept, err = p.compiler.Device.Alloc(most); err != nil {
			return fmt.Errorf("%s: %d bytes for tiles that are too long for a block: %w", p.name, most, err)
		}
	}
	if n := p.planMemory(); len(p.temps) > 0 { // results may have no elements, and still lie somewhere
		if p.arena, err = p.compiler.Device.Alloc(n); err != nil {
			return fmt.Errorf("%s: %d bytes for intermediate results: %w", p.name, n, err)
		}
	}
	return nil
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
	if d.Target().Arch > 0 && !s.empty {
		if n := Elements(grid); n > plan.MaxBlocks {
			return launchError(b.Kernel.Decl.Name.Span(), lang.ErrPlan, "%s has %d blocks on %s, where a launch has at most %d: give the axes of its grid larger extents", b.Kernel.Name, n, d.Target().Name, plan.MaxBlocks)
		}
	}
	if at := c.dims.nonEmpty; at.IsValid() && !s.empty {
		for _, d := range b.Kernel.Dims {
			if b.Dims[d] == 0 {
				return &lang.Diagnostic{Code: lang.ErrArgShape, At: d.At,
					Message: fmt.Sprintf("dimension %s of %s is 0, but the kernel accesses a position that every size of 1 or more has", d.Name, b.Kernel.Name),
					Labels:  []lang.Label{{At: at, Text: "accessed here"}}}
			}
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
				return fmt.Errorf("compiler bug: kernel %s is compiled for sizes that 32 bits count, and %s is %d", b.Kernel.Name, p.Dim.Name, n)
			}
			arg.bits = uint64(n)
		case ir.ParamStride:
			at, ok := c.dims.strides[p.Dim.Name]
			if !ok {
				return fmt.Errorf("compiler bug: kernel %s has a stride %s that no launch can compute", b.Kernel.Name, p.Dim.Name)
			}
			arg.bits = uint64(tensors[at.tensor].strides[at.dim] * at.times / at.by)
		}
		s.args = append(s.args, arg)
	}
	return nil
}

// Run runs the program on arguments of the shapes that it was bound to. The
// results live in the program's own memory until its next Run.
func (p *Program) Run(args []Value) ([]Value, error) {
	var tensors []*Tensor
	scalars := p.scratch[:0]
	for _, a := range args {
		tensors, scalars = a.leaves(tensors, scalars)
	}
	p.scratch = scalars
	if len(tensors) != len(p.inputs) || len(scalars) != len(p.scalarTypes) {
		return nil, fmt.Errorf("%s: bound to %d tensors and %d scalars, run with %d and %d", p.name, len(p.inputs), len(p.scalarTypes), len(tensors), len(scalars))
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
				size := int64(v.dtype.Size())
				switch {
				case v.slot.temp:
					s.args[j] = launchArg{memory: p.arena, offset: p.temps[v.slot.index].offset + v.offset*size}
				case v.slot.made:
					s.args[j] = launchArg{memory: p.made[v.slot.index].Memory, offset: v.offset * size}
				default:
					in := tensors[v.slot.index]
					s.args[j] = launchArg{memory: in.Memory, offset: (in.Offset + v.offset) * size}
				}
			case ir.ParamScalar:
				s.args[j] = launchArg{bits: scalarBits(s.scalars[c].value(scalars))}
				c++
			case ir.ParamDebug:
				s.args[j] = launchArg{memory: s.debug.memory}
			case ir.ParamScratch:
				s.args[j] = launchArg{memory: p.kept}
			case ir.ParamFirst:
				s.args[j] = launchArg{bits: uint64(s.atOnce)}
			}
		}
		if err := s.begin(p.compiler.Device, scalars); err != nil {
			return nil, err
		}
		var begin time.Time
		if logs.On(StageLaunch) || logs.On(StageTime) {
			begin = time.Now()
		}
		if err := s.compiled.exe.launch(s.args); err != nil {
			return nil, fmt.Errorf("%s: %w", s.spec.Kernel.Name, err)
		}
		if s.debug != nil {
			if err := s.debug.report(p.compiler.Device, p.compiler.Output); err != nil {
				return nil, err
			}
		}
		if logs.On(StageLaunch) { // the description costs more than a small launch
			logs.Line(StageLaunch, "%s %s", s.spec.Kernel.Name, s.describe())
		}
		if logs.On(StageTime) {
			if err := p.compiler.Device.Sync(); err != nil {
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

// Close gives the program's memory back.
func (p *Program) Close() {
	if p.arena != nil {
		p.compiler.Device.Free(p.arena)
		p.arena = nil
	}
	if p.kept != nil {
		p.compiler.Device.Free(p.kept)
		p.kept = nil
	}
	for i := range p.steps {
		if s := p.steps[i].debug; s != nil {
			p.compiler.Device.Free(s.memory)
			p.steps[i].debug = nil
		}
	}
	for i := range p.made {
		p.compiler.Device.Free(p.made[i].Memory)
	}
	p.made = nil
}

// scalarBits is a scalar as launch parameters hold it: the bits of its type, in the low end.
func scalarBits(l lang.Literal) uint64 {
	switch l.DType {
	case lang.F64:
		return math.Float64bits(l.Float)
	case lang.F32:
		return uint64(math.Float32bits(float32(l.Float)))
	case lang.F16:
		return uint64(lang.F16Bits(float32(l.Float)))
	case lang.BF16:
		return uint64(lang.BF16Bits(float32(l.Float)))
	case lang.F8E4M3:
		return uint64(lang.F8E4M3Bits(float32(l.Float)))
	case lang.F8E5M2:
		return uint64(lang.F8E5M2Bits(float32(l.Float)))
	}
	return uint64(l.Int) & (1<<l.DType.Bits() - 1)
}
