package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilec/jit/backend"
	"tilec/jit/block"
	"tilec/jit/bug"
	"tilec/jit/build"
	"tilec/jit/cache"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/misuse"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
)

// Lowered is a specialisation as planned tile IR, and as code that a device takes.
type Lowered struct {
	Func *ir.Func
	Plan *plan.Plan
	Code *backend.Code
	// Pins says what became of each pin and hint of the source and the launch, a line each.
	Pins []string
	// Exactness says of each function of f32 that a GPU has a cheaper form of, whether it has that form, and why, a line each; nil for the CPU.
	Exactness []string

	target target.Machine
	// fills are the outputs that a launch fills first.
	fills []string
	// uncut is the kernel before the passes that cut it as the plan says.
	uncut *ir.Func
	// room is what the pass `keep` could take of shared memory, in bytes.
	room int64
	// effort is how far the plan could go from what is fast, sizes what it reckoned with.
	effort plan.Effort
	sizes  func(*ir.Dim) int64
	dims   *spec.LaunchDims
}

// Lower takes a specialisation through the IR, its passes and the planner to
// code: only there does it show whether the plan fits.
func Lower(s *spec.Spec, target target.Machine, logs *log.Logs) (*Lowered, error) {
	return lowerFor(s, target, lowering{logs: logs, dump: logs.Dump()})
}

// lowerFor is Lower with what goes along with the kernel.
func lowerFor(s *spec.Spec, target target.Machine, with lowering) (*Lowered, error) {
	if err := s.Check("Lower"); err != nil {
		return nil, err
	}
	if target.Name == "" {
		return nil, misuse.Unset("Lower", "there is no target: target.Find gives one")
	}
	l, err := lower(s, target, with)
	if err != nil {
		return nil, err
	}
	return l, l.dims.CheckCounted(s)
}

// lowering is what goes along with a kernel on its way: where it is printed, where its code is kept.
type lowering struct {
	logs *log.Logs
	// dump sees the kernel after every pass that changed it, forms beside that as it was built and as the backend gets it.
	dump, forms func(pass string, f *ir.Func)
	store       *cache.Cache
}

// form shows the kernel to forms, if anybody looks.
func (w *lowering) form(pass string, f *ir.Func) {
	if w.forms != nil {
		w.forms(pass, f)
	}
}

func lower(s *spec.Spec, target target.Machine, with lowering) (out *Lowered, err error) {
	logs, stage := with.logs, "build"
	var f *ir.Func
	var dims *spec.LaunchDims
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, bug.Recovered(stage, r)
		}
		err = bug.In(err, func(e *bug.Error) {
			if e.IR == "" {
				e.IR = TextOf(f)
			}
			e.Set("target", "%s", target.Name)
			if f != nil {
				e.Set("sizes", "%s", SizesOf(f, func(d *ir.Dim) (int64, error) { return dims.Size(d, s) }))
			}
			s.About(e)
		})
	}()
	watch := logs.Stopwatch("compile", s.Name())
	f, dims, err = build.Kernel(s.Whole(), target.Name)
	if err != nil {
		return nil, err
	}
	watch.Lap("build")
	if with.dump != nil {
		with.dump(log.Build, f)
	}
	if with.forms != nil {
		with.form("", f)
		with.dump = with.forms
	}
	declared := slices.Clone(f.Axes) // what follows changes the list
	pins := pinsOf(s, target.Name)
	said := pins.values()
	build.Simplify(f, dims, func(a *ir.Axis) bool { return said[plan.Parameter(a)] > 0 })
	share(f, target, s.Pins["split"])
	p := &planning{
		f: f, target: target, store: with.store, deterministic: s.Deterministic,
		sizes: func(d *ir.Dim) int64 {
			n, err := dims.Size(d, s)
			if err != nil {
				return 1
			}
			return s.Reckoned(n)
		},
	}
	// Verifying costs microseconds and turns a bad pass into an error that names it.
	if err := pass.Run(f, pass.Options{Verify: true, Matrix: hasMatrixUnit(target), Dump: with.dump}); err != nil {
		var split *pass.SplitError
		if errors.As(err, &split) {
			return nil, p.explain(s.Kernel, pins, nil, err)
		}
		return nil, asBug("passes", err)
	}
	if s.Cut != nil {
		dims.Half(s)
		if err := halve(s, f, dims, p.known, target, with); err != nil {
			return nil, err
		}
	}
	if target.IsGPU() {
		p.collapse(s, dims, pins)
	}
	watch.Lap("passes")
	stage = "plan"
	logs.Print(log.IR, f.Name, f.String)
	live := livePins(pins.values(), declared, f.Axes)
	l, err := p.fitWith(s, live)
	if !isBug(err) {
		l, err = p.orOnline(s, live, l, err)
	}
	if err != nil && p.blameless(pins) {
		l, err = p.beyond(live, err)
	}
	if err == nil {
		if l, err = p.orForFewRows(s, live, l); err != nil {
			return nil, err
		}
		if l, err = p.orSideBySide(s, live, l); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, p.explain(s.Kernel, pins, live, err)
	}
	watch.Lap("plan")
	l.dims, l.fills, l.Pins = dims, s.Fills(), pins.report(s.Kernel, l, live)
	if target.IsGPU() {
		l.Exactness = exactnessOf(l.uncut, s)
	}
	logs.Print(log.Plan, f.Name, l.Reasons)
	l.logBlock(logs)
	if l.uncut != f && !l.uncut.Spill { // another choice of the pass `sink`
		with.form("sink", l.uncut)
	}
	if with.dump != nil {
		if err := l.dumpPlanned(with.dump); err != nil {
			return nil, err
		}
	}
	if len(l.Plan.Chunks)+len(l.Plan.Split) > 0 {
		logs.Print(log.IR, f.Name+", streamed", l.Func.String)
	}
	with.form("plan", l.Func)
	return l, nil
}

// hasMatrixUnit reports a machine with a matrix unit, which takes operands from the registers of threads.
func hasMatrixUnit(t target.Machine) bool { return t.Has(target.MmaSync) }

// halve makes of a whole kernel the half that a launch computes.
func halve(s *spec.Spec, f *ir.Func, dims *spec.LaunchDims, sizes func(*ir.Dim) int64, t target.Machine, with lowering) error {
	h := pass.Halve(f, t.SMs, sizes)
	if h == nil {
		build.CollapseRows(f, dims)
		h = pass.HalveRows(f)
	}
	switch {
	case h == nil:
		return bug.New("passes", "kernel %s is cut, and there is no place for it", f.Name)
	case s.Cut.Behind:
		h.Behind(f)
	default:
		h.Front(f)
	}
	if err := pass.Run(f, pass.Options{Verify: true, Matrix: hasMatrixUnit(t), Dump: with.dump}); err != nil {
		return asBug("passes", err)
	}
	return nil
}

// known is how many positions a dimension has, or is reckoned to have.
func (p *planning) known(d *ir.Dim) int64 {
	if d.Known() {
		return d.Value
	}
	return p.sizes(d)
}

// collapse makes one axis of two of the grid where that can be. Both are reckoned with as before, so that all launches of one code reckon with the same.
func (p *planning) collapse(s *spec.Spec, dims *spec.LaunchDims, pins *pins) {
	if s.Vary != nil || s.Deterministic {
		return
	}
	reckoned, positions := p.sizes, p.known
	said := pins.values()
	may := func(slow, fast *ir.Axis) bool {
		_, pinned := said[plan.Parameter(slow)]
		_, too := said[plan.Parameter(fast)]
		return !pinned && !too && positions(slow.Dim)*positions(fast.Dim) <= ir.NarrowSize
	}
	build.CollapseSums(p.f, dims, may)
	one := build.Collapse(p.f, dims, may)
	if one == nil {
		return
	}
	p.sizes = func(d *ir.Dim) int64 {
		if d.Name == one.Dim.Name {
			return positions(one.Slow) * positions(one.Fast)
		}
		return reckoned(d)
	}
	p.collapse(s, dims, pins) // of rows of rows, too
}

// share says over how many blocks of a cluster axes are divided: on a target that runs blocks one at a time, one goes through all of
// an axis. A launch that asks for a number wins over the source.
func share(f *ir.Func, t target.Machine, asked int64) {
	for _, a := range f.Axes {
		switch {
		case !t.IsGPU():
			a.Split = 0
		case asked > 0 && a.Split > 0:
			a.Split = asked
		}
	}
}

// dumpPlanned shows what the passes make of the kernel that know the plan. They ran for every plan that was tried; this one was chosen.
func (l *Lowered) dumpPlanned(dump func(pass string, f *ir.Func)) error {
	f := spread(l.uncut, l.Plan)
	if len(l.Plan.Chunks)+len(l.Plan.Split) > 0 {
		if err := pass.Run(f, pass.Options{Chunks: l.Plan.Chunks, Extents: l.Plan.Extents, Dump: dump}); err != nil {
			return asBug("passes", err)
		}
	}
	if err := l.Plan.Apply(f); err != nil {
		return asBug("plan", err)
	}
	if err := pass.Planned(f, pass.Options{Dump: dump, Shared: l.room, Threads: threads(l.Plan)}); err != nil {
		return asBug("passes", err)
	}
	return nil
}

// asBug is an error that cannot be, as a *bug.Error.
func asBug(stage string, err error) error {
	if isBug(err) {
		return err
	}
	return bug.New(stage, "%w", err)
}

func isBug(err error) bool {
	var b *bug.Error
	return errors.As(err, &b)
}

// about adds what a lowered kernel tells of a bug behind it.
func (l *Lowered) about(e *bug.Error, s *spec.Spec) {
	if e.IR == "" {
		e.IR = TextOf(l.Func)
	}
	e.Set("target", "%s", l.target.Name)
	e.Set("pins", "%s", PinsOf(l.Plan))
	if s != nil {
		e.Set("sizes", "%s", SizesOf(l.Func, func(d *ir.Dim) (int64, error) { return l.dims.Size(d, s) }))
		s.About(e)
	}
}

// livePins leaves out the pins of extents that the source declares and of which
// the passes have left nothing: a pin decides how code runs, and none does.
func livePins(pins map[string]int64, declared, left []*ir.Axis) map[string]int64 {
	live := map[string]bool{}
	for _, a := range left {
		live[a.Tile], live[a.Name] = true, true
	}
	kept := maps.Clone(pins)
	for _, a := range declared {
		if !live[a.Tile] && !live[a.Name] {
			delete(kept, a.Tile)
			delete(kept, a.Name)
		}
	}
	return kept
}

// Split is how many blocks of a cluster share an axis; 0 where none do.
func (l *Lowered) Split() int {
	if l.Code == nil {
		return 0
	}
	return l.Code.Split()
}

// Fills says which outputs a launch fills before this kernel, a line each; nil for none.
func (l *Lowered) Fills() []string {
	var lines []string
	if l == nil {
		return nil
	}
	for _, name := range l.fills {
		why := "nothing proves that every element is stored"
		if slices.ContainsFunc(l.Func.Tensors, func(t *ir.Tensor) bool { return t.Name == name && t.DType.Packed() }) {
			why = "its elements are stored beside others in a byte"
		}
		lines = append(lines, fmt.Sprintf("fills %s with zeros first: %s", name, why))
	}
	return lines
}

// Reasons is the plan in words, a line, and why it is so, indented lines: what was chosen and what was next, with their predicted times; what is
// filled first; what became of pins and hints; how exact functions are; what takes the memory of a block.
func (l *Lowered) Reasons() string {
	if l == nil || l.Plan == nil {
		return ""
	}
	lines := []string{l.Plan.String()}
	for _, why := range [][]string{l.Plan.Why, l.Fills(), l.Pins, l.Exactness, l.Memory()} {
		lines = append(lines, why...)
	}
	return strings.Join(lines, "\n  ") + "\n"
}

// Block is the text of the kernel's block program (jit/block): what was decided of a block of threads before its code was written, as layouts,
// instructions of products, loads that run ahead.
func (l *Lowered) Block() (string, error) {
	p, err := l.BlockProgram()
	if err != nil {
		return "", err
	}
	return p.String(), nil
}

// BlockProgram is what Block prints.
func (l *Lowered) BlockProgram() (*block.Program, error) {
	if l == nil || l.Plan == nil {
		return nil, misuse.Unset("Lowered.Block", "the kernel is nothing that Lower gave")
	}
	if l.Code == nil || !l.target.IsGPU() {
		return nil, fmt.Errorf("target %s is no GPU, so it has no blocks of threads", l.Plan.Target)
	}
	return l.Code.Decided(l.target)
}

// logBlock prints the kernel's block program, of a target that has blocks.
func (l *Lowered) logBlock(logs *log.Logs) {
	if l.target.IsGPU() {
		logs.Print(log.Block, l.Func.Name, func() string {
			p, err := l.BlockProgram()
			if err != nil {
				return err.Error()
			}
			return p.String()
		})
	}
}

// PTX is the text of the kernel's PTX module, for the target that it was lowered for.
func (l *Lowered) PTX() (string, error) {
	if l == nil || l.Plan == nil {
		return "", misuse.Unset("Lowered.PTX", "the kernel is nothing that Lower gave")
	}
	if l.Code == nil || l.Code.PTX == nil {
		return "", fmt.Errorf("target %s is no GPU, so it has no PTX", l.Plan.Target)
	}
	return l.Code.PTX.Text, nil
}

// Memory says what takes the shared memory of a block where it is fullest, and what it keeps in global memory, a line
// each; nil where it uses neither.
func (l *Lowered) Memory() []string {
	if l == nil || l.Code == nil || !l.target.IsGPU() {
		return nil
	}
	var lines []string
	if bytes, buffers := l.Code.Shared(); bytes > 0 {
		lines = append(lines, fmt.Sprintf("shared memory: %d of %d bytes", bytes, l.Plan.SharedLimit(l.target)))
		for _, b := range buffers {
			lines = append(lines, "  "+b)
		}
	}
	if n := l.Func.ScratchBytes(); n > 0 {
		lines = append(lines, fmt.Sprintf("kept in global memory: %d bytes a block", n))
		for _, t := range l.Func.Tensors {
			if t.Scratch {
				lines = append(lines, fmt.Sprintf("  %s takes %d bytes", t.Name, t.Bytes()))
			}
		}
	}
	return lines
}
