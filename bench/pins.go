package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tilec/jit"
	"tilec/lang"
)

// This file times workloads as the planner would have them beside what pins make of them, run by run in turn, so that both find the same
// machine. It shows what a form is worth that can be pinned, and how far a choice of the planner is from the best.

// Pins is what is taken from the planner.
type Pins struct {
	// Text is as it was given: "BM=128 precision=ieee". Numbers are the pins of the plan, and Precision that of contractions; "" leaves it.
	Text      string
	Numbers   map[string]int64
	Precision string
}

// ParsePins reads pins, NAME=NUMBER each with spaces between, and precision=WORD.
func ParsePins(text string) (Pins, error) {
	p := Pins{Text: strings.Join(strings.Fields(text), " "), Numbers: map[string]int64{}}
	for _, word := range strings.Fields(text) {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return p, fmt.Errorf("%q is no pin: give NAME=NUMBER, such as warps=8, or precision=ieee", word)
		}
		if name == "precision" {
			if p.Precision, ok = lang.Precision(value); !ok {
				return p, fmt.Errorf("unknown precision %q: known are %s", value, strings.Join(lang.Precisions(), ", "))
			}
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return p, fmt.Errorf("%s is pinned to %q, must be a whole number", name, value)
		}
		if _, twice := p.Numbers[name]; twice {
			return p, fmt.Errorf("%s is pinned twice", name)
		}
		p.Numbers[name] = n
	}
	if p.Text == "" {
		return p, fmt.Errorf("nothing is pinned: give NAME=NUMBER, such as warps=8")
	}
	return p, nil
}

// Trial is workloads that are to be timed with pins.
type Trial struct {
	Workloads []Workload
	Pins      []Pins
}

// ReadTrials reads a file of trials, a line each: words that choose workloads, then pins behind each colon. What follows a # is a comment.
func ReadTrials(text []byte, all []Workload) (trials []Trial, err error) {
	number := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		number++
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		parts := strings.Split(line, ":")
		words := strings.TrimSpace(parts[0])
		if words == "" || len(parts) < 2 {
			return nil, fmt.Errorf("line %d: give words of workloads, a colon, and pins", number)
		}
		t := Trial{Workloads: Select(all, []string{words})}
		if len(t.Workloads) == 0 {
			return nil, fmt.Errorf("line %d: no workload has %q in its name or its family", number, words)
		}
		for _, pins := range parts[1:] {
			p, err := ParsePins(pins)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			t.Pins = append(t.Pins, p)
		}
		trials = append(trials, t)
	}
	if len(trials) == 0 {
		return nil, fmt.Errorf("there are no trials: a line is words of workloads, a colon, and pins")
	}
	return trials, nil
}

// Tried is what pins made of a workload.
type Tried struct {
	Name string `json:"name"`
	Pins string `json:"pins"`
	// Planned and Pinned are the medians in us, of runs in turn; PlannedAs and PinnedAs the plans.
	Planned   float64 `json:"planned_us"`
	Pinned    float64 `json:"pinned_us"`
	PlannedAs string  `json:"planned_as"`
	PinnedAs  string  `json:"pinned_as"`
	// Difference is by how much the results differ, as a part of their size: 0 where the arithmetic is the same.
	Difference float64 `json:"difference"`
	Error      string  `json:"error,omitempty"`
}

// turns is how often all variants of a workload are timed, one after the other.
const turns = 5

// Try times a workload as planned and with each of the pins, for about the given time each.
func (k *Kernels) Try(w Workload, pins []Pins, budget time.Duration) []Tried {
	planned, err := k.bind(w, Pins{})
	defer planned.close(k)
	tried := make([]Tried, len(pins))
	variants := make([]*bound, len(pins))
	for i, p := range pins {
		tried[i] = Tried{Name: w.Name, Pins: p.Text}
		if err != nil {
			tried[i].Error = err.Error()
			continue
		}
		var problem error
		if variants[i], problem = k.bind(w, p); problem != nil {
			tried[i].Error = problem.Error()
		}
		defer variants[i].close(k)
	}
	if err != nil {
		return tried
	}
	each := max(budget/turns, 1)
	for range turns {
		if err = planned.time(k, each); err != nil {
			break
		}
		for i, v := range variants {
			if tried[i].Error != "" {
				continue
			}
			if problem := v.time(k, each); problem != nil {
				tried[i].Error = problem.Error()
			}
		}
	}
	for i, v := range variants {
		x := &tried[i]
		if err != nil && x.Error == "" {
			x.Error = err.Error()
		}
		if x.Error != "" {
			continue
		}
		x.Planned, x.Pinned = micros(median(planned.times)), micros(median(v.times))
		x.PlannedAs, x.PinnedAs = planned.plan(), v.plan()
		x.Difference = min(worst(v.samples, planned.samples), 1e30)
	}
	return tried
}

// bound is a workload that is compiled, with its arguments.
type bound struct {
	program *jit.Program
	args    []jit.Value
	samples [][]float64
	times   []time.Duration
}

// bind compiles a workload and runs it once.
func (k *Kernels) bind(w Workload, p Pins) (*bound, error) {
	b := &bound{}
	kernel, err := w.In(k.program)
	if err != nil {
		return b, err
	}
	if b.args, err = arguments(k.compiler.Device, kernel, w); err != nil {
		return b, err
	}
	o := jit.Options{Types: w.Options(kernel).Types, Pins: maps.Clone(w.Pins), Precision: p.Precision}
	if o.Pins == nil {
		o.Pins = map[string]int64{}
	}
	maps.Copy(o.Pins, p.Numbers)
	if b.program, err = k.compiler.BindKernel(kernel, b.args, o); err != nil {
		return b, err
	}
	out, err := b.program.Run(b.args)
	if err != nil {
		return b, err
	}
	results := written(kernel, b.args, out)
	if err := plausible(k.compiler.Device, results[0]); err != nil {
		return b, err
	}
	for _, t := range results {
		elements, err := sample(k.compiler.Device, t)
		if err != nil {
			return b, err
		}
		b.samples = append(b.samples, elements)
	}
	return b, nil
}

// time adds runs of about the given time.
func (b *bound) time(k *Kernels, budget time.Duration) error {
	n := 1
	if len(b.times) > 0 {
		n = k.runs(budget, median(b.times))
	}
	times, err := b.program.Measure(b.args, n, k.flush)
	if len(b.times) == 0 && err == nil { // the first was to know how long it takes
		times, err = b.program.Measure(b.args, k.runs(budget, median(times)), k.flush)
	}
	b.times = append(b.times, times...)
	return err
}

func (b *bound) plan() string { return strings.Join(b.program.Plans(), "; ") }

func (b *bound) close(k *Kernels) {
	if b == nil {
		return
	}
	if b.program != nil {
		b.program.Close()
	}
	release(k.compiler.Device, b.args)
}

// runs is how many runs fit a time, of which each takes so long.
func (k *Kernels) runs(budget, each time.Duration) int {
	each = max(each, time.Microsecond)
	if k.flush != nil {
		each += 100 * time.Microsecond // overwriting the flush memory takes about this
	}
	return int(min(max(budget/each, 5), 200))
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// WriteTried writes what pins made of workloads as a table. Above 1, the pins are faster.
func WriteTried(w io.Writer, device string, tried []Tried) {
	fmt.Fprintf(w, "# Pins on %s\n", device)
	fmt.Fprintln(w, "Medians in us, the planner's choice and the pinned one in turn; on a GPU, what the caches held is overwritten before each run.")
	fmt.Fprintln(w, "\n| workload | pins | as planned | pinned | planned / pinned | results differ by | plan | pinned plan |\n|---|---|---|---|---|---|---|---|")
	ratios := map[string][]float64{}
	var order []string
	for _, x := range tried {
		if x.Error != "" {
			fmt.Fprintf(w, "| %s | %s | failed: %s | | | | | |\n", x.Name, x.Pins, oneLine(x.Error))
			continue
		}
		ratio := x.Planned / x.Pinned
		if ratios[x.Pins] == nil {
			order = append(order, x.Pins)
		}
		ratios[x.Pins] = append(ratios[x.Pins], ratio)
		fmt.Fprintf(w, "| %s | %s | %.1f | %.1f | %.3f | %.2g | %s | %s |\n", x.Name, x.Pins, x.Planned, x.Pinned, ratio, x.Difference, x.PlannedAs, x.PinnedAs)
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintln(w, "\n| pins | workloads | planned / pinned, geometric mean | least | most |\n|---|---|---|---|---|")
	for _, pins := range order {
		mean, least := geometric(ratios[pins])
		fmt.Fprintf(w, "| %s | %d | %.3f | %.3f | %.3f |\n", pins, len(ratios[pins]), mean, least, slices.Max(ratios[pins]))
	}
}
