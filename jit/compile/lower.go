package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilec/jit/backend"
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

	target target.Machine
	// fills are the outputs that a launch fills first.
	fills []string
	// uncut is the kernel before the passes that cut it as the plan says.
	uncut *ir.Func
	dims  *spec.LaunchDims
}

// Lower takes a specialisation through the IR, its passes and the planner to
// code: only there does it show whether the plan fits.
func Lower(s *spec.Spec, target target.Machine, logs *log.Logs) (*Lowered, error) {
	if err := s.Check("Lower"); err != nil {
		return nil, err
	}
	if target.Name == "" {
		return nil, misuse.Unset("Lower", "there is no target: target.Find gives one")
	}
	l, err := lower(s, target, lowering{logs: logs, dump: logs.Dump()})
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
	f, dims, err = build.Kernel(s, target.Name)
	if err != nil {
		return nil, err
	}
	watch.Lap("build")
	if with.forms != nil {
		with.form("", f)
		with.dump = with.forms
	}
	declared := slices.Clone(f.Axes) // passes change the list
	share(f, target, s.Pins["split"])
	p := &planning{
		f: f, target: target, store: with.store,
		sizes: func(d *ir.Dim) int64 {
			n, err := dims.Size(d, s)
			if err != nil {
				return 1
			}
			return s.Reckoned(n)
		},
	}
	pins := pinsOf(s, target.Name)
	// Verifying costs microseconds and turns a bad pass into an error that names it.
	if err := pass.Run(f, pass.Options{Verify: true, Dump: with.dump}); err != nil {
		var split *pass.SplitError
		if errors.As(err, &split) {
			return nil, p.explain(s.Kernel, pins, nil, err)
		}
		return nil, asBug("passes", err)
	}
	watch.Lap("passes")
	stage = "plan"
	logs.Print(log.IR, f.Name, f.String)
	live := livePins(pins.values(), declared, f.Axes)
	l, err := p.fitWith(s, live)
	if err != nil && p.blameless(pins) {
		l, err = p.beyond(live, err)
	}
	if err == nil {
		if l, err = p.orForFewRows(s, live, l); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, p.explain(s.Kernel, pins, live, err)
	}
	watch.Lap("plan")
	l.dims, l.fills, l.Pins = dims, s.Fills(), pins.report(s.Kernel, l, live)
	logs.Print(log.Plan, f.Name, l.Reasons)
	if l.uncut != f && !l.uncut.Spill { // another choice of the pass `sink`
		with.form("sink", l.uncut)
	}
	if with.dump != nil {
		if err := l.dumpPlanned(with.dump); err != nil {
			return nil, err
		}
	}
	if len(l.Plan.Chunks) > 0 {
		logs.Print(log.IR, f.Name+", streamed", l.Func.String)
	}
	with.form("plan", l.Func)
	return l, nil
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
	if len(l.Plan.Chunks) > 0 {
		if err := pass.Run(f, pass.Options{Chunks: l.Plan.Chunks, Extents: l.Plan.Extents, Dump: dump}); err != nil {
			return asBug("passes", err)
		}
	}
	if err := l.Plan.Apply(f); err != nil {
		return asBug("plan", err)
	}
	if err := pass.Planned(f, pass.Options{Dump: dump}); err != nil {
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

// planning is a kernel that is to be planned, for one target.
type planning struct {
	f      *ir.Func
	target target.Machine
	sizes  func(*ir.Dim) int64
	store  *cache.Cache
	// effort is how far the plan may go from what is fast.
	effort plan.Effort
}

// plan chooses a plan for the kernel. The planner reckons with t.
func (p *planning) plan(t target.Machine, pins map[string]int64) (*plan.Plan, error) {
	return plan.ChooseAt(p.effort, p.f, t, p.sizes, pins)
}

// fitWith finds a plan with the extents that the specialisation asks for beside the pins, or without these where nothing fits.
func (p *planning) fitWith(s *spec.Spec, pins map[string]int64) (*Lowered, error) {
	if s.Vary != nil {
		if open, err := plan.Open(p.f, p.target, p.sizes, pins); err == nil {
			asked := s.Vary(p.f.Name, open)
			maps.Copy(asked, pins)
			if l, err := p.fit(asked); err == nil {
				return l, nil
			}
		}
	}
	return p.fit(pins)
}

// maxAttempts bounds how often a plan is chosen anew because the code for it does not fit.
const maxAttempts = 6

// fit finds a plan whose code fits: a fast one, or else one of smaller tiles.
func (p *planning) fit(pins map[string]int64) (*Lowered, error) {
	l, err := p.fitAt(plan.Fast, pins)
	if err == nil || isBug(err) {
		return l, err
	}
	if small, err := p.fitAt(plan.Small, pins); err == nil || isBug(err) {
		return small, err
	}
	return nil, err
}

// beyond finds a plan for a kernel of which the smallest tiles that it has take more registers than a thread has:
// the assembler then keeps some of the values in memory. The error is what the kernel
// was refused for, and is refused for where that does not help.
func (p *planning) beyond(pins map[string]int64, refused error) (*Lowered, error) {
	if !p.target.IsGPU() {
		return nil, refused
	}
	if l, err := p.fitAt(plan.Beyond, pins); err == nil || isBug(err) {
		return l, err
	}
	return nil, refused
}

// blameless reports that no plan fits without pins either.
func (p *planning) blameless(ps *pins) bool {
	names := ps.suspects()
	if len(names) == 0 {
		return true
	}
	_, err := p.freed(names...).fit(nil)
	return err != nil
}

// fitAt finds a plan of an effort whose code fits. Where there is none because tiles are too long for a block, what is
// taken from them is computed again, and where that does not do, they are kept in scratch memory.
func (p *planning) fitAt(effort plan.Effort, pins map[string]int64) (*Lowered, error) {
	other := *p
	other.effort = effort
	l, err := other.fitAs(pins)
	if err == nil || isBug(err) {
		return l, err
	}
	if build.Takes(p.f) {
		other.f = ir.Clone(p.f)
		if err := pass.Run(other.f, pass.Options{Verify: true, Recompute: true}); err != nil {
			return nil, asBug("passes", err)
		}
		if l, err := other.fitAs(pins); err == nil || isBug(err) {
			return l, err
		}
	}
	other.f = ir.Clone(p.f)
	other.f.Spill = true
	l, kept := other.fitAs(pins)
	if kept != nil && !isBug(kept) && !errors.Is(err, plan.ErrUncut) {
		return nil, err
	}
	return l, kept
}

// fitAs finds a plan for the kernel as it is. The planner estimates shared memory, and the
// backend lays it out: where the estimate was too low, the planner gets that much less to plan with.
func (p *planning) fitAs(pins map[string]int64) (*Lowered, error) {
	t := p.target
	var first error
	var over *plan.SharedError
	for range maxAttempts {
		l, chosen, err := p.attempt(t, pins)
		if err == nil || isBug(err) {
			return l, err
		}
		if first == nil {
			first = err
		}
		if !errors.As(err, &over) {
			break
		}
		t = chosen.Tighter(t, over.Need, over.Have)
		if t.SharedPerBlock <= 0 {
			break
		}
	}
	if over == nil {
		return nil, first
	}
	if l := p.cut(pins); l != nil {
		return l, nil
	}
	return nil, first
}

// longestCut is where cut begins: the elements of an axis that it asks for at once.
const longestCut = 8192

// cut finds a plan for a kernel of which the planner expects nothing to be in
// shared memory, so that giving it less changes nothing: whole axes that are
// open and long go through a block in parts.
func (p *planning) cut(pins map[string]int64) *Lowered {
	for chunk := int64(longestCut); chunk >= 128; chunk /= 2 {
		for _, a := range p.f.Axes {
			key := plan.Parameter(a)
			if _, pinned := pins[key]; pinned || a.Kind != ir.Whole || a.Len <= chunk || len(a.Choices) > 0 {
				continue
			}
			if l, _, err := p.attempt(p.target, with(pins, key, chunk)); err == nil {
				return l
			}
		}
	}
	return nil
}

// attempt makes one plan and the code for it, and gives the plan where the code does not fit. The planner reckons with t.
func (p *planning) attempt(t target.Machine, pins map[string]int64) (*Lowered, *plan.Plan, error) {
	chosen, f, err := p.choose(t, pins)
	if err != nil {
		return nil, nil, err
	}
	if err := chosen.Apply(f); err != nil {
		return nil, nil, asBug("plan", err)
	}
	if err := pass.Planned(f, pass.Options{Verify: true}); err != nil {
		return nil, nil, asBug("passes", err)
	}
	if err := splittable(f); err != nil {
		return nil, nil, err
	}
	l := &Lowered{Func: f, Plan: chosen, target: p.target, uncut: p.f}
	if l.Code, err = backend.Make(f, chosen, p.target, p.store); err != nil {
		return nil, chosen, bug.In(err, func(e *bug.Error) { l.about(e, nil) })
	}
	return l, chosen, nil
}

// choose plans, and streams a copy of the kernel as the plan says. Where axes
// cannot be streamed together, one of them stays whole, if that fits.
func (p *planning) choose(t target.Machine, pins map[string]int64) (*plan.Plan, *ir.Func, error) {
	chosen, err := p.plan(t, pins)
	if err != nil {
		return nil, nil, err
	}
	f, err := stream(p.f, chosen)
	if err == nil && len(chosen.Split) > 0 {
		err = splittable(f)
	}
	if err == nil || isBug(err) {
		return chosen, f, err
	}
	if _, pinned := pins["split"]; len(chosen.Split) > 0 && !pinned {
		return p.choose(t, with(pins, "split", 1)) // it cannot be shared after all
	}
	var split *pass.SplitError
	if errors.As(err, &split) {
		return nil, nil, err
	}
	var names []string
	for _, a := range p.f.Axes {
		if chosen.Chunks[a.Name] > 0 {
			names = append(names, a.Name)
		}
	}
	for _, name := range names {
		key := plan.Parameter(p.f.Axis(name))
		if _, pinned := pins[key]; pinned {
			continue
		}
		other, tooLong := p.plan(t, with(pins, key, p.f.Axis(name).Len))
		if tooLong != nil {
			continue
		}
		if f, again := stream(p.f, other); again == nil || isBug(again) {
			return other, f, again
		}
	}
	return nil, nil, &streamError{names, err}
}

// with is pins and one more.
func with(pins map[string]int64, name string, value int64) map[string]int64 {
	more := map[string]int64{name: value}
	for n, v := range pins {
		if n != name {
			more[n] = v
		}
	}
	return more
}

// spread gives a copy of the kernel with the axes split that the plan splits.
func spread(f *ir.Func, p *plan.Plan) *ir.Func {
	c := ir.Clone(f)
	for name, n := range p.Split {
		c.Axis(name).Split = n
	}
	return c
}

// stream gives a copy of the kernel with loops over the axes that the plan cuts.
func stream(f *ir.Func, p *plan.Plan) (*ir.Func, error) {
	c := spread(f, p)
	if len(p.Chunks) == 0 {
		return c, nil
	}
	return c, pass.Run(c, pass.Options{Verify: true, Chunks: p.Chunks, Extents: p.Extents})
}

// streamError says that axes are too long for a block, and cannot be cut together.
type streamError struct {
	axes  []string
	cause error
}

// Error is the cause's.
func (e *streamError) Error() string { return e.cause.Error() }

// Unwrap is the cause.
func (e *streamError) Unwrap() error { return e.cause }

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
// filled first; what became of pins and hints; what takes the memory of a block.
func (l *Lowered) Reasons() string {
	if l == nil || l.Plan == nil {
		return ""
	}
	lines := []string{l.Plan.String()}
	for _, why := range [][]string{l.Plan.Why, l.Fills(), l.Pins, l.Memory()} {
		lines = append(lines, why...)
	}
	return strings.Join(lines, "\n  ") + "\n"
}

// Block says what was decided of a block of threads before its code was written, a line each: layouts, instructions of products,
// loads that run ahead.
func (l *Lowered) Block() (string, error) {
	if l == nil || l.Plan == nil {
		return "", misuse.Unset("Lowered.Block", "the kernel is nothing that Lower gave")
	}
	if l.Code == nil || !l.target.IsGPU() {
		return "", fmt.Errorf("target %s is no GPU, so it has no blocks of threads", l.Plan.Target)
	}
	return l.Code.Decided(l.target)
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
