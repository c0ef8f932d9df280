package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Run is workloads that were timed on one machine, ours and the peers', one after the other.
type Run struct {
	// Device is the GPU's name or the CPU's, Version the compiler's with its commit, Date the day.
	Device  string `json:"device"`
	Version string `json:"version,omitempty"`
	Date    string `json:"date,omitempty"`
	// Peers is what each peer says of itself, NoPeer why one could not run.
	Peers  map[string]string `json:"peers,omitempty"`
	NoPeer map[string]string `json:"no_peer,omitempty"`

	Results []Result `json:"results"`
}

// Result is what one workload took.
type Result struct {
	Name   string `json:"name"`
	Family string `json:"family,omitempty"`
	// Micros is the median, by the device's clock, with cold caches.
	Micros float64 `json:"us"`
	// Runs is how many runs the median is of.
	Runs int `json:"runs,omitempty"`
	// FLOPs is the work, and Bytes what has to be read and written at least, as the workload says.
	FLOPs float64 `json:"flops,omitempty"`
	Bytes float64 `json:"bytes,omitempty"`
	// CompileMillis is the time to specialise, plan and compile the kernel.
	CompileMillis float64 `json:"compile_ms,omitempty"`
	// Plan is the planner's choice.
	Plan string `json:"plan,omitempty"`
	// Beside are the peers' times.
	Beside []Beside `json:"beside,omitempty"`
	// Profile is what the profiler counted, by the names of its metrics.
	Profile map[string]string `json:"profile,omitempty"`
	// Samples are elements of each of the results, to be compared with a peer's.
	Samples [][]float64 `json:"-"`
	// Error says why there is no time.
	Error string `json:"error,omitempty"`
}

// Beside is what a workload took a peer.
type Beside struct {
	Peer string `json:"peer"`
	// Micros is the median of the fastest of the peer's ways, which Way names.
	Micros float64 `json:"us"`
	Way    string  `json:"way,omitempty"`
	// Difference is by how much the results differ from ours, as a part of their own size (Difference), and Differs that this is more
	// than rounding explains.
	Difference float64 `json:"difference"`
	Differs    bool    `json:"differs,omitempty"`
	// Error says why there is no time.
	Error string `json:"error,omitempty"`
}

// Best is the fastest of the peers; ok is false where none has a time, or where its result is another.
func (r Result) Best() (best Beside, ok bool) {
	for _, b := range r.Beside {
		if b.Micros > 0 && !b.Differs && (!ok || b.Micros < best.Micros) {
			best, ok = b, true
		}
	}
	return best, ok
}

// Ratio is the fastest peer's time to ours: more than 1 is faster. ok is false where one of them is not known.
func (r Result) Ratio() (ratio float64, ok bool) {
	b, ok := r.Best()
	if !ok || r.Micros <= 0 {
		return 0, false
	}
	return b.Micros / r.Micros, true
}

// TFLOPS and GBs are the rates that the time comes to, in 10^12 operations and 10^9 bytes a second; 0 where they are not known.
func (r Result) TFLOPS() float64 { return rate(r.FLOPs, r.Micros, 1e6) }

// GBs is the bytes that had to be moved, by the time.
func (r Result) GBs() float64 { return rate(r.Bytes, r.Micros, 1e3) }

func rate(work, us, scale float64) float64 {
	if us <= 0 {
		return 0
	}
	return work / us / scale
}

// ReadRun reads what `tilec bench run --json` printed, or the lines of Go's benchmark format.
func ReadRun(text []byte) (*Run, error) {
	var r Run
	if err := json.Unmarshal(text, &r); err == nil {
		if len(r.Results) == 0 {
			return nil, fmt.Errorf("the JSON has no results: `tilec bench run --json` prints such")
		}
		return &r, nil
	}
	return readGo(text)
}

// Difference is the root of the mean square of the differences of two lists, as a part of that of the second one; infinite where they are
// not of one length, or one has a number that the other has not.
func Difference(ours, theirs []float64) float64 {
	if len(ours) != len(theirs) {
		return math.Inf(1)
	}
	apart, all := 0.0, 0.0
	for i, x := range ours {
		y := theirs[i]
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			if !math.IsInf(y, 0) && !math.IsNaN(y) {
				all += y * y
			}
			continue
		}
		if math.IsInf(x-y, 0) || math.IsNaN(x-y) {
			return math.Inf(1)
		}
		apart, all = apart+(x-y)*(x-y), all+y*y
	}
	switch {
	case apart == 0:
		return 0
	case all == 0:
		return math.Inf(1)
	}
	return math.Sqrt(apart / all)
}

// rounding is by how much two results of a workload may differ that are both right. Each is off by half a unit in the last place of what it
// is stored in and of what its products are rounded to, sums of many such errors by less of their own size; a wrong result is off by about
// all of its size.
func (w Workload) rounding() float64 {
	const some = 4 // functions and intermediate results are rounded too
	d := w.Type()
	switch {
	case d.IsInt():
		return 0
	case d.Size() <= 2:
		return some * math.Pow(2, -8)
	case w.FLOPs > 0: // tf32
		return some * math.Pow(2, -11)
	}
	return some * math.Pow(2, -18)
}

// worst is the largest Difference of samples of several results.
func worst(ours, theirs [][]float64) float64 {
	if len(ours) != len(theirs) {
		return math.Inf(1)
	}
	most := 0.0
	for i := range ours {
		most = max(most, Difference(ours[i], theirs[i]))
	}
	return most
}

// Find gives the result of a workload; ok is false where it was not timed.
func (r *Run) Find(name string) (Result, bool) {
	i := slices.IndexFunc(r.Results, func(x Result) bool { return x.Name == name })
	if i < 0 {
		return Result{}, false
	}
	return r.Results[i], true
}

// families are the families of the results, in the order in which they come first.
func (r *Run) families() (names []string) {
	for _, x := range r.Results {
		if !slices.Contains(names, x.Family) {
			names = append(names, x.Family)
		}
	}
	return names
}

// geometric is the geometric mean and the least of some ratios.
func geometric(ratios []float64) (mean, least float64) {
	logs := 0.0
	for _, x := range ratios {
		logs += math.Log(x)
	}
	return math.Exp(logs / float64(len(ratios))), slices.Min(ratios)
}
