package bench

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Expectations are times that workloads have had on a GPU, which later ones are held to.
type Expectations struct {
	// Device is the GPU, and Provenance where the figures are from: by which command, of which commit, when.
	Device     string `json:"device"`
	Provenance string `json:"provenance"`
	// Tolerance is by which part of a time a later one may be longer.
	Tolerance float64 `json:"tolerance"`
	// Workloads are the times in us, by name.
	Workloads map[string]Expected `json:"workloads"`
}

// Expected is the time of a workload, in us, and that of the fastest peer beside it; 0 where there was none.
type Expected struct {
	Micros float64 `json:"us"`
	Peer   float64 `json:"peer_us,omitempty"`
}

//go:embed expectations_*.json
var expected embed.FS

// defaultTolerance is for expectations that are made anew. Medians of the same code on the same machine are within it (bench/RESULTS.md).
const defaultTolerance = 0.05

// ExpectationsFile is the name of the file with the expectations of a GPU, by its name: "NVIDIA H200" has expectations_h200.json.
func ExpectationsFile(device string) string {
	name := strings.ToLower(strings.TrimPrefix(device, "NVIDIA "))
	word := strings.FieldsFunc(name, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	return "expectations_" + strings.Join(word, "_") + ".json"
}

// Expect gives the expectations that are part of the program for a GPU.
func Expect(device string) (*Expectations, error) {
	text, err := expected.ReadFile(ExpectationsFile(device))
	if err != nil {
		return nil, fmt.Errorf("nothing is expected of %s: there is no bench/%s; `tilec bench verify --update FILE` makes such a file", device, ExpectationsFile(device))
	}
	return ReadExpectations(text)
}

// ReadExpectations reads a file of expectations.
func ReadExpectations(text []byte) (*Expectations, error) {
	var e Expectations
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, err
	}
	switch {
	case e.Device == "" || e.Provenance == "":
		return nil, fmt.Errorf("expectations name their device and their provenance, and these do not")
	case !(e.Tolerance > 0 && e.Tolerance < 1):
		return nil, fmt.Errorf("the tolerance is %g, must lie between 0 and 1", e.Tolerance)
	case len(e.Workloads) == 0:
		return nil, fmt.Errorf("there are no workloads")
	}
	for name, x := range e.Workloads {
		if !(x.Micros > 0) || math.IsInf(x.Micros, 0) {
			return nil, fmt.Errorf("%s: the time is %g us, must be above 0", name, x.Micros)
		}
	}
	return &e, nil
}

// Verify lists the workloads of a run that are slower than expected, that failed, or whose results differ from a peer's, a line each, and
// counts those that were held to something.
func (e *Expectations) Verify(r *Run) (problems []string, held int, err error) {
	if r.Device != e.Device {
		return nil, 0, fmt.Errorf("the run is of %s, and the expectations are of %s", r.Device, e.Device)
	}
	for _, x := range r.Results {
		want, ok := e.Workloads[x.Name]
		for _, b := range x.Beside {
			if b.Differs {
				problems = append(problems, fmt.Sprintf("%s: the result of %s differs by %.2g of its size", x.Name, b.Peer, b.Difference))
			}
		}
		switch {
		case x.Error != "":
			problems = append(problems, fmt.Sprintf("%s: %s", x.Name, oneLine(x.Error)))
		case ok && x.Micros > want.Micros*(1+e.Tolerance):
			problems = append(problems, fmt.Sprintf("%s: %.1f us, at most %.1f is expected: %.1f and %g %%", x.Name, x.Micros, want.Micros*(1+e.Tolerance), want.Micros, 100*e.Tolerance))
		}
		if ok {
			held++
		}
	}
	return problems, held, nil
}

// Update takes the times of a run for what is expected; what the run has not stays. provenance says where the run is from.
func (e *Expectations) Update(r *Run, provenance string) error {
	if e.Device != "" && e.Device != r.Device {
		return fmt.Errorf("the run is of %s, and the expectations are of %s", r.Device, e.Device)
	}
	e.Device, e.Provenance = r.Device, provenance
	if e.Tolerance == 0 {
		e.Tolerance = defaultTolerance
	}
	if e.Workloads == nil {
		e.Workloads = map[string]Expected{}
	}
	for _, x := range r.Results {
		if x.Error != "" || x.Micros <= 0 {
			continue
		}
		want := Expected{Micros: tenth(x.Micros)}
		if b, ok := x.Best(); ok {
			want.Peer = tenth(b.Micros)
		}
		e.Workloads[x.Name] = want
	}
	return nil
}

// Text is the file of the expectations.
func (e *Expectations) Text() ([]byte, error) {
	text, err := json.MarshalIndent(e, "", " ")
	return append(text, '\n'), err
}

func tenth(us float64) float64 { return math.Round(us*10) / 10 }
