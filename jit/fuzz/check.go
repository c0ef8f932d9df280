package fuzz

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/backend/emulator"
	"tilec/jit/emu"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Kind is what is wrong.
type Kind string

// The kinds of finding, and two of no finding.
const (
	// Rejected: the checker refuses a generated program.
	Rejected Kind = "rejected"
	// Crash: the compiler panics, or a pass breaks the IR.
	Crash Kind = "crash"
	// CompileError: a program that type-checks does not compile.
	CompileError Kind = "compile"
	// RunError: a launch fails.
	RunError Kind = "run"
	// Wrong: a result is outside its bound.
	Wrong Kind = "wrong"
	// Stray: memory outside the results is written.
	Stray Kind = "stray"
	// Unstable: two runs of one program differ.
	Unstable Kind = "unstable"
	// Unproven: an access that the checker proved to be inside a tensor is outside.
	Unproven Kind = "unproven"
	// Hang: nothing happens any more, or the process died.
	Hang Kind = "hang"
	// Refused is no finding: a pinned plan does not fit the device.
	Refused Kind = "refused"
	// PlanDependent: the checker lets through a result that depends on extents that the source leaves open.
	PlanDependent Kind = "plan-dependent"
	// TooLarge is no finding: the reference or the emulator would take too long.
	TooLarge Kind = "too large"
)

// finding reports whether a kind is one.
func (k Kind) finding() bool { return k != Refused && k != TooLarge }

// Problem is why a run fails.
type Problem struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// Error is the problem in words.
func (p *Problem) Error() string { return string(p.Kind) + ": " + p.Text }

// problem is one of a kind, in words.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func problem(k Kind, format string, args ...any) *Problem {
	return &Problem{k, fmt.Sprintf(format, args...)}
}

// Tally counts what was compared.
type Tally struct {
	Launches int64
	Elements int64
	// Unknown elements are those of which the reference can say nothing.
	Unknown int64
	// instructions are those of the kernels that ran.
	instructions map[string]bool
}

func (t *Tally) add(u Tally) {
	t.Launches += u.Launches
	t.Elements += u.Elements
	t.Unknown += u.Unknown
	if t.instructions == nil {
		t.instructions = map[string]bool{}
	}
	maps.Copy(t.instructions, u.instructions)
}

// checker runs cases on a device and compares.
type checker struct {
	device backend.Device
	arith  Arithmetic
	// running lets one launch at a time to a device with one queue.
	running sync.Mutex
}

func newChecker(d backend.Device) *checker {
	return &checker{device: d, arith: ArithmeticOf(d.Target().IsGPU())}
}

// guard is how many bytes around tensors must stay as they were, poison what is there: NaN in every float type.
const (
	guard  = 4096
	poison = 0xff
)

// load type-checks a case's source and gives its kernel.
func load(source string) (*typed.Kernel, *Problem) {
	p, ds := jit.Load("fuzz.tile", []byte(source), nil)
	if len(ds) > 0 {
		return nil, rejected(ds)
	}
	if len(p.Kernels) != 1 {
		return nil, problem(Rejected, "the source has %d kernels, a case with launches has 1", len(p.Kernels))
	}
	return p.Kernels[0], nil
}

// rejected is what the checker says.
func rejected(ds []*lang.Diagnostic) *Problem {
	var b strings.Builder
	if err := lang.Render(&b, ds, lang.RenderOptions{}); err != nil {
		return problem(Rejected, "%v", ds[0])
	}
	return problem(Rejected, "%s", b.String())
}

// compileProblem says what an error of the compiler is.
func compileProblem(err error, pinned bool) *Problem {
	var bug *jit.Bug
	var d *lang.Diagnostic
	switch {
	case errors.As(err, &bug):
		return problem(Crash, "%v\n%s", bug, bug.Stack)
	case errors.As(err, &d) && d.Code == lang.ErrPlan && pinned:
		return problem(Refused, "%v", err)
	}
	if errors.Is(err, emulator.ErrTooLarge) {
		return problem(TooLarge, "%v", err)
	}
	return problem(CompileError, "%v", err)
}

// pinsPlan reports a kernel whose source fixes a part of its plan.
func pinsPlan(k *typed.Kernel) bool {
	return len(k.Hints) > 0 || len(k.Splits) > 0 || slices.ContainsFunc(k.Axes, func(a *typed.Axis) bool { return len(a.Choices) > 0 })
}

// argument is one parameter of a launch.
type argument struct {
	param *typed.Param
	dtype lang.DType
	shape []int64
	data  []byte // tensors
	value ir.Const
}

// arguments draws the inputs of a run.
func arguments(k *typed.Kernel, spec *spec.Spec, r Trial) ([]argument, error) {
	var args []argument
	for _, p := range k.Params {
		rnd := random(r.Seed, p.Name)
		a := argument{param: p, dtype: p.DType.Resolve(spec.Types)}
		if !p.IsTensor {
			a.value = r.Style.element(a.dtype, rnd)
			args = append(args, a)
			continue
		}
		var err error
		if a.shape, err = shapeOf(spec, p); err != nil {
			return nil, err
		}
		a.data = r.Style.fill(a.dtype, jit.Elements(a.shape), rnd)
		if p.Name == offsetsName {
			for i, c := range offsets(jit.Elements(a.shape), r.Seed) {
				encode(a.dtype, c, a.data, i)
			}
		}
		args = append(args, a)
	}
	return args, nil
}

func shapeOf(spec *spec.Spec, p *typed.Param) ([]int64, error) {
	shape := make([]int64, len(p.Shape))
	for i, s := range p.Shape {
		n, err := s.Eval(func(sym *size.Symbol) (int64, bool) {
			if c, ok := spec.Consts[sym]; ok {
				return c.Int, true
			}
			n, ok := spec.Dims[sym]
			return n, ok
		})
		if err != nil {
			return nil, err
		}
		shape[i] = n
	}
	return shape, nil
}

// reference computes what results may be: the outputs, then the inouts. Extents
// that nothing pins are the whole of the dimension, or open elements when that is more than 0.
func (c *checker) reference(k *typed.Kernel, spec *spec.Spec, r Trial, args []argument, open int64) ([]*array, *Problem) {
	tensors, scalars := map[string]*array{}, map[string]*tile{}
	var inouts, outs []*array
	for i := range args {
		a := &args[i]
		if !a.param.IsTensor {
			scalars[a.param.Name] = scalarTile(a.dtype, a.value)
			continue
		}
		x := newArray(a.dtype, a.shape, a.data)
		tensors[a.param.Name] = x
		if a.param.Mode == lang.InOut {
			x.held = true // what is there counts as a result
			inouts = append(inouts, x)
		}
	}
	for _, p := range k.Outputs {
		shape, err := shapeOf(spec, p)
		if err != nil {
			return nil, problem(RunError, "%v", err)
		}
		x := newArray(p.DType.Resolve(spec.Types), shape, nil)
		x.held = p.Fill
		tensors[p.Name] = x
		outs = append(outs, x)
	}
	for _, launch := range spec.Launches() { // a formula may have several
		m, p := c.arith.machine(launch, nil, tensors, scalars, func(*ir.Axis) int64 { return open })
		if p == nil {
			p = problemOf(m.run())
		}
		if p != nil {
			return nil, p
		}
	}
	return append(outs, inouts...), nil
}

// result is what a device gave for one output or inout.
type result struct {
	name string
	data []byte
	// before is what the run before gave; elements that are never written may differ.
	before []byte
}

// runErrorKind tells what is wrong with a launch that failed. Pins of tiny tiles can
// make more work than the emulator allows a launch; that the code ends is for a GPU to show.
func runErrorKind(err error) Kind {
	var e *emulator.Error
	if errors.As(err, &e) && !slices.ContainsFunc(e.Findings, func(f emu.Finding) bool { return f.Kind != emu.Runaway }) {
		return TooLarge
	}
	return RunError
}

// check runs one run of a program and compares.
func (c *checker) check(k *typed.Kernel, r Trial) (t Tally, p *Problem) {
	defer func() {
		if e := recover(); e != nil {
			bug := jit.NewBug(e)
			p = problem(Crash, "%v\n%s", bug, bug.Stack)
		}
	}()
	opts, err := r.options(k)
	if err != nil {
		return t, problem(RunError, "%v", err)
	}
	spec, err := jit.Specialise(k, opts)
	if err != nil {
		return t, compileProblem(err, false)
	}
	args, err := arguments(k, spec, r)
	if err != nil {
		return t, problem(RunError, "%v", err)
	}
	want, p := c.reference(k, spec, r, args, 0)
	if p != nil {
		return t, p
	}
	t.instructions = map[string]bool{}
	if r.Inferred {
		opts.Types = nil
	}
	got, p := c.execute(watched(c.device, t.instructions), k, opts, args, len(spec.Launches()))
	if p != nil {
		return t, p
	}
	t.Launches = 1
	for i, g := range got {
		p := want[i].compare(g, &t)
		if p != nil && p.Kind == Wrong {
			for _, open := range []int64{1, 3} {
				other, q := c.reference(k, spec, r, args, open)
				if q == nil && !want[i].agrees(other[i]) {
					return t, problem(PlanDependent, "%s differs with extents of %d", g.name, open)
				}
			}
		}
		if p != nil {
			return t, p
		}
	}
	return t, nil
}

// execute runs a kernel of so many launches twice, the second time over poisoned results, and reads the results.
func (c *checker) execute(compiler *jit.Compiler, k *typed.Kernel, opts jit.Options, args []argument, launches int) ([]result, *Problem) {
	device := c.device
	var values []jit.Value
	var memory []*backend.Memory
	defer func() {
		for _, m := range memory {
			if m != nil {
				device.Free(m)
			}
		}
	}()
	for _, a := range args {
		var m *backend.Memory
		switch {
		case a.param.IsTensor:
			var err error
			if m, err = device.Alloc(int64(len(a.data) + guard)); err != nil {
				return nil, problem(RunError, "%v", err)
			}
			values = append(values, jit.TensorValue(&jit.Tensor{DType: a.dtype, Shape: a.shape, Memory: m}))
		case a.dtype.IsFloat():
			values = append(values, jit.FloatValue(a.dtype, a.value.Float))
		default:
			values = append(values, jit.IntValue(a.dtype, a.value.Int))
		}
		memory = append(memory, m)
	}
	program, err := compiler.BindKernel(k, values, opts)
	if err != nil {
		return nil, compileProblem(err, len(opts.Pins) > 0 || pinsPlan(k))
	}
	defer program.Close()
	if device.Target().IsGPU() {
		c.running.Lock()
		defer c.running.Unlock()
	}
	l := launch{device, k, program, args, values, memory, len(program.Plans()) > launches}
	first, arena, p := l.once(nil)
	if p != nil {
		return nil, p
	}
	second, _, p := l.once(arena)
	if p != nil {
		return nil, p
	}
	for i := range second {
		second[i].before = first[i].data
	}
	return second, nil
}

// launch is a bound program with its arguments.
type launch struct {
	device  backend.Device
	kernel  *typed.Kernel
	program *jit.Program
	args    []argument
	values  []jit.Value
	memory  []*backend.Memory
	// between: some launches are none of the kernel's own, as copies of operands, and write what lies beside the results.
	between bool
}

// once runs the program and reads its results, which lie in the memory that it
// gives; where that memory is given, it is poisoned before and checked after.
func (l *launch) once(arena *backend.Memory) ([]result, *backend.Memory, *Problem) {
	failed := func(err error) ([]result, *backend.Memory, *Problem) {
		return nil, nil, problem(runErrorKind(err), "%v", err)
	}
	behind := bytes.Repeat([]byte{poison}, guard)
	for i, m := range l.memory {
		if m == nil {
			continue
		}
		if err := l.device.Write(m, 0, append(bytes.Clone(l.args[i].data), behind...)); err != nil {
			return failed(err)
		}
	}
	if arena != nil {
		if err := l.device.Write(arena, 0, bytes.Repeat([]byte{poison}, int(arena.Size))); err != nil {
			return failed(err)
		}
	}
	out, err := l.program.Run(l.values)
	if err != nil {
		return failed(err)
	}
	if err := l.device.Sync(); err != nil {
		return failed(err)
	}
	results, p := l.outputs(out, arena != nil)
	if p != nil {
		return nil, nil, p
	}
	for i, m := range l.memory {
		if m == nil {
			continue
		}
		a := &l.args[i]
		data := make([]byte, m.Size)
		if err := l.device.Read(data, m, 0); err != nil {
			return failed(err)
		}
		n := len(a.data)
		if !untouched(data[n:]) {
			return nil, nil, problem(Stray, "memory behind %s is written", a.param.Name)
		}
		if a.param.Mode == lang.InOut {
			results = append(results, result{name: a.param.Name, data: data[:n]})
		} else if !bytes.Equal(data[:n], a.data) {
			return nil, nil, problem(Stray, "the input %s is written", a.param.Name)
		}
	}
	if len(out) == 0 {
		return results, nil, nil
	}
	return results, out[0].Tensor.Memory, nil
}

func (l *launch) outputs(out []jit.Value, poisoned bool) ([]result, *Problem) {
	if len(out) == 0 {
		return nil, nil
	}
	arena := make([]byte, out[0].Tensor.Memory.Size)
	if err := l.device.Read(arena, out[0].Tensor.Memory, 0); err != nil {
		return nil, problem(RunError, "%v", err)
	}
	type part struct{ from, to int64 }
	parts := []part{{int64(len(arena)), int64(len(arena))}}
	var results []result
	for i, v := range out {
		from := v.Tensor.DType.Bytes(v.Tensor.Offset)
		to := from + v.Tensor.Bytes()
		parts = append(parts, part{from, to})
		results = append(results, result{name: l.kernel.Outputs[i].Name, data: arena[from:to]})
	}
	if !poisoned || l.between {
		return results, nil
	}
	sort.Slice(parts, func(i, j int) bool { return parts[i].from < parts[j].from })
	at := int64(0)
	for _, s := range parts {
		if !untouched(arena[at:s.from]) {
			return nil, problem(Stray, "memory is written outside the outputs, between bytes %d and %d", at, s.from)
		}
		at = s.to
	}
	return results, nil
}

func untouched(data []byte) bool {
	for _, b := range data {
		if b != poison {
			return false
		}
	}
	return true
}
