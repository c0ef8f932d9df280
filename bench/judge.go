package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file judges the planner by plans that were measured: how fast is what it chooses today, of the fastest that was measured? It needs no GPU.

// SpacesOf makes spaces of what Kernels.Try found, in the order in which it tried them: one a workload, of the plan and all that was pinned.
func SpacesOf(tried []Tried, machine target.Machine, device, provenance string) (spaces []Space) {
	at := map[string]int{}
	for _, x := range tried {
		n, ok := at[x.Name]
		if !ok {
			n, at[x.Name] = len(spaces), len(spaces)
			spaces = append(spaces, Space{Workload: x.Name, Target: machine.Name, Device: device, Provenance: provenance})
		}
		s := &spaces[n]
		planned := slices.ContainsFunc(s.Measured, func(m Measured) bool { return m.Planned })
		if x.Error == "" && !planned {
			s.Measured = append(s.Measured, Measured{Plan: x.PlannedAs, Planned: true, Micros: x.Planned})
		}
		m := Measured{Pins: x.Pins, Plan: x.PinnedAs, Micros: x.Pinned, Difference: x.Difference, Error: oneLine(x.Error)}
		if slices.ContainsFunc(s.Measured, func(o Measured) bool { return o.Pins == m.Pins && !o.Planned }) {
			continue // tried twice
		}
		s.Measured = append(s.Measured, m)
	}
	for i := range spaces {
		spaces[i].Sort()
	}
	return spaces
}

// ReadTried reads what `tilec bench pins --out` wrote: arrays of JSON, one or several behind each other.
func ReadTried(r io.Reader) (all []Tried, err error) {
	arrays := json.NewDecoder(r)
	for {
		var tried []Tried
		switch err := arrays.Decode(&tried); {
		case err == io.EOF && len(all) > 0:
			return all, nil
		case err == io.EOF:
			return nil, fmt.Errorf("nothing was timed")
		case err != nil:
			return nil, err
		}
		for _, x := range tried {
			if x.Name == "" || x.Pins == "" || x.Error == "" && !(x.Planned > 0 && x.Pinned > 0 && x.PlannedAs != "" && x.PinnedAs != "") {
				return nil, fmt.Errorf("%q with %q is not what bench pins writes: it has a name, pins, two times above 0 and two plans, or an error", x.Name, x.Pins)
			}
		}
		all = append(all, tried...)
	}
}

// Judge plans kernels of spaces as they are planned today.
type Judge struct {
	program   *typed.Program
	workloads map[string]Workload
	// compilers are those for devices that stand for a target, by its name; nothing runs on them.
	mu        sync.Mutex
	compilers map[string]*jit.Compiler
}

// NewJudge loads the workloads. Close frees what it has.
func NewJudge() (*Judge, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	j := &Judge{program: program, workloads: map[string]Workload{}, compilers: map[string]*jit.Compiler{}}
	for _, w := range Workloads() {
		j.workloads[w.Name] = w
	}
	return j, nil
}

// Close gives back what the judge holds.
func (j *Judge) Close() {
	for _, c := range j.compilers {
		c.Device.Close()
	}
}

// Launches are the launches of a space's kernel today, with pins, as a program that only it is has them.
func (j *Judge) Launches(s *Space, p Pins) ([]*compile.Lowered, error) {
	kernel, o, err := j.kernel(s)
	if err != nil {
		return nil, err
	}
	pins := maps.Clone(o.Pins)
	if pins == nil {
		pins = map[string]int64{}
	}
	maps.Copy(pins, p.Numbers)
	o.Pins, o.Precision = pins, p.Precision
	c, err := j.compiler(s.Target)
	if err != nil {
		return nil, err
	}
	all, err := launches(c, kernel, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name(), err)
	}
	return all, nil
}

// compiler is one for a target.
func (j *Judge) compiler(name string) (*jit.Compiler, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.compilers[name]; c != nil {
		return c, nil
	}
	machine, err := target.Find(name)
	if err != nil {
		return nil, err
	}
	c, err := compilerFor(machine)
	if err != nil {
		return nil, err
	}
	j.compilers[name] = c
	return c, nil
}

// kernel is a space's kernel with what the space says of it.
func (j *Judge) kernel(s *Space) (*typed.Kernel, jit.Options, error) {
	if s.Workload != "" {
		w, ok := j.workloads[s.Workload]
		if !ok {
			return nil, jit.Options{}, fmt.Errorf("there is no workload %q", s.Workload)
		}
		k, err := w.In(j.program)
		if err != nil {
			return nil, jit.Options{}, err
		}
		return k, w.Options(k), nil
	}
	text, err := sourceOf(s.File)
	if err != nil {
		return nil, jit.Options{}, err
	}
	program, problems := jit.Load(s.File, text, nil)
	if len(problems) > 0 {
		return nil, jit.Options{}, problems[0]
	}
	k, err := Workload{Kernel: s.Kernel}.In(program)
	if err != nil {
		return nil, jit.Options{}, err
	}
	o := jit.Options{Dims: map[string]int64{}, Types: map[string]lang.DType{}, Pins: map[string]int64{}}
	for _, word := range strings.Fields(s.For) {
		name, value, _ := strings.Cut(word, "=")
		if d, ok := lang.ParseDType(value); ok {
			o.Types[name] = d
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, o, fmt.Errorf("%s: %w", s.Name(), err)
		}
		if slices.ContainsFunc(k.Dims, func(d *size.Symbol) bool { return d.Name == name }) {
			o.Dims[name] = n
		} else {
			o.Pins[name] = n
		}
	}
	return k, o, nil
}

// sourceOf is the text of a file of the standard library, or of one in this folder.
func sourceOf(name string) ([]byte, error) {
	if file, ok := strings.CutPrefix(name, "std/"); ok {
		return stdlib.FS.ReadFile(file)
	}
	file, ok := strings.CutPrefix(name, "bench/")
	if !ok {
		return nil, fmt.Errorf("%s is neither of the standard library nor in bench", name)
	}
	return os.ReadFile(file)
}

// PlanText is the plans of launches as a space has them.
func PlanText(launches []*compile.Lowered) string {
	words := make([]string, len(launches))
	for i, l := range launches {
		words[i] = l.Plan.String()
	}
	return strings.Join(words, "; ")
}

// Judged is a space and what the planner chooses of it today.
type Judged struct {
	// Name is the workload, Provenance whence its times are.
	Name       string `json:"name"`
	Provenance string `json:"provenance"`
	// Chosen is the plan, and Micros what it took, 0 where it was not measured: the mean, where several pins gave the same code.
	Chosen string  `json:"chosen,omitempty"`
	Micros float64 `json:"us,omitempty"`
	// Fastest is the fastest plan of other code; Others is how many were measured.
	Fastest Measured `json:"fastest"`
	Others  int      `json:"others"`
	Error   string   `json:"error,omitempty"`
}

// Counts reports a choice that was measured beside another.
func (x *Judged) Counts() bool { return x.Error == "" && x.Micros > 0 && x.Others > 0 }

// Part is the time of the fastest plan as a part of that of the choice, 1 where that is the choice.
func (x *Judged) Part() float64 { return min(x.Fastest.Micros/x.Micros, 1) }

// Spaces judges the planner by each of the spaces.
func (j *Judge) Spaces(spaces []Space) []Judged {
	all := make([]Judged, len(spaces))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range spaces {
		g.Go(func() error {
			all[i] = j.judge(&spaces[i])
			return nil
		})
	}
	_ = g.Wait() // none fails
	return all
}

func (j *Judge) judge(s *Space) Judged {
	x := Judged{Name: s.Name(), Provenance: s.Provenance}
	launches, err := j.Launches(s, Pins{})
	if err != nil {
		x.Error = err.Error()
		return x
	}
	x.Chosen = PlanText(launches)
	var times []float64
	for _, m := range s.Measured {
		switch {
		case !m.Counts():
		case m.Plan == x.Chosen || m.Planned && inOrderOf(m.Plan) == inOrderOf(x.Chosen) || j.sameCode(s, m, launches):
			times = append(times, m.Micros)
		default:
			if x.Others++; x.Others == 1 || m.Micros < x.Fastest.Micros {
				x.Fastest = m
			}
		}
	}
	for _, t := range times {
		x.Micros += t / float64(len(times))
	}
	return x
}

// inOrderOf is a plan without of how many blocks the longest begin first. The planner takes that from the size of the L2, of which the GPU that timed it may have another
// than the target.
func inOrderOf(plan string) string {
	return withoutSettings(plan, Pins{Numbers: map[string]int64{"longest": 0}})
}

// sameCode reports a plan that differs from that of launches by nothing but what was pinned, of which the code is the same.
func (j *Judge) sameCode(s *Space, m Measured, launches []*compile.Lowered) bool {
	p, err := ParsePins(m.Pins)
	if err != nil || withoutSettings(m.Plan, p) != withoutSettings(PlanText(launches), p) {
		return false
	}
	pinned, err := j.Launches(s, p)
	return err == nil && PlanText(pinned) == m.Plan && slices.EqualFunc(pinned, launches, func(a, b *compile.Lowered) bool {
		x, errX := a.PTX()
		y, errY := b.PTX()
		return errX == nil && errY == nil && instructions(x) == instructions(y)
	})
}

// instructions is a module's text without the comments at its beginning, which name the plan.
func instructions(text string) string {
	for strings.HasPrefix(text, "//") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// withoutSettings is a plan without the settings that are pinned.
func withoutSettings(plan string, p Pins) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(plan), func(word string) bool {
		name, _, _ := strings.Cut(strings.TrimSuffix(word, ";"), "=")
		_, pinned := p.Numbers[name]
		return pinned && slices.Contains(lang.PlanSettings(), name)
	}), " ")
}

// WriteJudged writes how near the planner comes to the fastest plan of each space, the furthest away first, and gives the geometric mean and the
// least of those that count.
func WriteJudged(w io.Writer, all []Judged) (mean, least float64) {
	sorted := slices.Clone(all)
	rank := func(x *Judged) float64 {
		if x.Counts() {
			return x.Part()
		}
		return math.Inf(1)
	}
	sort.SliceStable(sorted, func(i, j int) bool { return rank(&sorted[i]) < rank(&sorted[j]) })
	fmt.Fprintln(w, "Fastest / chosen: the time of the fastest plan that was measured as a part of that of what the planner chooses today.")
	fmt.Fprintln(w, "\n| workload | others | chosen, us | fastest, us | fastest / chosen | chosen plan | fastest plan | measured by |\n|---|---|---|---|---|---|---|---|")
	var parts []float64
	alone, unknown := 0, 0
	for i := range sorted {
		x := &sorted[i]
		took, part := "not measured", ""
		switch {
		case x.Error != "":
			took = "failed: " + oneLine(x.Error)
			unknown++
		case x.Micros == 0:
			unknown++
		default:
			took = fmt.Sprintf("%.1f", x.Micros)
			if !x.Counts() {
				alone++
				continue // nothing to compare with
			}
			part = fmt.Sprintf("%.3f", x.Part())
			parts = append(parts, x.Part())
		}
		fmt.Fprintf(w, "| %s | %d | %s | %.1f | %s | %s | %s | %s |\n", x.Name, x.Others, took, x.Fastest.Micros, part, x.Chosen, x.Fastest.Plan, x.Provenance)
	}
	if len(parts) > 0 {
		mean, least = geometric(parts)
	}
	fmt.Fprintf(w, "\n%d spaces count: geometric mean %.4f, least %.3f. Of %d the choice of today was not measured, of %d no other plan was.\n", len(parts), mean, least, unknown, alone)
	return mean, least
}
