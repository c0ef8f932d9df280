package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
)

// This file has the plans of kernels as they were measured, by which the planner is judged without a GPU.

// Space is a kernel at one size with plans that were measured on one machine in one run.
type Space struct {
	// Workload names a workload. Of what is none, File and Kernel name the kernel, For its sizes and element types as the command line takes
	// them. Target is what its code is for.
	Workload string `json:"workload,omitempty"`
	File     string `json:"file,omitempty"`
	Kernel   string `json:"kernel,omitempty"`
	For      string `json:"for,omitempty"`
	Target   string `json:"target"`
	// Device is the GPU or CPU, Provenance by which command of which version it was measured, and when.
	Device     string     `json:"device"`
	Provenance string     `json:"provenance"`
	Measured   []Measured `json:"measured"`
}

// Measured is one plan. Times are in us.
type Measured struct {
	// Pins give the plan, and Plan is what it was in words, with a semicolon between launches; Planned says that the planner chose it then.
	Pins    string `json:"pins"`
	Plan    string `json:"plan,omitempty"`
	Planned bool   `json:"planned,omitempty"`
	// Difference is by how much the results differ from those of what was planned, as a part of their size: 0 where the arithmetic is the same.
	Difference float64 `json:"difference,omitempty"`
	// Predicted is what the planner predicted then.
	Predicted float64 `json:"predicted_us,omitempty"`
	Micros    float64 `json:"us,omitempty"`
	Error     string  `json:"error,omitempty"`
}

// Sort puts what was measured into order, the fastest first.
func (s *Space) Sort() {
	sort.SliceStable(s.Measured, func(i, j int) bool {
		a, b := &s.Measured[i], &s.Measured[j]
		if (a.Error == "") != (b.Error == "") {
			return a.Error < b.Error
		}
		return a.Micros < b.Micros
	})
}

// Name is the workload, or the kernel and what it is for.
func (s *Space) Name() string {
	if s.Workload != "" {
		return s.Workload
	}
	return s.Kernel + " for " + s.For
}

// Counts reports a plan that ran and computes what the others do: with other functions or products, it is another kernel.
func (m Measured) Counts() bool { return m.Error == "" && !strings.Contains(m.Pins, "precision=") }

// Best is the fastest; ok is false where none ran.
func (s *Space) Best() (best Measured, ok bool) {
	for _, m := range s.Measured {
		if m.Counts() && (!ok || m.Micros < best.Micros) {
			best, ok = m, true
		}
	}
	return best, ok
}

// Efficiency is the time of the best plan as a part of that of the one that matches, of which the first counts; ok is false where none does.
func (s *Space) Efficiency(matches func(Measured) bool) (part float64, ok bool) {
	best, ok := s.Best()
	if !ok {
		return 0, false
	}
	i := slices.IndexFunc(s.Measured, func(m Measured) bool { return m.Counts() && matches(m) })
	if i < 0 {
		return 0, false
	}
	return best.Micros / s.Measured[i].Micros, true
}

// Write prints the space as a table, and how far the planner's choice was from the best.
func (s *Space) Write(w io.Writer) {
	fmt.Fprintf(w, "# Plans of %s on %s\n", s.Name(), s.Device)
	fmt.Fprintln(w, "Medians in us; on a GPU, what the caches held is overwritten before each run. * is what the planner chooses.")
	fmt.Fprintln(w, "\n| plan | measured | predicted | predicted / measured | pins |\n|---|---|---|---|---|")
	var off []float64
	for _, m := range s.Measured {
		if m.Error != "" {
			fmt.Fprintf(w, "| %s | failed: %s | %.1f | | %s |\n", m.Plan, oneLine(m.Error), m.Predicted, m.Pins)
			continue
		}
		mark := ""
		if m.Planned {
			mark = " *"
		}
		off = append(off, m.Predicted/m.Micros)
		fmt.Fprintf(w, "| %s%s | %.1f | %.1f | %.2f | %s |\n", m.Plan, mark, m.Micros, m.Predicted, m.Predicted/m.Micros, m.Pins)
	}
	best, ok := s.Best()
	if !ok {
		fmt.Fprintln(w, "\nNone of the plans ran.")
		return
	}
	if part, ok := s.Efficiency(func(m Measured) bool { return m.Planned }); ok {
		fmt.Fprintf(w, "\nThe planner's choice reaches %.2f of the best of %d plans", part, len(off))
		if mean, _ := geometric(off); mean > 0 {
			fmt.Fprintf(w, "; predicted / measured is %.2f in the geometric mean, with a standard deviation of the logarithm of %.2f", mean, deviation(off))
		}
		fmt.Fprintln(w, ".")
	}
	if !best.Planned {
		fmt.Fprintf(w, "As an attribute of the kernel: @target(%s, %s)\n", s.Target, attribute(best.Pins))
	}
}

// attribute is pins as the source writes them.
func attribute(pins string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(pins), ", "), "=", " = ")
}

// deviation is the standard deviation of the logarithms.
func deviation(ratios []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, x := range ratios {
		mean += math.Log(x) / float64(len(ratios))
	}
	for _, x := range ratios {
		squares += (math.Log(x) - mean) * (math.Log(x) - mean) / float64(len(ratios))
	}
	return math.Sqrt(squares)
}

// ReadSpaces reads spaces, a line of JSON each.
func ReadSpaces(text []byte) (all []Space, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var s Space
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case s.Workload == "" && (s.File == "" || s.Kernel == "") || s.Target == "" || s.Provenance == "":
			return nil, fmt.Errorf("line %d: a space names its workload, or its file and its kernel, its target and its provenance", n)
		case len(s.Measured) == 0:
			return nil, fmt.Errorf("line %d: nothing was measured", n)
		}
		for _, m := range s.Measured {
			if m.Error == "" && !(m.Micros > 0) {
				return nil, fmt.Errorf("line %d: %s took %g us, must be above 0", n, m.Pins, m.Micros)
			}
		}
		all = append(all, s)
	}
	return all, lines.Err()
}
