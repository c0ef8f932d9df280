package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// pin is a choice that is taken from the planner, with who took it.
type pin struct {
	value int64
	// from is how it is written: `@warps(8)`, `@target(sm_90a, BM = 128)`, `BM = 128 of the launch`.
	from string
	// at is where; not valid for a launch.
	at lang.Span
	// implied: the axis itself says so in the IR.
	implied bool
}

// pins is the pins that hold for one compilation, by name. Of several for one
// name, a launch's wins over one for the target, and that over one for every target.
type pins struct {
	held map[string]pin
	// lost are those over which another won.
	lost []lostPin
	// elsewhere are @target attributes for other targets.
	elsewhere []typed.TargetPins
}

type lostPin struct {
	name string
	pin
}

func pinsOf(s *spec.Spec, target string) *pins {
	k := s.Kernel
	ps := &pins{held: map[string]pin{}}
	set := func(name string, p pin) {
		if old, ok := ps.held[name]; ok {
			ps.lost = append(ps.lost, lostPin{name, old})
		}
		ps.held[name] = p
	}
	for _, name := range sortedNames(k.Hints) {
		set(name, pin{k.Hints[name], fmt.Sprintf("@%s(%d)", name, k.Hints[name]), k.HintAt[name], false})
	}
	for _, t := range k.Decl.Tunes {
		if n, ok := tuned(k, t.Name.Name); ok {
			set(t.Name.Name, pin{n, fmt.Sprintf("tune %s = %d", t.Name.Name, n), t.Place, true})
		}
	}
	for _, a := range k.Axes {
		if a.Tile == "" && !a.Scalar && len(a.Choices) == 1 {
			ps.held[a.Name] = pin{a.Choices[0], fmt.Sprintf("axis %s by %d", a.Name, a.Choices[0]), a.At, true}
		}
	}
	for _, t := range k.Targets {
		if t.Target != target {
			ps.elsewhere = append(ps.elsewhere, t)
			continue
		}
		for _, p := range t.Pins {
			set(p.Name, pin{p.Value, fmt.Sprintf("@target(%s, %s = %d)", target, p.Name, p.Value), p.At, false})
		}
	}
	for _, name := range sortedNames(s.Pins) {
		set(name, pin{s.Pins[name], fmt.Sprintf("%s = %d of the launch", name, s.Pins[name]), lang.Span{}, false})
	}
	return ps
}

// tuned is the one choice of an extent.
func tuned(k *typed.Kernel, tile string) (int64, bool) {
	for _, a := range k.Axes {
		if a.Tile == tile && len(a.Choices) == 1 {
			return a.Choices[0], true
		}
	}
	return 0, false
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (ps *pins) values() map[string]int64 {
	values := map[string]int64{}
	for name, p := range ps.held {
		if !p.implied {
			values[name] = p.value
		}
	}
	return values
}

// explain makes a diagnostic of what went wrong with a plan: at the pin that
// makes it impossible, where it is one, with a choice that fits.
func (p *planning) explain(k *typed.Kernel, ps *pins, live map[string]int64, err error) error {
	if isBug(err) {
		return err
	}
	d := &lang.Diagnostic{Code: lang.ErrPlan, At: k.Decl.Name.Span()}
	var (
		single *plan.PinError
		fits   *plan.FitError
		over   *plan.SharedError
		tied   *streamError
		split  *pass.SplitError
	)
	text := err.Error()
	switch {
	case errors.As(err, &single):
		text = single.Error()
		held, ok := ps.held[single.Name]
		ofSource := single.Axis != "" // a split of the source, not of the launch
		if ofSource {
			for _, s := range k.SplitsOn(p.target.Name) {
				if s.Axis.Name == baseName(single.Axis) {
					held, ok = pin{value: single.Value, at: s.At}, true
				}
			}
			text = single.Message
		}
		if ok && held.at.IsValid() {
			d.At = held.at
		}
		if single.Fits > 0 {
			d.Fix = &lang.Fix{Message: fmt.Sprintf("%s = %d would do", single.Name, single.Fits)}
			if ofSource {
				d.Fix.Message = fmt.Sprintf("a split over %d would do", single.Fits)
			}
			switch {
			case ofSource && !p.target.Has(target.Clusters):
				d.Fix.Message = fmt.Sprintf("say it of a target with clusters alone: `@target(sm_90a, split(%s, %d))`; elsewhere one block then goes through the axis", baseName(single.Axis), single.Value)
			case single.Fits == 1 && ofSource:
				d.Fix.Message = "let one block go through the axis: remove the @split"
			case single.Fits == 1 && single.Name == "cluster":
				d.Fix.Message = "remove the @cluster, or say `cluster` in a @target that has clusters"
			}
		}
	case errors.As(err, &split):
		text = split.Error()
		for _, s := range k.SplitsOn(p.target.Name) {
			if s.Axis.Name == baseName(split.Axis) {
				d.At = s.At
			}
		}
		d.Fix = &lang.Fix{Message: "let one block go through the axis: remove the @split"}
	case errors.As(err, &fits), errors.As(err, &over), errors.As(err, &tied):
		if over != nil {
			text = fmt.Sprintf("a block needs %d bytes of shared memory, the limit is %d: %d too many", over.Need, over.Have, over.Need-over.Have)
			d.Notes = append(d.Notes, over.Buffers...)
		}
		if fits != nil {
			d.Notes = append(d.Notes, fits.Uses()...)
		}
		if p.blame(d, ps, live); d.Fix == nil {
			p.blameFixed(d, k, ps, live)
		}
	default:
		return err
	}
	d.Message = fmt.Sprintf("no plan for kernel %s on %s: %s", k.Name, p.target.Name, strings.TrimPrefix(text, fmt.Sprintf("plan for %s on %s: ", p.f.Name, p.target.Name)))
	return d
}

// baseName is an axis's name in the source: j of j.2, a loop that was made of it.
func baseName(axis string) string {
	base, _, _ := strings.Cut(axis, ".")
	return base
}

// blame finds the pin without which there is a plan, and says which value of it
// fits; where it takes more than one, what the plan is without any.
func (p *planning) blame(d *lang.Diagnostic, ps *pins, live map[string]int64) {
	names := ps.suspects()
	for _, name := range names {
		without := maps.Clone(live)
		delete(without, name)
		free := p.freed(name)
		l, err := free.fit(without)
		if err != nil {
			continue
		}
		held := ps.held[name]
		if held.at.IsValid() {
			d.At = held.at
		} else {
			d.Notes = append(d.Notes, held.from+" is what does not fit")
		}
		if n, ok := free.nearest(name, held.value, without); ok {
			d.Fix = &lang.Fix{Message: fmt.Sprintf("%s = %d fits", name, n)}
		} else if n, ok := valueIn(l, name); ok {
			d.Fix = &lang.Fix{Message: fmt.Sprintf("%s = %d fits", name, n)}
		}
		return
	}
	if len(names) < 2 {
		return
	}
	l, err := p.freed(names...).fit(nil)
	if err != nil {
		return
	}
	var words []string
	placed := false
	for _, name := range names {
		switch held := ps.held[name]; {
		case !held.at.IsValid():
		case !placed:
			d.At, placed = held.at, true
		default:
			d.Labels = append(d.Labels, lang.Label{At: held.at, Text: held.from})
		}
		if n, ok := valueIn(l, name); ok {
			words = append(words, fmt.Sprintf("%s = %d", name, n))
		}
	}
	if len(words) > 0 {
		d.Fix = &lang.Fix{Message: strings.Join(words, ", ") + " fits"}
	}
}

// suspects lists the pins in the order in which they are held to be at fault:
// those of the launch, which somebody has just typed, then numbers, then extents.
func (ps *pins) suspects() []string {
	weight := func(name string) int {
		switch held := ps.held[name]; {
		case !held.at.IsValid():
			return 0
		case isSetting(name):
			return 1
		case !held.implied:
			return 2
		}
		return 3
	}
	names := sortedNames(ps.held)
	slices.SortStableFunc(names, func(a, b string) int { return weight(a) - weight(b) })
	return names
}

// isSetting reports a name that can be pinned and is no extent.
func isSetting(name string) bool {
	_, ok := lang.FindSetting(name, lang.AtLaunch)
	return ok
}

// maxTries bounds the values that are tried to find one that fits.
const maxTries = 8

// nearest is the largest value below one that does not fit that does; of warps and extents, halves are tried.
func (p *planning) nearest(name string, value int64, others map[string]int64) (int64, bool) {
	pins := maps.Clone(others)
	if pins == nil {
		pins = map[string]int64{}
	}
	for range maxTries {
		if s, ok := lang.FindSetting(name, lang.AtLaunch); s.PowerOfTwo || !ok {
			value /= 2
		} else {
			value--
		}
		if value < 1 {
			break
		}
		pins[name] = value
		if _, err := p.fit(pins); err == nil {
			return value, true
		}
	}
	return 0, false
}

// freed is the planning without what the source says of some names.
func (p *planning) freed(names ...string) *planning {
	q := *p
	q.f = ir.Clone(p.f)
	for _, name := range names {
		delete(q.f.Hints, name)
		for _, a := range q.f.Axes {
			if plan.Parameter(a) == name {
				a.Choices = nil
			}
		}
	}
	return &q
}

// valueIn is what a plan has chosen for a name; false where it has chosen nothing.
func valueIn(l *Lowered, name string) (int64, bool) {
	if slices.Contains(lang.Forms(), name) {
		return l.Code.Form(name, l.target), true
	}
	switch n := l.Plan.Setting(name); name {
	case "warps", "stages", "producer":
		return n, n > 0
	case "persist":
		return n, true
	case "occupancy", "cluster", "private", "relayout", "cut", "online", "ranges":
		return max(n, 1), true
	case "split":
		return int64(max(l.Split(), 1)), true
	}
	for _, a := range l.Func.Axes {
		if plan.Parameter(a) == name && a.Extent > 0 {
			return a.Extent, true
		}
	}
	return 0, false
}

// report says, a line each, what became of the pins and hints of the source and the launch.
func (ps *pins) report(k *typed.Kernel, l *Lowered, live map[string]int64) []string {
	var r lines
	ps.reportHeld(&r, l, live)
	ps.reportAxes(&r, k, l)
	for _, p := range ps.lost {
		r.add("%s gives way to %s", p.from, ps.held[p.name].from)
	}
	for _, t := range ps.elsewhere {
		r.add("@target(%s, ...) has no effect: this is %s", t.Target, l.Plan.Target)
	}
	ps.reportSplits(&r, k, l)
	reportHints(&r, l)
	if k.Approx {
		effect := "the hardware's fast forms of functions"
		if !l.target.IsGPU() {
			effect = "no effect: " + l.Plan.Target + " has none faster"
		}
		r.add("@approx: %s", effect)
	}
	return r
}

// lines is a report, a line each.
type lines []string

func (r *lines) add(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

// reportHeld says what became of the pins that hold.
func (ps *pins) reportHeld(r *lines, l *Lowered, live map[string]int64) {
	gpu := l.target.IsGPU()
	for _, name := range sortedNames(ps.held) {
		held := ps.held[name]
		n, chosen := valueIn(l, name)
		_, used := live[name]
		switch {
		case isSetting(name) && !gpu:
			r.add("%s has no effect: %s runs blocks one at a time on a core", held.from, l.Plan.Target)
		case name == "stages" && l.Plan.Stages != int(held.value):
			r.add("%s has no effect: no loop loads the operands of a contraction", held.from)
		case name == "producer" && (l.Code.PTX == nil || l.Code.PTX.Threads != 32*int(n)+32*l.Plan.Warps):
			r.add("%s has no effect: %s", held.from, "the tensor memory accelerator does no loads of this kernel, or nobody needs the registers")
		case name == "persist" && held.value > 0 && (l.Code.PTX == nil || l.Code.PTX.Most == 0):
			r.add("%s has no effect: only blocks stay that do one product of what the tensor memory accelerator loads and store what it makes", held.from)
		case name == "occupancy":
			r.add("%s: code for %d blocks on a multiprocessor, %d bytes of shared memory each at most (.minnctapersm %d)", held.from, held.value, l.Plan.SharedLimit(l.target), held.value)
		case name == "cluster":
			r.add("%s: blocks are launched in clusters of %d (.reqnctapercluster %d)", held.from, held.value, held.value)
		case slices.Contains(lang.Forms(), name) && n != held.value:
			r.add("%s has no effect: no grid or loop of the kernel can have that form; %s=%d", held.from, name, n)
		case isSetting(name):
			r.add("%s: %s=%d", held.from, name, n)
		case !held.implied && !used, !chosen:
			r.add("%s has no effect: the passes have left nothing of that axis", held.from)
		case n < held.value:
			r.add("%s: %s=%d, all there is", held.from, name, n)
		case n != held.value && !gpu:
			r.add("%s has no effect: %s=%d, for the CPU takes the whole axis at once", held.from, name, n)
		case n != held.value:
			r.add("%s has no effect: %s=%d, which cannot be cut", held.from, name, n)
		default:
			r.add("%s: %s=%d", held.from, name, n)
		}
	}
}

// reportAxes says what became of choices, and which extents no plan changes.
func (ps *pins) reportAxes(r *lines, k *typed.Kernel, l *Lowered) {
	for _, t := range k.Decl.Tunes {
		if len(t.Choices) == 1 || !slices.ContainsFunc(k.Axes, func(a *typed.Axis) bool { return a.Tile == t.Name.Name }) {
			continue
		}
		if n, ok := valueIn(l, t.Name.Name); ok {
			if _, pinned := ps.held[t.Name.Name]; !pinned {
				r.add("tune %s in %d choices: %s=%d", t.Name.Name, len(t.Choices), t.Name.Name, n)
			}
		} else {
			r.add("tune %s has no effect: the passes have left nothing of that axis", t.Name.Name)
		}
	}
	for _, a := range k.Axes {
		name := parameter(a)
		if _, pinned := ps.held[name]; a.Extent > 0 && !pinned {
			if n, ok := valueIn(l, name); ok {
				r.add("axis %s: %s=%d, which no plan changes, for what the kernel gives or says depends on it", a.Name, name, n)
			}
		}
	}
}

// reportSplits says which axes blocks share, and what became of the source's splits.
func (ps *pins) reportSplits(r *lines, k *typed.Kernel, l *Lowered) {
	for _, name := range sortedNames(l.Plan.Split) {
		if held, ok := ps.held["split"]; ok {
			r.add("%s is of axis %s: as many blocks of a cluster share it", held.from, name)
			continue
		}
		r.add("axis %s: %d blocks of a cluster share it, for the grid has too few; @split(%s, 1) keeps it to one", name, l.Plan.Split[name], name)
	}
	on := k.SplitsOn(l.Plan.Target)
	for _, s := range k.Splits {
		switch {
		case s.Target != "" && s.Target != l.Plan.Target: // said above
		case !slices.Contains(on, s):
			r.add("%s gives way to what @target(%s) says", s, l.Plan.Target)
		case !l.target.IsGPU():
			r.add("%s has no effect: %s goes through an axis in one block", s, l.Plan.Target)
		case ps.held["split"].from != "" && ps.held["split"].value != s.Blocks:
			r.add("%s gives way to %s", s, ps.held["split"].from)
		case s.Blocks == 1:
			r.add("%s: one block goes through it", s)
		case l.Split() > 1:
			r.add("%s: %d blocks of a cluster share it, and join their parts through one another's shared memory in order", s, s.Blocks)
		default:
			r.add("%s has no effect: the axis is not long enough for a loop", s)
		}
	}
}

// reportHints says what became of the hints of accesses.
func reportHints(r *lines, l *Lowered) {
	l.Func.Walk(func(op *ir.Op) bool {
		if op.Hint.Given() {
			var said []string
			if n := op.Hint.Latency; n > 0 {
				said = append(said, fmt.Sprintf("@latency(%d)", n))
			}
			if c := op.Hint.Cache; c != "" {
				said = append(said, "@"+c)
			}
			what := strings.Join(said, " ")
			effect := "has no effect: the CPU's caches take no hints, and its loads do not run ahead"
			if taken, ok := l.Code.Hinted(op); ok {
				effect = taken
			}
			r.add("%s of %s: %s", what, op.Tensor.Name, effect)
		}
		return true
	})
}
