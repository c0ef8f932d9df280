package fuzz

import (
	"encoding/json"
	"fmt"
	"strings"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// Trial is one launch of a program: everything but its source that the results depend on.
type Trial struct {
	// Dims is the size of each dimension.
	Dims map[string]int64 `json:"dims"`
	// Types is what the element type parameters stand for.
	Types map[string]string `json:"types,omitempty"`
	// Inferred: a launch is not told the types, the tensors tell them.
	Inferred bool `json:"inferred,omitempty"`
	// Consts are the constant parameters that a launch is given.
	Consts map[string]int64 `json:"consts,omitempty"`
	// Pins fixes extents, warps and stages.
	Pins map[string]int64 `json:"pins,omitempty"`
	// Precision of contractions of f32: "", "ieee" or "tf32x3".
	Precision string `json:"precision,omitempty"`
	Style     Style  `json:"style"`
	// Seed of the inputs.
	Seed uint64 `json:"seed"`
}

func (r Trial) types() (map[string]lang.DType, error) {
	types := map[string]lang.DType{}
	for name, of := range r.Types {
		d, ok := lang.ParseDType(of)
		if !ok {
			return nil, fmt.Errorf("%s is %q, which is no element type", name, of)
		}
		types[name] = d
	}
	return types, nil
}

// options are what a compilation of the kernel is given.
func (r Trial) options(k *typed.Kernel) (jit.Options, error) {
	types, err := r.types()
	if err != nil {
		return jit.Options{}, err
	}
	o := jit.Options{Dims: r.Dims, Types: types, Pins: r.Pins, Precision: r.Precision, Guard: guard}
	for _, c := range k.Consts {
		if n, ok := r.Consts[c.Name]; ok {
			if o.Consts == nil {
				o.Consts = map[string]lang.Literal{}
			}
			o.Consts[c.Name] = lang.Literal{DType: c.DType, Int: n}
		}
	}
	return o, nil
}

// Case is a program with the launches that test it: one kernel, and functions that it calls.
// A case without launches has tests of its own, which say what must come out.
type Case struct {
	Source string
	Trials []Trial
}

// with is the case with one launch alone; a case without launches stays as it is.
func (c *Case) with(r Trial) *Case {
	if len(c.Trials) == 0 {
		return c
	}
	return &Case{Source: c.Source, Trials: []Trial{r}}
}

const runMark = "// trial: "

// String is the case as a file: the source behind a comment for each run.
func (c *Case) String() string {
	var b strings.Builder
	for _, r := range c.Trials {
		text, err := json.Marshal(r)
		if err != nil {
			panic(err) // a Trial holds nothing that JSON cannot
		}
		b.WriteString(runMark + string(text) + "\n")
	}
	b.WriteString(c.Source)
	return b.String()
}

// ParseCase reads what String writes.
func ParseCase(text string) (*Case, error) {
	c := &Case{}
	var source []string
	for _, line := range strings.SplitAfter(text, "\n") {
		rest, ok := strings.CutPrefix(line, runMark)
		if !ok {
			source = append(source, line)
			continue
		}
		var r Trial
		if err := json.Unmarshal([]byte(rest), &r); err != nil {
			return nil, fmt.Errorf("the line %q is no run: %w", strings.TrimSpace(line), err)
		}
		c.Trials = append(c.Trials, r)
	}
	c.Source = strings.Join(source, "")
	if len(c.Trials) == 0 && !strings.Contains("\n"+c.Source, "\ntest ") {
		return nil, fmt.Errorf("a case needs a line %q with a run, or a test", runMark+"{...}")
	}
	return c, nil
}
