package compile

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file lists the plans that a kernel could have, so that they can be measured.

// Candidate is one plan that a kernel could have.
type Candidate struct {
	// Pins give the plan to the kernel.
	Pins map[string]int64
	// Seconds is what the planner predicts, and Plan the plan in words. Planned says that it is what the planner chooses by itself.
	Seconds float64
	Plan    string
	Planned bool
}

// String is the pins, by name.
func (c Candidate) String() string { return pinText(c.Pins) }

// pinText is pins as the command line takes them, in the order of their names.
func pinText(pins map[string]int64) string {
	var words []string
	for _, name := range sortedNames(pins) {
		words = append(words, fmt.Sprintf("%s=%d", name, pins[name]))
	}
	return strings.Join(words, " ")
}

// maxSpace is how many combinations of pins are planned.
const maxSpace = 2048

// Space lists the plans that can be pinned of a specialisation, the fastest by prediction first: every combination of extents, warps and stages where there
// are few enough, else those that differ from the plan in one or two of them; and each other setting on top of the plan. Pins of the specialisation
// hold for all. A plan that several pins lead to is there once.
func Space(s *spec.Spec, t target.Machine) ([]Candidate, error) {
	l, err := Lower(s, t, nil)
	if err != nil {
		return nil, err
	}
	size := func(d *ir.Dim) int64 {
		n, err := l.dims.Size(d, s)
		if err != nil {
			return 1
		}
		return s.Reckoned(n)
	}
	knobs, err := plan.Open(l.uncut, t, size, s.Pins)
	if err != nil {
		return nil, err
	}
	for _, a := range s.Kernel.Axes { // an axis of a declaration of its own has no name that a launch may pin
		if a.Kind == typed.WholeAxis && a.IsFree && a.Tile == "" {
			delete(knobs, a.Name)
		}
	}
	var others []string
	for _, name := range l.settings() {
		_, pinned := s.Pins[name]
		switch {
		case pinned || !t.IsGPU():
		case name == "warps" || name == "stages" && l.Plan.Stages > 1:
			knobs[name] = settingValues(name)
		default:
			others = append(others, name)
		}
	}
	pinned := combinations(knobs, chosen(l))
	for _, name := range others {
		for _, v := range settingValues(name) {
			pinned = append(pinned, map[string]int64{name: v})
		}
	}
	found := make([]*Candidate, len(pinned))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, pins := range pinned {
		g.Go(func() error {
			other := *s
			other.Pins = maps.Clone(pins)
			maps.Copy(other.Pins, s.Pins)
			o, err := Lower(&other, t, nil)
			if isBug(err) {
				return err
			}
			if err == nil {
				found[i] = &Candidate{Pins: other.Pins, Seconds: o.Plan.Time, Plan: o.Plan.String()}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := []Candidate{{Pins: s.Pins, Seconds: l.Plan.Time, Plan: l.Plan.String(), Planned: true}}
	seen := map[string]bool{all[0].Plan: true}
	for _, c := range found {
		if c != nil && !seen[c.Plan] {
			seen[c.Plan] = true
			all = append(all, *c)
		}
	}
	rest := all[1:]
	sort.SliceStable(rest, func(i, j int) bool { return rest[i].Seconds < rest[j].Seconds })
	return all, nil
}

// chosen is what a plan has, by the names that can be pinned.
func chosen(l *Lowered) map[string]int64 {
	planned := map[string]int64{}
	for _, a := range l.uncut.Axes {
		name := plan.Parameter(a)
		switch {
		case a.Scalar:
		case l.Plan.Chunks[a.Name] > 0:
			planned[name] = l.Plan.Chunks[a.Name]
		case a.Kind == ir.Whole:
			planned[name] = a.Len
		default:
			planned[name] = l.Plan.Extents[a.Name]
		}
	}
	for _, name := range lang.PlanSettings() {
		planned[name] = l.Plan.Setting(name)
	}
	return planned
}

// Choice is what the plan has, by the names that can be pinned: with these pins, other sizes of what is no whole axis get the same plan.
func (l *Lowered) Choice() map[string]int64 {
	pins := chosen(l)
	for name, n := range pins {
		if n == 0 {
			delete(pins, name)
		}
	}
	if l.target.IsGPU() && len(l.Plan.Split) == 0 {
		pins["split"] = 1
	}
	if l.target.IsGPU() && l.Plan.Ranges == 0 && pass.HasRanges(l.uncut) {
		pins[pass.RangesParameter] = 1
	}
	return pins
}

// PinsFor gives the pins for a plan of the same kernel that is written as plans are printed, and whether all of it can be pinned.
func (l *Lowered) PinsFor(text string) (pins map[string]int64, ok bool) {
	names := map[string]string{}
	for _, a := range l.uncut.Axes {
		names[a.Name] = plan.Parameter(a)
	}
	pins = map[string]int64{}
	_, text, _ = strings.Cut(text, ": ")
	split := false
	for _, word := range strings.Fields(text) {
		name, value, given := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case !given: // stream, split
			split = name == "split"
			continue
		case err != nil:
			return nil, false
		case split:
			name, split = "split", false
		case name == "cluster" && pins["split"] > 0:
			continue
		case names[name] != "":
			name = names[name]
		case !slices.Contains(lang.PlanSettings(), name):
			return nil, false
		}
		pins[name] = n
	}
	return pins, true
}

// combinations are all of the values of the knobs, or, where these are too many, those that differ from what is planned in at most two.
func combinations(knobs map[string][]int64, planned map[string]int64) (all []map[string]int64) {
	names := sortedNames(knobs)
	points := 1
	for _, name := range names {
		points = min(points*max(len(knobs[name]), 1), maxSpace+1)
	}
	if points <= maxSpace {
		all = []map[string]int64{{}}
		for _, name := range names {
			var more []map[string]int64
			for _, p := range all {
				for _, v := range knobs[name] {
					more = append(more, with(p, name, v))
				}
			}
			all = more
		}
		return all
	}
	base := map[string]int64{}
	for _, name := range names {
		base[name] = planned[name]
	}
	for i, a := range names {
		for _, v := range knobs[a] {
			one := with(base, a, v)
			all = append(all, one)
			for _, b := range names[i+1:] {
				for _, w := range knobs[b] {
					all = append(all, with(one, b, w))
				}
			}
		}
	}
	return all
}
