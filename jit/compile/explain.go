package compile

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/lang"
)

// This file explains the plan of a kernel: what it costs, what that is made of, and what every other choice would cost.

// Explanation is a launch as the planner has it.
type Explanation struct {
	*Lowered
	// Work is what the launch has to do at least, and how long the machine takes for that.
	Work plan.Work
	// Decided is what was decided of a block of threads, a line each, without the layouts of values; nil on the CPU.
	Decided []string
	// Pins are the values that can be pinned of the plan, by name in the order of the names, with what the planner predicts of each.
	Pins []PinCost
}

// PinCost is what the planner predicts where one value is pinned and all else is left to it.
type PinCost struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
	// Planned says that the plan has the value anyhow.
	Planned bool `json:"planned,omitempty"`
	// Seconds is the prediction, 0 where there is no such plan, of which Refused says why.
	Seconds float64 `json:"seconds,omitempty"`
	Refused string  `json:"refused,omitempty"`
}

// Explain lowers a specialisation, and once more for each value that can be pinned of its plan.
func Explain(s *spec.Spec, t target.Machine) (*Explanation, error) {
	l, err := Lower(s, t, nil)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Lowered: l}
	size := func(d *ir.Dim) int64 {
		n, err := l.dims.Size(d, s)
		if err != nil {
			return 1
		}
		return n
	}
	e.Work = plan.WorkOf(l.uncut, t, size, l.Plan)
	if t.IsGPU() {
		p, err := l.BlockProgram()
		if err != nil {
			return nil, err
		}
		e.Decided = p.Decisions()
	}
	e.Pins, err = pinCosts(s, t, l, size)
	return e, err
}

// pinCosts plans anew for each value of each choice that a pin can take.
func pinCosts(s *spec.Spec, t target.Machine, l *Lowered, size func(*ir.Dim) int64) ([]PinCost, error) {
	open, err := plan.Open(l.uncut, t, func(d *ir.Dim) int64 { return s.Reckoned(size(d)) }, nil)
	if err != nil {
		return nil, err
	}
	delete(open, pass.RangesParameter) // it is a setting too
	planned := chosen(l)
	var costs []PinCost
	for _, name := range sortedNames(open) {
		for _, v := range open[name] {
			costs = append(costs, PinCost{Name: name, Value: v, Planned: planned[name] == v})
		}
	}
	if t.IsGPU() {
		for _, name := range l.settings() {
			for _, v := range settingValues(name) {
				planned := l.Plan.Setting(name) == v || name == pass.RangesParameter && v == 1 && l.Plan.Ranges == 0
				costs = append(costs, PinCost{Name: name, Value: v, Planned: planned})
			}
		}
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range costs {
		c := &costs[i]
		g.Go(func() error {
			if c.Planned {
				c.Seconds = predictedAlike(l.Plan)
				return nil
			}
			pinned := *s
			pinned.Pins = maps.Clone(s.Pins)
			if pinned.Pins == nil {
				pinned.Pins = map[string]int64{}
			}
			pinned.Pins[c.Name] = c.Value
			other, err := Lower(&pinned, t, nil)
			switch {
			case isBug(err):
				return err
			case err != nil:
				c.Refused = why(err)
			default:
				c.Seconds = predictedAlike(other.Plan)
			}
			return nil
		})
	}
	return costs, g.Wait()
}

// predictedAlike is how long a plan is predicted to take by what all plans are held against each other: see plan.Estimate.
func predictedAlike(p *plan.Plan) float64 {
	if p.Estimate == nil {
		return p.Time
	}
	return p.Estimate.Longest()
}

// settingValues are the values of a setting that are tried: all of a few, or powers of two up to the most.
func settingValues(name string) (values []int64) {
	const few = 8
	s, _ := lang.FindSetting(name, lang.AtLaunch)
	most := min(s.Most, few)
	switch name {
	case "warps":
		most = min(s.Most, 2*few)
	case pass.RangesParameter:
		most = s.Most
	}
	for v := int64(0); v <= most; v++ { // some may be 0
		if s.Check(v) == nil && (most <= 4 || v&(v-1) == 0 || name == "stages" && v <= 4) {
			values = append(values, v)
		}
	}
	return values
}

// settings are those that can be pinned of the kernel; ranges is for those that have any.
func (l *Lowered) settings() []string {
	names := lang.PlanSettings()
	if l.Plan.Ranges == 0 && !pass.HasRanges(l.uncut) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == pass.RangesParameter })
	}
	return names
}

// why is what an error says, without where.
func why(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if _, behind, ok := strings.Cut(text, ": no plan for kernel "); ok {
		if _, reason, ok := strings.Cut(behind, ": "); ok {
			return reason
		}
	}
	return text
}

// Choices are the names of the pins, in order, each once.
func (e *Explanation) Choices() (names []string) {
	for _, p := range e.Pins {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Bound says which part of the machine the work would take the longest at full rates: "memory" or "arithmetic"; "" where no rates are known.
func (e *Explanation) Bound() string {
	switch {
	case e.Work.Time == 0:
		return ""
	case e.Work.Memory >= e.Work.Compute:
		return "memory"
	}
	return "arithmetic"
}

// Intensity is the operations for each byte, and ridge the number of them from which on arithmetic takes longer than memory; 0 where
// nothing is moved, or nothing is computed.
func (e *Explanation) Intensity() (intensity, ridge float64) {
	w := e.Work
	if w.Bytes == 0 || w.FLOP == 0 {
		return 0, 0
	}
	intensity = float64(w.FLOP) / float64(w.Bytes)
	return intensity, intensity * w.Memory / w.Compute
}
